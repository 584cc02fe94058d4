"""Subqueries as joins: IN and EXISTS become semi and anti joins, values become columns.

    WHERE k IN (SELECT k FROM b WHERE b.x = a.x)    a SEMI JOIN b ON a.k = b.k AND b.x = a.x
    SELECT (SELECT MAX(y) FROM b WHERE b.k = a.k)   a LEFT JOIN (MAX(y) by k) ON k = a.k
    WHERE a.x > 1 OR EXISTS (SELECT ...)            a LEFT JOIN (the query, with a mark)

In: expressions with queries in them.  Out: joins, and the scalars that stand for the expressions.
decorrelation.py takes columns of outside out of the queries.  Next: select.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.common import data_types as t
from headrace.rel import nodes as n
from headrace.rel.building import filtered, joined, project, ref, refs, substitute
from headrace.rel.conditions import conjunction, conjuncts, equal_sides, moved
from headrace.rel.functions import call, common_type
from headrace.rel.resolve.decorrelation import Decorrelated, decorrelated
from headrace.rel.resolve.domains import applied, is_null, of_nothing
from headrace.rel.resolve.expressions import ExpressionResolver
from headrace.rel.resolve.grouping import aggregate
from headrace.rel.resolve.outer_columns import one_level_up, with_outer
from headrace.rel.resolve.problems import not_there, problem
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.nodes import Case, Literal, Outer, Ref, columns_of, rewrite
from headrace.sql import ast

if TYPE_CHECKING:
    from headrace.rel.resolve.queries import QueryResolver
    from headrace.rel.resolve.scope import NameScope
    from headrace.scalars.nodes import Scalar

BOOLEAN, BIGINT = t.BooleanType(), t.BigIntType()
SUBQUERIES = (ast.InQuery, ast.Exists, ast.ScalarSubquery, ast.QuantifiedComparison)
_TRUE, _FALSE = (Literal(value, BOOLEAN.not_null()) for value in (True, False))
_UNKNOWN, _ZERO = Literal(None, BOOLEAN), Literal(0, BIGINT.not_null())
# x < ANY is not (x >= ALL)
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Subquery(NamedTuple):
    """An expression with a query in it, resolved but for its place.

    Attributes:
        node: how it is written.
        query: may name columns of outside.
        operands: what stands left of IN, or of a comparison.
    """

    node: ast.SqlExpression
    query: n.Rel
    operands: tuple[Scalar, ...] = ()

    @property
    def type(self) -> t.DataType:
        """Of the value."""
        if isinstance(self.node, ast.ScalarSubquery):
            return self.query.schema[0].type.nullable()
        return BOOLEAN.not_null() if isinstance(self.node, ast.Exists) else BOOLEAN


def is_subquery(node: ast.SqlExpression) -> bool:
    """Whether an expression asks a query."""
    if isinstance(node, ast.QuantifiedComparison):
        return node.query is not None
    return isinstance(node, SUBQUERIES)


def has_subquery(node: ast.SqlNode) -> bool:
    """Whether an expression, or one in it, asks a query."""
    return any(isinstance(e, ast.SqlExpression) and is_subquery(e) for e in ast.walk_nodes(node))


def prepared(
    resolver: QueryResolver, expressions: ExpressionResolver, node: ast.SqlExpression
) -> Subquery:
    """A subquery with its query and operands resolved."""
    assert isinstance(node, SUBQUERIES)
    assert node.query is not None
    query = resolver.query(node.query, expressions.scope)
    match node:
        case ast.Exists():
            return Subquery(node, query)
        case ast.InQuery():
            left = node.operand
            items = left.items if isinstance(left, ast.RowConstructor) else (left,)
            if len(items) > len(query.schema):
                count = len(query.schema)
                raise problem(f"IN compares {len(items)} values with {count} columns", node)
            return Subquery(node, query, tuple(expressions.scalar(each) for each in items))
        case ast.QuantifiedComparison():
            _one_column(query, node)
            return Subquery(node, query, (expressions.scalar(node.left),))
    _one_column(query, node)
    return Subquery(node, query)


def _one_column(query: n.Rel, node: ast.SqlExpression) -> None:
    if len(query.schema) != 1:
        raise problem(f"a subquery as a value has one column, this has {len(query.schema)}", node)


class LineResolver(ExpressionResolver):
    """Resolves expressions over lines; values of subqueries are joined to what they are asked of.

    Args:
        resolver: of queries.
        rel: what is asked; it grows by columns at its end.
        scope: of its columns.
    """

    def __init__(self, resolver: QueryResolver, rel: n.Rel, scope: NameScope) -> None:
        super().__init__(scope, resolver.catalogs)
        self.resolver = resolver
        self.rel = rel
        self._known: list[tuple[ast.SqlExpression, Scalar]] = []

    def before(self, node: ast.SqlExpression) -> Scalar | None:
        """A subquery is a column that is joined; the same one twice is one."""
        if not is_subquery(node):
            return None
        for known, value in self._known:
            if known == node:
                return value
        asked = prepared(self.resolver, self, node)
        self.rel, value = attached(self.rel, asked)
        self._known.append((node, value))
        return value


# --- conditions ----------------------------------------------------------------------------------


def semi_join(rel: n.Rel, asked: Subquery, *, negated: bool) -> n.Rel:
    """The lines that fulfil, or do not fulfil, IN or EXISTS."""
    node = asked.node
    below, found = _beside(rel, decorrelated(asked.query, rel, node))
    width = len(rel.schema)
    others = [Ref(width + i, below.schema[i].type) for i in range(len(asked.operands))]
    pairs = list(zip(asked.operands, others, strict=True))
    if not negated:
        found += [call("=", pair, node) for pair in pairs]
        return joined(rel, below, n.JoinKind.SEMI, conjunction(found))
    if len(pairs) == 1:
        return _not_in(rel, below, found, *pairs[0], node)
    found += [_perhaps_equal(*pair, node) for pair in pairs]
    return joined(rel, below, n.JoinKind.ANTI, conjunction(found))


def _not_in(
    rel: n.Rel, below: n.Rel, found: list[Scalar], one: Scalar, other: Ref, node: ast.SqlNode
) -> n.Rel:
    """NOT IN: nothing equals it; nothing there is NULL; it is not NULL, or there is nothing.

    Three joins, each by a key, are less work than one that compares all lines with all.
    """
    conditions = [[*found, call("=", (one, other), node)]]
    if other.type.is_nullable:
        conditions.append([*found, call("IS NULL", (other,), node)])
    if one.type.is_nullable:
        missing = call("IS NULL", (one,), node)
        # a key that lines with a value do not have
        mark = Ref(len(rel.schema) + len(below.schema), _TRUE.type)
        conditions.append([*found, call("=", (missing, mark), node)])
        below = _marked(below)
    for each in conditions:
        rel = joined(rel, below, n.JoinKind.ANTI, conjunction(each))
    return rel


def _perhaps_equal(one: Scalar, other: Scalar, node: ast.SqlNode) -> Scalar:
    """Equality, or where it is not known: then NOT IN is not true."""
    equal = call("=", (one, other), node)
    for each in (one, other):
        if each.type.is_nullable:
            equal = call("OR", (equal, call("IS NULL", (each,), node)), node)
    return equal


def _beside(rel: n.Rel, found: Decorrelated) -> tuple[n.Rel, list[Scalar]]:
    """A query as the right side of a join, and its conditions over the columns of both sides."""
    width = len(rel.schema)

    def inside(part: Scalar) -> Scalar | None:
        if not isinstance(part, Outer):
            return None
        return Ref(part.index, part.type) if part.depth == 1 else one_level_up(part)

    conditions = [
        rewrite(moved(condition, lambda index: index + width), inside)
        for condition in found.conditions
    ]
    return with_outer(found.rel, one_level_up), conditions


def lateral_join(
    rel: n.Rel, query: n.Rel, kind: n.JoinKind, on: Scalar | None, node: ast.SqlNode
) -> n.Rel:
    """``rel JOIN LATERAL (query) ON ...``, as Flink has it."""
    below, conditions = _beside(rel, decorrelated(query, rel, node, lateral=True))
    made = joined(rel, below, kind, conjunction([*conditions, *conjuncts(on)]))
    width = len(rel.schema) + len(query.schema)
    names = [field.name for field in made.schema[:width]]
    return project(made, [ref(made, place) for place in range(width)], names)


# --- values --------------------------------------------------------------------------------------


def attached(rel: n.Rel, asked: Subquery) -> tuple[n.Rel, Scalar]:
    """The node with more columns behind its own, and the value of a subquery for each line."""
    match asked.node:
        case ast.ScalarSubquery():
            return _scalar(rel, asked.query, asked.node)
        case ast.Exists():
            return _exists(rel, asked.query, asked.node)
        case ast.InQuery():
            made, value = _in(rel, asked)
            return made, call("NOT", (value,), asked.node) if asked.node.negated else value
        case ast.QuantifiedComparison():
            return _quantified(rel, asked, asked.node)
    raise AssertionError(asked.node)


def _scalar(rel: n.Rel, query: n.Rel, node: ast.SqlExpression) -> tuple[n.Rel, Scalar]:
    found = decorrelated(_single(query), rel, node, top=True)
    nothing = None if found.complete else _nothing(query)
    width, place = len(rel.schema), len(found.rel.schema)
    if nothing is not None:  # a mark tells a line that was joined from one that was not
        found = found._replace(rel=_marked(found.rel))
    below, conditions = _beside(rel, found)
    made = joined(rel, below, n.JoinKind.LEFT, conjunction(conditions))
    value: Scalar = ref(made, width)
    if nothing is not None:
        missing = call("IS NULL", (ref(made, width + place),), node)
        value = Case(((missing, nothing),), value, value.type)
    return made, value


def _marked(rel: n.Rel) -> n.Rel:
    return project(rel, [*refs(rel), _TRUE], [*(field.name for field in rel.schema), "$mark"])


def _nothing(query: n.Rel) -> Scalar | None:
    """What an aggregate gives without lines, such as 0 for COUNT; None for NULL."""

    def columns(rel: n.Rel) -> list[Scalar]:
        if isinstance(rel, n.Calc):
            below = columns(rel.input)
            return [substitute(each, below) for each in rel.projections]
        assert isinstance(rel, n.GroupAggregate), rel
        return [of_nothing(each) for each in rel.calls]

    if not _aggregates_all(query):
        return None
    found = columns(query)[0]
    return None if is_null(found) else found


def _aggregates_all(query: n.Rel) -> bool:
    """Whether it is one aggregate of all lines, and no HAVING."""
    while isinstance(query, n.Calc) and query.condition is None:
        query = query.input
    return isinstance(query, n.GroupAggregate) and not query.keys


def _single(query: n.Rel) -> n.Rel:
    """A query that has one line at most: others are an error when they run."""
    inner = query
    while isinstance(inner, n.Calc):
        inner = inner.input
    if isinstance(inner, n.GroupAggregate) and not inner.keys:
        return query
    if isinstance(inner, n.Sort) and inner.fetch == 1:
        return query
    kind = query.schema[0].type.nullable()
    return aggregate(query, (), (AggregateCall("SINGLE_VALUE", (0,), kind),))


def _exists(rel: n.Rel, query: n.Rel, node: ast.SqlExpression) -> tuple[n.Rel, Scalar]:
    """One mark for each line of outside that has some."""
    found = decorrelated(query, rel, node)
    if not found.conditions:
        counted = aggregate(found.rel, (), (AggregateCall("COUNT", (), BIGINT.not_null()),))
        made, value = _scalar(rel, counted, node)
        some = call(">", (value, _ZERO), node)
        return made, call("IS TRUE", (some,), node)
    if any(equal_sides(each, len(rel.schema)) is None for each in _beside(rel, found)[1]):
        found = Decorrelated(*applied(query, rel, node, lateral=False))
    keys = sorted({c for condition in found.conditions for c in columns_of(condition)})
    places = {key: place for place, key in enumerate(keys)}
    marks = _marked(aggregate(found.rel, tuple(keys), ()))
    conditions = [moved(each, places.__getitem__) for each in found.conditions]
    below, both = _beside(rel, Decorrelated(marks, conditions))
    made = joined(rel, below, n.JoinKind.LEFT, conjunction(both))
    mark = ref(made, len(rel.schema) + len(keys))
    return made, call("IS NOT NULL", (mark,), node)


class _Counted(NamedTuple):
    """What is known of a query for each line of outside: columns of a node."""

    rel: n.Rel
    lines: Scalar  # how many there are
    known: Scalar  # how many of them are not NULL
    more: tuple[Scalar, ...] = ()


def _counted(rel: n.Rel, query: n.Rel, node: ast.SqlExpression, *more: str) -> _Counted:
    """The node with counts of a query's lines, and further aggregates of its first column."""
    kind = query.schema[0].type.nullable()
    calls = [
        AggregateCall("COUNT", (), BIGINT.not_null()),
        AggregateCall("COUNT", (0,), BIGINT.not_null()),
        *(AggregateCall(name, (0,), kind) for name in more),
    ]
    found = decorrelated(aggregate(query, (), calls), rel, node, top=True)
    below, conditions = _beside(rel, found)
    made = joined(rel, below, n.JoinKind.LEFT, conjunction(conditions))
    width = len(rel.schema)
    lines, known, *values = (ref(made, width + place) for place in range(len(calls)))
    # no line to join with: nothing was counted
    counts = [
        Case(((call("IS NULL", (each,), node), _ZERO),), each, BIGINT) for each in (lines, known)
    ]
    return _Counted(made, counts[0], counts[1], tuple(values))


