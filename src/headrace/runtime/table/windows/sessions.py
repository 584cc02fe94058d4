"""SESSION windows: lines of a key that are no more than a gap apart.

    key ─▶ (its timer, [[start, end, contents], ...])       in order, never touching

A line makes a session from its time to a gap later; sessions that touch it become one.  A session
is emitted and forgotten when the watermark (or the clock) reaches its last moment; a line is late
if the session it would be in has ended by then.  Within a batch keys that are due are in a heap;
between batches each has one timer, at the latest at its earliest end.
In: lines.  Out: results of aggregates, or the lines with the bounds of their session.
Next: runtime/table/windows/states.py
"""

from __future__ import annotations

import heapq
from abc import abstractmethod
from functools import reduce
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.data.records import MAX_TIMESTAMP
from headrace.runtime.table.base import TimedTableOperator
from headrace.runtime.table.lines import INSERT, UPDATE_AFTER
from headrace.runtime.table.times import Zone, column_millis
from headrace.runtime.table.windows.results import WindowResults
from headrace.runtime.table.windows.states import WindowAggregates
from headrace.runtime.table.windows.tvf import window_columns
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.watermarks import InputClocks
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession

    Session = list[Any]
    Times = NDArray[np.int64]

_START, _END, _CONTENT = range(3)
_SESSIONS = StateSpec("sessions", "table")


