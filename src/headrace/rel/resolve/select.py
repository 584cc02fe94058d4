"""SELECT: FROM, WHERE, GROUP BY, HAVING, OVER, the list of columns, DISTINCT, ORDER BY.

In: a Select of the syntax tree.  Out: a node; each clause is one on top of the last.
Next: queries.py
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.rel import nodes as n
from headrace.rel.building import filtered, narrowed, project, with_columns
from headrace.rel.conditions import conjunction, conjuncts
from headrace.rel.resolve.expressions import ColumnAtPlace, ExpressionResolver, field_of_row
from headrace.rel.resolve.from_clause import From, from_clause
from headrace.rel.resolve.grouping import GroupResolver, distinct, has_aggregate, has_over, name_of
from headrace.rel.resolve.hints import SelectHints
from headrace.rel.resolve.outer_columns import with_outer
from headrace.rel.resolve.over import OverCalls, nulls_last
from headrace.rel.resolve.problems import not_there, problem
from headrace.rel.resolve.scope import NameScope
from headrace.rel.resolve.select_names import SelectNames
from headrace.rel.resolve.spelling import saw_star
from headrace.rel.resolve.subqueries import (
    LineResolver,
    Subquery,
    attached,
    has_subquery,
    is_subquery,
    prepared,
    semi_join,
)
from headrace.scalars.nodes import Outer, Ref, rewrite
from headrace.sql import ast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from headrace.rel.resolve.queries import QueryResolver
    from headrace.rel.resolve.scope import FoundColumn
    from headrace.scalars.nodes import Scalar
    from headrace.sql import query_ast as q


class _ItemResolver(LineResolver):
    """Resolves the list of columns over lines: OVER and values of subqueries may be in it."""

    def __init__(
        self, resolver: QueryResolver, rel: n.Rel, scope: NameScope, overs: OverCalls
    ) -> None:
        super().__init__(resolver, rel, scope)
        self.overs = overs

    def before(self, node: ast.SqlExpression) -> Scalar | None:
        if isinstance(node, ast.FunctionCall) and node.over is not None:
            return self.overs.add(self, node)
        return super().before(node)


class _GroupItemResolver(GroupResolver):
    """Resolves the list of columns over groups; subqueries wait until the groups are there."""

    overs: OverCalls

    def __init__(
        self, resolver: QueryResolver, rel: n.Rel, scope: NameScope, node: q.Select
    ) -> None:
        self._lines = LineResolver(resolver, rel, scope)
        self._key_nodes = _keys(node)
        self._asked: list[Subquery] = []
        super().__init__(rel, scope, resolver.catalogs, self._key_nodes, self._lines)

    def before(self, node: ast.SqlExpression) -> Scalar | None:
        if isinstance(node, ast.FunctionCall) and node.over is not None:
            return self.overs.add(self, node)
        if has_subquery(node) and node in self._key_nodes:
            return self.key_column(self._lines.scalar(node))
        if is_subquery(node):
            found = prepared(self._lines.resolver, self, node)
            if found not in self._asked:
                self._asked.append(found)
            return Ref(_QUERIES + self._asked.index(found), found.type)
        return super().before(node)

    def build(self) -> n.Rel:
        """The aggregate over lines with all that subqueries in its arguments gave."""
        self.rel = self._lines.rel
        return super().build()

    def with_queries(self, rel: n.Rel) -> tuple[n.Rel, Callable[[Scalar], Scalar]]:
        """The groups with the values of subqueries, and what puts them into scalars."""
        values: list[Scalar] = []

        def placed(scalar: Scalar) -> Scalar:
            return rewrite(self.placed(scalar), value)

        def value(part: Scalar) -> Scalar | None:
            if isinstance(part, Ref) and _QUERIES <= part.index < _QUERIES + len(self._asked):
                return values[part.index - _QUERIES]
            return None

        for asked in self._asked:
            query = with_outer(asked.query, lambda each, asked=asked: self._grouped(each, asked))  # type: ignore[misc]
            operands = tuple(map(placed, asked.operands))
            rel, found = attached(rel, asked._replace(query=query, operands=operands))
            values.append(found)
        return rel, placed

    def _grouped(self, column: Outer, asked: Subquery) -> Outer:
        """A column that a subquery names, which is one of the groups."""
        if column.depth > 1:
            return column
        key = Ref(column.index, column.type)
        if key not in self.keys:
            name = self.rel.schema[column.index].name
            raise problem(
                f"{name} is neither grouped nor aggregated", asked.node, "add it to GROUP BY"
            )
        return Outer(self.keys.index(key), column.type)


# places of what is not known yet, far above those of over.py
_QUERIES = 5_000_000


def select(
    resolver: QueryResolver,
    node: q.Select,
    around: NameScope | None,
    order_by: Sequence[ast.SortItem] = (),
) -> tuple[n.Rel, tuple[n.SortKey, ...], int]:
    """A SELECT, by which of its columns it is to be sorted, and how many it has.

    Columns that only ORDER BY needs are behind those; the caller drops them.
    """
    outside, resolver.hints = resolver.hints, SelectHints(node.hints)
    source = _source(resolver, node, around)
    items = _items(node, source.scope)
    named = SelectNames(
        [_name(item) for item in items],
        [item.expression for item in items],
        resolver.catalogs,
    )
    source.scope = replace(source.scope, listed=named.texts())
    rel = resolver.hints.with_ttl(_where(resolver, source, node.where))
    hints, resolver.hints = resolver.hints, outside
    wanted = [*named.expressions, *map(named.sort_expression, order_by)]
    qualify = None if node.qualify is None else _qualify(node.qualify, named)
    conditions = [each for each in (node.having, qualify) if each is not None]
    grouped = node.group_by is not None or any(
        has_aggregate(each, resolver.catalogs) for each in (*wanted, *conditions)
    )
    node = replace(node, qualify=qualify)
    rel, scalars = (_grouped if grouped else _plain)(resolver, node, rel, source.scope, wanted)
    rel = hints.group_ttl(rel) if grouped else rel
    hints.check()
    columns, sorting = scalars[: len(items)], scalars[len(items) :]
    names = unique_names([each or f"EXPR${place}" for place, each in enumerate(named.names)])
    if node.distinct:
        rel = distinct(project(rel, columns, names))
        over = [_over_distinct(*each, columns) for each in zip(sorting, order_by, strict=True)]
        rel, places = with_columns(rel, over)
    else:
        hidden = [each for each in dict.fromkeys(sorting) if each not in columns]
        columns += hidden
        rel = project(rel, columns, [*names, *(f"$s{place}" for place in range(len(hidden)))])
        places = tuple(map(columns.index, sorting))
    order = tuple(
        n.SortKey(place, item.descending, nulls_last(item))
        for place, item in zip(places, order_by, strict=True)
    )
    return rel, order, len(items)


def _source(resolver: QueryResolver, node: q.Select, around: NameScope | None) -> From:
    if node.from_ is None:
        return From([n.Values(((),), schema=())], NameScope(around=around))
    return from_clause(resolver, node.from_, around)


# --- WHERE ---------------------------------------------------------------------------------------


def _where(resolver: QueryResolver, source: From, where: ast.SqlExpression | None) -> n.Rel:
    """The joins with their conditions; subqueries of WHERE on top."""
    plain: list[Scalar] = []
    queries: list[ast.SqlExpression] = []
    for part in ast_conjuncts(where):
        if has_subquery(part):
            queries.append(part)
        else:
            expressions = ExpressionResolver(source.scope, resolver.catalogs)
            plain += conjuncts(expressions.condition(part))
    return with_conditions(resolver, source.rel(plain), source.scope, queries)


def with_conditions(
    resolver: QueryResolver, rel: n.Rel, scope: NameScope, parts: Sequence[ast.SqlExpression]
) -> n.Rel:
    """The lines that fulfil conditions with subqueries in them."""
    width = len(rel.schema)
    for part in parts:
        rel = condition_with_query(resolver, rel, scope, part)
    return narrowed(rel, width)


def ast_conjuncts(node: ast.SqlExpression | None) -> list[ast.SqlExpression]:
    """What must all be true."""
    if node is None:
        return []
    if isinstance(node, ast.BinaryOperation) and node.operator == "AND":
        return [*ast_conjuncts(node.left), *ast_conjuncts(node.right)]
    return [node]


def _as_in(node: ast.SqlExpression) -> ast.SqlExpression:
    """``= ANY`` is IN, and ``<> ALL`` is NOT IN."""
    if not isinstance(node, ast.QuantifiedComparison) or node.query is None:
        return node
    if (node.operator, node.quantifier) == ("=", "ANY"):
        return ast.InQuery(node.left, node.query, position=node.position)
    if (node.operator, node.quantifier) == ("<>", "ALL"):
        return ast.InQuery(node.left, node.query, negated=True, position=node.position)
    return node


def condition_with_query(
    resolver: QueryResolver, rel: n.Rel, scope: NameScope, node: ast.SqlExpression
) -> n.Rel:
    """The lines that fulfil a condition with a subquery in it."""
    negated = False
    while isinstance(node, ast.UnaryOperation) and node.operator == "NOT":
        negated, node = not negated, node.operand
    node = _as_in(node)
    expressions = LineResolver(resolver, rel, scope)
    if isinstance(node, ast.Exists | ast.InQuery):
        asked = prepared(resolver, expressions, node)
        opposite = isinstance(node, ast.InQuery) and node.negated
        return semi_join(expressions.rel, asked, negated=negated != opposite)
    condition = expressions.condition(node)
    if negated:
        condition = expressions.called("NOT", node, condition)
    return filtered(expressions.rel, condition)


# --- the list of columns -------------------------------------------------------------------------


def _items(node: q.Select, scope: NameScope) -> list[q.SelectItem]:
    """The columns, with stars spelled out."""
    found: list[q.SelectItem] = []
    for item in node.items:
        expression = item.expression
        if isinstance(expression, ast.Star):
            for each in _star(expression, scope, item):
                taken = {_name(other) for other in found}
                found.append(replace(each, alias=_free(each.alias or "", taken)))
        elif isinstance(expression, ast.FieldAccess) and expression.name == "*":
            raise not_there("(row).*", expression, "name the fields")
        else:
            found.append(item)
    return found


def _star(node: ast.Star, scope: NameScope, item: q.SelectItem) -> list[q.SelectItem]:
    from headrace.sql.query_ast import SelectItem

    if not scope.tables:
        raise problem("SELECT * needs a FROM", node)
    if node.qualifier and (column := scope.qualifying(node.qualifier, node)) is not None:
        fields = [(*node.qualifier, name) for name in _fields(column, node)]
        return [
            SelectItem(
                ast.Identifier(parts, position=node.position), parts[-1], position=item.position
            )
            for parts in fields
        ]
    if node.qualifier:
        places = scope.columns_of(node.qualifier, node)
    else:
        places = [(place, name) for place, _, name in scope.columns()]
    saw_star(item, scope, places)
    return [
        SelectItem(ColumnAtPlace(place, name, position=node.position), name, position=item.position)
        for place, name in places
    ]


def _fields(found: FoundColumn, node: ast.Star) -> Sequence[str]:
    """The fields that ``t.nested.*`` lists."""
    scalar: Scalar = found.column
    for name in found.fields:
        scalar = field_of_row(scalar, name, node)
    if not isinstance(scalar.type, t.RowType):
        column = ".".join(node.qualifier)
        raise problem(f"{column} is {scalar.type}, which has no fields", node, f"write {column}")
    return scalar.type.names


def _name(item: q.SelectItem) -> str | None:
    return item.alias or name_of(item.expression)


def unique_names(names: Sequence[str]) -> list[str]:
    """Names with a number behind those that are there twice."""
    found: list[str] = []
    taken = set(names)
    for name in names:
        found.append(_free(name, taken) if name in found else name)
        taken.add(found[-1])
    return found


def _free(name: str, taken: Collection[str | None]) -> str:
    """The name, if need be with the first number behind it that makes it another."""
    numbered = (f"{name}{number}" for number in count())
    return next(each for each in chain([name], numbered) if each not in taken)


def _plain(
    resolver: QueryResolver,
    node: q.Select,
    rel: n.Rel,
    scope: NameScope,
    wanted: Sequence[ast.SqlExpression],
) -> tuple[n.Rel, list[Scalar]]:
    if node.having is not None:
        raise problem("HAVING needs GROUP BY or an aggregate", node.having, "use WHERE")
    overs = _overs(node)
    items = _ItemResolver(resolver, rel, scope, overs)
    scalars = [items.scalar(each) for each in wanted]
    qualify = None if node.qualify is None else items.condition(node.qualify)
    return _with_overs(items.rel, overs, scalars, qualify)


def _grouped(
    resolver: QueryResolver,
    node: q.Select,
    rel: n.Rel,
    scope: NameScope,
    wanted: Sequence[ast.SqlExpression],
) -> tuple[n.Rel, list[Scalar]]:
    groups = _GroupItemResolver(resolver, rel, scope, node)
    groups.overs = overs = _overs(node)
    scalars = [groups.scalar(each) for each in wanted]
    having = [groups.condition(part) for part in ast_conjuncts(node.having)]
    qualify = None if node.qualify is None else groups.condition(node.qualify)
    made, placed = groups.with_queries(groups.build())
    made = filtered(made, conjunction(map(placed, having)))
    overs.found = [
        (
            replace(
                frame,
                partition=tuple(map(placed, frame.partition)),
                order=tuple((placed(s), down, last) for s, down, last in frame.order),
            ),
            call,
            tuple(map(placed, operands)),
        )
        for frame, call, operands in overs.found
    ]
    return _with_overs(
        made, overs, list(map(placed, scalars)), None if qualify is None else placed(qualify)
    )


def _keys(node: q.Select) -> Sequence[ast.SqlExpression | q.GroupingSets]:
    return [_ordinal(key, node) for key in node.group_by or ()]


def _ordinal(
    key: ast.SqlExpression | q.GroupingSets, node: q.Select
) -> ast.SqlExpression | q.GroupingSets:
    """``GROUP BY 1`` is the first column, as Flink has it."""
    if (
        isinstance(key, ast.SqlLiteral)
        and isinstance(key.value, int)
        and not isinstance(key.value, bool)
    ):
        if not 1 <= key.value <= len(node.items):
            raise problem(f"there is no column {key.value} to group by", key)
        return node.items[key.value - 1].expression
    return key


def _overs(node: q.Select) -> OverCalls:
    return OverCalls({each.name: each.window for each in node.windows})


def _with_overs(
    rel: n.Rel, overs: OverCalls, scalars: list[Scalar], qualify: Scalar | None
) -> tuple[n.Rel, list[Scalar]]:
    rel, placed = overs.build(rel)
    if qualify is not None:
        rel = filtered(rel, placed(qualify))
    return rel, [placed(scalar) for scalar in scalars]


def _qualify(node: ast.SqlExpression, named: SelectNames) -> ast.SqlExpression:
    """The condition of QUALIFY without names of the list; one call in it has OVER."""
    found = named.spelled(node)
    if not has_over(found):
        raise problem("QUALIFY needs a call with OVER", node, "use WHERE, or HAVING for groups")
    return found


def _over_distinct(scalar: Scalar, item: ast.SortItem, columns: list[Scalar]) -> Scalar:
    """What SELECT DISTINCT is sorted by, over its columns."""

    def place(part: Scalar) -> Scalar | None:
        if part in columns:
            return Ref(columns.index(part), part.type)
        if isinstance(part, Ref):
            raise problem(
                "ORDER BY of SELECT DISTINCT is over its columns",
                item,
                "add the column to the SELECT list",
            )
        return None

    return rewrite(scalar, place)
