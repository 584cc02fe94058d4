"""Triggers: when a window's contents are evaluated.

In: records and timers of one key and window (runtime/operators/window.py calls).  Out: a
TriggerResult.  The rules: docs/semantics.md#3-triggers-lateness-evictors
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.api.state import ReducingStateDescriptor, ValueStateDescriptor
from headrace.api.time_domain import TimeDomain
from headrace.api.window.shapes import is_as_written
from headrace.common.time import DurationLike, to_millis
from headrace.common.typeinfo import Types
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.api.state import StateDescriptor
    from headrace.api.window.windows import TimeWindow
    from headrace.common.metrics import MetricGroup
    from headrace.common.opaque import DeclaredType

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountTrigger",
    "DeltaTrigger",
    "EventTimeTrigger",
    "NeverTrigger",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "Trigger",
    "TriggerResult",
]

T = TypeVar("T")
W = TypeVar("W")


class TriggerResult(Enum):
    """What to do with a window: (evaluate it, drop its contents)."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Whether the window is evaluated."""
        return self._value_[0]

    def is_purge(self) -> bool:
        """Whether the window's contents are dropped."""
        return self._value_[1]


_CONTINUE, _FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
# A subclass that replaces one of these may fire at any time, whatever its parent says.
_DECIDES = ("on_element", "on_event_time", "on_processing_time", "on_merge", "clear")


class Trigger(ABC, Generic[T, W]):
    """Decides when a window is evaluated. One trigger object serves all keys and windows."""

    class TriggerContext(ABC):
        """Clocks, timers and state of the window at hand."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The machine's clock."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Where to register metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The event-time clock."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Call ``on_processing_time`` when the clock reaches the time."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Call ``on_event_time`` when the watermark reaches the time."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Take back a timer."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Take back a timer."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """State of the key and window at hand."""

    class OnMergeContext(TriggerContext):
        """Also merges the state of windows that become one."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the old windows into that of the new one."""

    @abstractmethod
    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Called for every record added to the window."""

    @abstractmethod
    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Called when a processing-time timer of the window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called when an event-time timer of the window fires."""

    def can_merge(self) -> bool:
        """Whether the trigger works with windows that merge, such as sessions."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Called when several windows became ``window``."""

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Called when the window is gone: clear state and timers."""

    def fires_at_end(self) -> TimeDomain | None:
        """The clock at whose passing of a window's end it fires; None if that is not all. Ours.

        A trigger that names a clock does nothing but fire then, and again for every record that
        comes later. Windows with such a trigger need not ask it.
        """
        return None


class _QuietTrigger(Trigger[T, W]):
    """A trigger that does nothing, to build the others on."""

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Nothing to do."""
        return _CONTINUE

    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Nothing to do."""
        return _CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Nothing to do."""
        return _CONTINUE

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Nothing to do."""

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Nothing to do."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class NeverTrigger(_QuietTrigger[T, W]):
    """Never fires: the default of global windows."""


class EventTimeTrigger(_QuietTrigger[T, "TimeWindow"]):
    """Fires when the watermark passes the end of the window, then for every late record."""

    @staticmethod
    def create() -> EventTimeTrigger[Any]:
        """The trigger."""
        return EventTimeTrigger()

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire at once for a late record; else wait for the end."""
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return _FIRE
        ctx.register_event_time_timer(end)
        return _CONTINUE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire at the end."""
        return _FIRE if time == window.max_timestamp() else _CONTINUE

    def can_merge(self) -> bool:
        """Works with sessions."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the new end; if it has passed, the record that merged fires."""
        end = window.max_timestamp()
        if end > ctx.get_current_watermark():
            ctx.register_event_time_timer(end)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Take the timer back."""
        ctx.delete_event_time_timer(window.max_timestamp())

    def fires_at_end(self) -> TimeDomain | None:
        """By the watermark, unless a subclass decides in another way."""
        as_written = is_as_written(self, EventTimeTrigger, *_DECIDES)
        return TimeDomain.EVENT_TIME if as_written else None


class ProcessingTimeTrigger(_QuietTrigger[T, "TimeWindow"]):
    """Fires when the machine's clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger[Any]:
        """The trigger."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Wait for the end."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return _CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire."""
        return _FIRE

    def can_merge(self) -> bool:
        """Works with sessions."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the new end."""
        end = window.max_timestamp()
        if end > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(end)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Take the timer back."""
        ctx.delete_processing_time_timer(window.max_timestamp())

    def fires_at_end(self) -> TimeDomain | None:
        """By the machine's clock, unless a subclass decides in another way."""
        as_written = is_as_written(self, ProcessingTimeTrigger, *_DECIDES)
        return TimeDomain.PROCESSING_TIME if as_written else None


