"""Functions over the contents of a window. Next: datastream/window, runtime/operators/window.py"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.api.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.api.functions.basic import KeyedStateStore

__all__ = [
    "AllWindowFunction",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "WindowFunction",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates a window of a keyed stream."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """The records to emit for the window's contents."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates a window of a stream without keys."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """The records to emit for the window's contents."""


class PassThroughWindowFunction(WindowFunction[IN, IN, KEY, W]):
    """Emits what the window holds."""

    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        """The contents."""
        return inputs


class PassThroughAllWindowFunction(AllWindowFunction[IN, IN, W]):
    """Emits what the window holds."""

    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        """The contents."""
        return inputs


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates a window of a keyed stream, with state and a look at the clocks."""

    class Context(ABC, Generic[W2]):
        """The window being evaluated."""

        @abstractmethod
        def window(self) -> W2:
            """The window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The machine's clock."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event-time clock."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this key and this window; clear it in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State of this key, shared by its windows."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT]:
        """The records to emit for the window's contents."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Called when the window is gone: clear its window state."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates a window of a stream without keys, with state."""

    class Context(ABC, Generic[W2]):
        """The window being evaluated."""

        @abstractmethod
        def window(self) -> W2:
            """The window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this window; clear it in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State shared by all windows."""

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT]:
        """The records to emit for the window's contents."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Called when the window is gone: clear its window state."""
