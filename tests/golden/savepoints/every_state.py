"""A program with every kind of state there is, whose savepoints earlier versions have left here.

    first part of the records ─▶ savepoint, written by a released version, kept in a folder beside
    second part               ─▶ what a job that begins with the savepoint gives, compared with one
                                 that never stopped (tests/spark/test_earlier_savepoints.py)

Never change what is here: a step that is added needs a program and savepoints of its own.
``python -m golden.savepoints.every_state FOLDER`` in tests/ takes a savepoint with this version.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.common.state_ttl import StateTtlConfig
from headrace.common.time import Duration, Time
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import Boundedness
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.datastream.data_stream import DataStream

CUT, END = 350, 500
STEP_MS = 100
FAR_MS = 4_102_444_800_000
RECORD = Types.TUPLE([Types.STRING(), Types.LONG()])
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def record(number: int) -> tuple[str, int]:
    """The record of a number; most are of five keys, one after the other."""
    return f"k{number % 5}", number


class Numbers(PythonSource):
    """Records from 0 to a bound."""

    def __init__(self, end: int, *, ends: bool) -> None:
        self.end = end
        self.ends = ends

    def latest_offset(self, split: str, start: int) -> int:
        return self.end

    def read(self, split: str, start: int, end: int) -> Iterator[Any]:
        return map(record, range(start, end))

    def produced_type(self) -> Any:
        return RECORD

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.ends else Boundedness.CONTINUOUS_UNBOUNDED


class NumberTime(TimestampAssigner):
    """Event time grows with the number."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1]) * STEP_MS


def key_of(value: Any) -> str:
    return str(value[0])


def sum_of(one: Any, other: Any) -> Any:
    return one[0], one[1] + other[1]


class CountAndSum(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + 1, accumulator[1] + value[1]

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class EveryKind(KeyedProcessFunction):
    """Five kinds of state, one that expires, a list and a map in parts, timers of both clocks."""

    def open(self, runtime_context: Any) -> None:
        get = runtime_context
        self.value = get.get_state(ValueStateDescriptor("value", RECORD))
        self.items = get.get_list_state(ListStateDescriptor("items", Types.LONG()))
        self.map = get.get_map_state(MapStateDescriptor("map", Types.LONG(), RECORD))
        self.least = get.get_reducing_state(ReducingStateDescriptor("least", min, Types.LONG()))
        self.sum = get.get_aggregating_state(
            AggregatingStateDescriptor(
                "sum", CountAndSum(), Types.TUPLE([Types.LONG(), Types.LONG()])
            )
        )
        expiring = ValueStateDescriptor("expiring", Types.LONG())
        expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.days(100_000)).build())
        self.expiring = get.get_state(expiring)

    def process_element(self, value: Any, ctx: Any) -> Any:
        key, number = value
        before, seen = self.value.value(), self.expiring.value()
        self.value.update(value)
        self.expiring.update(number)
        # k0 and k1 have so much that it is stored in parts
        self.items.add_all(range(number, number + (20 if key == "k0" else 1)))
        self.map.put_all(dict.fromkeys(range(number, number + 2), value))
        if key == "k1":
            self.map.put_all(dict.fromkeys(range(10_000 + number, 10_000 + number + 15), value))
        self.least.add(-number)
        self.sum.add(value)
        timers = ctx.timer_service()
        timers.register_event_time_timer(ctx.timestamp() + 7_000)
        timers.register_processing_time_timer(FAR_MS + number)
        yield "every", value, before, seen, len(list(self.items)), len(list(self.map.keys()))

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        items, keys = list(self.items), sorted(self.map.keys())
        found = sum(items), items[:3], sum(keys), self.map.get(keys[0])
        yield "timer", timestamp, found, self.least.get(), self.sum.get()


class Enrich(BroadcastProcessFunction):
    """Every record with the rules of all subtasks."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield "rules", value, sorted(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(*value)
        return ()


class EnrichKeyed(KeyedBroadcastProcessFunction):
    """The same, beside state of the key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        rules = sorted(ctx.get_broadcast_state(RULES).items())
        yield "keyed rules", value, self.count.value(), rules

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(*value)
        return ()


