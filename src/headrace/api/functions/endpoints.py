"""Sources and sinks as plain Python functions. PyFlink wraps Java classes under these names.

Next: connectors/ (the connectors), runtime/operators/sink.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from headrace.api.functions.basic import Function

__all__ = ["SinkFunction", "SourceFunction"]


class SinkFunction(Function):
    """Writes records somewhere, one by one, in the Python worker.

    A batch that fails is tried again, so ``invoke`` may see a record twice: at least once. For
    exactly once use a connector from datastream/connectors.
    """

    class Context(ABC):
        """The time of the record being written."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The record's timestamp; None if it has none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The machine's clock."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event-time clock."""

    @abstractmethod
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        """Write one record."""

    def finish(self) -> None:
        """Called at the end of bounded input, before ``close``: flush what is buffered."""


class SourceFunction(Function):
    """Emits records until it is done or cancelled."""

    class SourceContext(ABC):
        """Where a source sends its records."""

        @abstractmethod
        def collect(self, element: Any) -> None:
            """Emit a record."""

        @abstractmethod
        def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
            """Emit a record with its event time in epoch milliseconds."""

    @abstractmethod
    def run(self, ctx: SourceFunction.SourceContext) -> None:
        """Emit records; return when there are no more."""

    @abstractmethod
    def cancel(self) -> None:
        """Make ``run`` return soon; called from another thread."""
