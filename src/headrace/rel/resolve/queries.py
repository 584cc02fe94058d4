"""Queries: SELECT, VALUES, UNION and friends, WITH, ORDER BY and LIMIT.

In: queries of the syntax tree.  Out: relational nodes.  Next: select.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.rel import nodes as n
from headrace.rel.building import narrowed, project, ref, union
from headrace.rel.functions import cast, common_type
from headrace.rel.resolve.constants import whole_number
from headrace.rel.resolve.expressions import ExpressionResolver
from headrace.rel.resolve.from_clause import renamed
from headrace.rel.resolve.grouping import distinct
from headrace.rel.resolve.hints import SelectHints
from headrace.rel.resolve.problems import near, problem
from headrace.rel.resolve.scope import NameScope
from headrace.rel.resolve.select import select
from headrace.rel.resolve.spelling import saw_table
from headrace.sql import query_ast as q
from headrace.sql.api_ast import RelationQuery
from headrace.sql.ast import Star

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.rel.catalogs import Catalogs
    from headrace.sql import ast


class QueryResolver:
    """Resolves queries against catalogs.

    Args:
        catalogs: find tables and functions.
        named: queries of WITH that can be named.
    """

    def __init__(self, catalogs: Catalogs, named: Mapping[str, n.Rel] | None = None) -> None:
        self.catalogs = catalogs
        self._named = dict(named or {})
        # of the SELECT that is resolved now
        self.hints = SelectHints()

    def query(self, node: q.SqlQuery, around: NameScope | None = None) -> n.Rel:
        """What a query gives.

        Raises:
            SqlError: it names what is not there, or types do not fit.
        """
        match node:
            case q.Select():
                return select(self, node, around)[0]
            case q.OrderedQuery():
                return self._ordered(node, around)
            case q.SetQuery():
                return self._set_query(node, around)
            case q.ValuesQuery():
                return self._values(node)
            case q.WithQuery():
                return self._with(node, around)
            case q.TableQuery():
                return self.table(q.TableName(node.name, position=node.position))[1]
            case RelationQuery():
                found: n.Rel = node.rel
                return found
            case _:
                raise problem(f"{type(node).__name__} is no query", node)

    # --- tables --------------------------------------------------------------------------------

    def table(self, node: q.TableName) -> tuple[tuple[str, ...], n.Rel]:
        """A table by name: its path, and what it gives."""
        parts = node.name.parts
        if len(parts) == 1 and parts[0] in self._named:
            return parts, self._named[parts[0]]
        options = dict(pair for h in node.hints if h.name == "OPTIONS" for pair in h.options)
        found = self.catalogs.find_table(parts, options or None)
        if found is None:
            known = [*self._named, *self.catalogs.table_names()]
            name = ".".join(parts)
            raise problem(f"there is no table {name}", node.name, near(parts[-1], known))
        saw_table(node, found[0])
        return found

    def table_argument(self, node: ast.TableArgument) -> tuple[n.Rel, tuple[str, ...]]:
        """``TABLE t``, or a query, as the argument of a table function."""
        if isinstance(node.table, q.SqlQuery):
            return self.query(node.table), ("",)
        path, rel = self.table(q.TableName(node.table, position=node.position))
        return rel, path

    # --- parts ---------------------------------------------------------------------------------

    def _with(self, node: q.WithQuery, around: NameScope | None) -> n.Rel:
        if node.recursive:
            raise problem("WITH RECURSIVE is not possible on streams", node)
        inner = QueryResolver(self.catalogs, self._named)
        for table in node.tables:
            rel = inner.query(table.query, around)
            if table.columns is not None:
                alias = q.AliasedTable(q.TableReference(), table.name, table.columns)
                rel = renamed(rel, alias)
            inner._named[table.name] = rel
        return inner.query(node.query, around)

    def _values(self, node: q.ValuesQuery) -> n.Rel:
        expressions = ExpressionResolver(NameScope(), self.catalogs)
        rows = [[expressions.scalar(cell) for cell in row] for row in node.rows]
        if len({len(row) for row in rows}) > 1:
            raise problem("the lines of VALUES have different numbers of columns", node)
        columns = list(zip(*rows, strict=True))
        types = [
            common_type([cell.type for cell in column], node, "the values of a column")
            for column in columns
        ]
        names = [f"EXPR${place}" for place in range(len(types))]
        parts = []
        single = n.Values(((),), schema=())
        for row in rows:
            scalars = [cast(cell, kind, node) for cell, kind in zip(row, types, strict=True)]
            parts.append(project(single, scalars, names))
        schema = tuple(n.Field(name, kind) for name, kind in zip(names, types, strict=True))
        from dataclasses import replace

        parts = [replace(part, schema=schema) for part in parts]
        return parts[0] if len(parts) == 1 else union(parts)

    def _set_query(self, node: q.SetQuery, around: NameScope | None) -> n.Rel:
        left, right = self.query(node.left, around), self.query(node.right, around)
        return self.set_operation(left, right, node.kind, node, all=node.all)

    def set_operation(
        self,
        left: n.Rel,
        right: n.Rel,
        kind: str,
        node: ast.SqlNode | None,
        *,
        all: bool,  # noqa: A002 - SQL's word
    ) -> n.Rel:
        """UNION, INTERSECT or EXCEPT of two nodes."""
        left, right = same_columns((left, right), kind, node)
        if kind == "UNION":
            both = union((left, right))
            return both if all else distinct(both)
        operation = "intersect" if kind == "INTERSECT" else "except"
        return n.SetOperation(left, right, operation, all, schema=left.schema)  # type: ignore[arg-type]

    def _ordered(self, node: q.OrderedQuery, around: NameScope | None) -> n.Rel:
        offset = 0 if node.offset is None else whole_number(node.offset, "OFFSET")
        fetch = None if node.limit is None else whole_number(node.limit, "LIMIT")
        if not isinstance(node.query, q.Select) and not node.order_by:
            rel = self.query(node.query, around)
            order: tuple[n.SortKey, ...] = ()
            width = len(rel.schema)
        else:
            rel, order, width = select(self, _sortable(node.query), around, node.order_by)
        if not order and fetch is None and not offset:
            return rel
        made: n.Rel = n.Sort(rel, order, offset, fetch, schema=rel.schema)
        return narrowed(made, width)


def _sortable(query: q.SqlQuery) -> q.Select:
    """A query that is no SELECT as the columns of one: names behind ORDER BY mean those."""
    if isinstance(query, q.Select):
        return query
    place = query.position
    star = q.SelectItem(Star(position=place), position=place)
    return q.Select((star,), q.DerivedTable(query, position=place), position=place)


def same_columns(rels: Sequence[n.Rel], what: str, node: ast.SqlNode | None) -> tuple[n.Rel, ...]:
    """Nodes whose columns have one type each, cast where they must be."""
    widths = {len(rel.schema) for rel in rels}
    if len(widths) > 1:
        shown = " and ".join(str(len(rel.schema)) for rel in rels)
        raise problem(f"the sides of {what} have {shown} columns", node)
    types = [
        common_type([rel.schema[i].type for rel in rels], node, f"columns {i + 1} of {what}")
        for i in range(widths.pop())
    ]
    names = [field.name for field in rels[0].schema]
    return tuple(
        project(rel, [cast(ref(rel, i), kind) for i, kind in enumerate(types)], names)
        for rel in rels
    )
