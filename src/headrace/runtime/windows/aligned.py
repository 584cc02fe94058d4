"""Tumbling and sliding event-time windows with the default trigger, without a step per window.

All keys share the same windows and every window fires once the watermark passes its end, so there
is no trigger to ask and no timer to set: a record is added to its pane, a watermark fires the
windows it passed, in the order of time.  Records that come after a window over their pane has
fired take the long way (`_add_with_care`): they may be late, or fire windows again.

Used for windows without evictor; overlapping ones only where their contents can be merged from
panes (`AlignedWindows.fits`).  Next: windows/pane_merge.py
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.api.window import TimeWindow
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.windows.contents import ContentKind
from headrace.runtime.windows.pane_merge import PaneMerge
from headrace.runtime.windows.panes import PANES, Panes, index_key
from headrace.runtime.windows.strategy import WindowStrategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from headrace.data.records import Records
    from headrace.runtime.key_codes import Codes
    from headrace.runtime.windows.kit import WindowKit

    # from, to, what this batch touched, what is stored
    OpenPane = tuple[int, int, dict[Any, Any], dict[Any, Any]]

# Results go on in lists of about this length: a watermark may pass many windows of many keys.
EMITTED_AT_ONCE = 20_000
# an empty stretch of time: the record needs care
_CARE: OpenPane = (0, 0, {}, {})


class AlignedWindows(WindowStrategy):
    """The windows of one step in one subtask, in panes."""

    kept = "in panes"
    states = (PANES,)

    def __init__(self, kit: WindowKit) -> None:
        super().__init__(kit)
        grid, contents, runtime = kit.shape.grid, kit.contents, kit.runtime
        assert grid is not None
        self.size, self.slide, self.offset = grid.size_ms, grid.slide_ms, grid.offset_ms
        # where panes are cut within a slide: windows end here; 0 if only where they begin
        self.cut = self.size % self.slide
        self.panes = Panes(
            runtime.store, _panes_name(runtime.uid), (self.size, self.slide, self.offset)
        )
        self.merging: PaneMerge | None = None
        if grid.overlapping:
            self.merging = PaneMerge(self.panes, contents.merge, reuses=contents.reuses)
        # a loop for each kind of contents
        self._fold = {
            ContentKind.RECORDS: self._append_all,
            ContentKind.REDUCED: self._reduce_all,
            ContentKind.AGGREGATED: self._aggregate_all,
        }[contents.kind]
        self._columns = None
        if contents.kind is ContentKind.AGGREGATED:
            fold = getattr(contents.aggregate, "column_fold", None)  # type: ignore[attr-defined]
            self._columns = None if fold is None else fold()
        # panes whose windows are all ahead of the watermark
        self._open: dict[int, OpenPane] = {}
        self._fired_to = MIN_TIMESTAMP

    @classmethod
    def fits(cls, kit: WindowKit) -> bool:
        grid = kit.shape.grid
        if grid is None or not kit.is_plain:
            return False
        if not grid.overlapping:
            return True
        return kit.description.share_panes and kit.contents.can_share_panes()

    @classmethod
    def holds(cls, kit: WindowKit) -> bool:
        return kit.runtime.store.get(index_key(_panes_name(kit.runtime.uid))) is not None

    def reload(self) -> None:
        self.panes.reload()
        self._open.clear()
        self._fired_to = self.kit.watermark
        if self.merging is not None:
            self.merging.reset()

    def flush(self) -> None:
        self.panes.flush(MIN_TIMESTAMP if self.merging is None else self.merging.done)
        self._open.clear()

    def count_entries(self) -> int:
        return len(self.panes)

    # --- records -----------------------------------------------------------------------------

    def process(self, keys: list[Any], values: Iterable[Any], times: Iterable[int]) -> None:
        self._fold(keys, values, times)

    def process_columns(self, codes: Callable[[], Codes], records: Records) -> bool:
        times = records.timestamps
        if self._columns is None or times is None:
            return False
        moments = np.array(times, np.int64)
        if len(moments) == 0 or moments.min() == MIN_TIMESTAMP:
            return False
        starts, panes = np.unique(self._starts(moments), return_inverse=True)
        opened = [self._pane_of(start) for start in starts.tolist()]
        with_care = np.array([pane is _CARE for pane in opened])[panes]
        # with lateness, or in windows that overlap, such a record may fire what others are in
        if with_care.any() and (self.merging is not None or self.kit.lateness):
            return False
        columns = self._columns.columns(records)
        if columns is None:
            return False
        found = codes()
        groups = panes.astype(np.int64) * len(found.keys) + found.numbers
        if with_care.any():
            self._add_late(records.pick(np.flatnonzero(with_care)), found, with_care)
            rest = np.flatnonzero(~with_care)
            columns = [None if column is None else column.take(rest) for column in columns]
            groups = groups[rest]
        self._merge_parts(columns, groups, found, opened)
        return True

    def _add_late(self, records: Records, codes: Codes, late: NDArray[np.bool_]) -> None:
        keys = [codes.keys[number] for number in codes.numbers[late]]
        self._fold(keys, records.values, records.timestamps or ())

    def _merge_parts(
        self,
        columns: list[Any],
        groups: NDArray[np.int64],
        found: Codes,
        opened: list[OpenPane],
    ) -> None:
        assert self._columns is not None
        merge = self.kit.contents.merge
        for group, part in self._columns.parts(columns, groups):
            pane, number = divmod(group, len(found.keys))
            _, _, entries, stored = opened[pane]
            key = found.keys[number]
            old = entries.get(key, NO_ENTRY)
            if old is NO_ENTRY:
                old = stored.get(key, NO_ENTRY)
            entries[key] = part if old is NO_ENTRY else merge(old, part)

    def _starts(self, moments: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the panes of some times begin."""
        into = (moments - self.offset) % self.slide
        starts = moments - into
        if self.cut:
            starts += np.where(into >= self.cut, self.cut, 0)
        return starts

    # The three loops differ in one line; a call for it would cost a third of their time
    # (0.3 us a record for (count, sum) by an AggregateFunction).

    def _aggregate_all(self, keys: Any, values: Any, times: Any) -> None:
        contents: Any = self.kit.contents
        aggregate, pane_of = contents.aggregate, self._pane_of
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
        contents: Any = self.kit.contents
        reduce, pane_of = contents.reduce, self._pane_of
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
        if first + self.size - 1 <= self.kit.watermark:
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
        kit = self.kit
        kit.key = key
        windows = kit.assigner.assign_windows(value, time, kit.assigner_context)
        live = [window for window in windows if not kit.is_over(window)]
        if not live:
            kit.reject(value, time)
            return
        into = (time - self.offset) % self.slide
        pane = self.panes.open(time - into + (self.cut if into >= self.cut else 0))
        pane.entries[key] = kit.contents.added(pane.find(key), value, time)
        if self.merging is not None:
            self.merging.touch(key, pane.start)
        for window in live:
            if window.max_timestamp() <= kit.watermark:
                kit.emit(window, self._content_of(key, pane, window))

    def _content_of(self, key: Any, pane: Any, window: TimeWindow) -> Any:
        if self.merging is None:
            return pane.find(key)
        return self.merging.content_of(key, window.start, window.end)

    # --- time --------------------------------------------------------------------------------

    def advance_watermark(self, watermark: int) -> None:
        since, self._fired_to = self._fired_to, watermark
        self._open.clear()
        if self.kit.has_clearing:
            self._fire_and_clear(since, watermark)
        else:
            for start in self._windows(since, watermark):
                self._fire(start)
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
        kit = self.kit
        window = TimeWindow(start, start + self.size)
        if kit.emits_contents:
            kit.out.extend(kit.contents.results(self._accumulators(start)), window.max_timestamp())
        else:
            for kit.key, content in self._contents(start).items():
                kit.emit(window, content)
        if len(kit.out.values) >= EMITTED_AT_ONCE:
            kit.out.flush()

    def _contents(self, start: int) -> dict[Any, Any]:
        if self.merging is None:
            return self.panes.open(start).contents()
        return self.merging.contents(start, start + self.size)

    def _accumulators(self, start: int) -> Iterable[Any]:
        if self.merging is None:
            return self._contents(start).values()
        return self.merging.accumulators(start, start + self.size)

    def _is_over(self, start: int, watermark: int) -> bool:
        over_at = start + self.size - 1 + self.kit.lateness
        return over_at <= watermark and over_at < MAX_TIMESTAMP  # then it is never over

    def _fire_and_clear(self, since: int, watermark: int) -> None:
        """Fire, and let the function clear its state of windows that are over; in order of time."""
        lateness, last = self.kit.lateness, self.size - 1
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
        kit = self.kit
        window = TimeWindow(start, start + self.size)
        keys = (pane.contents() for pane in self.panes.between(start, start + self.size))
        for kit.key in {key: None for contents in keys for key in contents}:
            kit.clear(window)


def _panes_name(uid: str) -> str:
    """Under which name the panes of a step are stored."""
    return f"{uid}/{PANES.name}"
