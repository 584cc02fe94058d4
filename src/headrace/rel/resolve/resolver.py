"""What the Table API asks: each method of `Table` as a node on top of another.

    table.where(col("a") > 1).select(col("b"))
        ──▶ resolver.select(resolver.where(rel, a > 1), (b,))

In: nodes and expressions of the syntax tree.  Out: nodes.  SQL comes in by `query`.
Next: queries.py, select.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from headrace.rel import nodes as n
from headrace.rel.building import filtered, joined, narrowed, project, ref
from headrace.rel.conditions import conjunction, conjuncts
from headrace.rel.resolve.expressions import ExpressionResolver
from headrace.rel.resolve.grouping import GroupResolver, distinct, inline_aggregate, name_of
from headrace.rel.resolve.over import OverCalls, nulls_last
from headrace.rel.resolve.problems import near, problem
from headrace.rel.resolve.queries import QueryResolver
from headrace.rel.resolve.scope import NameScope
from headrace.rel.resolve.select import condition_with_query, unique_names
from headrace.rel.resolve.table_functions import correlate
from headrace.scalars.nodes import Ref
from headrace.sql import api_ast, ast
from headrace.sql import query_ast as q

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.rel.catalogs import Catalogs
    from headrace.rel.resolve.group_windows import WindowGroups
    from headrace.scalars.nodes import Scalar

Expressions = "Sequence[ast.SqlExpression]"


class Resolver:
    """Resolves queries and the calls of the Table API.

    Args:
        catalogs: find tables and functions.
    """

    def __init__(self, catalogs: Catalogs) -> None:
        self.catalogs = catalogs
        self._queries = QueryResolver(catalogs)

    def query(self, node: q.SqlQuery) -> n.Rel:
        """What a query gives."""
        return self._queries.query(node)

    # --- lines ---------------------------------------------------------------------------------

    def select(self, rel: n.Rel, items: Sequence[ast.SqlExpression]) -> n.Rel:
        """Some values of every line; with an aggregate among them, one line of them."""
        spelled = spelled_out(rel, items)
        if any(self._aggregates(item) for item in spelled):
            return self.group(rel, (), spelled)
        scalars, names = self._values(rel, spelled)
        return project(rel, scalars, unique_names(names))

    def _aggregates(self, item: ast.SqlExpression) -> bool:
        from headrace.rel.resolve.grouping import has_aggregate

        return has_aggregate(item, self.catalogs)

    def _values(
        self, rel: n.Rel, items: Sequence[ast.SqlExpression]
    ) -> tuple[list[Scalar], list[str]]:
        expressions = self.expressions(rel)
        scalars = [expressions.scalar(item) for item in items]
        return scalars, [item_name(item, place) for place, item in enumerate(items)]

    def expressions(self, rel: n.Rel) -> ExpressionResolver:
        """Resolves expressions over the columns of a node."""
        return ExpressionResolver(scope_of(rel), self.catalogs)

    def where(self, rel: n.Rel, condition: ast.SqlExpression) -> n.Rel:
        """The lines for which a condition is true."""
        if any(isinstance(part, q.SqlQuery) for part in ast.walk_nodes(condition)):
            made = condition_with_query(self._queries, rel, scope_of(rel), condition)
            return narrowed(made, len(rel.schema))
        return filtered(rel, self.expressions(rel).condition(condition))

    def add_columns(
        self, rel: n.Rel, items: Sequence[ast.SqlExpression], *, replacing: bool
    ) -> n.Rel:
        """More columns; those of the same name are replaced, or refused."""
        scalars, names = self._values(rel, spelled_out(rel, items))
        columns: list[Scalar] = [ref(rel, i) for i in range(len(rel.schema))]
        known = [field.name for field in rel.schema]
        for scalar, name, item in zip(scalars, names, items, strict=False):
            if name in known and not replacing:
                raise problem(f"there is a column {name} already", item, "add_or_replace_columns")
            if name in known:
                columns[known.index(name)] = scalar
            else:
                known.append(name)
                columns.append(scalar)
        return project(rel, columns, known)

    def rename_columns(self, rel: n.Rel, items: Sequence[ast.SqlExpression]) -> n.Rel:
        """Columns under other names: ``col("a").alias("b")``."""
        names = [field.name for field in rel.schema]
        for item in items:
            if not isinstance(item, api_ast.AliasedExpression) or not isinstance(
                item.operand, ast.Identifier
            ):
                raise problem("rename_columns takes col(old).alias(new)", item)
            old = item.operand.parts[-1]
            if old not in names:
                raise problem(f"there is no column {old}", item, near(old, names))
            names[names.index(old)] = item.names[0]
        return self.renamed(rel, names)

    def drop_columns(self, rel: n.Rel, items: Sequence[ast.SqlExpression]) -> n.Rel:
        """All columns but some."""
        dropped = set()
        expressions = self.expressions(rel)
        for item in spelled_out(rel, items):
            scalar = expressions.scalar(item)
            if not isinstance(scalar, Ref):
                raise problem("drop_columns takes columns", item)
            dropped.add(scalar.index)
        kept = [i for i in range(len(rel.schema)) if i not in dropped]
        return project(rel, [ref(rel, i) for i in kept], [rel.schema[i].name for i in kept])

    def renamed(self, rel: n.Rel, names: Sequence[str]) -> n.Rel:
        """The same with other names; columns behind them keep theirs."""
        if len(names) > len(rel.schema):
            raise problem(f"there are {len(rel.schema)} columns, but {len(names)} names", None)
        known = [*names, *(field.name for field in rel.schema[len(names) :])]
        return project(rel, [ref(rel, i) for i in range(len(known))], known)

    # --- groups --------------------------------------------------------------------------------

    def group(
        self,
        rel: n.Rel,
        keys: Sequence[ast.SqlExpression],
        items: Sequence[ast.SqlExpression],
        window: WindowGroups | None = None,
    ) -> n.Rel:
        """``group_by(keys).select(items)``, also of group windows."""
        groups = GroupResolver(rel, scope_of(rel), self.catalogs, ())
        for key in keys:
            if window is None or not window.takes(key):
                groups._key(_operand(key))
                groups.key_names[-1] = item_name(key, len(groups.key_names) - 1)
        if window is not None:
            window.install(groups)
        spelled = spelled_out(rel, items)
        scalars = [groups.scalar(_by_alias(item, keys)) for item in spelled]
        names = [item_name(item, place) for place, item in enumerate(spelled)]
        made = groups.build()
        return project(made, [groups.placed(each) for each in scalars], unique_names(names))

    def flat_aggregate(
        self,
        rel: n.Rel,
        keys: Sequence[ast.SqlExpression],
        function: ast.SqlExpression,
        names: Sequence[str],
    ) -> n.Rel:
        """``group_by(keys).flat_aggregate(function)``: the keys, then what the function emits."""
        operand = _operand(function)
        if not isinstance(operand, api_ast.InlineCall):
            raise problem("flat_aggregate takes a function made by udtaf", function)
        expressions = self.expressions(rel)
        call, operands = inline_aggregate(expressions, operand)
        key_scalars = [expressions.scalar(_operand(key)) for key in keys]
        columns = list(dict.fromkeys([*key_scalars, *operands]))
        key_names = [item_name(key, place) for place, key in enumerate(keys)]
        below = project(rel, columns, [f"$c{i}" for i in range(len(columns))])
        from headrace.common.data_types import RowType

        row = call.type
        made = (
            [n.Field(field.name, field.data_type) for field in row.fields]
            if isinstance(row, RowType)
            else [n.Field("f0", row)]
        )
        if names:
            made = [field._replace(name=name) for field, name in zip(made, names, strict=True)]
        places = tuple(columns.index(each) for each in key_scalars)
        call = replace(call, arguments=tuple(columns.index(each) for each in operands))
        schema = (
            *(n.Field(name, s.type) for name, s in zip(key_names, key_scalars, strict=True)),
            *made,
        )
        return n.TableAggregate(below, places, call, schema=schema)

    def distinct(self, rel: n.Rel) -> n.Rel:
        """Of lines that are equal, one."""
        return distinct(rel)

    # --- several tables ------------------------------------------------------------------------

    def join(
        self, left: n.Rel, right: n.Rel, kind: n.JoinKind, condition: ast.SqlExpression | None
    ) -> n.Rel:
        """A join; the names of columns have to differ."""
        twice = {f.name for f in left.schema} & {f.name for f in right.schema}
        if twice:
            raise problem(
                f"both tables have a column {sorted(twice)[0]}",
                condition,
                "rename it before the join: table.rename_columns(col('a').alias('b'))",
            )
        scope = NameScope().with_table(("",), left.schema).with_table(("",), right.schema)
        found = (
            None
            if condition is None
            else ExpressionResolver(scope, self.catalogs).condition(condition)
        )
        return joined(left, right, kind, conjunction(conjuncts(found)))

    def lateral(
        self,
        rel: n.Rel,
        call: ast.SqlExpression,
        kind: Literal[n.JoinKind.INNER, n.JoinKind.LEFT],
        condition: ast.SqlExpression | None,
    ) -> n.Rel:
        """``join_lateral``: every line with what a table function makes of it."""
        names = call.names if isinstance(call, api_ast.AliasedExpression) else ()
        node = _operand(call)
        functions = self.catalogs
        if isinstance(node, api_ast.InlineCall):
            functions = _Inline(self.catalogs, node)
            node = ast.FunctionCall(("$inline",), node.arguments)
        alias = q.AliasedTable(q.TableReference(), "", tuple(names)) if names else None
        resolver = QueryResolver(functions)
        table = q.TableFunctionCall(node, lateral=True)
        made = correlate(resolver, rel, scope_of(rel), table, kind, alias)
        if condition is None:
            return made
        expressions = ExpressionResolver(scope_of(made), self.catalogs)
        found = conjunction(conjuncts(expressions.condition(condition)))
        return replace(made, condition=found)

    def set_operation(
        self,
        left: n.Rel,
        right: n.Rel,
        kind: Literal["UNION", "INTERSECT", "EXCEPT"],
        *,
        all: bool,  # noqa: A002
    ) -> n.Rel:
        """union, intersect, minus; and their `_all`."""
        return self._queries.set_operation(left, right, kind, None, all=all)

    # --- order and over ------------------------------------------------------------------------

    def order_by(self, rel: n.Rel, items: Sequence[ast.SqlNode]) -> n.Rel:
        """Sorted; items are expressions, or `SortItem` for a direction."""
        expressions = self.expressions(rel)
        order = []
        from headrace.rel.building import with_columns

        width = len(rel.schema)
        given = [item if isinstance(item, ast.SortItem) else ast.SortItem(item) for item in items]  # type: ignore[arg-type]
        below, places = with_columns(rel, [expressions.scalar(e.expression) for e in given])
        for place, item in zip(places, given, strict=True):
            order.append(n.SortKey(place, item.descending, nulls_last(item)))
        made: n.Rel = n.Sort(below, tuple(order), schema=below.schema)
        return narrowed(made, width)

    def limit(self, rel: n.Rel, fetch: int | None, offset: int) -> n.Rel:
        """Some of the lines, by the order that was asked for just before."""
        if isinstance(rel, n.Sort):
            first = rel.offset + offset
            most = rel.fetch if fetch is None else fetch
            return replace(rel, offset=first, fetch=most)
        return n.Sort(rel, (), offset, fetch, schema=rel.schema)

    def over(
        self,
        rel: n.Rel,
        items: Sequence[ast.SqlExpression],
        windows: dict[str, ast.OverClause],
    ) -> n.Rel:
        """``over_window(w).select(col("a").sum.over(col("w")))``: calls name their window."""
        overs = OverCalls(windows)
        resolver = _OverItems(scope_of(rel), self.catalogs, overs)
        spelled = spelled_out(rel, items)
        scalars = [resolver.scalar(item) for item in spelled]
        names = [item_name(item, place) for place, item in enumerate(spelled)]
        made, placed = overs.build(rel)
        return project(made, [placed(each) for each in scalars], unique_names(names))


class _OverItems(ExpressionResolver):
    """Resolves items of which some are OVER a window."""

    def __init__(self, scope: NameScope, functions: Catalogs, overs: OverCalls) -> None:
        super().__init__(scope, functions)
        self.overs = overs

    def before(self, node: ast.SqlExpression) -> Scalar | None:
        if isinstance(node, ast.FunctionCall) and node.over is not None:
            return self.overs.add(self, node)
        return None


class _Inline:
    """Catalogs in which a function that is called as a Python object has a name."""

    def __init__(self, catalogs: Catalogs, node: api_ast.InlineCall) -> None:
        self._catalogs = catalogs
        self._node = node

    def find_function(self, path: tuple[str, ...]) -> UserFunctionDefinition | None:
        """The one that is called, by the name that nobody else has."""
        called: UserFunctionDefinition = self._node.function
        return called if path == ("$inline",) else self._catalogs.find_function(path)

    def find_table(
        self, path: tuple[str, ...], options: dict[str, str] | None = None
    ) -> tuple[tuple[str, ...], n.Rel] | None:
        """As ever."""
        return self._catalogs.find_table(path, options)

    def table_names(self) -> list[str]:
        """As ever."""
        return self._catalogs.table_names()


def scope_of(rel: n.Rel) -> NameScope:
    """The columns of a node, by their names alone."""
    return NameScope().with_table(("",), rel.schema)


def _operand(node: ast.SqlExpression) -> ast.SqlExpression:
    return node.operand if isinstance(node, api_ast.AliasedExpression) else node


def _by_alias(item: ast.SqlExpression, keys: Sequence[ast.SqlExpression]) -> ast.SqlExpression:
    """An item that names the alias of a key is that key."""
    inner = _operand(item)
    if isinstance(inner, ast.Identifier):
        for key in keys:
            if isinstance(key, api_ast.AliasedExpression) and key.names[0] == inner.parts[-1]:
                return key.operand
    return item


def item_name(item: ast.SqlExpression, place: int) -> str:
    """What a column of a select is called."""
    if isinstance(item, api_ast.AliasedExpression):
        return item.names[0]
    return name_of(item) or f"_c{place}"


def spelled_out(rel: n.Rel, items: Sequence[ast.SqlExpression]) -> list[ast.SqlExpression]:
    """Items without stars and ranges of columns."""
    found: list[ast.SqlExpression] = []
    for item in items:
        match item:
            case ast.Star():
                found += [ast.Identifier((field.name,)) for field in rel.schema]
            case api_ast.SelectedColumns():
                found += _selected(rel, item)
            case api_ast.ColumnRange():
                found += _range(rel, item)
            case _:
                found.append(item)
    return found


def _selected(rel: n.Rel, item: api_ast.SelectedColumns) -> list[ast.SqlExpression]:
    named: list[ast.SqlExpression] = []
    for each in item.items:
        if isinstance(each, ast.SqlLiteral) and isinstance(each.value, int):
            named.append(ast.Identifier((_name_at(rel, each.value, item),)))
        else:
            named += spelled_out(rel, [each])
    if not item.others:
        return named
    left_out = {each.parts[-1] for each in named if isinstance(each, ast.Identifier)}
    return [ast.Identifier((f.name,)) for f in rel.schema if f.name not in left_out]


def _range(rel: n.Rel, item: api_ast.ColumnRange) -> list[ast.SqlExpression]:
    names = [field.name for field in rel.schema]
    ends = [
        _name_at(rel, each, item) if isinstance(each, int) else each
        for each in (item.start, item.end)
    ]
    for each in ends:
        if each not in names:
            raise problem(f"there is no column {each}", item, near(str(each), names))
    first, last = names.index(str(ends[0])), names.index(str(ends[1]))
    return [ast.Identifier((name,)) for name in names[first : last + 1]]


def _name_at(rel: n.Rel, place: int, node: ast.SqlNode) -> str:
    if not 1 <= place <= len(rel.schema):
        raise problem(f"there is no column {place}: there are {len(rel.schema)}", node)
    return rel.schema[place - 1].name
