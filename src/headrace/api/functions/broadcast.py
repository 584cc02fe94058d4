"""Functions that join a stream with a broadcast one: rules for everyone, kept in broadcast state.

Next: runtime/operators/broadcast.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.api.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.api.state import (
        BroadcastState,
        MapStateDescriptor,
        ReadOnlyBroadcastState,
    )
    from headrace.api.time_domain import TimeDomain
    from headrace.api.timerservice import TimerService

__all__ = [
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
]

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")


class BaseBroadcastProcessFunction(Function):
    """What both kinds of broadcast functions share."""

    class BaseContext(ABC):
        """The clocks, and the record's timestamp."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The timestamp of the record or timer; None if there is none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The machine's clock."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event-time clock."""

    class Context(BaseContext):
        """For records of the broadcast side: may change broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> BroadcastState[Any, Any]:
            """The broadcast state of a descriptor given to ``broadcast``."""

    class ReadOnlyContext(BaseContext):
        """For records of the other side: may only read broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> ReadOnlyBroadcastState[Any, Any]:
            """The broadcast state of a descriptor given to ``broadcast``."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Joins a stream without keys with a broadcast one."""

    class Context(BaseBroadcastProcessFunction.Context):
        """For records of the broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """For records of the other side."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT] | None:
        """The records to emit for a record of the stream."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: BroadcastProcessFunction.Context
    ) -> Iterable[OUT] | None:
        """The records to emit for a broadcast record; every subtask sees it."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Joins a keyed stream, its state and its timers with a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context):
        """For records of the broadcast side: no key is at hand."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """For records of the keyed side."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The clocks and the timers of the key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record."""

    class OnTimerContext(ReadOnlyContext):
        """For a timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which clock the timer ran on."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT] | None:
        """The records to emit for a record of the keyed stream."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterable[OUT] | None:
        """The records to emit for a broadcast record; every subtask sees it."""

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext
    ) -> Iterable[OUT] | None:
        """Called when a timer of the key fires; the records to emit."""
        return None
