"""Tumbling and sliding event-time windows with the default trigger, without a step per window.

All keys share the same windows and every window fires once the watermark passes its end, so there
is no trigger to ask and no timer to set: a record is added to its pane, a watermark fires the
windows it passed, in the order of time.  Records that come after a window over their pane has
fired take the long way (`_add_with_care`): they may be late, or fire windows again.

Used for windows without evictor; overlapping ones only where their contents can be merged from
panes (`is_aligned`).  Everything else: operators/window.py.  Next: windows/pane_merge.py
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import repeat
from typing import TYPE_CHECKING, Any

from headrace.api.functions import ProcessAllWindowFunction, ProcessWindowFunction
from headrace.api.window import (
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.operators.base import ListCursor
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.windows.pane_merge import PaneMerge
from headrace.runtime.windows.panes import PANES, Panes
from headrace.runtime.windows.rolling import RollingAggregate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.data.records import Records
    from headrace.runtime.operators.window import WindowOperator
    from headrace.runtime.windows.description import WindowDescription

    # from, to, what this batch touched, what is stored
    OpenPane = tuple[int, int, dict[Any, Any], dict[Any, Any]]

# Results go on in lists of about this length: a watermark may pass many windows of many keys.
EMITTED_AT_ONCE = 20_000
# an empty stretch of time: the record needs care
_CARE: OpenPane = (0, 0, {}, {})
_NO_CLEARING = {ProcessWindowFunction.clear, ProcessAllWindowFunction.clear}


def is_aligned(described: WindowDescription) -> bool:
    """Whether windows can be run here, with the same results."""
    assigner: Any = described.assigner
    if type(assigner) not in (TumblingEventTimeWindows, SlidingEventTimeWindows):
        return False
    if type(described.trigger) is not EventTimeTrigger or described.evictor is not None:
        return False
    size, slide, _ = _grid(assigner)
    return size <= slide or described.shares_panes


def can_merge(aggregate: Any) -> bool:
    """Whether an AggregateFunction's merge does something; many are never written."""
    if isinstance(aggregate, RollingAggregate):
        return True
    try:
        merged = aggregate.merge(aggregate.create_accumulator(), aggregate.create_accumulator())
    except Exception:
        return False
    return merged is not None


def _grid(assigner: Any) -> tuple[int, int, int]:
    return assigner._size, getattr(assigner, "_slide", assigner._size), assigner._offset


