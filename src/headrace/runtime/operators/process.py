"""Results and contexts of process functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.datastream.output_tag import OutputTag
from headrace.errors import StateError
from headrace.runtime.records import MIN_TIMESTAMP, Records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.runtime.operators.base import Operator, Output
    from headrace.runtime.timers import TimerQueue


class ProcessOutput:
    """Gathers what user functions yield, main and side outputs apart, and emits it as lists."""

    __slots__ = ("_output", "_sides", "timed", "times", "values")

    def __init__(self, output: Output) -> None:
        self._output = output
        self.values: list[Any] = []
        self.times: list[int] = []
        self.timed = False
        self._sides: dict[str, tuple[list[Any], list[int]]] = {}

    def extend(self, results: Iterable[Any] | None, timestamp: int | None) -> None:
        """Take the results of one call; they all carry `timestamp`."""
        if results is None:
            return
        if timestamp is None:
            timestamp = MIN_TIMESTAMP
        else:
            self.timed = True
        values, times = self.values, self.times
        for result in results:
            if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                side = self._sides.setdefault(result[0].tag_id, ([], []))
                side[0].append(result[1])
                side[1].append(timestamp)
            else:
                values.append(result)
                times.append(timestamp)

    def flush(self) -> None:
        """Emit everything gathered so far."""
        if self.values:
            records = Records(self.values, self.times if self.timed else None)
            self.values, self.times = [], []
            self._output.emit(records)
        sides, self._sides = self._sides, {}
        for tag, (values, times) in sides.items():
            self._output.emit_side(tag, Records(values, times if self.timed else None))


class StreamContext:
    """The ctx of a process function without keys."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._timers = UnkeyedTimerService(operator)
        self.current_timestamp: int | None = None

    def timestamp(self) -> int | None:
        """The timestamp of the record at hand, or None."""
        time = self.current_timestamp
        return None if time is None or time == MIN_TIMESTAMP else time

    def timer_service(self) -> UnkeyedTimerService:
        """The clock; timers need a keyed stream."""
        return self._timers


class UnkeyedTimerService:
    """Reads the clocks; setting timers is an error without a key."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def current_processing_time(self) -> int:
        """The wall clock in epoch milliseconds."""
        return self._operator.runtime.clock()

    def current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.current_watermark

    def _refuse(self) -> StateError:
        return StateError(
            "timers need a keyed stream",
            fix="call key_by before process, and use a KeyedProcessFunction",
        )

    def register_event_time_timer(self, timestamp: int) -> None:
        """Not without a key."""
        raise self._refuse()

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Not without a key."""
        raise self._refuse()

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Not without a key."""
        raise self._refuse()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Not without a key."""
        raise self._refuse()


class KeyedTimerService:
    """Timers of the key at hand."""

    def __init__(self, operator: Any, event: TimerQueue, processing: TimerQueue) -> None:
        self._operator = operator
        self._event = event
        self._processing = processing

    def current_processing_time(self) -> int:
        """The wall clock in epoch milliseconds."""
        time: int = self._operator.runtime.clock()
        return time

    def current_watermark(self) -> int:
        """The operator's event time."""
        time: int = self._operator.current_watermark
        return time

    def register_event_time_timer(self, timestamp: int) -> None:
        """Call on_timer for this key once event time reaches `timestamp`."""
        self._event.register(int(timestamp), self._operator.scope.key)

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call on_timer for this key once the wall clock reaches `timestamp`."""
        self._processing.register(int(timestamp), self._operator.scope.key)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Remove a timer of this key."""
        self._event.delete(int(timestamp), self._operator.scope.key)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Remove a timer of this key."""
        self._processing.delete(int(timestamp), self._operator.scope.key)


class KeyedContext:
    """The ctx of a keyed process function; in on_timer it also tells the time domain."""

    def __init__(self, operator: Any, timers: KeyedTimerService) -> None:
        self._operator = operator
        self._timers = timers
        self.current_timestamp: int | None = None
        self.domain: Any = None

    def timestamp(self) -> int | None:
        """The timestamp of the record or timer at hand, or None."""
        time = self.current_timestamp
        return None if time is None or time == MIN_TIMESTAMP else time

    def timer_service(self) -> KeyedTimerService:
        """Clocks and timers."""
        return self._timers

    def get_current_key(self) -> Any:
        """The key at hand."""
        return self._operator.scope.key

    def time_domain(self) -> Any:
        """Which clock fired the timer."""
        return self.domain
