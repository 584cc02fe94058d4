"""Drives one function: feed records and watermarks, move the clock, look at output, state, timers.

In the style of Flink's operator test harnesses; a test takes well under a millisecond.

Example:
    >>> from headrace.datastream.functions import KeyedProcessFunction
    >>> class Echo(KeyedProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)
    ...         yield value
    ...     def on_timer(self, timestamp, ctx):
    ...         yield f"timer of {ctx.get_current_key()}"
    >>> with KeyedHarness.for_process_function(Echo(), key_by=lambda v: v) as harness:
    ...     harness.process_element("a", timestamp=10)
    ...     harness.process_watermark(15)
    ...     harness.output
    ['a', 'timer of a']
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, Self

import cloudpickle

from headrace.api.functions.retrying import NO_RETRY_STRATEGY
from headrace.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from headrace.common.time import to_millis
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.errors import InvalidArgumentError
from headrace.runtime.chain import Channel
from headrace.runtime.key_selectors import Keying, key_selector
from headrace.runtime.metrics import OperatorMetrics
from headrace.runtime.operators.asynchronous import AsyncOperator
from headrace.runtime.operators.base import Operator, OperatorRuntime, Output
from headrace.runtime.operators.broadcast import broadcast_operator
from headrace.runtime.operators.connected import CoOperator, KeyedCoOperator
from headrace.runtime.operators.keyed import (
    KeyedCoProcessOperator,
    KeyedMapOperator,
    KeyedProcessOperator,
    ReduceOperator,
)
from headrace.runtime.operators.rolling import RollingOperator
from headrace.runtime.operators.stateless import (
    FilterOperator,
    FlatMapOperator,
    MapOperator,
    ProcessOperator,
)
from headrace.runtime.operators.window import WindowOperator
from headrace.runtime.pages.store import DictStore
from headrace.runtime.watermarks import InputClocks
from headrace.runtime.windows.description import WindowDescription
from headrace.runtime.windows.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.api.functions import AsyncRetryStrategy
    from headrace.api.output_tag import OutputTag
    from headrace.common.opaque import FieldOrSelector, UserFunction
    from headrace.common.time import DurationLike
    from headrace.runtime.state.provider import StateProvider
    from headrace.runtime.windows.strategy import WindowStrategy

__all__ = ["Harness", "KeyedHarness", "TwoInputHarness"]


class _Recorder:
    """Takes what an operator emits."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.timestamps: list[int | None] = []
        self.watermarks: list[int] = []

    def accept(self, records: Records) -> None:
        for value, timestamp in records.pairs():
            self.values.append(value)
            self.timestamps.append(None if timestamp == MIN_TIMESTAMP else timestamp)

    def watermark(self, timestamp: int) -> None:
        self.watermarks.append(timestamp)

    def idle(self) -> None:
        pass


class _Sides(dict[str, list[Any]]):
    """Gives every side output a recorder the first time something is sent to it."""

    def get(self, key: str, default: Any = None) -> list[Any]:
        return self.setdefault(key, [_Recorder()])


