"""Cumulate windows: early results that grow step by step, then start again, as CUMULATE in SQL.

    max_size 30, step 10:   [0,10) [0,20) [0,30) [30,40) [30,50) ...
    ts 12 ->                       [0,20) [0,30)

Configuration only, like the assigners next door (api/window/assigners.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from headrace.api.window.assigners import WindowAssigner, _TimeAssigner
from headrace.api.window.windows import TimeWindow
from headrace.common.time import DurationLike, to_millis
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["CumulateEventTimeWindows", "CumulateProcessingTimeWindows"]

T = TypeVar("T")


class _Cumulate(_TimeAssigner[T]):
    def __init__(self, max_size: int, step: int, offset: int) -> None:
        if max_size <= 0 or step <= 0 or abs(offset) >= max_size:
            raise InvalidArgumentError(
                f"{type(self).__name__} needs max_size > 0, step > 0 and |offset| < max_size, not "
                f"max_size {max_size} ms, step {step} ms and offset {offset} ms"
            )
        if max_size % step:
            raise InvalidArgumentError(
                f"{type(self).__name__} needs a max_size that is a multiple of the step, not "
                f"max_size {max_size} ms and step {step} ms"
            )
        self._max_size = max_size
        self._step = step
        self._offset = offset

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """The windows of the time's span that contain it, smallest first."""
        time, step = self._time(timestamp, context), self._step
        start = time - (time - self._offset) % self._max_size
        first_end = time + step - (time - start) % step
        last_end = start + self._max_size
        return [TimeWindow(start, end) for end in range(first_end, last_end + 1, step)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._max_size}, {self._step}, {self._offset})"


class CumulateEventTimeWindows(_Cumulate[T]):
    """Windows that share a start and grow by ``step`` up to ``max_size``, by timestamps."""

    event_time = True

    @staticmethod
    def of(
        max_size: DurationLike, step: DurationLike, offset: DurationLike | None = None
    ) -> CumulateEventTimeWindows[Any]:
        """Windows of ``step``, twice ``step``, ... up to ``max_size``, which is a multiple."""
        return CumulateEventTimeWindows(
            to_millis(max_size), to_millis(step), to_millis(offset or 0)
        )


class CumulateProcessingTimeWindows(_Cumulate[T]):
    """Windows that share a start and grow by ``step`` up to ``max_size``, by the clock."""

    event_time = False

    @staticmethod
    def of(
        max_size: DurationLike, step: DurationLike, offset: DurationLike | None = None
    ) -> CumulateProcessingTimeWindows[Any]:
        """Windows of ``step``, twice ``step``, ... up to ``max_size``, which is a multiple."""
        return CumulateProcessingTimeWindows(
            to_millis(max_size), to_millis(step), to_millis(offset or 0)
        )