class AlignedWindows:
    """The windows of one step in one subtask."""

    def __init__(self, operator: WindowOperator) -> None:
        self.operator = operator
        described = operator.description
        grid = self.size, self.slide, self.offset = _grid(described.assigner)
        # where panes are cut within a slide: windows end here; 0 if only where they begin
        self.cut = self.size % self.slide
        self.panes = Panes(operator.runtime.store, panes_name(operator.runtime.uid), grid)
        self.merging: PaneMerge | None = None
        if self.size > self.slide:
            merge = operator.aggregate.merge if operator.reduce is None else operator.reduce
            reuses = operator.reduce is None and not isinstance(
                operator.aggregate, RollingAggregate
            )
            self.merging = PaneMerge(self.panes, merge, reuses=reuses)
        self._fold = self._fold_function()
        clear = getattr(described.function, "clear", None)
        self._clear = None if getattr(clear, "__func__", None) in _NO_CLEARING else clear
        # panes whose windows are all ahead of the watermark
        self._open: dict[int, OpenPane] = {}
        self._fired_to = MIN_TIMESTAMP

    def _fold_function(self) -> Any:
        if self.operator.buffers:
            return self._append_all
        return self._reduce_all if self.operator.reduce is not None else self._aggregate_all

    def reload(self) -> None:
        """Start from what the store holds."""
        self.panes.reload()
        self._open.clear()
        self._fired_to = self.operator.current_watermark
        if self.merging is not None:
            self.merging.reset()

    def flush(self) -> None:
        """Write what must survive."""
        self.panes.flush(MIN_TIMESTAMP if self.merging is None else self.merging.done)
        self._open.clear()

    # --- records -----------------------------------------------------------------------------

    def process(self, records: Records) -> None:
        """Put records into their panes."""
        keys = self.operator.keys(records)
        cursor = ListCursor(records.values)
        times = records.timestamps
        try:
            self._fold(keys, cursor, repeat(MIN_TIMESTAMP, len(keys)) if times is None else times)
        except Exception as error:
            raise self.operator.failed(error, cursor.current) from error

    # The three loops differ in one line; a call for it would cost a third of their time
    # (0.3 us a record for (count, sum) by an AggregateFunction).

    def _aggregate_all(self, keys: Any, values: Any, times: Any) -> None:
        aggregate, pane_of = self.operator.aggregate, self._pane_of
        add, create = aggregate.add, aggregate.create_accumulator
        low, high, entries, stored = _CARE
        for key, value, time in zip(keys, values, times, strict=True):
            if time >= high or time < low:
                low, high, entries, stored = pane_of(time)
                if low == high:
                    self._add_with_care(key, value, time)
                    continue
            old = entries.get(key, NO_ENTRY)
            if old is NO_ENTRY:
                old = stored.get(key, NO_ENTRY)
                if old is NO_ENTRY:
                    old = create()
            entries[key] = add(value, old)

    def _reduce_all(self, keys: Any, values: Any, times: Any) -> None:
        reduce, pane_of = self.operator.reduce, self._pane_of
        assert reduce is not None
        low, high, entries, stored = _CARE
        for key, value, time in zip(keys, values, times, strict=True):
            if time >= high or time < low:
                low, high, entries, stored = pane_of(time)
                if low == high:
                    self._add_with_care(key, value, time)
                    continue
            old = entries.get(key, NO_ENTRY)
            if old is NO_ENTRY:
                old = stored.get(key, NO_ENTRY)
            entries[key] = value if old is NO_ENTRY else reduce(old, value)

    def _append_all(self, keys: Any, values: Any, times: Any) -> None:
        pane_of = self._pane_of
        low, high, entries, stored = _CARE
        for key, value, time in zip(keys, values, times, strict=True):
            if time >= high or time < low:
                low, high, entries, stored = pane_of(time)
                if low == high:
                    self._add_with_care(key, value, time)
                    continue
            old = entries.get(key, NO_ENTRY)
            if old is NO_ENTRY:
                old = stored.get(key, NO_ENTRY)
                if old is NO_ENTRY:
                    old = []
                entries[key] = old
            old.append((value, time))

    def _pane_of(self, time: int) -> OpenPane:
        """The pane of a time, or `_CARE`."""
        into = (time - self.offset) % self.slide
        low = time - into
        if self.cut and into >= self.cut:
            low += self.cut
        found = self._open.get(low)
        if found is not None:
            return found
        first = self._first_window(low)
        if first > low or time == MIN_TIMESTAMP:  # a gap between windows, no timestamp
            return _CARE
        if first + self.size - 1 <= self.operator.current_watermark:
            return _CARE
        high = time - into + (self.cut if into < self.cut else self.slide)
        pane = self.panes.open(low)
        found = self._open[low] = (low, high, pane.entries, pane.stored)
        return found

    def _first_window(self, pane: int) -> int:
        """Where the earliest window over a pane begins."""
        return self._next_start(pane - self.size)

    def _next_start(self, time: int) -> int:
        """Where the first window after a time begins."""
        return time + self.slide - (time - self.offset) % self.slide

    def _add_with_care(self, key: Any, value: Any, time: int) -> None:
        """Add a record that is late for some window, lies between windows or has no timestamp."""
        operator = self.operator
        operator.key = key
        windows = operator.assigner.assign_windows(value, time, operator.assigner_context)
        live = [window for window in windows if not operator.is_over(window)]
        if not live:
            operator.reject(value, time)
            return
        into = (time - self.offset) % self.slide
        pane = self.panes.open(time - into + (self.cut if into >= self.cut else 0))
        pane.entries[key] = operator.added(pane.find(key), value, time)
        if self.merging is not None:
            self.merging.touch(key, pane.start)
        for window in live:
            if window.max_timestamp() <= operator.current_watermark:
                operator.emit(window, self._content_of(key, pane, window))

    def _content_of(self, key: Any, pane: Any, window: TimeWindow) -> Any:
        if self.merging is None:
            return pane.find(key)
        return self.merging.content_of(key, window.start, window.end)

    # --- time --------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        """Fire the windows that event time has passed; drop panes that no window needs."""
        since, self._fired_to = self._fired_to, watermark
        self._open.clear()
        try:
            if self._clear is None:
                for start in self._windows(since, watermark):
                    self._fire(start)
            else:
                self._fire_and_clear(since, watermark)
        except Exception as error:
            raise self.operator.failed(error) from error
        for start in self.panes.starts():
            if not self._is_over(start - (start - self.offset) % self.slide, watermark):
                break
            self.panes.drop(start)

    def _windows(self, since: int, until: int) -> Iterator[int]:
        """Where windows that hold something begin, whose last moment is in (since, until]."""
        size, starts = self.size, self.panes.starts()
        start = self._next_start(since - size + 1)
        while True:
            index = bisect_left(starts, start)
            if index == len(starts):
                return
            start = max(start, self._first_window(starts[index]))
            if start + size - 1 > until:
                return
            yield start
            start += self.slide

    def _fire(self, start: int) -> None:
        operator = self.operator
        window = TimeWindow(start, start + self.size)
        if operator.description.function is None and not operator.buffers:
            results: Any = self._accumulators(start)
            if operator.reduce is None:
                results = map(operator.aggregate.get_result, results)
            operator.out.extend(results, window.max_timestamp())
        else:
            for operator.key, content in self._contents(start).items():
                operator.emit(window, content)
        if len(operator.out.values) >= EMITTED_AT_ONCE:
            operator.out.flush()

    def _contents(self, start: int) -> dict[Any, Any]:
        if self.merging is None:
            return self.panes.open(start).contents()
        return self.merging.contents(start, start + self.size)

    def _accumulators(self, start: int) -> Iterable[Any]:
        if self.merging is None:
            return self._contents(start).values()
        return self.merging.accumulators(start, start + self.size)

    def _is_over(self, start: int, watermark: int) -> bool:
        over_at = start + self.size - 1 + self.operator.lateness
        return over_at <= watermark and over_at < MAX_TIMESTAMP  # then it is never over

    def _fire_and_clear(self, since: int, watermark: int) -> None:
        """Fire, and let the function clear its state of windows that are over; in order of time."""
        lateness, last = self.operator.lateness, self.size - 1
        moments = [(start + last, start, False) for start in self._windows(since, watermark)]
        for start in self._windows(since - lateness, watermark - lateness):
            if self._is_over(start, watermark):
                moments.append((start + last + lateness, start, True))
        for _, start, over in sorted(moments):
            if over:
                self._clear_all(start)
            else:
                self._fire(start)

    def _clear_all(self, start: int) -> None:
        assert self._clear is not None
        operator = self.operator
        operator.function_context.current = TimeWindow(start, start + self.size)
        keys = (pane.contents() for pane in self.panes.between(start, start + self.size))
        for operator.key in {key: None for contents in keys for key in contents}:
            self._clear(operator.function_context)


def panes_name(uid: str) -> str:
    """Under which name the panes of a step are stored."""
    return f"{uid}/{PANES.name}"