def _in(rel: n.Rel, asked: Subquery) -> tuple[n.Rel, Scalar]:
    """TRUE if it is there; else NULL if it, or one that is there, is NULL; else FALSE."""
    node, query = asked.node, asked.query
    nullable = [each.type.is_nullable for each in asked.operands]
    nullable += [field.type.is_nullable for field in query.schema[: len(nullable)]]
    if any(nullable) and len(asked.operands) > 1:
        raise not_there(
            "IN of several columns that may be NULL, other than as a condition of WHERE",
            node,
            "compare one column, or use EXISTS",
        )
    counted = _counted(rel, query, node) if any(nullable) else None
    outside = rel if counted is None else counted.rel
    equal = [
        call("=", (Ref(place, query.schema[place].type), _as_outer(operand)), node)
        for place, operand in enumerate(asked.operands)
    ]
    made, there = _exists(outside, filtered(query, conjunction(equal)), node)
    if counted is None:
        return made, there
    branches: list[tuple[Scalar, Scalar]] = [(there, _TRUE)]
    branches.append((call("=", (counted.lines, _ZERO), node), _FALSE))
    branches.append((call("IS NULL", asked.operands, node), _UNKNOWN))
    branches.append((call("<", (counted.known, counted.lines), node), _UNKNOWN))
    return made, Case(tuple(branches), _FALSE, BOOLEAN)


