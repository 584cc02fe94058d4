"""Window joins: lines of both sides that are in the same window, once it has ended.

    line ─▶ waits for the end of its window ─▶ watermark ─▶ join all that waited, window by window

Both sides bring their windows along, as the columns that a window table function added.  Windows
are the same if they end at the same time.  A line whose window has ended is late and dropped.
In: inserted lines only.  Out: inserted lines.  Next: runtime/table/joins/timed_lines.py keeps them
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.pages.store import DictStore
from headrace.runtime.table.joins.base import LEFT, RIGHT, JoinOperator, KeysOfLines
from headrace.runtime.table.joins.hashes import hash_lines
from headrace.runtime.table.joins.line_store import LineStore
from headrace.runtime.table.joins.runs import LineShape
from headrace.runtime.table.joins.timed_lines import TimedLines
from headrace.runtime.table.times import Zone, rowtimes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.joins.runs import Places
    from headrace.runtime.watermarks import InputClocks
    from headrace.spi.state import StateSpec

    Waited = tuple[Places, list[pa.Array]]  # ends of windows, columns


class WindowJoinOperator(JoinOperator):
    """A join within windows.

    Args:
        left_type: of the left input.
        right_type: of the right input.
        output_type: both sides' columns, or the left one's for semi and anti.
        window_ends: for each side the place of window_end.
        zone: of the session, if the time of the windows was a TIMESTAMP_LTZ.
        options: as `JoinOperator` has them; keys without the columns of windows.
    """

    uses_time = True

    def __init__(
        self,
        left_type: RowDataTypeInfo,
        right_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        *,
        window_ends: tuple[int, int],
        zone: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(left_type, right_type, output_type, **options)
        self.window_ends = window_ends
        self.zone_name = zone

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (TimedLines.spec("left"), TimedLines.spec("right"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.zone = Zone(self.zone_name)
        # survives restart: lines by the last moment of their window, on the wall clock
        self.waiting = (self._side("left", LEFT), self._side("right", RIGHT))
        self.line_stores += self.waiting
        self.passed = MIN_TIMESTAMP  # on the wall clock, by watermarks

    def _side(self, name: str, side: int) -> TimedLines:
        types, keys = self.in_lines[side].types, self.keys_of_sides[side]
        return TimedLines(self.runtime.store, f"{self.runtime.uid}/{name}", types, keys)

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.passed = self.zone.passed(self.current_watermark)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records, input)
        last = rowtimes(lines.columns[self.window_ends[input]], "a window join") - 1
        late = last <= self.passed
        if late.any():
            self.runtime.metrics.late_records_dropped += int(late.sum())
            lines, last = lines.pick(np.flatnonzero(~late)), last[~late]
        self.waiting[input].add(last, lines.columns)

    def advance_watermark(self, timestamp: int) -> None:
        self.passed = self.zone.passed(timestamp)
        left, right = (
            side.take_until(self.passed) or self._nobody(number)
            for number, side in enumerate(self.waiting)
        )
        if len(left[0]) or len(right[0]):
            self._join(left, right)

    def finish_keys(self) -> None:
        """BATCH mode: the windows of these keys have ended."""
        self.current_watermark = MAX_TIMESTAMP
        self.advance_watermark(MAX_TIMESTAMP)
        self.drop_keys()

    def _nobody(self, side: int) -> Waited:
        return np.zeros(0, np.int64), [pa.array([], kind) for kind in self.in_lines[side].types]

    def _join(self, left: Waited, right: Waited) -> None:
        """Emit the pairs of all windows that have ended, the earliest first."""
        left, right = _by_time(left), _by_time(right)
        store = self._of_right(right)
        if len(left[0]):
            self.emit_final(left[1], self._keys(left, LEFT), store)
        self.emit_right_alone(store)

    def _of_right(self, right: Waited) -> LineStore:
        """The right lines as something to look into, by key and window."""
        types = (*self.in_lines[RIGHT].types, pa.int64())
        shape = LineShape(
            types, (*self.keys_of_sides[RIGHT], len(types) - 1), keeps_null=True,
            counts=self.outer[RIGHT],
        )  # fmt: skip
        store = LineStore(DictStore(), "", shape)
        partners = np.zeros(len(right[0]), np.int32) if shape.counts else None
        columns = [*right[1], pa.array(right[0])]
        store.append(columns, self._keys(right, RIGHT).hashes, partners=partners)
        return store

    def _keys(self, lines: Waited, side: int) -> KeysOfLines:
        """Keys with the end of the window behind them."""
        times, columns = lines
        keys = [columns[place] for place in self.keys_of_sides[side]]
        whole: Sequence[pa.Array] = [*keys, pa.array(times)]
        return KeysOfLines(whole, hash_lines(whole, len(times)), self.without_null(keys))


def _by_time(lines: Waited) -> Waited:
    times, columns = lines
    order = np.argsort(times, kind="stable")
    places = pa.array(order)
    return times[order], [column.take(places) for column in columns]
