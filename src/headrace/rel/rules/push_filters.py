"""Conditions stand as far down as they can; between tables they become conditions of the join.

    Calc(a.x > 1 AND a.k = b.k)(Join(a, b))          ──▶   Join(Calc(x > 1)(a), b, k = k)
    Calc(k > 1)(GroupAggregate(k)(t))                ──▶   GroupAggregate(k)(Calc(k > 1)(t))
    Join(a, b, LEFT, a.k = b.k AND b.y > 1)          ──▶   Join(a, Calc(y > 1)(b), LEFT, k = k)

resolve/ does so within one SELECT; here it is done across views, subqueries and calls of the Table
API, so that no product of tables is made for a filter to take apart.

In: a plan.  Out: one whose operators get the lines that they need, and no others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.rel import nodes as n
from headrace.rel.building import filtered, joined, refs, substitute
from headrace.rel.conditions import conjunction, conjuncts, implied, moved
from headrace.rel.functions import call
from headrace.rel.rules.rewriting import Visited, with_inputs
from headrace.scalars.compile import is_deterministic
from headrace.scalars.nodes import Ref, Scalar, columns_of, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_INNER, _LEFT, _RIGHT = n.JoinKind.INNER, n.JoinKind.LEFT, n.JoinKind.RIGHT
_SEMI, _ANTI = n.JoinKind.SEMI, n.JoinKind.ANTI
# Lines of a side that a condition of ON, or of a filter above, may leave out beforehand.
_ON_LEFT, _ON_RIGHT = (_INNER, _RIGHT, _SEMI), (_INNER, _LEFT, _SEMI, _ANTI)
_ABOVE_LEFT, _ABOVE_RIGHT = (_INNER, _LEFT, _SEMI, _ANTI), (_INNER, _RIGHT)

Pushed = tuple[n.Rel, list[Scalar]]


def push_filters(root: n.Rel) -> n.Rel:
    """The rule."""
    return _Pushing().visit(root)


class _Pushing:
    """One run over a plan."""

    def __init__(self) -> None:
        # the node with the same lines, and fewer below it
        self.visit = Visited(self._pushed)

    def _pushed(self, node: n.Rel) -> n.Rel:
        made, left = self.push(node, [])
        assert not left
        return made

    def push(self, node: n.Rel, parts: list[Scalar]) -> Pushed:
        """The node with less below it, and the parts that have to stay above it."""
        way = _WAYS.get(type(node))
        if way is not None:
            return way(self, node, parts)
        return with_inputs(node, [self.visit(part) for part in node.inputs]), parts

    def below(self, node: n.Rel, parts: Sequence[Scalar]) -> n.Rel:
        """The node with all parts below it, or right above."""
        if not parts:
            return self.visit(node)
        made, left = self.push(node, [_retyped(part, node) for part in parts])
        return filtered(made, conjunction(left))

    # --- operators -----------------------------------------------------------------------------

    def calc(self, node: n.Calc, parts: list[Scalar]) -> Pushed:
        """A filter above a projection is one below it, if no value is computed for it."""
        movable, stuck = _parted(
            parts, lambda p: all(isinstance(node.projections[c], Ref) for c in columns_of(p))
        )
        own = conjuncts(node.condition)
        below = [substitute(part, node.projections) for part in movable]
        pure, impure = _parted([*own, *(part for part in below if part not in own)])
        made, left = self.push(node.input, pure) if pure else (self.visit(node.input), [])
        condition = conjunction([*left, *impure])
        if made is node.input and condition == node.condition:
            return node, stuck
        if condition is None and node.projections == refs(made) and node.schema == made.schema:
            return made, stuck  # it was there for its condition alone
        return replace(node, input=made, condition=condition), stuck

    def aggregate(self, node: n.GroupAggregate, parts: list[Scalar]) -> Pushed:
        """A filter on keys leaves whole groups out."""
        count = len(node.keys)
        movable, stuck = _parted(parts, lambda p: max(columns_of(p), default=count) < count)
        below = [moved(part, node.keys.__getitem__) for part in movable]
        return with_inputs(node, [self.below(node.input, below)]), stuck

    def union(self, node: n.Union, parts: list[Scalar]) -> Pushed:
        """Each part has its own."""
        pure, stuck = _parted(parts)
        return with_inputs(node, [self.below(each, pure) for each in node.parts]), stuck

    def correlate(self, node: n.Correlate, parts: list[Scalar]) -> Pushed:
        """A filter on the lines that functions are asked for."""
        width = len(node.input.schema)
        movable, stuck = _parted(parts, lambda p: max(columns_of(p), default=width) < width)
        return with_inputs(node, [self.below(node.input, movable)]), stuck

    def join(self, node: n.Join, parts: list[Scalar]) -> Pushed:
        """One-sided parts go to their side; of inner joins the rest becomes their condition."""
        width = len(node.left.schema)
        above, stuck = _parted(parts, lambda p: bool(columns_of(p)))
        on, impure = _parted(conjuncts(node.condition))
        to_left, to_right = _Side(lambda c: c < width), _Side(lambda c: c >= width)
        if node.kind in _ABOVE_LEFT:
            above = to_left.take(above)
        if node.kind in _ABOVE_RIGHT:
            above = to_right.take(above)
        if node.kind in _ON_LEFT:
            on = to_left.take(on)
        if node.kind in _ON_RIGHT:
            on = to_right.take(on)
        left = self.below(node.left, to_left.parts)
        right = self.below(node.right, [moved(p, lambda c: c - width) for p in to_right.parts])
        if above and node.kind is _INNER and type(node) is n.Join:
            return _with_conditions(node, left, right, [*on, *impure, *above]), stuck
        condition = conjunction([*on, *impure])
        if condition != node.condition:
            node = replace(node, condition=condition)
        return with_inputs(node, [left, right]), [*above, *stuck]


_WAYS: dict[type[n.Rel], Callable[..., Pushed]] = {
    n.Calc: _Pushing.calc,
    n.GroupAggregate: _Pushing.aggregate,
    n.Union: _Pushing.union,
    n.Correlate: _Pushing.correlate,
    n.Join: _Pushing.join,
    n.TimeIntervalJoin: _Pushing.join,
    n.WindowJoin: _Pushing.join,
}


class _Side:
    """What one side of a join is asked to do by itself."""

    def __init__(self, has: Callable[[int], bool]) -> None:
        self._has = has
        self.parts: list[Scalar] = []

    def take(self, parts: Sequence[Scalar]) -> list[Scalar]:
        """Takes the parts that read this side only; gives those that are left."""
        left = []
        for part in parts:
            columns = columns_of(part)
            if columns and all(map(self._has, columns)):
                self.parts.append(part)
                continue
            left.append(part)
            weaker = implied(part, self._has)
            if weaker is not None:
                self.parts.append(weaker)
        return left


def _with_conditions(node: n.Join, left: n.Rel, right: n.Rel, parts: list[Scalar]) -> n.Rel:
    """An inner join with more conditions, of which some become its key."""
    width = len(left.schema)
    keys = [
        call(
            "IS NOT DISTINCT FROM" if null_safe else "=",
            (Ref(one, left.schema[one].type), Ref(width + other, right.schema[other].type)),
        )
        for one, other, null_safe in zip(
            node.left_keys, node.right_keys, node.null_safe, strict=True
        )
    ]
    made = joined(left, right, _INNER, conjunction([*keys, *parts]), regular=True)
    if isinstance(made, n.Join):
        made = replace(made, ttl_ms=node.ttl_ms)
    return replace(made, schema=node.schema)


def _parted(
    parts: Sequence[Scalar], fits: Callable[[Scalar], bool] = lambda _: True
) -> tuple[list[Scalar], list[Scalar]]:
    """What may move, and what may not: what can differ whenever it is asked stays."""
    movable = [part for part in parts if is_deterministic(part) and fits(part)]
    return movable, [part for part in parts if part not in movable]


def _retyped(part: Scalar, node: n.Rel) -> Scalar:
    """The part over the columns of a node, which may have been nullable above it."""
    return rewrite(
        part,
        lambda each: (
            Ref(each.index, node.schema[each.index].type) if isinstance(each, Ref) else None
        ),
    )
