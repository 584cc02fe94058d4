"""Subqueries that name columns of outside as queries that do not, and a condition to join them by.

    SELECT MAX(y) FROM b WHERE b.k = outside.k     ──▶   SELECT MAX(y), k FROM b GROUP BY k
                                                         joined where k = outside.k

Conditions are pulled up through the query until they stand on top of it; groups, numbers and Top-N
get the columns that are compared as more keys.  Where that is not possible (a comparison other
than = below an aggregate, columns of outside in the SELECT list) domains.py computes the query for
all values of outside.

In: a resolved query.  Out: `Decorrelated`.  Next: subqueries.py joins it
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from headrace.rel import nodes as n
from headrace.rel.building import filtered, join_schema, project, ref
from headrace.rel.conditions import conjunction, conjuncts, has_outer, moved
from headrace.rel.resolve.domains import applied
from headrace.rel.resolve.grouping import aggregate
from headrace.rel.resolve.outer_columns import reads_outside
from headrace.scalars.nodes import Call, Ref, columns_of

if TYPE_CHECKING:
    from headrace.scalars.nodes import Scalar
    from headrace.sql import ast

_EQUAL = ("=", "IS NOT DISTINCT FROM")


class Decorrelated(NamedTuple):
    """A query without columns of outside.

    Attributes:
        rel: the query; columns that conditions need are behind its own.
        conditions: over the columns of `rel`, and columns of outside.
        complete: whether an aggregate of nothing has its line, too.
    """

    rel: n.Rel
    conditions: list[Scalar]
    complete: bool = True


class _CannotPullError(Exception):
    """A condition cannot be pulled up."""


def decorrelated(
    query: n.Rel, outside: n.Rel, node: ast.SqlNode, *, lateral: bool = False, top: bool = False
) -> Decorrelated:
    """A query without columns of outside.

    Args:
        query: as it was resolved.
        outside: what it is asked for, line by line.
        node: to show where it stands.
        lateral: in Flink a LATERAL aggregate has no line for nothing.
        top: whether the caller gives the value that an aggregate on top has for nothing.
    """
    if not reads_outside(query, depth=1):
        return Decorrelated(query, [])
    try:
        rel, conditions = _Pulling(lateral=lateral).pulled(query, top=top)
        return Decorrelated(rel, conditions, complete=not top)
    except _CannotPullError:
        return Decorrelated(*applied(query, outside, node, lateral=lateral))


Pulled = tuple[n.Rel, list["Scalar"]]


class _Pulling:
    """Pulls conditions up through one query."""

    def __init__(self, *, lateral: bool) -> None:
        self._lateral = lateral

    def pulled(self, rel: n.Rel, *, top: bool = False) -> Pulled:
        """The node without columns of outside, and the conditions that had them."""
        if not reads_outside(rel):
            return rel, []
        match rel:
            case n.Calc():
                return self._calc(rel, top=top)
            case n.GroupAggregate():
                return self._aggregate(rel, top=top)
            case n.OverAggregate():
                return self._over(rel)
            case n.Sort():
                return self._sort(rel)
            case n.Join() if type(rel) is n.Join:
                return self._join(rel)
            case _:
                raise _CannotPullError

    def _calc(self, rel: n.Calc, *, top: bool) -> Pulled:
        # HAVING is asked of aggregates of nothing, too
        below, pulled = self.pulled(rel.input, top=top and rel.condition is None)
        parts = conjuncts(rel.condition)
        if any(has_outer(scalar) for scalar in rel.projections):
            raise _CannotPullError
        columns: list[Scalar] = list(rel.projections)
        names = [field.name for field in rel.schema]

        def place(scalar: Scalar) -> int:
            if scalar not in columns:
                columns.append(scalar)
                names.append(f"$o{len(names)}")
            return columns.index(scalar)

        outer = [*pulled, *(part for part in parts if has_outer(part))]
        conditions: list[Scalar] = []
        for part in outer:
            sides = _sides(part)
            if sides is not None:  # what is compared is one column: groups can go by it
                name, inner, other = sides
                column = Ref(place(inner), inner.type)
                conditions.append(Call(name, (column, other), part.type))
            else:
                places = {c: place(ref(below, c)) for c in sorted(columns_of(part))}
                conditions.append(moved(part, places.__getitem__))
        own = conjunction([part for part in parts if not has_outer(part)])
        return project(filtered(below, own), columns, names), conditions

    def _aggregate(self, rel: n.GroupAggregate, *, top: bool) -> Pulled:
        if not rel.keys and not (top or self._lateral):
            raise _CannotPullError
        below, pulled = self.pulled(rel.input)
        keys = [*rel.keys, *(c for c in _compared(pulled) if c not in rel.keys)]
        made = aggregate(below, tuple(keys), rel.calls)
        # the new keys behind what was there: keys, calls, new keys
        old, calls = len(rel.keys), len(rel.calls)
        order = [*range(old), *range(len(keys), len(keys) + calls), *range(old, len(keys))]
        names = [*(f.name for f in rel.schema), *(f"$k{i}" for i in range(len(keys) - old))]
        placed = project(made, [ref(made, i) for i in order], names)
        where = {key: i if i < old else i + calls for i, key in enumerate(keys)}
        return placed, [moved(condition, where.__getitem__) for condition in pulled]

    def _over(self, rel: n.OverAggregate) -> Pulled:
        below, pulled = self.pulled(rel.input)
        partition = tuple(dict.fromkeys([*rel.partition, *_compared(pulled)]))
        width, former = len(below.schema), len(rel.input.schema)
        schema = (*below.schema, *rel.schema[former:])
        made = replace(rel, input=below, partition=partition, schema=schema)
        order = [*range(former), *range(width, len(schema)), *range(former, width)]
        placed = project(made, [ref(made, i) for i in order], [schema[i].name for i in order])
        return placed, [moved(condition, order.index) for condition in pulled]

    def _sort(self, rel: n.Sort) -> Pulled:
        below, pulled = self.pulled(rel.input)
        if rel.fetch is None and not rel.offset:
            return below, pulled
        return first_lines(rel, below, tuple(dict.fromkeys(_compared(pulled)))), pulled

    def _join(self, rel: n.Join) -> Pulled:
        inner = rel.kind is n.JoinKind.INNER
        if rel.kind in (n.JoinKind.RIGHT, n.JoinKind.FULL):
            raise _CannotPullError
        if not inner and reads_outside(rel.right):
            raise _CannotPullError
        # subqueries of the query are joined to it: their aggregates are complete
        inside = _Pulling(lateral=False)
        left, from_left = inside.pulled(rel.left)
        right, from_right = inside.pulled(rel.right)
        width, former = len(left.schema), len(rel.left.schema)
        parts = conjuncts(rel.condition)
        own = [moved(p, lambda i: i if i < former else i - former + width) for p in parts]
        pulled = [part for part in own if has_outer(part)]
        if pulled and not inner:
            raise _CannotPullError
        rest = conjunction([part for part in own if not has_outer(part)])
        schema = join_schema(left, right, rel.kind)
        made = replace(rel, left=left, right=right, condition=rest, schema=schema)
        pulled += from_left
        pulled += [moved(part, lambda i: i + width) for part in from_right]
        if rel.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
            return made, pulled
        # the columns as they were, then those that were added on either side
        count = len(rel.right.schema)
        order = [*range(former), *range(width, width + count)]
        order += [i for i in range(len(made.schema)) if i not in order]
        names = [made.schema[i].name for i in order]
        placed = project(made, [ref(made, i) for i in order], names)
        return placed, [moved(part, order.index) for part in pulled]


def _sides(part: Scalar) -> tuple[str, Scalar, Scalar] | None:
    """An equation of a value of the query with one of outside: its sign, and both."""
    if not isinstance(part, Call) or part.function not in _EQUAL:
        return None
    one, other = part.arguments
    if not columns_of(one):
        one, other = other, one
    if has_outer(one) or columns_of(other) or not columns_of(one):
        return None
    return part.function, one, other


def _compared(conditions: list[Scalar]) -> list[int]:
    """The columns that are compared with outside, all of them by =."""
    found = []
    for condition in conditions:
        sides = _sides(condition)
        if sides is None or not isinstance(sides[1], Ref):
            raise _CannotPullError
        found.append(sides[1].index)
    return found


def first_lines(sort: n.Sort, below: n.Rel, partition: tuple[int, ...]) -> n.Rel:
    """LIMIT for each value of some columns: a Top-N.  Without an order any lines will do."""
    order = sort.order or (n.SortKey(0),)
    last = (1 << 62) - 1 if sort.fetch is None else sort.offset + sort.fetch
    first = sort.offset + 1
    return n.Rank(
        below, partition, order, "ROW_NUMBER", first, last, with_number=False, schema=below.schema
    )
