"""Event-time sessions with the default trigger: the few live ones of a key in one entry.

    key ─▶ [start, end, fired at which end, contents], ... in the order of time, never touching

A record joins the sessions it touches, or makes one of its own; sessions that it connects become
one.  Nothing is set per record: a key is *due* at the earliest end among its sessions when it was
last looked at.  By then sessions may have grown, and the key is due again later.  Within a batch
due keys are in a heap; between batches each has one timer.

Sessions with another trigger or an evictor: windows/general.py.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from headrace.api.window import TimeWindow
from headrace.data.records import MAX_TIMESTAMP
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.timers import TimerQueue
from headrace.runtime.windows.strategy import WindowStrategy
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.runtime.windows.kit import WindowKit

    # start, end, the end at which it was evaluated last (None: not yet), contents
    Session = list[Any]

_START, _END, _FIRED, _CONTENT = range(4)

SESSIONS = StateSpec("sessions", "table")
SESSION_TIMERS = StateSpec("timers/session", "timers")


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


class SessionWindows(WindowStrategy):
    """The windows of one step in one subtask, as sessions of a key."""

    kept = "as sessions"
    states = (SESSIONS, SESSION_TIMERS)

    def __init__(self, kit: WindowKit) -> None:
        super().__init__(kit)
        assert kit.shape.gap is not None
        # survives restart: key -> (its timer, its sessions)
        self.table = kit.states.own.table(SESSIONS.name)
        self.timers = _timers(kit)
        # rebuilt: keys that this batch has looked at; which of them are due when
        self._keys: dict[Any, _Key] = {}
        self._heap: list[tuple[int, int, Any]] = []
        self._serial = 0
        self._gap_after = kit.shape.gap.after

    @classmethod
    def fits(cls, kit: WindowKit) -> bool:
        return kit.shape.gap is not None and kit.is_plain

    @classmethod
    def holds(cls, kit: WindowKit) -> bool:
        return any(True for _ in _timers(kit).scan())

    def reload(self) -> None:
        self.timers.reload()
        self._keys.clear()
        self._heap.clear()

    def count_timers(self) -> int:
        return len(self.timers)

    # --- records -----------------------------------------------------------------------------

    def process(self, keys: list[Any], values: Iterable[Any], times: Iterable[int]) -> None:
        known, added, gap_after = self._keys, self.kit.contents.added, self._gap_after
        watermark = self.kit.watermark
        for key, value, time in zip(keys, values, times, strict=True):
            entry = known.get(key) or self._read(key)
            if entry.sessions:
                last = entry.sessions[-1]
                # the usual case: it goes on with the latest session, which is still to be fired
                if last[_START] <= time <= last[_END] and last[_FIRED] is None:
                    end = max(last[_END], time + gap_after(value))
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
        kit = self.kit
        kit.key = key
        (window,) = kit.assigner.assign_windows(value, time, kit.assigner_context)
        touched = [s for s in entry.sessions if s[_START] <= window.end and s[_END] >= window.start]
        start = min([window.start, *(session[_START] for session in touched)])
        end = max([window.end, *(session[_END] for session in touched)])
        merged = TimeWindow(start, end)
        if kit.is_over(merged):
            kit.reject(value, time)
            return
        content = NO_ENTRY
        for session in touched:
            content = kit.contents.merged(content, session[_CONTENT])
        fired = end if end - 1 <= kit.watermark else None
        session = [start, end, fired, kit.contents.added(content, value, time)]
        entry.sessions = [s for s in entry.sessions if s not in touched]
        entry.sessions.append(session)
        entry.sessions.sort(key=_start)
        if fired is not None:
            kit.emit(merged, session[_CONTENT])
        self._make_due(key, entry)

    # --- time --------------------------------------------------------------------------------

    def advance_watermark(self, watermark: int) -> None:
        self.timers.fire_until(watermark, self._wake)
        heap = self._heap
        while heap and heap[0][0] <= watermark:
            time, _, key = heapq.heappop(heap)
            entry = self._keys[key]
            if entry.due == time:  # else it became due earlier, and was looked at
                entry.due = None
                self._look_at(time, key, entry)
                self._make_due(key, entry)

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
        over_at: int = session[_END] - 1 + self.kit.lateness
        return over_at

    def _look_at(self, time: int, key: Any, entry: _Key) -> None:
        kit = self.kit
        kit.key = key
        for session in list(entry.sessions):
            end = session[_END]
            if end - 1 > time:
                break
            window = TimeWindow(session[_START], end)
            if session[_FIRED] != end:
                session[_FIRED] = end
                kit.emit(window, session[_CONTENT])
            if self._over_at(session) <= time:
                entry.sessions.remove(session)
                kit.clear(window)

    # --- the end of a batch ------------------------------------------------------------------

    def flush(self) -> None:
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


def _timers(kit: WindowKit) -> TimerQueue:
    """The timers of a step's sessions."""
    return TimerQueue(kit.runtime.store, f"{kit.runtime.uid}/{SESSION_TIMERS.name}")
