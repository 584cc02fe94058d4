"""Where windows of a fixed length begin and end, on the wall clock of the session's zone.

    TUMBLE     |---------|---------|
    HOP        |---------|              each begins a slide after the one before
                  |---------|
    CUMULATE   |--|                     all of a size begin together, each a step longer
               |-----|
               |--------|

A *slice* is a stretch of time that no window begins or ends within.  All times are milliseconds,
as `Zone` shifts them.  In: times of lines.  Out: slices and windows.
Next: runtime/table/windows/tvf.py, runtime/table/windows/slices.py
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Times = NDArray[np.int64]

TUMBLE, HOP, CUMULATE, SESSION = "tumble", "hop", "cumulate", "session"


@dataclass(frozen=True, slots=True)
class WindowGrid:
    """The windows of TUMBLE, HOP or CUMULATE.

    Attributes:
        kind: which.
        size_ms: of a window; of CUMULATE the largest.
        slide_ms: of HOP the slide, of CUMULATE the step; of TUMBLE its size.
        offset_ms: where windows begin, from midnight of 1970-01-01.
    """

    kind: str
    size_ms: int
    slide_ms: int
    offset_ms: int = 0

    def __post_init__(self) -> None:
        if self.size_ms <= 0 or self.slide_ms <= 0:
            raise InvalidArgumentError(
                f"a window of {self.size_ms} ms that moves by {self.slide_ms} ms",
                fix="give windows a size and a slide or step above zero",
            )
        if self.kind == CUMULATE and self.size_ms % self.slide_ms:
            raise InvalidArgumentError(
                f"the size of CUMULATE, {self.size_ms} ms, is no multiple of its step, "
                f"{self.slide_ms} ms",
                fix="choose a step that the size is a multiple of",
            )

    @classmethod
    def of(cls, kind: str, size_ms: int, slide_ms: int = 0, offset_ms: int = 0) -> WindowGrid:
        """The windows of a WindowSpec."""
        return cls(str(kind), size_ms, slide_ms or size_ms, offset_ms)

    def windows(self, times: Times) -> tuple[Times, Times, Times]:
        """(place of the line, start, end) of every window of every line, line by line.

        Of one line HOP has the latest window first, CUMULATE the shortest, as in Flink.
        """
        places = np.arange(len(times))
        if self.kind == CUMULATE:
            return self._cumulated(times, places)
        last = self._begin(times, self.slide_ms)
        if self.size_ms == self.slide_ms:
            return places, last, last + self.size_ms
        # windows that begin at last, last - slide, ... and hold the line
        counts = np.maximum((self.size_ms - (times - last) - 1) // self.slide_ms + 1, 0)
        places = np.repeat(places, counts)
        starts = np.repeat(last, counts) - _within(counts) * self.slide_ms
        return places, starts, starts + self.size_ms

    def _cumulated(self, times: Times, places: Times) -> tuple[Times, Times, Times]:
        starts = self._begin(times, self.size_ms)
        first_end = self._begin(times, self.slide_ms) + self.slide_ms
        counts = (starts + self.size_ms - first_end) // self.slide_ms + 1
        ends = np.repeat(first_end, counts) + _within(counts) * self.slide_ms
        return np.repeat(places, counts), np.repeat(starts, counts), ends

    # --- slices ------------------------------------------------------------------------------

    @property
    def cut_ms(self) -> int:
        """Where a slide is cut in two since windows end there; 0 if they end where others begin."""
        return self.size_ms % self.slide_ms if self.kind != CUMULATE else 0

    def slices(self, times: Times) -> Times:
        """Where the slice of each time begins; times between windows have one as well."""
        begin = self._begin(times, self.slide_ms)
        if self.cut_ms:
            begin = np.where(times - begin >= self.cut_ms, begin + self.cut_ms, begin)
        return begin

    def last_ends(self, slices: Times) -> Times:
        """The end of the last window over each slice; at or before its begin: there is none."""
        if self.kind == CUMULATE:
            return self._begin(slices, self.size_ms) + self.size_ms
        return self._begin(slices, self.slide_ms) + self.size_ms

    def start_of(self, end: int) -> int:
        """Where the window with an end begins."""
        if self.kind != CUMULATE:
            return end - self.size_ms
        return end - 1 - (end - 1 - self.offset_ms) % self.size_ms

    def ends_over(self, slices: list[int], after: int, until: int) -> Iterator[int]:
        """The ends of windows over any of the slices, in order, that are in (after, until].

        Args:
            slices: where they begin, in order.
            after: the last end that is left out.
            until: the last end.
        """
        if not slices:
            return
        end = self._first_end(slices[0])
        if after >= end:
            end += ((after - end) // self.slide_ms + 1) * self.slide_ms
        while end <= until:
            place = bisect_left(slices, self.start_of(end))
            if place == len(slices):
                return
            if slices[place] < end:
                yield end
                end += self.slide_ms
            else:  # nothing is in it: on to the first window that holds something
                end = self._first_end(slices[place])

    def _first_end(self, begin: int) -> int:
        """The end of the earliest window over a slice."""
        if self.kind == CUMULATE:
            return begin + self.slide_ms
        last = begin - (begin - self.offset_ms) % self.slide_ms + self.size_ms
        return last - (last - begin - 1) // self.slide_ms * self.slide_ms

    def _begin(self, times: Times, length: int) -> Times:
        found: Any = times - (times - self.offset_ms) % length
        return found  # type: ignore[no-any-return]


def _within(counts: Times) -> Times:
    """0, 1, 2 ... for each of the counts, one after the other."""
    total = int(counts.sum())
    begins = np.cumsum(counts) - counts
    found: Times = np.arange(total) - np.repeat(begins, counts)
    return found
