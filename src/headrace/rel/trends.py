"""How the columns of a line change when it is updated: whether a Top-N's lines only get better.

    COUNT(*), MAX(x)   up          MIN(x)   down          the keys of GROUP BY   the same

In: a node.  Out: for each column its trend, None if it may go both ways.  Next: steps.py chooses
how a Top-N keeps its lines (runtime/table/rank.py)
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from headrace.rel import nodes as n
from headrace.rel.properties import keys_of
from headrace.scalars.nodes import Ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.changes import Changes


class Trend(StrEnum):
    """How a value of a line changes."""

    UP = "up"
    DOWN = "down"
    SAME = "same"


_TRENDS = {"COUNT": Trend.UP, "MAX": Trend.UP, "MIN": Trend.DOWN}


def trends_of(node: n.Rel, changes: Callable[[n.Rel], Changes]) -> list[Trend | None]:
    """The trend of each column of a node."""
    if isinstance(node, n.GroupAggregate) and changes(node.input).only_inserts:
        keys: list[Trend | None] = [Trend.SAME] * len(node.keys)
        return [*keys, *(_TRENDS.get(call.function) for call in node.calls)]
    if isinstance(node, n.Calc) and node.condition is None:
        below = trends_of(node.input, changes)
        return [below[s.index] if isinstance(s, Ref) else None for s in node.projections]
    return [None] * len(node.schema)


def improving_key(
    node: n.Rank | n.Sort, changes: Callable[[n.Rel], Changes]
) -> tuple[int, ...] | None:
    """The key of lines that are only updated to come earlier in the order; None if they may not."""
    trends = trends_of(node.input, changes)
    for part in node.order:
        wanted = Trend.UP if part.descending else Trend.DOWN
        if trends[part.column] not in (wanted, Trend.SAME):
            return None
    partition = frozenset(node.partition if isinstance(node, n.Rank) else ())
    keys = [tuple(sorted(key)) for key in keys_of(node.input) if partition <= key]
    return min(keys, key=lambda key: (len(key), key), default=None) if node.order else None
