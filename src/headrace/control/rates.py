"""Rates of numbers that grow: how much a second, over the last minute.

In: all numbers, whenever some have changed.  Out: the same, a second.  Flink's meters and timers
look at a minute, too.  Next: control/metrics.py
"""

from __future__ import annotations

from collections import deque

__all__ = ["WINDOW_S", "RateWindow"]

WINDOW_S = 60.0
# samples nearer to each other than this stand for one
_SAMPLE_S = 2.0
# a job that has said nothing for this long does nothing
_QUIET_S = 10.0

Numbers = dict[tuple[str, ...], tuple[float, ...]]


class RateWindow:
    """Samples of the last minute.  Times are seconds of a clock that never goes back."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._samples: deque[tuple[float, Numbers]] = deque()
        self._newest: tuple[float, Numbers] = (0.0, {})

    def begin(self, now_s: float) -> None:
        """Counting begins: everything is 0."""
        self._samples.clear()
        self._samples.append((now_s, {}))
        self._newest = (now_s, {})

    @property
    def has_begun(self) -> bool:
        """Whether it is known since when numbers are counted."""
        return bool(self._samples)

    def note(self, now_s: float, numbers: Numbers) -> None:
        """Numbers have changed."""
        last_s = self._samples[-1][0] if self._samples else now_s
        if self._newest[1] and self._newest[0] - last_s >= _SAMPLE_S:
            self._samples.append(self._newest)
        self._newest = (now_s, numbers)
        # the oldest sample lies at the beginning of the window, or just in front of it
        while len(self._samples) > 1 and self._samples[1][0] <= now_s - self._window_s:
            self._samples.popleft()

    def rates(self, now_s: float, until_s: float | None = None) -> Numbers:
        """How much each number grew a second.

        Args:
            now_s: the clock.
            until_s: until when nothing can be missing; None for the moment of the newest numbers,
                as what runs now has not been counted yet.  If that is long ago, it is now.
        """
        then_s, before = self._samples[0] if self._samples else self._newest
        newest_s, newest = self._newest
        end_s = newest_s if until_s is None else max(newest_s, until_s)
        if now_s - end_s >= max(_QUIET_S, 2 * self._gap_s()):
            end_s = now_s
        if end_s != newest_s:
            then_s, before = self._in_window(end_s)
        passed_s = max(end_s - then_s, 1e-3)
        return {
            key: tuple(
                max(0.0, value - old) / passed_s  # what a failed epoch had done is done again
                for value, old in zip(values, before.get(key, (0,) * len(values)), strict=True)
            )
            for key, values in newest.items()
        }

    def _gap_s(self) -> float:
        """From the sample before the newest numbers to them."""
        return self._newest[0] - self._samples[-1][0] if self._samples else 0.0

    def _in_window(self, end_s: float) -> tuple[float, Numbers]:
        """What the numbers were when the window that ends then began."""
        begin_s = end_s - self._window_s
        known = [sample for sample in (*self._samples, self._newest) if sample[0] <= begin_s]
        return (begin_s, known[-1][1]) if known else self._samples[0]