def _add(one: int, other: int) -> int:
    return one + other


class CountTrigger(_QuietTrigger[T, W]):
    """Fires at every n-th record of the window."""

    def __init__(self, window_size: int) -> None:
        if window_size < 1:
            raise InvalidArgumentError(
                f"a count trigger needs at least 1 record, not {window_size}"
            )
        self._window_size = window_size
        self._count_state_descriptor = ReducingStateDescriptor("count", _add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger[Any, Any]:
        """A trigger that fires at every ``window_size``-th record."""
        return CountTrigger(window_size)

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Count, and fire when the count is reached."""
        count = ctx.get_partitioned_state(self._count_state_descriptor)
        count.add(1)
        if count.get() < self._window_size:
            return _CONTINUE
        count.clear()
        return _FIRE

    def can_merge(self) -> bool:
        """Works with sessions."""
        return True

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Add the counts up."""
        ctx.merge_partitioned_state(self._count_state_descriptor)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Forget the count."""
        ctx.get_partitioned_state(self._count_state_descriptor).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self._window_size})"


class _ContinuousTrigger(_QuietTrigger[T, "TimeWindow"]):
    """Fires at multiples of an interval since the epoch, on one of the two clocks."""

    def __init__(self, interval: int) -> None:
        if interval <= 0:
            raise InvalidArgumentError(f"the interval must be longer than 0 ms, not {interval}")
        self.interval = interval
        self.state_desc = ReducingStateDescriptor("fire-time", min, Types.LONG())

    def _set_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        raise NotImplementedError

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        raise NotImplementedError

    def _start(self, now: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """At the first record of a window: fire at the next boundary."""
        next_fire = ctx.get_partitioned_state(self.state_desc)
        if next_fire.get() is None:
            self._advance(now - now % self.interval, window, ctx)

    def _advance(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        following = min(time + self.interval, window.max_timestamp())
        ctx.get_partitioned_state(self.state_desc).add(following)
        self._set_timer(following, ctx)

    def _on_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return _FIRE
        next_fire = ctx.get_partitioned_state(self.state_desc)
        if next_fire.get() != time:
            return _CONTINUE
        next_fire.clear()
        self._advance(time, window, ctx)
        return _FIRE

    def can_merge(self) -> bool:
        """Works with sessions."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Go on with the earliest of the next firings."""
        ctx.merge_partitioned_state(self.state_desc)
        earliest = ctx.get_partitioned_state(self.state_desc).get()
        if earliest is not None:
            self._set_timer(earliest, ctx)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Take the timer back."""
        next_fire = ctx.get_partitioned_state(self.state_desc)
        time = next_fire.get()
        if time is not None:
            self._delete_timer(time, ctx)
            next_fire.clear()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_ContinuousTrigger[T]):
    """Fires whenever the watermark passes a multiple of the interval, and at the window's end."""

    @staticmethod
    def of(interval: DurationLike) -> ContinuousEventTimeTrigger[Any]:
        """A trigger with that interval."""
        return ContinuousEventTimeTrigger(to_millis(interval))

    def _set_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire at once for a late record; else wait for the next boundary and the end."""
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return _FIRE
        ctx.register_event_time_timer(end)
        self._start(timestamp, window, ctx)
        return _CONTINUE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire at a boundary or at the end."""
        return self._on_time(time, window, ctx)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger[T]):
    """Fires whenever the clock passes a multiple of the interval, and at the window's end."""

    @staticmethod
    def of(interval: DurationLike) -> ContinuousProcessingTimeTrigger[Any]:
        """A trigger with that interval."""
        return ContinuousProcessingTimeTrigger(to_millis(interval))

    def _set_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Wait for the next boundary."""
        self._start(ctx.get_current_processing_time(), window, ctx)
        return _CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire at a boundary or at the end."""
        return self._on_time(time, window, ctx)


