"""What a function can measure: counters, meters, distributions and gauges in named groups.

In: ``runtime_context.get_metrics_group()``.  Out: numbers the job reports.  The runtime implements
these interfaces in runtime/runtime_context.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import StateValue

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]


class Metric(ABC):  # noqa: B024  (a common name for the four kinds)
    """Base of all metrics."""


class Counter(Metric):
    """A number that moves up and down."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Add to the count."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Subtract from the count."""

    @abstractmethod
    def get_count(self) -> int:
        """The current count."""


class Meter(Metric):
    """A rate of events."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Say that this many events happened."""

    @abstractmethod
    def get_count(self) -> int:
        """How many events were marked."""


class Distribution(Metric):
    """Statistics over reported values."""

    @abstractmethod
    def update(self, value: int) -> None:
        """Report a value."""


class MetricGroup(ABC):
    """A named place to register metrics in."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """A group below this one; with ``extra``, the pair names a user variable."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Register a counter."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], StateValue]) -> None:
        """Register a function that is asked for the value."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Register a meter, with its rate over the given span."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Register a distribution."""