class SessionOperator(TimedTableOperator):
    """The sessions of one step in one subtask; its input is keyed by what tells them apart.

    Args:
        gap_ms: the gap.
        time: the place of the time attribute; None for processing time.
        zone: of the session, if the time is a TIMESTAMP_LTZ.
    """

    def __init__(
        self,
        gap_ms: int,
        time: int | None,
        zone: str | None,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
    ) -> None:
        super().__init__([input_type], output_type)
        self.gap_ms = gap_ms
        self.time = time
        self.zone_name = zone

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), _SESSIONS)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.zone = Zone(self.zone_name)
        # survives restart: key -> (its timer, sessions)
        self.table = self.states.table(_SESSIONS.name)
        self.timers = self.processing_timers if self.time is None else self.event_timers
        # rebuilt: keys that this batch has looked at, with their stored timers; who is due when
        self._live: dict[Any, list[Session]] = {}
        self._set: dict[Any, int | None] = {}
        self._heap: list[tuple[int, int, Any]] = []
        self._serial = 0

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self._forget()

    def _forget(self) -> None:
        self._live, self._set, self._heap = {}, {}, []

    # --- contents ----------------------------------------------------------------------------

    @abstractmethod
    def held(self, row: tuple[Any, ...], kind: int) -> Any:
        """What a session of one line holds."""

    @abstractmethod
    def merged(self, content: Any, other: Any) -> Any:
        """What two sessions hold, the earlier one first."""

    @abstractmethod
    def emit(self, key: Any, session: Session) -> None:
        """A session has ended."""

    # --- lines -------------------------------------------------------------------------------

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if self.time is not None and lines.columns[self.time].null_count:
            valid = lines.columns[self.time].is_valid().to_numpy(zero_copy_only=False)
            lines = lines.pick(np.flatnonzero(valid))
        try:
            if len(lines):
                self.add_lines(lines, self._times(lines))
        except Exception as error:
            raise self.failed(error) from error

    def _times(self, lines: Lines) -> Times:
        if self.time is None:
            return np.full(len(lines), self.zone.local(self.runtime.clock()), dtype=np.int64)
        return self.zone.locals(column_millis(lines.columns[self.time]))

    def add_lines(self, lines: Lines, times: Times) -> None:
        """Put lines into sessions, one after the other."""
        for key, row, kind, time in zip(
            self.line_keys(lines), lines.rows(), lines.kind_list(), times.tolist(), strict=True
        ):
            self.join(key, time, time + self.gap_ms, self.held(row, kind))

    def join(self, key: Any, start: int, end: int, added: Any) -> None:
        """Let a new session be one with those that it touches, unless it is late."""
        sessions = self._sessions(key)
        touched = [s for s in sessions if s[_START] <= end and s[_END] >= start]
        if touched:
            start = min(start, touched[0][_START])
            end = max(end, touched[-1][_END])
        if self.time is not None and self.zone.due(end - 1) <= self.current_watermark:
            self.runtime.metrics.late_records_dropped += 1
            return
        contents = [session[_CONTENT] for session in touched]
        session = [start, end, reduce(self.merged, [*contents, added])]
        left = [s for s in sessions if s[_START] > end or s[_END] < start]
        left.append(session)
        left.sort(key=itemgetter(_START))
        self._live[key] = left
        self._make_due(key, end)

    def _sessions(self, key: Any) -> list[Session]:
        """The sessions of a key, which are in memory until the batch ends."""
        found = self._live.get(key)
        if found is None:
            timer, stored = self.table.get(key, (None, ()))
            found = self._live[key] = list(stored)
            self._set[key] = timer
        return found

    def _make_due(self, key: Any, end: int) -> None:
        self._serial += 1  # keys need not be comparable
        heapq.heappush(self._heap, (self.zone.due(end - 1), self._serial, key))

    # --- time --------------------------------------------------------------------------------

    def advance_watermark(self, timestamp: int) -> None:
        self.event_timers.fire_until(timestamp, self.fire_event_timer)
        if self.time is not None or self.runtime.bounded:
            self._emit_until(timestamp)
        self.after_timers()

    def advance_processing_time(self, now: int) -> None:
        # after the end of input none fire: docs/semantics.md#2.13
        if self.time is None and self.current_watermark != MAX_TIMESTAMP:
            self.processing_timers.fire_until(now, self.fire_processing_timer)
            self._emit_until(now)
            self.after_timers()

    def next_processing_timer(self) -> int | None:
        stored = super().next_processing_timer()
        if self.time is not None or not self._heap:
            return stored
        return self._heap[0][0] if stored is None else min(stored, self._heap[0][0])

    def next_look(self) -> int | None:
        return self.next_processing_timer()

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._wake(key)

    def fire_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._wake(key)

    def _wake(self, key: Any) -> None:
        """A stored timer is used up: the key is looked at when its earliest session may end."""
        sessions = self._sessions(key)
        self._set[key] = None
        if sessions:
            self._make_due(key, _earliest_end(sessions))

    def _emit_until(self, time: int) -> None:
        heap, due = self._heap, self.zone.due
        while heap and heap[0][0] <= time:
            now, _, key = heapq.heappop(heap)
            sessions = self._live[key]
            ended = [session for session in sessions if due(session[_END] - 1) <= now]
            if not ended:
                continue  # it has grown, and is due later as well
            for session in ended:
                self.emit(key, session)
            left = self._live[key] = [s for s in sessions if due(s[_END] - 1) > now]
            if left:
                self._make_due(key, _earliest_end(left))

    # --- the end of a batch --------------------------------------------------------------------

    def flush(self) -> None:
        for key, sessions in self._live.items():
            timer = self._set.get(key)
            wanted = self.zone.due(_earliest_end(sessions) - 1) if sessions else None
            if timer is not None and (wanted is None or timer > wanted):
                self.timers.delete(timer, key)
                timer = None
            if wanted is None:
                self.table.remove(key)
                continue
            if timer is None:  # an early one is fine: the key is looked at again then
                self.timers.register(wanted, key)
                timer = wanted
            self.table.put(key, (timer, sessions))
        self._forget()
        super().flush()


def _earliest_end(sessions: list[Session]) -> int:
    end: int = min(session[_END] for session in sessions)
    return end


