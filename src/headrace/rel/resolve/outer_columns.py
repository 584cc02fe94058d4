"""Columns of the query around a subquery: where they are named, and how they become others.

In: nodes with `Outer` scalars.  Out: the same with other scalars.  Next: decorrelation.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.rel import nodes as n
from headrace.rel.rules.rewriting import with_inputs
from headrace.scalars.nodes import Outer, rewrite, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.scalars.nodes import Scalar


def reads_outside(rel: n.Rel, depth: int | None = None) -> bool:
    """Whether a node, or one below it, names columns of outside; `depth` asks for some of them."""
    return any(depth in (None, each.depth) for each in outer_columns(rel))


def outer_columns(rel: n.Rel) -> Iterator[Outer]:
    """The columns of outside that a node and those below it name."""
    for scalar in _scalars(rel):
        yield from (part for part in walk(scalar) if isinstance(part, Outer))
    for part in rel.inputs:
        yield from outer_columns(part)


def _scalars(rel: n.Rel) -> list[Scalar]:
    found: tuple[Scalar | None, ...] = ()
    match rel:
        case n.Calc():
            found = (*rel.projections, rel.condition)
        case n.Join():
            found = (rel.condition,)
        case n.Correlate():
            found = (*rel.arguments, rel.condition)
        case n.Expand():
            found = tuple(scalar for each in rel.projections for scalar in each)
        case n.LookupJoin():
            found = (*(scalar for _, scalar in rel.keys), rel.condition)
        case _:
            pass
    return [scalar for scalar in found if scalar is not None]


def with_outer(rel: n.Rel, change: Callable[[Outer], Scalar]) -> n.Rel:
    """The node in which columns of outside are what `change` makes of them."""

    def changed(scalar: Scalar) -> Scalar:
        return rewrite(scalar, lambda part: change(part) if isinstance(part, Outer) else None)

    if not reads_outside(rel):
        return rel
    below = with_inputs(rel, [with_outer(part, change) for part in rel.inputs])
    match below:
        case n.Calc():
            condition = None if below.condition is None else changed(below.condition)
            projections = tuple(map(changed, below.projections))
            return replace(below, projections=projections, condition=condition)
        case n.Join():
            condition = None if below.condition is None else changed(below.condition)
            return replace(below, condition=condition)
        case n.Correlate():
            condition = None if below.condition is None else changed(below.condition)
            arguments = tuple(map(changed, below.arguments))
            return replace(below, arguments=arguments, condition=condition)
        case n.Expand():
            made = tuple(tuple(map(changed, each)) for each in below.projections)
            return replace(below, projections=made)
        case n.LookupJoin():
            condition = None if below.condition is None else changed(below.condition)
            keys = tuple((name, changed(scalar)) for name, scalar in below.keys)
            return replace(below, keys=keys, condition=condition)
        case _:
            return below


def one_level_up(part: Outer) -> Outer:
    """A column of a query further out, as the query in between names it."""
    return part if part.depth == 1 else replace(part, depth=part.depth - 1)
