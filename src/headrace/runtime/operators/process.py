"""Results and contexts of process functions."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from headrace.api.output_tag import OutputTag
from headrace.data.records import MIN_TIMESTAMP, Records
from headrace.errors import StateError
from headrace.runtime.operators.base import wrong_results

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.runtime.operators.base import Operator, Output
    from headrace.runtime.timers import TimerQueue


class ProcessOutput:
    """Gathers what user functions yield and emits it as lists, main and side outputs apart.

    Most functions yield no side output, so the results of a whole batch are looked at together: a
    test for every single one cost a third of a process function's time.
    """

    __slots__ = ("_output", "_times", "timed", "values")

    def __init__(self, output: Output) -> None:
        self._output = output
        self.values: list[Any] = []
        self._times: list[int] = []
        # whether any result so far had a timestamp: then all need one
        self.timed = False

    def extend(self, results: Iterable[Any] | None, timestamp: int | None) -> None:
        """Take the results of one call; they all carry `timestamp`."""
        if results is None:
            return
        before = len(self.values)
        try:
            self.values.extend(results)
        except TypeError:
            wrong = wrong_results(results)
            if wrong is None:  # the function itself raised it, while it was iterated
                raise
            raise wrong from None
        if timestamp is None and not self.timed:
            return
        if not self.timed:
            self.timed = True
            self._times = [MIN_TIMESTAMP] * before
        stamp = MIN_TIMESTAMP if timestamp is None else timestamp
        self._times.extend([stamp] * (len(self.values) - before))

    def flush(self) -> None:
        """Emit everything gathered so far."""
        if not self.values:
            return
        values, times = self.values, self._times if self.timed else None
        self.values, self._times = [], []
        if _may_hold_tags(values):
            self._emit_apart(values, times)
        else:
            self._output.emit(Records(values, times))

    def _emit_apart(self, values: list[Any], times: list[int] | None) -> None:
        lists: dict[str | None, tuple[list[Any], list[int]]] = {None: ([], [])}
        for value, time in zip(values, times or repeat(MIN_TIMESTAMP), strict=False):
            if type(value) is tuple and len(value) == 2 and isinstance(value[0], OutputTag):
                target = lists.setdefault(value[0].tag_id, ([], []))
                target[0].append(value[1])
            else:
                target = lists[None]
                target[0].append(value)
            target[1].append(time)
        main = lists.pop(None)
        self._output.emit(Records(main[0], None if times is None else main[1]))
        for tag, (found, stamps) in lists.items():
            assert tag is not None
            self._output.emit_side(tag, Records(found, None if times is None else stamps))


def _may_hold_tags(values: list[Any]) -> bool:
    """Whether a result may be (tag, record); False is certain.  No Python code per value."""
    kinds = set(map(type, values))
    if tuple not in kinds:
        return False
    if len(kinds) > 1:
        return True
    return any(issubclass(kind, OutputTag) for kind in set(map(type, chain.from_iterable(values))))


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