class DeltaTrigger(_QuietTrigger[T, W]):
    """Fires when a record is more than a threshold away from the one that fired last.

    Ours, from Java. The first record of a window is only remembered.

    Args:
        threshold: fires when the delta is larger than this.
        delta_function: ``(old, new) -> float``.
        type_info: the type of the records, for the remembered one.
    """

    def __init__(
        self,
        threshold: float,
        delta_function: Callable[[T, T], float],
        type_info: DeclaredType = object,
    ) -> None:
        self._threshold = threshold
        self._delta_function = delta_function
        self._last = ValueStateDescriptor("last-element", type_info)

    @staticmethod
    def of(
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        type_info: DeclaredType = object,
    ) -> DeltaTrigger[Any, Any]:
        """A trigger with that threshold and that measure."""
        return DeltaTrigger(threshold, delta_function, type_info)

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Compare with the remembered record."""
        last = ctx.get_partitioned_state(self._last)
        remembered = last.value()
        if remembered is None:
            last.update(element)
            return _CONTINUE
        if self._delta_function(remembered, element) > self._threshold:
            last.update(element)
            return _FIRE
        return _CONTINUE

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Forget the record."""
        ctx.get_partitioned_state(self._last).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self._threshold})"


class PurgingTrigger(Trigger[T, W]):
    """Drops the window's contents whenever the trigger inside it fires."""

    def __init__(self, nested_trigger: Trigger[T, W]) -> None:
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[T, W]) -> PurgingTrigger[T, W]:
        """The purging form of a trigger."""
        return PurgingTrigger(nested_trigger)

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """As the trigger inside, but purging."""
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """As the trigger inside, but purging."""
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """As the trigger inside, but purging."""
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        """As the trigger inside."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """As the trigger inside."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """As the trigger inside."""
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result


class ProcessingTimeoutTrigger(Trigger[T, W]):
    """Fires like the trigger inside, and also when a window has waited too long.

    Ours, from Java.

    Args:
        nested_trigger: the trigger inside.
        timeout: how long a window may wait after a record.
        reset_timer_on_new_record: restart the time with every record.
        should_clear_on_timeout: let the trigger inside start over after a timeout.
    """

    def __init__(
        self,
        nested_trigger: Trigger[T, W],
        timeout: DurationLike,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> None:
        self.nested_trigger = nested_trigger
        self.timeout_ms = to_millis(timeout)
        if self.timeout_ms <= 0:
            raise InvalidArgumentError(f"the timeout must be longer than 0 ms, not {timeout}")
        self._reset = reset_timer_on_new_record
        self._clear_on_timeout = should_clear_on_timeout
        self._timer = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger[T, W],
        timeout: DurationLike,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger[T, W]:
        """A trigger with that timeout."""
        return ProcessingTimeoutTrigger(
            nested_trigger, timeout, reset_timer_on_new_record, should_clear_on_timeout
        )

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Ask the trigger inside, and keep the timeout running unless it fired."""
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        timer = ctx.get_partitioned_state(self._timer)
        running = timer.value()
        if running is not None and self._reset:
            ctx.delete_processing_time_timer(running)
            running = None
        if running is None:
            time = ctx.get_current_processing_time() + self.timeout_ms
            ctx.register_processing_time_timer(time)
            timer.update(time)
        return result

    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire, as Flink does for every timer; purge if the trigger inside says so."""
        return self._fire(self.nested_trigger.on_processing_time(time, window, ctx), window, ctx)

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire, as Flink does for every timer; purge if the trigger inside says so."""
        return self._fire(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def _fire(self, nested: TriggerResult, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        if self._clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if nested.is_purge() else _FIRE

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Never called: this trigger cannot merge."""

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Take the timer back and clear the trigger inside."""
        timer = ctx.get_partitioned_state(self._timer)
        running = timer.value()
        if running is not None:
            ctx.delete_processing_time_timer(running)
            timer.clear()
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self.nested_trigger!r}, {self.timeout_ms})"