class Contents(ProcessWindowFunction):
    """What is in a window, with state of the window and of the key."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        fired = ValueStateDescriptor("fired", Types.LONG())
        of_window = context.window_state().get_state(fired)
        of_key = context.global_state().get_state(fired)
        for state in (of_window, of_key):
            state.update((state.value() or 0) + 1)
        counts = of_window.value(), of_key.value()
        yield "contents", key, context.window().start, sorted(elements), *counts

    def clear(self, context: Any) -> None:
        context.window_state().get_state(ValueStateDescriptor("fired", Types.LONG())).clear()


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield "interval", left, right


def text(value: Any) -> str:
    return repr(value)


def is_rule(value: Any) -> bool:
    return bool(value[1] < 20)


def is_even(value: Any) -> bool:
    return bool(value[1] % 2 == 0)


def is_odd(value: Any) -> bool:
    return bool(value[1] % 2)


def is_in_session(value: Any) -> bool:
    """With gaps of three seconds now and then."""
    return bool(value[1] // 30 % 3)


def program(env: StreamExecutionEnvironment, end: int, *, ends: bool) -> DataStream:
    """The results of all steps, as text."""
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(NumberTime())
    numbers = env.from_source(Numbers(end, ends=ends), times, "numbers").uid("source")
    keyed = numbers.key_by(key_of, key_type=Types.STRING())
    rules = numbers.filter(is_rule).broadcast(RULES)
    found = [
        keyed.process(EveryKind()).uid("every"),
        keyed.reduce(sum_of).uid("reduce"),
        numbers.connect(rules).process(Enrich()).uid("broadcast"),
        keyed.connect(rules).process(EnrichKeyed()).uid("keyed-broadcast"),
        keyed.window(TumblingEventTimeWindows.of(Duration.of_seconds(4)))
        .aggregate(CountAndSum()).uid("tumbling"),
        keyed.window(
            SlidingEventTimeWindows.of(Duration.of_seconds(10), Duration.of_seconds(4))
        ).aggregate(CountAndSum()).uid("sliding"),
        numbers.filter(is_in_session).key_by(key_of, key_type=Types.STRING())
        .window(EventTimeSessionWindows.with_gap(Duration.of_seconds(2)))
        .reduce(sum_of).uid("sessions"),
        numbers.filter(is_in_session).key_by(key_of, key_type=Types.STRING())
        .window(EventTimeSessionWindows.with_gap(Duration.of_seconds(2)))
        .trigger(CountTrigger.of(4)).reduce(sum_of).uid("triggered-sessions"),
        keyed.window(
            SlidingEventTimeWindows.of(Duration.of_seconds(12), Duration.of_seconds(6))
        ).trigger(CountTrigger.of(5)).evictor(CountEvictor.of(7)).process(Contents()).uid("general"),
        numbers.filter(is_even).join(numbers.filter(is_odd))
        .where(key_of, key_type=Types.STRING()).equal_to(key_of, key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Duration.of_seconds(4)))
        .apply(lambda one, other: ("window join", one, other)).uid("window-join"),
        numbers.filter(is_even).key_by(key_of, key_type=Types.STRING())
        .interval_join(numbers.filter(is_odd).key_by(key_of, key_type=Types.STRING()))
        .between(Duration.of_millis(-3_000), Duration.of_millis(2_000))
        .process(Pairs()).uid("interval-join"),
    ]  # fmt: skip
    results, *others = [stream.map(text, output_type=Types.STRING()) for stream in found]
    return results.union(*others)


def environment(parallelism: int, **options: Any) -> StreamExecutionEnvironment:
    """An environment; options are written with two lines for a dot, one for a dash."""
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), str(value))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(parallelism).set_max_parallelism(16)


def main(folder: str) -> None:
    """Take a savepoint after the first part of the records."""
    env = environment(2, execution__checkpointing__dir=f"{folder}/job")
    program(env, CUT, ends=False).print()
    client = env.execute_async("every state")
    while _least_seen(client.get_metrics()) < CUT:
        time.sleep(0.2)
    print(client.stop_with_savepoint(False, folder).result())


def _least_seen(metrics: dict[str, Any]) -> int:
    """How many records the slowest of the steps that get all of them has taken."""
    operators = metrics.get("operators", {})
    wanted = ("every", "reduce", "tumbling", "sliding", "general")
    return min(int(operators.get(uid, {}).get("numRecordsIn", 0)) for uid in wanted)


if __name__ == "__main__":
    main(sys.argv[1])
