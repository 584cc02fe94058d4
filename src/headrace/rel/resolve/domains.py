"""A subquery computed for all values that it can be asked for.

    SELECT (SELECT COUNT(*) FROM b WHERE b.y > a.x) FROM a
        ──▶   d = DISTINCT a.x;   COUNT(*) by d.x of b JOIN d ON b.y > d.x;   joined to a on x

The values of outside that a query names become columns of a table, the domain, which is joined to
what is at the bottom of the query; from there on they are columns like any other, and keys of
whatever the query groups or numbers.

In: a resolved query.  Out: one with the domain's columns behind its own, and the conditions that
find a line's part of it.  Next: decorrelation.py says when this is needed
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.rel import nodes as n
from headrace.rel.building import filtered, joined, project, ref, union
from headrace.rel.conditions import conjunction, conjuncts, moved
from headrace.rel.functions import call, cast
from headrace.rel.resolve.grouping import aggregate
from headrace.rel.resolve.outer_columns import outer_columns, reads_outside
from headrace.rel.resolve.problems import not_there
from headrace.scalars.nodes import Case, Literal, Outer, Ref, rewrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.nodes import Scalar
    from headrace.sql import ast

# Aggregates that are 0 of nothing; all others are NULL.
_ZERO = ("COUNT", "$SUM0", "APPROX_COUNT_DISTINCT", "REGR_COUNT")
_KINDS = (n.JoinKind.INNER, n.JoinKind.LEFT, n.JoinKind.SEMI, n.JoinKind.ANTI)


def applied(
    query: n.Rel, outside: n.Rel, node: ast.SqlNode, *, lateral: bool
) -> tuple[n.Rel, list[Scalar]]:
    """The query for all values of outside, and the conditions that choose a line's part."""
    found = _Domain(query, outside, node, lateral=lateral)
    width = len(query.schema)
    made = found.apply(query)
    conditions: list[Scalar] = [
        call("IS NOT DISTINCT FROM", (ref(made, width + place), column), node)
        for place, column in enumerate(found.columns)
    ]
    return made, conditions


def of_nothing(call_: AggregateCall) -> Scalar:
    """The value that an aggregate has without lines."""
    if call_.function in _ZERO:
        return cast(Literal(0, t.IntType().not_null()), call_.type)
    return Literal(None, call_.type.nullable())


def is_null(scalar: Scalar) -> bool:
    """Whether it is NULL as such."""
    return isinstance(scalar, Literal) and scalar.value is None