def _as_outer(scalar: Scalar) -> Scalar:
    """A scalar of outside, as a query inside names it."""

    def change(part: Scalar) -> Scalar | None:
        if isinstance(part, Ref):
            return Outer(part.index, part.type)
        if isinstance(part, Outer):
            return Outer(part.index, part.type, part.depth + 1)
        return None

    return rewrite(scalar, change)


def _quantified(
    rel: n.Rel, asked: Subquery, node: ast.QuantifiedComparison
) -> tuple[n.Rel, Scalar]:
    """Compared with the least or the largest; ALL is not ANY of the opposite."""
    if node.quantifier == "ALL":
        opposite = ast.QuantifiedComparison(
            _OPPOSITE[node.operator], "ANY", node.left, node.query, position=node.position
        )
        made, value = attached(rel, asked._replace(node=opposite))
        return made, call("NOT", (value,), node)
    if node.operator == "=":
        return _in(rel, asked)
    common_type((asked.operands[0].type, asked.query.schema[0].type), node, "the sides of ANY")
    counted = _counted(rel, asked.query, node, "MIN", "MAX")
    least, largest = counted.more
    operand = asked.operands[0]
    if node.operator == "<>":
        sides = [call("<>", (operand, each), node) for each in (least, largest)]
        compared = call("OR", tuple(sides), node)
    else:
        other = least if node.operator in (">", ">=") else largest
        compared = call(node.operator, (operand, other), node)
    branches: tuple[tuple[Scalar, Scalar], ...] = (
        (call("=", (counted.lines, _ZERO), node), _FALSE),
        (compared, _TRUE),
        (call("<", (counted.known, counted.lines), node), _UNKNOWN),
    )
    return counted.rel, Case(branches, compared, BOOLEAN)
