"""Functions that only stand in front of OVER: ROW_NUMBER, RANK, DENSE_RANK, LAG.

Each is an aggregate over the lines up to the current one.  What looks ahead (LEAD, NTILE,
PERCENT_RANK, CUME_DIST) needs all lines: runtime/table/over_batch.py.
In: AggregateCall.  Next: runtime/table/over.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.data.row_data import column_of
from headrace.runtime.table.accumulators import LineAggregate

if TYPE_CHECKING:
    from headrace.scalars.aggregates import AggregateCall

ROW_NUMBER, RANK, DENSE_RANK, LAG = "ROW_NUMBER", "RANK", "DENSE_RANK", "LAG"
LOOKING_AHEAD = ("LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST")


class _Forward(LineAggregate):
    """Something that only lines that come next can change."""

    keeps_states = True

    def retract(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        raise AssertionError("its frame begins with the first line")

    def merge(self, state: Any, other: Any) -> Any:
        raise AssertionError("its frame is one")


class RowNumberFunction(_Forward):
    """ROW_NUMBER(): the state is the number."""

    def create(self) -> int:
        return 0

    def accumulate(self, state: int, arguments: tuple[Any, ...]) -> int:
        return state + 1

    def value(self, state: int) -> int:
        return state


class RankFunction(_Forward):
    """RANK() and DENSE_RANK(): (lines, rank, what the last line was ordered by)."""

    def __init__(self, result: Any, *, dense: bool) -> None:
        super().__init__(result)
        self.dense = dense

    def create(self) -> tuple[int, int, Any]:
        return (0, 0, None)

    def accumulate(
        self, state: tuple[int, int, Any], arguments: tuple[Any, ...]
    ) -> tuple[int, int, Any]:
        count, rank, before = state
        if before != arguments:
            rank = rank + 1 if self.dense else count + 1
        return (count + 1, rank, arguments)

    def value(self, state: tuple[int, int, Any]) -> int:
        return state[1]


class LagFunction(_Forward):
    """LAG(value, how many lines before, default): (the value, the values up to now).

    The default stands for a line that is not there; a NULL that is there stays NULL.
    """

    def create(self) -> tuple[Any, tuple[Any, ...]]:
        return (None, ())

    def accumulate(
        self, state: tuple[Any, tuple[Any, ...]], arguments: tuple[Any, ...]
    ) -> tuple[Any, tuple[Any, ...]]:
        given: list[Any] = [*arguments, *(1, None)[len(arguments) - 1 :]]
        value, offset, default = given
        kept = (*state[1], value)[-(offset + 1) :]
        return (kept[0] if len(kept) > offset else default, kept)

    def value(self, state: tuple[Any, tuple[Any, ...]]) -> Any:
        return state[0]


def over_function(call: AggregateCall) -> LineAggregate | None:
    """The form of a call that is no aggregate for GROUP BY; None for others."""
    name = call.function.upper()
    if call.user is not None:
        return None
    result = column_of(call.type)
    if name == ROW_NUMBER:
        return RowNumberFunction(result)
    if name in (RANK, DENSE_RANK):
        return RankFunction(result, dense=name == DENSE_RANK)
    return LagFunction(result) if name == LAG else None
