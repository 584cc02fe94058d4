"""Windows that are kept whole: those that lines bring along, and those of processing time.

    end of the window ─▶ key ─▶ {start of the window: what it holds}       runtime/windows/panes.py

A window is emitted and forgotten when the watermark (or the clock) reaches its last moment; lines
that come later are late and dropped.  Lines bring windows along behind a window table function
(`attached`: the places of window_start and window_end); of processing time a line is in all windows
over the moment at which it comes.
In: lines.  Next: runtime/table/windows/rank.py, deduplicate.py beside it for other contents
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.table.base import TimedTableOperator
from headrace.runtime.table.times import Zone, column_millis
from headrace.runtime.table.windows.results import WindowResults
from headrace.runtime.table.windows.states import WindowAggregates
from headrace.runtime.windows.panes import PANES, Panes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.windows.grid import WindowGrid
    from headrace.runtime.watermarks import InputClocks
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession
    from headrace.spi.state import StateSpec

    Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WindowPlaces:
    """Which windows a line is in.

    Attributes:
        attached: the places of window_start and window_end, if lines have them.
        grid: the windows of processing time, if they have not.
        zone: of the session, if the time of the windows was a TIMESTAMP_LTZ.
    """

    attached: tuple[int, int] | None = None
    grid: WindowGrid | None = None
    zone: str | None = None

    @property
    def event_time(self) -> bool:
        """Whether watermarks close windows: always where lines bring them along, as in Flink."""
        return self.attached is not None


class WholeWindowOperator(TimedTableOperator):
    """Keeps something for each window and key until the window ends."""

    def __init__(
        self, places: WindowPlaces, input_type: RowDataTypeInfo, output_type: RowDataTypeInfo
    ) -> None:
        super().__init__([input_type], output_type)
        self.places = places

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), PANES)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.zone = Zone(self.places.zone)
        # survives restart
        self.panes = Panes(runtime.store, f"{runtime.uid}/{PANES.name}", (0, 0, 0))
        self.passed = MIN_TIMESTAMP  # on the wall clock, by watermarks

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.panes.reload()
        self.passed = self.zone.passed(self.current_watermark)

    def flush(self) -> None:
        self.panes.flush(MIN_TIMESTAMP)
        super().flush()

    # --- for subclasses ----------------------------------------------------------------------

    def add(self, lines: Lines, starts: Times, ends: Times) -> None:
        """Put lines into windows, one each."""
        raise NotImplementedError

    def emit(self, start: int, end: int, contents: list[tuple[Any, Any]]) -> None:
        """A window has ended: emit what it holds for each key."""
        raise NotImplementedError

    def emitted_all(self) -> None:
        """All windows that had ended were emitted."""

    # --- lines -------------------------------------------------------------------------------

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        try:
            lines, starts, ends = self._with_windows(lines)
            if len(lines):
                self.add(lines, starts, ends)
        except Exception as error:
            raise self.failed(error) from error

    def _with_windows(self, lines: Lines) -> tuple[Lines, Times, Times]:
        if self.places.attached is None:
            assert self.places.grid is not None
            now = np.full(len(lines), self.zone.local(self.runtime.clock()), dtype=np.int64)
            places, starts, ends = self.places.grid.windows(now)
            return lines.pick(places), starts, ends
        starts, ends = (column_millis(lines.columns[place]) for place in self.places.attached)
        kept = ends - 1 > self.passed
        if kept.all():
            return lines, starts, ends
        self.runtime.metrics.late_records_dropped += int((~kept).sum())
        return lines.pick(np.flatnonzero(kept)), starts[kept], ends[kept]

    # --- time --------------------------------------------------------------------------------

    def advance_watermark(self, timestamp: int) -> None:
        if self.places.event_time or self.runtime.bounded:
            self.passed = self.zone.passed(timestamp)
            self._fire(self.passed)
        super().advance_watermark(timestamp)

    def advance_processing_time(self, now: int) -> None:
        # after the end of input none fire: docs/semantics.md#2.13
        if not self.places.event_time and self.current_watermark != MAX_TIMESTAMP:
            self._fire(self.zone.passed(now))
        super().advance_processing_time(now)

    def next_processing_timer(self) -> int | None:
        if self.places.event_time or not self.panes.starts():
            return super().next_processing_timer()
        return self.zone.due(self.panes.starts()[0] - 1)

    def next_look(self) -> int | None:
        return self.next_processing_timer()

    def _fire(self, passed: int) -> None:
        try:
            for end in list(self.panes.starts()):
                if end - 1 > passed:
                    break
                self._emit_pane(end)
                self.panes.drop(end)
            self.emitted_all()
        except Exception as error:
            raise self.failed(error) from error

    def _emit_pane(self, end: int) -> None:
        by_start: dict[int, list[tuple[Any, Any]]] = {}
        for key, windows in self.panes.open(end).contents().items():
            for start, content in windows.items():
                by_start.setdefault(start, []).append((key, content))
        for start in sorted(by_start):
            self.emit(start, end, by_start[start])


class WholeWindowAggregateOperator(WholeWindowOperator):
    """GROUP BY windows that lines bring along, or of processing time.

    Args:
        places: which windows lines are in.
        calls: the aggregates.
        properties: what is asked of windows, each `start`, `end` or `time`.
    """

    def __init__(
        self,
        places: WindowPlaces,
        calls: Sequence[AggregateCall],
        properties: Sequence[str],
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        session: ScalarSession,
    ) -> None:
        super().__init__(places, input_type, output_type)
        self.calls = tuple(calls)
        self.properties = tuple(map(str, properties))
        self.session = session

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.aggregates = WindowAggregates(self.calls, self.input_types[0], self.session)
        self.aggregates.open(self)
        self.results = WindowResults(
            self, self.aggregates, self.keying(), self.properties, self.zone
        )

    def close(self) -> None:
        self.aggregates.close()
        super().close()

    def add(self, lines: Lines, starts: Times, ends: Times) -> None:
        codes = self.keying().codes_of(lines.columns, len(lines))
        windows = np.stack([ends, starts], axis=1)
        distinct, numbers = np.unique(windows, axis=0, return_inverse=True)
        pairs = pa.array(numbers.reshape(-1) * codes.count + codes.numbers)
        encoded = pairs.dictionary_encode()
        groups = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        found = encoded.dictionary.to_numpy(zero_copy_only=False)
        places = [
            (*distinct[number].tolist(), codes.keys[key])
            for number, key in zip(
                (found // codes.count).tolist(), (found % codes.count).tolist(), strict=True
            )
        ]
        stored = [self._content(end, start, key) for end, start, key in places]
        states = self.aggregates.run(lines, groups, stored)
        for (end, start, key), state in zip(places, states, strict=True):
            pane = self.panes.open(end)
            known = pane.find(key)
            pane.entries[key] = {**({} if known is NO_ENTRY else known), start: state}

    def _content(self, end: int, start: int, key: Any) -> Any:
        known = self.panes.open(end).find(key)
        return None if known is NO_ENTRY else known.get(start)

    def emit(self, start: int, end: int, contents: list[tuple[Any, Any]]) -> None:
        self.results.add(start, end, contents)

    def emitted_all(self) -> None:
        self.results.flush()
