"""Evictors: which records of a window leave it before or after it is evaluated.

Ours, from Java; PyFlink has none. A window with an evictor keeps all its records.
In: the window's records with their timestamps.  Out: how many first ones, or which, to drop.
Next: runtime/operators/window.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from headrace.common.time import DurationLike, to_millis
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CountEvictor", "DeltaEvictor", "Evictor", "TimeEvictor", "TimestampedValue"]

T = TypeVar("T")
W = TypeVar("W")


class TimestampedValue(NamedTuple):
    """A record of a window and its timestamp; None if it has none."""

    value: Any
    timestamp: int | None = None

    def get_value(self) -> Any:
        """The record."""
        return self.value

    def get_timestamp(self) -> int | None:
        """The record's timestamp."""
        return self.timestamp

    def has_timestamp(self) -> bool:
        """Whether the record has a timestamp."""
        return self.timestamp is not None


class Evictor(ABC, Generic[T, W]):
    """Removes records from a window around its evaluation."""

    class EvictorContext(ABC):
        """The clocks."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The machine's clock."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The event-time clock."""

    @abstractmethod
    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Remove records from ``elements``, in place, before the window is evaluated."""

    @abstractmethod
    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Remove records from ``elements``, in place, after the window was evaluated."""


class _OneSidedEvictor(Evictor[T, W]):
    """Evicts on one side only: before the evaluation, or after it."""

    def __init__(self, do_evict_after: bool) -> None:
        self.do_evict_after = do_evict_after

    def _evict(self, elements: list[TimestampedValue]) -> None:
        raise NotImplementedError

    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Evict, unless that is to happen after the evaluation."""
        if not self.do_evict_after:
            self._evict(elements)

    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Evict, if that is to happen after the evaluation."""
        if self.do_evict_after:
            self._evict(elements)


class CountEvictor(_OneSidedEvictor[T, W]):
    """Keeps the last n records, in order of arrival."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        if max_count < 0:
            raise InvalidArgumentError(f"cannot keep {max_count} records", fix="keep 0 or more")
        self._max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor[Any, Any]:
        """Keep that many records."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        del elements[: max(0, len(elements) - self._max_count)]

    def __repr__(self) -> str:
        return f"CountEvictor({self._max_count}, {self.do_evict_after})"


class TimeEvictor(_OneSidedEvictor[T, W]):
    """Keeps the records of the last stretch of time, measured from the newest record."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self._window_size = window_size

    @staticmethod
    def of(window_size: DurationLike, do_evict_after: bool = False) -> TimeEvictor[Any, Any]:
        """Keep the records of that last stretch of time."""
        return TimeEvictor(to_millis(window_size), do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        # As in Flink, the first record tells whether records have timestamps.
        if not elements or elements[0].timestamp is None:
            return
        times = [element.timestamp for element in elements if element.timestamp is not None]
        cutoff = max(times) - self._window_size
        elements[:] = [e for e in elements if e.timestamp is None or e.timestamp > cutoff]

    def __repr__(self) -> str:
        return f"TimeEvictor({self._window_size}, {self.do_evict_after})"


class DeltaEvictor(_OneSidedEvictor[T, W]):
    """Removes records that are a threshold or more away from the last one."""

    def __init__(
        self,
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> None:
        super().__init__(do_evict_after)
        self._threshold = threshold
        self._delta_function = delta_function

    @staticmethod
    def of(
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> DeltaEvictor[Any, Any]:
        """Keep the records with ``delta_function(record, last) < threshold``."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if not elements:
            return
        last, delta = elements[-1].value, self._delta_function
        elements[:] = [e for e in elements if not delta(e.value, last) >= self._threshold]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self._threshold}, {self.do_evict_after})"
