"""TUMBLE, HOP and CUMULATE by event time: a line is added to one slice, windows merge slices.

    lines ─▶ slices │──│──│──│──│ each with the states of its keys (runtime/windows/panes.py)
    watermark ─▶ windows whose end it has passed, in order: their slices merged
                 (runtime/windows/pane_merge.py: about three merges a key and slide)

All keys share the same windows, so there are no timers.  A line counts in those of its windows
that have not fired; one that has none left is late and dropped.
In: lines.  Out: keys, results and properties of windows.  Next: runtime/table/windows/results.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.records import MIN_TIMESTAMP
from headrace.runtime.key_codes import codes_of_column
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.table.base import TimedTableOperator
from headrace.runtime.table.times import Zone, column_millis
from headrace.runtime.table.windows.results import WindowResults
from headrace.runtime.table.windows.states import WindowAggregates
from headrace.runtime.windows.pane_merge import PaneMerge
from headrace.runtime.windows.panes import PANES, Panes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.key_codes import Codes
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.windows.grid import WindowGrid
    from headrace.runtime.table.windows.states import State
    from headrace.runtime.watermarks import InputClocks
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession
    from headrace.spi.state import StateSpec

    Times = NDArray[np.int64]


def with_times(lines: Lines, time: int, zone: Zone) -> tuple[Lines, Times]:
    """The lines that have a time, and their times on the wall clock of the session.

    Args:
        lines: some have NULL for a time, and are in no window, as in Flink.
        time: the place of the time attribute.
        zone: of the session.
    """
    column = lines.columns[time]
    if column.null_count:
        lines = lines.pick(np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)))
        column = lines.columns[time]
    return lines, zone.locals(column_millis(column))


def codes_of_slices(slices: Times, keys: Codes) -> Codes:
    """The codes of pairs: where a slice begins, and a key."""
    return codes_of_column(pa.array(slices), pa.Array.to_pylist).with_more(keys)


class SlicedAggregateOperator(TimedTableOperator):
    """GROUP BY a window of event time.

    Args:
        grid: the windows.
        time: the place of the time attribute.
        zone: of the session, if the time is a TIMESTAMP_LTZ.
        calls: the aggregates.
        properties: what is asked of windows, each `start`, `end` or `time`.
    """

    def __init__(
        self,
        grid: WindowGrid,
        time: int,
        zone: str | None,
        calls: Sequence[AggregateCall],
        properties: Sequence[str],
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        session: ScalarSession,
    ) -> None:
        super().__init__([input_type], output_type)
        self.grid = grid
        self.time = time
        self.zone_name = zone
        # of the lines that calls are about
        self.aggregated_type = input_type
        self.calls = tuple(calls)
        self.properties = tuple(map(str, properties))
        self.session = session

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), PANES)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        grid = self.grid
        self.zone = Zone(self.zone_name)
        # survives restart: begin of a slice -> key -> state
        self.panes = Panes(
            runtime.store,
            f"{runtime.uid}/{PANES.name}",
            (grid.size_ms, grid.slide_ms, grid.offset_ms),
        )
        # rebuilt on open
        self.aggregates = WindowAggregates(self.calls, self.aggregated_type, self.session)
        self.aggregates.open(self)
        self.results = WindowResults(
            self, self.aggregates, self.keying(), self.properties, self.zone
        )
        self.merging: PaneMerge | None = None
        if grid.size_ms != grid.slide_ms:
            self.merging = PaneMerge(self.panes, self.aggregates.merge, reuses=True)
        self.passed = MIN_TIMESTAMP  # on the wall clock

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.panes.reload()
        self.passed = self.zone.passed(self.current_watermark)
        if self.merging is not None:
            self.merging.reset()

    def flush(self) -> None:
        self.panes.flush(MIN_TIMESTAMP if self.merging is None else self.merging.done)
        super().flush()

    def close(self) -> None:
        self.aggregates.close()
        super().close()

    # --- lines -------------------------------------------------------------------------------

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        lines, slices = self._in_time(lines)
        if len(lines):
            try:
                self._add(lines, slices)
            except Exception as error:
                raise self.failed(error) from error

    def _in_time(self, lines: Lines) -> tuple[Lines, Times]:
        """The lines that some window waits for, and where their slices begin."""
        lines, times = with_times(lines, self.time, self.zone)
        slices = self.grid.slices(times)
        kept = self._waited_for(slices, np.ones(len(slices), np.int64))
        return (lines, slices) if kept.all() else (lines.pick(np.flatnonzero(kept)), slices[kept])

    def _waited_for(self, slices: Times, counts: Times) -> NDArray[np.bool_]:
        """Which slices some window waits for; lines of others are late, or between windows."""
        ends = self.grid.last_ends(slices)
        late = (ends - 1 <= self.passed) & (ends > slices)
        self.runtime.metrics.late_records_dropped += int(counts[late].sum())
        return ~late & (ends > slices)

    def _add(self, lines: Lines, slices: Times) -> None:
        codes = codes_of_slices(slices, self.keying().codes_of(lines.columns, len(lines)))
        owners = {begin: self.panes.open(begin) for begin in np.unique(slices).tolist()}
        panes = [owners[begin] for begin, _ in codes.keys]
        keys = [key for _, key in codes.keys]
        stored = [pane.find(key) for pane, key in zip(panes, keys, strict=True)]
        states = self.aggregates.run(
            lines, codes.numbers, [None if state is NO_ENTRY else state for state in stored]
        )
        for pane, key, state in zip(panes, keys, states, strict=True):
            pane.entries[key] = state
        if self.merging is not None:
            for pane, key in zip(panes, keys, strict=True):
                if pane.start < self.merging.done:
                    self.merging.touch(key, pane.start)

    # --- time --------------------------------------------------------------------------------

    def advance_watermark(self, timestamp: int) -> None:
        before, self.passed = self.passed, self.zone.passed(timestamp)
        if self.passed > before:
            try:
                self._fire(before)
            except Exception as error:
                raise self.failed(error) from error
        super().advance_watermark(timestamp)

    def _fire(self, before: int) -> None:
        # a window fires when its last moment has passed: that is before its end
        starts = self.panes.starts()
        for end in self.grid.ends_over(starts, before + 1, self.passed + 1):
            start = self.grid.start_of(end)
            self.results.add(start, end, self._contents(start, end))
        self.results.flush()
        for begin in list(starts):
            if int(self.grid.last_ends(np.array([begin]))[0]) - 1 > self.passed:
                break
            self.panes.drop(begin)

    def _contents(self, start: int, end: int) -> Iterable[tuple[Any, State]]:
        if self.merging is None:
            return self.panes.open(start).contents().items()
        return self.merging.contents(start, end).items()
