"""Interval joins: lines of both sides whose times are near each other.

    left at t   belongs to right lines in [t + lower, t + upper]
                kept while the clock is before t + upper, with a mark once it was in a pair
    right at t  likewise, in [t - upper, t - lower]

The clock is the watermark, or the wall clock, whose time is then also that of lines.  When lines
leave follows Flink: one timer for each key and side, set by the first line that is kept, at

    time of the line + how far it reaches + `min_cleanup_ms` + 1

takes out everything that cannot find a partner any more, and the earliest of what is left sets the
next; a line of the other side with the same key also takes such lines out, behind its own pairs.
A line of an outer side that leaves without having been in a pair goes out beside NULL.  Watermarks
are held back by the longer reach, so pairs are never late.
In: inserted lines.  Out: inserted lines.  Next: runtime/table/joins/interval_timers.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.operators.base import Output
from headrace.runtime.table.joins.base import LEFT, RIGHT, JoinOperator
from headrace.runtime.table.joins.emission import Stretch
from headrace.runtime.table.joins.interval_timers import KeyTimers
from headrace.runtime.table.joins.line_store import LineStore
from headrace.runtime.table.joins.pairs import taken
from headrace.runtime.table.joins.runs import LineShape
from headrace.runtime.table.times import rowtimes

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.joins.base import KeysOfLines
    from headrace.runtime.table.joins.hashes import Mask
    from headrace.runtime.table.joins.matches import Matches
    from headrace.runtime.table.joins.runs import Places
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.watermarks import InputClocks
    from headrace.spi.state import StateSpec

_EARLIEST = MIN_TIMESTAMP // 2  # before all times, and far enough from the end of numbers
_LATEST = MAX_TIMESTAMP // 2


class IntervalJoinOfLines(JoinOperator):
    """A join of lines whose times are within bounds.

    Args:
        left_type: of the left input.
        right_type: of the right input.
        output_type: both sides' columns.
        times: for each side the place of its time; None in processing time.
        lower_ms: left + lower <= right.
        upper_ms: right <= left + upper.
        min_cleanup_ms: how much longer lines may be kept, so that more leave at once.
        options: as `JoinOperator` has them.
    """

    kinds = ("inner", "left", "right", "full")
    uses_time = True

    def __init__(
        self,
        left_type: RowDataTypeInfo,
        right_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        *,
        times: tuple[int, int] | None,
        lower_ms: int,
        upper_ms: int,
        min_cleanup_ms: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(left_type, right_type, output_type, **options)
        self.times = times
        self.min_cleanup_ms = min_cleanup_ms
        self.reach = (upper_ms, -lower_ms)  # how far behind its own time a line finds partners
        self.is_empty = upper_ms < lower_ms

    def state_specs(self) -> tuple[StateSpec, ...]:
        lines = (LineStore.spec("left"), LineStore.spec("right"))
        return (*lines, *KeyTimers.specs("left-timers"), *KeyTimers.specs("right-timers"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart
        self.sides = (self._side("left", LEFT), self._side("right", RIGHT))
        self.timers = (self._timers("left-timers", LEFT), self._timers("right-timers", RIGHT))
        # rebuilt: up to which time lines of each side were looked at for leaving
        self.over = self._over_at_first()
        if self.times is not None:
            self.output = HeldBackOutput(runtime.output, max(self.reach))

    def _side(self, name: str, side: int) -> LineStore:
        shape = LineShape(
            tuple(self.in_lines[side].types),
            self.keys_of_sides[side],
            keeps_null=True,
            counts=self.outer[side],
            ordered=True,
        )
        return self.line_store(name, shape)

    def _timers(self, name: str, side: int) -> KeyTimers:
        types = [self.in_lines[side].types[place] for place in self.keys_of_sides[side]]
        timers = KeyTimers(self.runtime.store, f"{self.runtime.uid}/{name}", types)
        self.line_stores += timers.stores
        return timers

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.over = self._over_at_first()

    def _over_at_first(self) -> list[int]:
        return [_EARLIEST, _EARLIEST] if self.runtime.bounded else [0, 0]

    # --- time ------------------------------------------------------------------------------------

    def _now(self) -> int:
        if self.runtime.bounded and self.current_watermark != MAX_TIMESTAMP:
            return _EARLIEST
        now = self.runtime.clock() if self.times is None else self.current_watermark
        return min(max(now, 0), _LATEST)

    def _over_at(self, now: int, side: int) -> int:
        """Lines of a side that are not later than this find no partner any more."""
        return now if now == _LATEST else now - self.reach[side] - 1

    def advance_watermark(self, timestamp: int) -> None:
        if self.times is not None or self.runtime.bounded:
            self._clean(self._now())

    def advance_processing_time(self, now: int) -> None:
        # after the end of input none fire: docs/semantics.md#2.13
        if self.times is None and self.current_watermark != MAX_TIMESTAMP:
            self._clean(now)

    def next_processing_timer(self) -> int | None:
        return self._first(KeyTimers.first_time)

    def next_look(self) -> int | None:
        return self._first(KeyTimers.not_before)

    def _first(self, ask: Any) -> int | None:
        if self.times is not None:
            return None
        return min((t for t in map(ask, self.timers) if t is not None), default=None)

    def finish_keys(self) -> None:
        """BATCH mode: no more lines of these keys come."""
        self.current_watermark = MAX_TIMESTAMP
        self._clean(_LATEST)
        self.drop_keys()

    # --- lines -----------------------------------------------------------------------------------

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines, now = self.lines(records, input), self._now()
        if self.is_empty:
            if self.outer[input]:
                self.emit_alone(lines.columns, input)
            return
        if self.times is None:
            times = np.full(len(lines), now)
        else:
            times = rowtimes(lines.columns[self.times[input]], "an interval join")
        keys = self.keys_of(lines.columns, len(lines), input)
        high = times + self.reach[input]
        paired = self._join(lines, keys, times, high, now, input)
        kept = now < high
        # Flink keeps lines with NULL in an inner side, too; only their timers could be noticed
        if keys.among is not None and not self.outer[input]:
            kept &= keys.among
        if self.outer[input]:
            self.emit_alone(taken(lines.columns, np.flatnonzero(~kept & ~paired)), input)
        self._keep(lines, keys, times, paired, np.flatnonzero(kept), input)

    def _join(
        self, lines: Lines, keys: KeysOfLines, times: Places, high: Places, now: int, side: int
    ) -> Mask:
        """Emit the pairs of lines; which of them are in one."""
        paired = np.zeros(len(lines), np.bool_)
        looks = self._looking(high, now, 1 - side)
        if not looks.any():
            return paired
        first_of_key = self._first_of_key(lines, keys, looks, side)
        over, other = self.over[1 - side], self.sides[1 - side]
        among = looks if keys.among is None else looks & keys.among
        bounds = (times - self.reach[1 - side], high)
        for first, last, found in other.probe(
            keys.columns, keys.hashes, among=among, between=bounds
        ):
            if len(found):  # the first line of a key takes those out that are over
                found = found.where((found.marks("order") > over) | first_of_key[found.line])
            matches = self.holding(found, lines.columns, side)
            stretch = Stretch(lines, first, last, matches)
            self.emit_both(stretch, matches.line, None, None, side)
            if len(matches):
                paired[matches.line] = True
                if self.outer[1 - side]:
                    other.set_partners(matches, np.ones(len(matches), np.int32))
        self._take_out(np.flatnonzero(first_of_key), keys, 1 - side)
        return paired

    def _looking(self, high: Places, now: int, other: int) -> Mask:
        """Which lines look for partners at all: not those behind all that is kept."""
        before = self.over[other]
        looks = high > before
        first = int(looks.argmax())
        if looks[first]:
            self.over[other] = self._over_at(now, other)
            looks = high > self.over[other]
            looks[:first] = False
            looks[first] = True
        return looks

    def _first_of_key(self, lines: Lines, keys: KeysOfLines, looks: Mask, side: int) -> Mask:
        """The first line of each key among those that look."""
        found = np.zeros(len(lines), np.bool_)
        places = np.flatnonzero(looks)
        numbers = self.timers[side].numbers_of(taken(keys.columns, places), keys.hashes[places])
        _, first = np.unique(numbers, return_index=True)
        found[places[first]] = True
        return found

    def _keep(
        self,
        lines: Lines,
        keys: KeysOfLines,
        times: Places,
        paired: Mask,
        chosen: Places,
        side: int,
    ) -> None:
        if not len(chosen):
            return
        partners = paired[chosen].astype(np.int32) if self.outer[side] else None
        columns, hashes = taken(lines.columns, chosen), keys.hashes[chosen]
        self.sides[side].append(columns, hashes, partners=partners, order=times[chosen])
        due = times[chosen] + self.reach[side] + self.min_cleanup_ms + 1
        self.timers[side].set_missing(taken(keys.columns, chosen), hashes, due)

    # --- lines that leave ------------------------------------------------------------------------

    def _take_out(self, chosen: Places, keys: KeysOfLines, side: int) -> None:
        """Take lines of a side with some keys out that find no partner any more."""
        columns, hashes = taken(keys.columns, chosen), keys.hashes[chosen]
        low = np.full(len(chosen), _EARLIEST)
        high = np.full(len(chosen), self.over[side])
        store = self.sides[side]
        for _, _, found in store.probe(columns, hashes, between=(low, high)):
            self._leave(found, side)

    def _leave(self, gone: Matches, side: int) -> None:
        if not len(gone):
            return
        if self.outer[side]:
            alone = gone.where(gone.marks("partners") == 0)
            if len(alone):
                width = range(self.in_lines[side].width)
                self.emit_alone([alone.column(number) for number in width], side)
        self.sides[side].kill(gone)

    def _clean(self, now: int) -> None:
        """Timers up to now are due."""
        for side in (LEFT, RIGHT):
            due = self.timers[side].take_until(now)
            if due is not None:
                self.over[side] = self._over_at(now, side)
                self._clean_keys(*due, side)

    def _clean_keys(self, columns: list[pa.Array], hashes: Any, side: int) -> None:
        low, high = np.full(len(hashes), _EARLIEST), np.full(len(hashes), _LATEST)
        earliest = np.full(len(hashes), _LATEST)
        keys = columns if self.keys_of_sides[side] else []
        for _, _, found in self.sides[side].probe(keys, hashes, between=(low, high)):
            if not len(found):
                continue
            times = found.marks("order")
            gone = times <= self.over[side]
            np.minimum.at(earliest, found.line[~gone], times[~gone])
            self._leave(found.where(gone), side)
        left = np.flatnonzero(earliest < _LATEST)
        if len(left):
            due = earliest[left] + self.reach[side] + self.min_cleanup_ms + 1
            self.timers[side].set(taken(columns, left), hashes[left], due)


class HeldBackOutput(Output):
    """Hands on watermarks of a while ago."""

    def __init__(self, output: Output, delay_ms: int) -> None:
        self._output = output
        self._delay_ms = delay_ms

    def emit(self, records: Records) -> None:
        """Hand records on."""
        self._output.emit(records)

    def emit_side(self, tag: str, records: Records) -> None:
        """Hand records of a side output on."""
        self._output.emit_side(tag, records)

    def watermark(self, timestamp: int) -> None:
        """Hand an earlier watermark on; the end of time and its beginning stay."""
        if _EARLIEST < timestamp < MAX_TIMESTAMP:
            timestamp -= self._delay_ms
        self._output.watermark(timestamp)

    def idle(self) -> None:
        """Hand idleness on."""
        self._output.idle()