class Harness:
    """A function on a stream without keys.

    Args:
        operator: made by one of the ``for_...`` methods.
        key_by: the key selector of each input, for keyed functions.
        parallelism: what the function's runtime context says.
        subtask: what the function's runtime context says.
    """

    def __init__(
        self,
        operator: Operator,
        key_by: tuple[Any, ...] = (),
        *,
        parallelism: int = 1,
        subtask: int = 0,
    ) -> None:
        self._fresh = cloudpickle.dumps(operator)
        self._keyings = tuple(None if k is None else Keying(key_selector(k)) for k in key_by)
        self._place = (parallelism, subtask)
        self._time = 0
        self._store = DictStore()
        self._recorder = _Recorder()
        self._sides = _Sides()
        self._open()

    def _open(self) -> None:
        parallelism, subtask = self._place
        self.metrics = OperatorMetrics()
        output = Output(self.metrics)
        output.main = [self._recorder]
        output.sides = self._sides
        self.operator: Operator = pickle.loads(self._fresh)
        self.operator.open(
            OperatorRuntime(
                name="harness",
                uid="harness",
                where="test",
                subtask=subtask,
                parallelism=parallelism,
                max_parallelism=128,
                output=output,
                store=self._store,
                metrics=self.metrics,
                clock=lambda: self._time,
                channel=Channel("test"),
                keyings=self._keyings,
            )
        )
        self.operator.begin_batch()

    # --- making one ------------------------------------------------------------------------------

    @classmethod
    def for_map(cls, function: UserFunction) -> Harness:
        """A MapFunction or a function."""
        return Harness(MapOperator(function))

    @classmethod
    def for_flat_map(cls, function: UserFunction) -> Harness:
        """A FlatMapFunction or a function."""
        return Harness(FlatMapOperator(function))

    @classmethod
    def for_filter(cls, function: UserFunction) -> Harness:
        """A FilterFunction or a function."""
        return Harness(FilterOperator(function))

    @classmethod
    def for_process_function(cls, function: UserFunction, **options: Any) -> Harness:
        """A ProcessFunction."""
        return Harness(ProcessOperator(function), **options)

    @classmethod
    def for_async_function(
        cls,
        function: Any,
        *,
        ordered: bool = True,
        timeout: DurationLike = 0,
        capacity: int = 100,
        retries: AsyncRetryStrategy[Any] = NO_RETRY_STRATEGY,
    ) -> Harness:
        """An AsyncFunction; `end_of_batch` waits for the requests that are under way."""
        operator = AsyncOperator(
            function,
            ordered=ordered,
            timeout_ms=to_millis(timeout),
            capacity=capacity,
            retries=retries,
        )
        return Harness(operator)

    # --- feeding ---------------------------------------------------------------------------------

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """One record arrives."""
        self._feed(value, timestamp, 0)

    def process_elements(self, *values: Any) -> None:
        """Some records without timestamps arrive."""
        for value in values:
            self.process_element(value)

    def _feed(self, value: Any, timestamp: int | None, number: int) -> None:
        times = None if timestamp is None else [timestamp]
        self.metrics.records_in += 1
        self.operator.process(Records([value], times), number)

    def process_watermark(self, timestamp: int) -> None:
        """Event time reaches `timestamp` on all inputs."""
        for number in range(self.operator.inputs):
            self.operator.watermark(timestamp, number)

    def end_of_input(self) -> None:
        """No more records: event time reaches its maximum."""
        self.process_watermark(MAX_TIMESTAMP)
        self.operator.end_of_part()

    def end_of_batch(self) -> None:
        """A batch ends: what waited for that comes out, and state is written."""
        self.operator.end_of_part()
        self.operator.flush()
        self.operator.begin_batch()

    def set_processing_time(self, timestamp: int) -> None:
        """The wall clock shows `timestamp`; timers that are due fire."""
        self._time = timestamp
        self.operator.advance_processing_time(timestamp)

    # --- looking ---------------------------------------------------------------------------------

    @property
    def output(self) -> list[Any]:
        """All records emitted so far."""
        return list(self._recorder.values)

    @property
    def timestamped_output(self) -> list[tuple[Any, int | None]]:
        """All records emitted so far, with their timestamps."""
        return list(zip(self._recorder.values, self._recorder.timestamps, strict=True))

    def take_output(self) -> list[Any]:
        """The records emitted since the last call."""
        values = self.output
        self._recorder.values.clear()
        self._recorder.timestamps.clear()
        return values

    @property
    def watermarks(self) -> list[int]:
        """All watermarks emitted so far."""
        return list(self._recorder.watermarks)

    def side_output(self, tag: OutputTag) -> list[Any]:
        """All records emitted with this tag."""
        return [value for value, _ in self.timestamped_side_output(tag)]

    def timestamped_side_output(self, tag: OutputTag) -> list[tuple[Any, int | None]]:
        """All records emitted with this tag, with their timestamps."""
        recorder: _Recorder = self._sides.get(tag.tag_id)[0]
        return list(zip(recorder.values, recorder.timestamps, strict=True))

    def num_event_time_timers(self) -> int:
        """How many event-time timers are pending."""
        self.operator.flush()
        timers = getattr(self.operator, "event_timers", ())
        strategy = getattr(self.operator, "strategy", None)
        return len(timers) + (0 if strategy is None else strategy.count_timers())

    def num_processing_time_timers(self) -> int:
        """How many processing-time timers are pending."""
        timers = getattr(self.operator, "processing_timers", None)
        return 0 if timers is None else len(timers)

    # --- restarts --------------------------------------------------------------------------------

    def snapshot(self) -> dict[bytes, bytes]:
        """What a checkpoint would keep: it is taken at the end of a batch."""
        self.end_of_batch()
        return self._store.snapshot()

    def restore(self, snapshot: dict[bytes, bytes]) -> None:
        """Continue with a new function object and the state of a snapshot, as after a restart."""
        watermark = self.operator.current_watermark
        self.operator.close()
        self._store = DictStore(snapshot)
        self._open()
        self.operator.reload(InputClocks([watermark] * self.operator.inputs))

    def close(self) -> None:
        """Close the function."""
        self.operator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class KeyedHarness(Harness):
    """A function on a keyed stream: its state and timers can be inspected."""

    @classmethod
    def for_process_function(
        cls, function: UserFunction, key_by: FieldOrSelector = None, **options: Any
    ) -> KeyedHarness:
        """A KeyedProcessFunction."""
        return cls(KeyedProcessOperator(function), (_needed(key_by),), **options)

    @classmethod
    def for_keyed_map(cls, function: UserFunction, key_by: FieldOrSelector) -> KeyedHarness:
        """A MapFunction with keyed state."""
        return cls(KeyedMapOperator(function, "map"), (key_by,))

    @classmethod
    def for_keyed_flat_map(cls, function: UserFunction, key_by: FieldOrSelector) -> KeyedHarness:
        """A FlatMapFunction with keyed state."""
        return cls(KeyedMapOperator(function, "flat_map"), (key_by,))

    @classmethod
    def for_reduce(cls, function: UserFunction, key_by: FieldOrSelector) -> KeyedHarness:
        """A ReduceFunction or a function."""
        return cls(ReduceOperator(function), (key_by,))

    @classmethod
    def for_rolling(cls, kind: str, field: int | str, key_by: FieldOrSelector) -> KeyedHarness:
        """A rolling aggregate: sum, min, max, min_by or max_by of a field."""
        return cls(RollingOperator(kind, field), (key_by,))

    @classmethod
    def for_windows(
        cls,
        assigner: Any,
        key_by: FieldOrSelector,
        *,
        trigger: Any = None,
        evictor: Any = None,
        allowed_lateness_ms: int = 0,
        late_tag: OutputTag | None = None,
        reduce: UserFunction = None,
        aggregate: UserFunction = None,
        function: UserFunction = None,
        strategies: tuple[type[WindowStrategy], ...] = STRATEGIES,
    ) -> KeyedHarness:
        """Windows of a keyed stream: reduce or aggregate, a function over the result, or both.

        The first window strategy that fits is used.
        """
        described = WindowDescription(assigner)
        if trigger is not None:
            described.set_trigger(trigger)
        described.evictor = evictor
        described.allowed_lateness_ms = allowed_lateness_ms
        described.late_tag = None if late_tag is None else late_tag.tag_id
        described.reduce, described.aggregate = reduce, aggregate
        described.function = function
        return cls(WindowOperator(described, strategies), (key_by,))

    def state(self, descriptor: StateDescriptor, key: Any) -> Any:
        """What a state holds for a key: a value, a list, a dict, or None."""
        provider: StateProvider = self.operator.states  # type: ignore[attr-defined]
        provider.scope.set(key)
        state = provider.of(descriptor)
        if isinstance(descriptor, ListStateDescriptor):
            return list(state.get())
        if isinstance(descriptor, MapStateDescriptor):
            return dict(state.items())
        if isinstance(descriptor, ReducingStateDescriptor | AggregatingStateDescriptor):
            return state.get()
        return state.value()

    def num_keyed_state_entries(self) -> int:
        """How many (state, key) pairs are kept, windows and triggers included: to find leaks."""
        operator: Any = self.operator
        operator.flush()
        providers: list[StateProvider] = [operator.states]
        entries = 0
        if isinstance(operator, WindowOperator):
            providers += [operator.trigger_states, operator.window_states, operator.global_states]
            entries = operator.strategy.count_entries()
        return entries + sum(len(t.items()) for states in providers for t in states.tables())


