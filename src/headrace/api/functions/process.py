"""Process functions: every record with its time, timers and state; any number of records out.

Records are emitted with ``yield``; ``yield tag, value`` goes to the side output of that tag.
Next: api/functions/broadcast.py, runtime/operators/process.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headrace.api.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.api.time_domain import TimeDomain
    from headrace.api.timerservice import TimerService

__all__ = [
    "CoProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "ProcessFunction",
]


class _TimeContext(ABC):
    """What every process function's context offers."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """The clocks; on keyed streams also the timers."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The timestamp of the record or of the timer that fires; None if there is none."""


class _KeyedContext(_TimeContext):
    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the record or of the timer that fires."""


class ProcessFunction(Function):
    """Any number of records out for one in, with a look at the clocks."""

    class Context(_TimeContext):
        """The record's timestamp and the clocks; timers need a keyed stream."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """The records to emit: usually a generator."""


class KeyedProcessFunction(Function):
    """Any number of records out for one in, with state and timers of the record's key."""

    class Context(_KeyedContext):
        """The record's key and timestamp, and the timers of its key."""

    class OnTimerContext(Context):
        """The same for a timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which clock the timer ran on."""

    @abstractmethod
    def process_element(
        self, value: Any, ctx: KeyedProcessFunction.Context
    ) -> Iterable[Any] | None:
        """The records to emit: usually a generator."""

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterable[Any] | None:
        """Called when a timer of the key fires; the records to emit."""
        return None


class CoProcessFunction(Function):
    """Two inputs; any number of records out for one in."""

    class Context(_TimeContext):
        """The record's timestamp and the clocks."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """The records to emit for a record of the first input."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """The records to emit for a record of the second input."""


class KeyedCoProcessFunction(Function):
    """Two keyed inputs that share state and timers of a key."""

    class Context(_KeyedContext):
        """The record's key and timestamp, and the timers of its key."""

    class OnTimerContext(Context):
        """The same for a timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which clock the timer ran on."""

    @abstractmethod
    def process_element1(
        self, value: Any, ctx: KeyedCoProcessFunction.Context
    ) -> Iterable[Any] | None:
        """The records to emit for a record of the first input."""

    @abstractmethod
    def process_element2(
        self, value: Any, ctx: KeyedCoProcessFunction.Context
    ) -> Iterable[Any] | None:
        """The records to emit for a record of the second input."""

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext
    ) -> Iterable[Any] | None:
        """Called when a timer of the key fires; the records to emit."""
        return None
