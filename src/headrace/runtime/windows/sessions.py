"""Event-time sessions with the default trigger: the few live ones of a key in one entry.

    key ─▶ [start, end, fired at which end, contents], ... in the order of time, never touching

A record joins the sessions it touches, or makes one of its own; sessions that it connects become
one.  Nothing is set per record: a key is *due* at the earliest end among its sessions when it was
last looked at.  By then sessions may have grown, and the key is due again later.  Within a batch
due keys are in a heap; between batches each has one timer.

Sessions with another trigger or an evictor: operators/window.py.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from headrace.api.window import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    TimeWindow,
)
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.operators.base import ListCursor
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.timers import TimerQueue
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from headrace.data.records import Records
    from headrace.runtime.operators.window import WindowOperator
    from headrace.runtime.windows.description import WindowDescription

    # start, end, the end at which it was evaluated last (None: not yet), contents
    Session = list[Any]

_START, _END, _FIRED, _CONTENT = range(4)

SESSIONS = StateSpec("sessions", "table")
SESSION_TIMERS = StateSpec("timers/session", "timers")


def are_plain_sessions(described: WindowDescription) -> bool:
    """Whether sessions can be run here, with the same results."""
    return (
        type(described.assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
        and type(described.trigger) is EventTimeTrigger
        and described.evictor is None
    )


class _Key:
    """The sessions of a key that this batch has looked at."""

    __slots__ = ("due", "sessions", "stored", "timer")

    def __init__(self, sessions: list[Session], timer: int | None, *, stored: bool) -> None:
        self.sessions = sessions
        # when the key is looked at again, by the heap and by its stored timer
        self.due: int | None = None
        self.timer = timer
        self.stored = stored

    def is_due_by(self, time: int) -> bool:
        """Whether somebody looks at the key at that time or before."""
        return (self.due is not None and self.due <= time) or (
            self.timer is not None and self.timer <= time
        )


class SessionWindows:
    """The sessions of one step in one subtask."""

    def __init__(self, operator: WindowOperator) -> None:
        self.operator = operator
        runtime = operator.runtime
        # survives restart: key -> (its timer, its sessions)
        self.table = operator.states.table(SESSIONS.name)
        self.timers = TimerQueue(runtime.store, timers_name(runtime.uid))
        # rebuilt: keys that this batch has looked at; which of them are due when
        self._keys: dict[Any, _Key] = {}
        self._heap: list[tuple[int, int, Any]] = []
        self._serial = 0
        self._gap_of = operator.assigner._gap  # type: ignore[attr-defined]
        self._clear = getattr(operator.description.function, "clear", None)

    def reload(self) -> None:
        """Start from what the store holds."""
        self.timers.reload()
        self._keys.clear()
        self._heap.clear()

    # --- records -----------------------------------------------------------------------------

    def process(self, records: Records) -> None:
        """Add records to the sessions of their keys."""
        keys = self.operator.keys(records)
        cursor = ListCursor(records.values)
        times = records.timestamps or [MIN_TIMESTAMP] * len(keys)
        try:
            self._add_all(keys, cursor, times)
        except Exception as error:
            raise self.operator.failed(error, cursor.current) from error

    def _add_all(self, keys: list[Any], values: Any, times: list[int]) -> None:
        known, added, gap_of = self._keys, self.operator.added, self._gap_of
        watermark = self.operator.current_watermark
        for key, value, time in zip(keys, values, times, strict=True):
            entry = known.get(key) or self._read(key)
            if entry.sessions:
                last = entry.sessions[-1]
                # the usual case: it goes on with the latest session, which is still to be fired
                if last[_START] <= time <= last[_END] and last[_FIRED] is None:
                    end = max(last[_END], time + gap_of(value))
                    if end - 1 > watermark:
                        last[_END] = end
                        last[_CONTENT] = added(last[_CONTENT], value, time)
                        continue
            self._add(key, entry, value, time)

    def _read(self, key: Any) -> _Key:
        stored = self.table.get(key)
        if stored is None:
            entry = _Key([], None, stored=False)
        else:
            timer, sessions = stored
            entry = _Key([list(session) for session in sessions], timer, stored=True)
        self._keys[key] = entry
        return entry

    def _add(self, key: Any, entry: _Key, value: Any, time: int) -> None:
        """Add a record that makes a session, connects some, or is late."""
        operator = self.operator
        operator.key = key
        (window,) = operator.assigner.assign_windows(value, time, operator.assigner_context)
        touched = [s for s in entry.sessions if s[_START] <= window.end and s[_END] >= window.start]
        start = min([window.start, *(session[_START] for session in touched)])
        end = max([window.end, *(session[_END] for session in touched)])
        merged = TimeWindow(start, end)
        if operator.is_over(merged):
            operator.reject(value, time)
            return
        content = NO_ENTRY
        for session in touched:
            content = operator.merged(content, session[_CONTENT])
        fired = end if end - 1 <= operator.current_watermark else None
        session = [start, end, fired, operator.added(content, value, time)]
        entry.sessions = [s for s in entry.sessions if s not in touched]
        entry.sessions.append(session)
        entry.sessions.sort(key=_start)
        if fired is not None:
            operator.emit(merged, session[_CONTENT])
        self._make_due(key, entry)

    # --- time --------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        """Fire and drop what event time has passed, in the order of time."""
        self.timers.fire_until(watermark, self._wake)
        heap = self._heap
        try:
            while heap and heap[0][0] <= watermark:
                time, _, key = heapq.heappop(heap)
                entry = self._keys[key]
                if entry.due == time:  # else it became due earlier, and was looked at
                    entry.due = None
                    self._look_at(time, key, entry)
                    self._make_due(key, entry)
        except Exception as error:
            raise self.operator.failed(error) from error

    def _wake(self, time: int, key: Any, namespace: Any) -> None:
        entry = self._keys.get(key) or self._read(key)
        entry.timer = None
        self._make_due(key, entry)

    def _make_due(self, key: Any, entry: _Key) -> None:
        """See to it that the key is looked at when something is to be done."""
        time = self._next_moment(entry)
        if time is not None and not entry.is_due_by(time):
            entry.due = time
            self._serial += 1  # keys need not be comparable
            heapq.heappush(self._heap, (time, self._serial, key))

    def _next_moment(self, entry: _Key) -> int | None:
        """When a session of the key must be evaluated or dropped; None for never."""
        moments = [
            session[_END] - 1 if session[_FIRED] != session[_END] else self._over_at(session)
            for session in entry.sessions
        ]
        return min((moment for moment in moments if moment < MAX_TIMESTAMP), default=None)

    def _over_at(self, session: Session) -> int:
        over_at: int = session[_END] - 1 + self.operator.lateness
        return over_at

    def _look_at(self, time: int, key: Any, entry: _Key) -> None:
        operator = self.operator
        operator.key = key
        for session in list(entry.sessions):
            end = session[_END]
            if end - 1 > time:
                break
            window = TimeWindow(session[_START], end)
            if session[_FIRED] != end:
                session[_FIRED] = end
                operator.emit(window, session[_CONTENT])
            if self._over_at(session) <= time:
                entry.sessions.remove(session)
                if self._clear is not None:
                    operator.function_context.current = window
                    self._clear(operator.function_context)

    # --- the end of a batch ------------------------------------------------------------------

    def flush(self) -> None:
        """Write what must survive; the operator writes the table."""
        for key, entry in self._keys.items():
            if entry.sessions:
                self._set_timer(key, entry, self._next_moment(entry))
                sessions = [tuple(session) for session in entry.sessions]
                self.table.put(key, (entry.timer, sessions))
            else:
                self._set_timer(key, entry, None)
                if entry.stored:
                    self.table.remove(key)
        self._keys.clear()
        self._heap.clear()
        self.timers.flush()

    def _set_timer(self, key: Any, entry: _Key, time: int | None) -> None:
        if entry.timer is not None:
            if time is not None and entry.timer <= time:
                return  # early is fine: the key is looked at again then
            self.timers.delete(entry.timer, key)
        entry.timer = time
        if time is not None:
            self.timers.register(time, key)


def _start(session: Session) -> int:
    start: int = session[_START]
    return start


def timers_name(uid: str) -> str:
    """Under which name the timers of a step's sessions are stored."""
    return f"{uid}/{SESSION_TIMERS.name}"