class TwoInputHarness(KeyedHarness):
    """A function with two inputs: process_element1/2, process_watermark1/2."""

    @classmethod
    def for_co_map(cls, function: UserFunction) -> TwoInputHarness:
        """A CoMapFunction."""
        return cls(CoOperator(function, ("map1", "map2")))

    @classmethod
    def for_co_flat_map(cls, function: UserFunction) -> TwoInputHarness:
        """A CoFlatMapFunction."""
        return cls(CoOperator(function, ("flat_map1", "flat_map2")))

    @classmethod
    def for_keyed_co_flat_map(
        cls, function: UserFunction, key_by1: FieldOrSelector, key_by2: FieldOrSelector
    ) -> TwoInputHarness:
        """A CoFlatMapFunction with keyed state."""
        return cls(KeyedCoOperator(function, ("flat_map1", "flat_map2")), (key_by1, key_by2))

    @classmethod
    def for_co_process_function(cls, function: UserFunction) -> TwoInputHarness:
        """A CoProcessFunction."""
        return cls(CoOperator(function, ("process_element1", "process_element2")))

    @classmethod
    def for_keyed_co_process_function(
        cls, function: UserFunction, key_by1: FieldOrSelector, key_by2: FieldOrSelector
    ) -> TwoInputHarness:
        """A KeyedCoProcessFunction."""
        return cls(KeyedCoProcessOperator(function), (key_by1, key_by2))

    @classmethod
    def for_broadcast_process_function(
        cls, function: UserFunction, *descriptors: Any
    ) -> TwoInputHarness:
        """A BroadcastProcessFunction; the second input is the broadcast side."""
        return cls(broadcast_operator(function, list(descriptors), keyed=False))

    @classmethod
    def for_keyed_broadcast_process_function(
        cls, function: UserFunction, key_by: FieldOrSelector, *descriptors: Any
    ) -> TwoInputHarness:
        """A KeyedBroadcastProcessFunction; the second input is the broadcast side."""
        return cls(broadcast_operator(function, list(descriptors), keyed=True), (key_by, None))

    def process_element1(self, value: Any, timestamp: int | None = None) -> None:
        """A record arrives at the first input."""
        self._feed(value, timestamp, 0)

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """A record arrives at the second input."""
        self._feed(value, timestamp, 1)

    process_broadcast_element = process_element2

    def process_watermark1(self, timestamp: int) -> None:
        """Event time of the first input reaches `timestamp`."""
        self.operator.watermark(timestamp, 0)

    def process_watermark2(self, timestamp: int) -> None:
        """Event time of the second input reaches `timestamp`."""
        self.operator.watermark(timestamp, 1)

    def process_idle1(self) -> None:
        """The first input is idle: event time does not wait for it."""
        self.operator.idle(0)

    def process_idle2(self) -> None:
        """The second input is idle: event time does not wait for it."""
        self.operator.idle(1)


def _needed(key_by: FieldOrSelector) -> Callable[[Any], Any]:
    if key_by is None:
        raise InvalidArgumentError(
            "a keyed harness needs key_by", fix="for instance key_by=lambda record: record[0]"
        )
    return key_selector(key_by)
