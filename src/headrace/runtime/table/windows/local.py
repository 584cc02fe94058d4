"""GROUP BY a window in two steps: what a subtask has is aggregated before lines are exchanged.

    lines ─▶ LocalSlicesOperator ─▶ key │ slice │ lines │ states of the calls ─▶ exchange
          ─▶ MergedSlicesOperator: states are merged into slices, windows fire as in slices.py

A batch of lines becomes one line a key and slice.  Only for calls whose states are columns and can
be merged in any order (`can_be_local`); sums of fractions cannot, since their digits would change
with the cut of batches.
In: lines that are all inserted.  Out: as slices.py.  Next: runtime/table/windows/slices.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.common import data_types as d
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.table.aggregates.registry import aggregate_for
from headrace.runtime.table.base import TableOperator
from headrace.runtime.table.keying import LineKeying
from headrace.runtime.table.times import Zone
from headrace.runtime.table.windows.slices import (
    SlicedAggregateOperator,
    codes_of_slices,
    with_times,
)
from headrace.runtime.table.windows.states import WindowAggregates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.accumulators import LineAggregate
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.windows.grid import WindowGrid
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession

_BIGINT = d.DataTypes.BIGINT()


def can_be_local(
    calls: Sequence[AggregateCall], lines: RowDataTypeInfo, session: ScalarSession
) -> bool:
    """Whether states of the calls can be made in front of the exchange, and merged behind it."""
    if lines.changes:
        return False
    forms = [aggregate_for(call, lines, retracts=False, session=session) for call in calls]
    return all(map(_merges, calls, forms))


def _merges(call: AggregateCall, form: LineAggregate) -> bool:
    if form.state_types is None:
        return False
    return pa.float64() not in form.state_types or len(form.state_types) == 1


def local_type(
    keys: Sequence[int],
    calls: Sequence[AggregateCall],
    lines: RowDataTypeInfo,
    session: ScalarSession,
) -> RowDataTypeInfo:
    """The lines between both steps: keys, slice, how many lines, states."""
    kinds = lines.get_data_types()
    fields = [d.RowField(f"k{n}", kinds[key]) for n, key in enumerate(keys)]
    fields += [d.RowField("slice", _BIGINT), d.RowField("lines", _BIGINT)]
    for number, call in enumerate(calls):
        form = aggregate_for(call, lines, retracts=False, session=session)
        for part, kind in enumerate(form.state_types or ()):
            data_type = _BIGINT if kind == pa.int64() else call.type.nullable()
            fields.append(d.RowField(f"s{number}_{part}", data_type))
    return RowDataTypeInfo(d.RowType(fields).not_null())


class LocalSlicesOperator(TableOperator):
    """States of slices, of the lines of one subtask.

    Args:
        grid: the windows.
        time: the place of the time attribute.
        zone: of the session, if the time is a TIMESTAMP_LTZ.
        keys: the places of the other columns of GROUP BY.
        calls: the aggregates.
        input_type: of the lines.
        output_type: as `local_type` gives it.
        session: of the query.
    """

    def __init__(
        self,
        grid: WindowGrid,
        time: int,
        zone: str | None,
        keys: Sequence[int],
        calls: Sequence[AggregateCall],
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        session: ScalarSession,
    ) -> None:
        super().__init__([input_type], output_type)
        self.grid = grid
        self.time = time
        self.zone_name = zone
        self.keys = tuple(keys)
        self.calls = tuple(calls)
        self.session = session

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.zone = Zone(self.zone_name)
        self.keying = LineKeying(self.keys)
        self.aggregates = WindowAggregates(self.calls, self.input_types[0], self.session)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines, times = with_times(self.lines(records), self.time, self.zone)
        if len(lines):
            try:
                self._emit_states(lines, self.grid.slices(times))
            except Exception as error:
                raise self.failed(error) from error

    def _emit_states(self, lines: Lines, slices: NDArray[np.int64]) -> None:
        codes = codes_of_slices(slices, self.keying.codes_of(lines.columns, len(lines)))
        states = self.aggregates.run(lines, codes.numbers, [None] * codes.count)
        firsts = codes.firsts()
        columns = [lines.columns[key].take(pa.array(firsts)) for key in self.keys]
        columns.append(pa.array(slices[firsts]))
        columns += self.aggregates.state_columns(states)
        self.emit_columns(columns)


class MergedSlicesOperator(SlicedAggregateOperator):
    """Windows of states that `LocalSlicesOperator` has made.

    Args:
        local: the type of what it gives; keyed by its first columns.
        others: those of `SlicedAggregateOperator`; `input_type` is of the lines themselves.
    """

    def __init__(self, *others: Any, local: RowDataTypeInfo, **named: Any) -> None:
        super().__init__(*others, **named)
        self.aggregated_type = self.input_types[0]
        self.input_types = (local,)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        width = len(self.keying().positions)
        slices = lines.columns[width].to_numpy(zero_copy_only=False)
        counts = lines.columns[width + 1].to_numpy(zero_copy_only=False)
        kept = self._waited_for(slices, counts)
        lines, slices = lines.pick(np.flatnonzero(kept)), slices[kept]
        if len(lines):
            try:
                self._merge(lines, slices)
            except Exception as error:
                raise self.failed(error) from error

    def _merge(self, lines: Lines, slices: NDArray[np.int64]) -> None:
        keying = self.keying()
        codes = keying.codes_of(lines.columns, len(lines))
        states = self.aggregates.states_of(lines.columns[len(keying.positions) + 1 :])
        merge, merging = self.aggregates.merge, self.merging
        panes = {begin: self.panes.open(begin) for begin in np.unique(slices).tolist()}
        for begin, number, state in zip(
            slices.tolist(), codes.numbers.tolist(), states, strict=True
        ):
            pane, key = panes[begin], codes.keys[number]
            old = pane.find(key)
            pane.entries[key] = state if old is NO_ENTRY else merge(old, state)
            if merging is not None and begin < merging.done:
                merging.touch(key, begin)
