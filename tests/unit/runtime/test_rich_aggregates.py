"""Keyed state inside of the ReduceFunctions and AggregateFunctions of windows."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import (
    AggregateFunction,
    ProcessWindowFunction,
    ReduceFunction,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.testing import LocalRunner

EVENTS = [("a", 1), ("b", 2), ("a", 3), ("a", 12), ("b", 13), ("b", 14)]


def windowed(assigner: Any) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[1]
    )
    stream = env.from_collection([]).assign_timestamps_and_watermarks(strategy)
    return stream.key_by(lambda record: record[0]).window(assigner)


def run(stream: Any) -> list[Any]:
    with LocalRunner(stream) as job:
        found = job.run_batch(EVENTS[:3])
        job.restart()
        return sorted([*found, *job.run_batch(EVENTS[3:]), *job.end_of_input()])


class _Counting:
    """Counts the records of a key over all of its windows."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def count(self) -> int:
        self.seen.update((self.seen.value() or 0) + 1)
        return int(self.seen.value())


class Newest(_Counting, AggregateFunction):
    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return (*value, self.count())

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return max(acc_a, acc_b)


class Joined(_Counting, ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return (value1[0], value1[1] + value2[1], self.count())


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(5)]
)
def test_state_of_an_aggregate_function_is_of_the_key(assigner: Any) -> None:
    expected = [("a", 3, 2), ("a", 12, 3), ("b", 2, 1), ("b", 14, 3)]
    assert run(windowed(assigner).aggregate(Newest())) == expected


def test_every_window_adds_for_itself() -> None:
    found = run(windowed(SlidingEventTimeWindows.of(20, 10)).aggregate(Newest()))
    # each record is added to two windows
    assert [record[2] for record in found if record[0] == "a"][-1] == 6


def test_state_of_a_reduce_function_is_of_the_key() -> None:
    expected = [("a", 4, 1), ("a", 12), ("b", 2), ("b", 27, 1)]
    assert run(windowed(TumblingEventTimeWindows.of(10)).reduce(Joined())) == expected


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(5)]
)
def test_state_of_the_runtime_context_in_a_window_function_is_of_the_key(assigner: Any) -> None:
    class Numbered(_Counting, ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            yield key, self.count(), len(list(elements))

    expected = [("a", 1, 2), ("a", 2, 1), ("b", 1, 1), ("b", 2, 2)]
    assert run(windowed(assigner).process(Numbered())) == expected