class SessionAggregateOperator(SessionOperator):
    """GROUP BY sessions.

    Args:
        gap_ms: the gap.
        time: the place of the time attribute; None for processing time.
        zone: of the session, if the time is a TIMESTAMP_LTZ.
        calls: the aggregates.
        properties: what is asked of sessions, each `start`, `end` or `time`.
    """

    def __init__(
        self,
        gap_ms: int,
        time: int | None,
        zone: str | None,
        calls: Sequence[AggregateCall],
        properties: Sequence[str],
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        session: ScalarSession,
    ) -> None:
        super().__init__(gap_ms, time, zone, input_type, output_type)
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

    def held(self, row: tuple[Any, ...], kind: int) -> Any:
        retract = kind not in (INSERT, UPDATE_AFTER)
        return self.aggregates.add(self.aggregates.create(), row, retract=retract)

    def add_lines(self, lines: Lines, times: Times) -> None:
        """Lines that cannot be late make sessions among themselves first, all keys at once.

        Whether a line that alone would be late is so depends on who came before it: its key goes
        line by line.
        """
        codes = self.keying().codes_of(lines.columns, len(lines))
        alone = np.zeros(len(lines), dtype=np.bool_)
        if self.time is not None:
            late = times + self.gap_ms - 1 <= self.zone.passed(self.current_watermark)
            alone = np.isin(codes.numbers, codes.numbers[late])
        if alone.any():
            places = np.flatnonzero(alone)
            super().add_lines(lines.pick(places), times[places])
            rest = np.flatnonzero(~alone)
            lines, times, numbers = lines.pick(rest), times[rest], codes.numbers[rest]
        else:
            numbers = codes.numbers
        if len(lines):
            self._add_together(lines, times, numbers, codes.keys)

    def _add_together(self, lines: Lines, times: Times, numbers: Times, keys: list[Any]) -> None:
        self.states.read_ahead(keys)
        order = np.lexsort((times, numbers))
        owners, sorted_times = numbers[order], times[order]
        begins = np.ones(len(order), dtype=np.bool_)
        begins[1:] = (owners[1:] != owners[:-1]) | (np.diff(sorted_times) > self.gap_ms)
        first = np.flatnonzero(begins)
        last = np.append(first[1:], len(order)) - 1
        sessions = np.empty(len(order), dtype=np.int64)
        sessions[order] = np.cumsum(begins) - 1
        states = self.aggregates.run(lines, sessions, [None] * len(first))
        for owner, start, end, state in zip(
            owners[first].tolist(),
            sorted_times[first].tolist(),
            (sorted_times[last] + self.gap_ms).tolist(),
            states,
            strict=True,
        ):
            self.join(keys[owner], start, end, state)

    def merged(self, content: Any, other: Any) -> Any:
        return self.aggregates.merge(content, other)

    def emit(self, key: Any, session: Session) -> None:
        start, end, state = session
        self.results.add(start, end, [(key, state)])

    def after_timers(self) -> None:
        self.results.flush()


class SessionTvfOperator(SessionOperator):
    """SESSION as a table function: lines with the bounds of their session, when it has ended."""

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.rows: list[tuple[Any, ...]] = []
        self.kinds: list[int] = []
        self.windows: list[tuple[int, int, int]] = []

    def held(self, row: tuple[Any, ...], kind: int) -> Any:
        return [(kind, row)]

    def merged(self, content: Any, other: Any) -> Any:
        content.extend(other)
        return content

    def emit(self, key: Any, session: Session) -> None:
        start, end, lines = session
        self.windows.append((start, end, len(lines)))
        self.kinds += [kind for kind, _ in lines]
        self.rows += [row for _, row in lines]

    def after_timers(self) -> None:
        if not self.rows:
            return
        starts, ends, counts = (np.array(part) for part in zip(*self.windows, strict=True))
        inner, types = self.in_lines[0], self.out_lines.types
        pairs = enumerate(zip(*self.rows, strict=True))
        columns = [inner.array(number, list(values)) for number, values in pairs]
        columns += window_columns(
            np.repeat(starts, counts), np.repeat(ends, counts), self.zone, types[-3:]
        )
        kinds = np.array(self.kinds, dtype=np.int8) if self.output_type.changes else None
        self.rows, self.kinds, self.windows = [], [], []
        self.emit_columns(columns, kinds)
