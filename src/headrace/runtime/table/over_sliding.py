"""OVER with a frame that moves: lines enter a state, and leave it again.

    ROWS 2 PRECEDING            the line and two before it
    RANGE '5' SECOND PRECEDING  all lines from five seconds before it on, its peers included

In: runtime/table/over.py, lines of a key in the order of time.  Next: runtime/table/waiting.py
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from headrace.data.records import MIN_TIMESTAMP
from headrace.runtime.table.over import TimedOverOperator

if TYPE_CHECKING:
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.over import Timed
    from headrace.runtime.table.windows.states import State


class SlidingOverOperator(TimedOverOperator):
    """A frame that moves.

    Kept of a key: the state, the frame's lines with their times, the time of the last one, and
    when somebody looks whether the frame can be forgotten.
    """

    def late_until(self, key: Any) -> int:
        found = self.frames.get(key)
        return MIN_TIMESTAMP if found is None else int(found[2])

    def run_lines(self, lines: Lines, keys: list[Any]) -> None:
        rows, now = lines.rows(), self.runtime.clock()
        values: list[tuple[Any, ...]] = []
        for key, row in zip(keys, rows, strict=True):
            self._slide(key, [(now, row)], values)
        self.emit_columns([*lines.columns, *self.aggregates.columns_of_values(values)])

    def run_due(self, due: list[tuple[Any, list[Timed]]]) -> None:
        values: list[tuple[Any, ...]] = []
        for key, timed in due:
            self._slide(key, timed, values)
        self.emit_with_values([row for _, timed in due for _, row in timed], values)

    def _slide(self, key: Any, timed: list[Timed], values: list[tuple[Any, ...]]) -> None:
        found = self.frames.get(key) or (self.aggregates.create(), (), None, None)
        state, kept, last, look = found[0], list(found[1]), found[2], found[3]
        for time, group in groupby(timed, key=itemgetter(0)):
            peers = list(group)
            if self.spec.rows:
                state, kept = self._slide_rows(state, kept, peers, values)
            else:
                state, kept = self._slide_range(state, kept, peers, values)
            last = time
        if look is None and not self.spec.rows:
            look = self._look_later(key, last)
        self.frames.put(key, (state, kept, last, look))

    def _slide_rows(
        self, state: State, kept: list[Timed], peers: list[Timed], values: list[tuple[Any, ...]]
    ) -> tuple[State, list[Timed]]:
        assert self.spec.preceding is not None
        for each in peers:
            if len(kept) > self.spec.preceding:
                state = self.aggregates.add(state, kept.pop(0)[1], retract=True)
            state = self.aggregates.add(state, each[1])
            kept.append(each)
            values.append(self.aggregates.values(state))
        return state, kept

    def _slide_range(
        self, state: State, kept: list[Timed], peers: list[Timed], values: list[tuple[Any, ...]]
    ) -> tuple[State, list[Timed]]:
        assert self.spec.preceding is not None
        first = peers[0][0] - self.spec.preceding
        while kept and kept[0][0] < first:
            state = self.aggregates.add(state, kept.pop(0)[1], retract=True)
        for each in peers:
            state = self.aggregates.add(state, each[1])
        kept += peers
        values += [self.aggregates.values(state)] * len(peers)
        return state, kept

    # --- frames that no line will look at ----------------------------------------------------

    def advance_processing_time(self, now: int) -> None:
        # a line behind the watermark waits for the next one, whatever the wall clock shows
        if not self.event_time:
            super().advance_processing_time(now)

    def after_timers(self) -> None:
        """Frames that the lines which fired have made may be over as well by now."""
        super().after_timers()
        until = self.current_watermark if self.event_time else self.runtime.clock()
        fire = self.fire_event_timer if self.event_time else self.fire_processing_timer
        if self.timers.fire_until(until, fire):
            self.after_timers()

    def _look_later(self, key: Any, last: int | None) -> int:
        assert self.spec.preceding is not None
        assert last is not None
        over = last + self.spec.preceding + 1
        self.timers.register(over, key, "end")
        return over

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        if namespace is None:
            super().fire_event_timer(timestamp, key, namespace)
        else:
            self._clean_up(timestamp, key)

    def fire_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        if namespace is None:
            super().fire_processing_timer(timestamp, key, namespace)
        else:
            self._clean_up(timestamp, key)

    def _clean_up(self, timestamp: int, key: Any) -> None:
        if key in self.due:
            self.after_timers()  # what was taken out must find its frame
        found = self.frames.get(key)
        if found is None:
            return
        state, kept, last, _ = found
        assert self.spec.preceding is not None
        if last + self.spec.preceding + 1 <= timestamp:
            self.frames.remove(key)
        else:
            self.frames.put(key, (state, kept, last, self._look_later(key, last)))