class _Domain:
    """The values of outside that one query names, without repetitions."""

    def __init__(self, query: n.Rel, outside: n.Rel, node: ast.SqlNode, *, lateral: bool) -> None:
        named = {each.index: each for each in outer_columns(query) if each.depth == 1}
        self.columns = [named[index] for index in sorted(named)]
        chosen = [Ref(each.index, outside.schema[each.index].type) for each in self.columns]
        names = [f"$d{place}" for place in range(len(chosen))]
        self._rel = aggregate(project(outside, chosen, names), tuple(range(len(chosen))), ())
        self._node = node
        self._lateral = lateral

    def apply(self, rel: n.Rel) -> n.Rel:
        """The node for each value: its columns, then those of the domain."""
        if not reads_outside(rel, depth=1):
            return self._joined(rel, None)
        match rel:
            case n.Calc():
                return self._calc(rel)
            case n.GroupAggregate():
                return self._aggregate(rel)
            case n.OverAggregate():
                return self._over(rel)
            case n.Sort():
                return self._sort(rel)
            case n.Join() if type(rel) is n.Join and rel.kind in _KINDS:
                return self._join(rel)
            case n.Correlate():
                return self._correlate(rel)
            case n.Union():
                return union([self.apply(part) for part in rel.parts])
            case n.SetOperation():
                left, right = self.apply(rel.left), self.apply(rel.right)
                return replace(rel, left=left, right=right, schema=left.schema)
            case _:
                raise not_there(
                    f"a subquery that names columns of outside below {type(rel).__name__}",
                    self._node,
                    "write it as a join",
                )

    def _named(self, scalar: Scalar, first: int) -> Scalar:
        """A scalar in which columns of outside are those of the domain, from `first` on."""
        places = {each.index: first + place for place, each in enumerate(self.columns)}

        def change(part: Scalar) -> Scalar | None:
            if not isinstance(part, Outer) or part.depth != 1:
                return None
            return Ref(places[part.index], part.type)

        return rewrite(scalar, change)

    def _joined(self, rel: n.Rel, condition: Scalar | None) -> n.Rel:
        """A node that names nothing of outside, for each value."""
        if isinstance(rel, n.Values) and rel.rows == ((),):  # a SELECT without FROM
            return filtered(self._rel, condition)
        return joined(rel, self._rel, n.JoinKind.INNER, condition)

    def _calc(self, rel: n.Calc) -> n.Rel:
        width = len(rel.input.schema)
        parts = [self._named(part, width) for part in conjuncts(rel.condition)]
        if reads_outside(rel.input, depth=1):
            below = filtered(self.apply(rel.input), conjunction(parts))
        else:  # the condition joins the domain, if it is an equation
            below = self._joined(rel.input, conjunction(parts))
        scalars = [self._named(each, width) for each in rel.projections]
        return self._placed(below, scalars, rel.schema, width)

    def _aggregate(self, rel: n.GroupAggregate) -> n.Rel:
        below, width = self.apply(rel.input), len(rel.input.schema)
        domain = range(width, len(below.schema))
        made = aggregate(below, (*rel.keys, *domain), rel.calls)
        first, count = len(rel.keys), len(self.columns)
        if not rel.keys and not self._lateral:
            return self._completed(made, rel)
        order = [*range(first), *range(first + count, len(made.schema))]
        return self._placed(made, [ref(made, i) for i in order], rel.schema, first)

    def _completed(self, made: n.Rel, rel: n.GroupAggregate) -> n.Rel:
        """Aggregates with a line for every value: without lines below they are 0 or NULL."""
        count = len(self.columns)
        same = self._same(0, count)
        both = joined(self._rel, made, n.JoinKind.LEFT, conjunction(same))
        values: list[Scalar] = []
        for place, each in enumerate(rel.calls):
            value: Scalar = ref(both, 2 * count + place)
            nothing = of_nothing(each)
            if not is_null(nothing):
                missing = call("IS NULL", (value,), self._node)
                value = Case(((missing, nothing),), value, value.type)
            values.append(value)
        return self._placed(both, values, rel.schema, 0)

    def _over(self, rel: n.OverAggregate) -> n.Rel:
        below, width = self.apply(rel.input), len(rel.input.schema)
        partition = (*rel.partition, *range(width, len(below.schema)))
        schema = (*below.schema, *rel.schema[width:])
        made = replace(rel, input=below, partition=partition, schema=schema)
        order = [*range(width), *range(len(below.schema), len(schema))]
        return self._placed(made, [ref(made, i) for i in order], rel.schema, width)

    def _sort(self, rel: n.Sort) -> n.Rel:
        from headrace.rel.resolve.decorrelation import first_lines

        below, width = self.apply(rel.input), len(rel.input.schema)
        if rel.fetch is None and not rel.offset:
            return below
        return first_lines(rel, below, tuple(range(width, len(below.schema))))

    def _join(self, rel: n.Join) -> n.Rel:
        # subqueries of the query are joined to it: their aggregates are complete
        inside = copy(self)
        inside._lateral = False
        left, width, count = inside.apply(rel.left), len(rel.left.schema), len(self.columns)
        both_sides = reads_outside(rel.right, depth=1)
        right = inside.apply(rel.right) if both_sides else rel.right
        beyond = width + count
        parts: list[Scalar] = [
            call(
                "IS NOT DISTINCT FROM" if null_safe else "=",
                (ref(left, one), Ref(beyond + other, right.schema[other].type)),
            )
            for one, other, null_safe in zip(
                rel.left_keys, rel.right_keys, rel.null_safe, strict=True
            )
        ]
        for part in conjuncts(rel.condition):
            shifted = moved(part, lambda i: i if i < width else i + count)
            parts.append(self._named(shifted, width))
        if both_sides:
            parts += self._same(width, beyond + len(rel.right.schema))
        made = joined(left, right, rel.kind, conjunction(parts), regular=True)
        if rel.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
            return made
        order = [*range(width), *range(beyond, beyond + len(rel.right.schema))]
        return self._placed(made, [ref(made, i) for i in order], rel.schema, width)

    def _correlate(self, rel: n.Correlate) -> n.Rel:
        below, width, count = self.apply(rel.input), len(rel.input.schema), len(self.columns)
        arguments = tuple(self._named(each, width) for each in rel.arguments)
        condition = rel.condition
        if condition is not None:
            shifted = moved(condition, lambda i: i if i < width else i + count)
            condition = self._named(shifted, width)
        schema = (*below.schema, *rel.schema[width:])
        made = replace(rel, input=below, arguments=arguments, condition=condition, schema=schema)
        order = [*range(width), *range(width + count, len(schema))]
        return self._placed(made, [ref(made, i) for i in order], rel.schema, width)

    def _same(self, one: int, other: int) -> list[Scalar]:
        """That the domain's columns of two sides, from these places on, are equal."""
        return [
            call(
                "IS NOT DISTINCT FROM",
                (Ref(one + place, field.type), Ref(other + place, field.type)),
                self._node,
            )
            for place, field in enumerate(self._rel.schema)
        ]

    def _placed(self, rel: n.Rel, scalars: Sequence[Scalar], schema: n.Schema, first: int) -> n.Rel:
        """The columns of a node, then the domain's, which are at `first` now."""
        domain = [ref(rel, first + place) for place in range(len(self.columns))]
        names = [field.name for field in schema] + [field.name for field in self._rel.schema]
        return project(rel, [*scalars, *domain], names)
