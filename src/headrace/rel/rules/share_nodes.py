"""Nodes that are equal become one, so that it runs once.

    Join(Calc(t), Calc(t))   ──▶   Join(x, x) with x = Calc(t)

In: plans, also of several statements.  Out: plans with common parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.rel.rules.rewriting import rewritten

if TYPE_CHECKING:
    from headrace.rel.nodes import Rel


class SharedNodes:
    """The nodes of all plans of one job."""

    def __init__(self) -> None:
        self._known: dict[Rel, Rel] = {}

    def shared(self, root: Rel) -> Rel:
        """The plan, whose nodes are those of plans before it where they are equal."""
        return rewritten(root, self._one)

    def _one(self, node: Rel) -> Rel:
        try:
            return self._known.setdefault(node, node)
        except TypeError:  # constants that are lists or maps cannot be looked up
            return node
