"""Applies a rewrite to every node of a plan, from the leaves up; equal nodes stay one.

In: a plan, and a function of one node.  Out: the new plan.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.rel import nodes as n

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Made = TypeVar("Made")


def with_inputs(node: n.Rel, inputs: Sequence[n.Rel]) -> n.Rel:
    """The node over other inputs, whose columns are the same."""
    if all(one is other for one, other in zip(inputs, node.inputs, strict=True)):
        return node
    match node:
        case n.Union():
            return replace(node, parts=tuple(inputs))
        case n.Unary():
            return replace(node, input=inputs[0])
        case n.Binary():
            return replace(node, left=inputs[0], right=inputs[1])
        case _:
            return node


class Visited(Generic[Made]):
    """What nodes became: each is asked for once, so that equal nodes stay one."""

    def __init__(self, change: Callable[[n.Rel], Made]) -> None:
        self._change = change
        self._known: dict[int, Made] = {}
        self._kept: list[n.Rel] = []  # an id is that of a node for as long as the node is there

    def __call__(self, node: n.Rel) -> Made:
        """What the node became."""
        found = self._known.get(id(node))
        if found is None:
            self._kept.append(node)
            found = self._known[id(node)] = self._change(node)
        return found


def rewritten(root: n.Rel, change: Callable[[n.Rel], n.Rel]) -> n.Rel:
    """The plan in which each node was given to `change`, its inputs before it."""
    visit: Visited[n.Rel] = Visited(
        lambda node: change(with_inputs(node, [visit(i) for i in node.inputs]))
    )
    return visit(root)
