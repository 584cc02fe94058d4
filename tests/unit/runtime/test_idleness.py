"""Silent sources and splits do not hold the clock once their idle timeout is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import WatermarkGenerator, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.functions import CoFlatMapFunction, KeyedCoProcessFunction
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.runtime.watermarks import Valve
from headrace.testing import LocalRunner, TwoInputHarness

if TYPE_CHECKING:
    from collections.abc import Iterator


def strategy() -> WatermarkStrategy:
    return (
        WatermarkStrategy.for_monotonous_timestamps()
        .with_timestamp_assigner(lambda record, _: record)
        .with_idleness("100 ms")
    )


def test_a_source_that_never_sends_holds_the_clock_only_until_its_timeout() -> None:
    clock = [1000]
    env = StreamExecutionEnvironment.get_execution_environment()
    busy, silent = (
        env.from_collection([]).assign_timestamps_and_watermarks(strategy()) for _ in range(2)
    )
    counts = (
        busy.union(silent)
        .key_by(lambda record: "all")
        .window(TumblingEventTimeWindows.of(10))
        .reduce(lambda a, b: a + b)
    )
    with LocalRunner(counts, clock=lambda: clock[0]) as job:
        assert job.run_batch([1, 2, 25], []) == []
        clock[0] += 100
        assert job.tick() == []
        clock[0] += 1
        assert job.tick() == [3]
        assert job.run_batch([], [26]) == []
        assert job.end_of_input() == [51]


def test_a_silent_split_is_left_out_and_holds_the_clock_again_when_it_returns() -> None:
    valve = Valve({0: 0}, {0: 100})
    assert valve.update(0, "a", 10, now=0) == 10
    assert valve.update(0, "b", 12, now=0) is None
    assert valve.update(0, "b", 30, now=90) is None
    assert valve.next_idle(90) == 101
    assert valve.check_idle(100) is None
    assert valve.check_idle(101) == 30
    assert valve.update(0, "a", 20, now=110) is None
    assert valve.update(0, "b", 50, now=110) is None
    assert valve.update(0, "a", 40, now=120) == 40


def test_channels_without_a_timeout_are_waited_for_forever() -> None:
    valve = Valve({0: 0, 1: 0}, {1: 100})
    valve.update(1, "b", 5, now=0)
    assert valve.check_idle(10_000) is None
    assert valve.update(0, "a", 3, now=10_000) == 3


class Alarms(KeyedCoProcessFunction):
    """Says the time of every record of the first stream once event time has passed it."""

    def process_element1(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value)

    def process_element2(self, value: int, ctx: Any) -> None:
        pass

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
        yield timestamp


def two_streams() -> tuple[DataStream, DataStream]:
    env = StreamExecutionEnvironment.get_execution_environment()
    busy, silent = (
        env.from_collection([]).assign_timestamps_and_watermarks(strategy()) for _ in range(2)
    )
    return busy, silent


def everything(_record: int) -> str:
    return "all"


def joined(busy: DataStream, silent: DataStream) -> DataStream:
    return busy.connect(silent).key_by(everything, everything).process(Alarms())


def behind_a_stage(stream: DataStream) -> DataStream:
    return stream.key_by(lambda record: record).map(lambda record: record)


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_of_two_inputs_one_that_is_idle_does_not_hold_the_clock(
    stages: int, *, restarts: bool
) -> None:
    clock = [1000]
    busy, silent = two_streams()
    for _ in range(stages - 1):  # the word that a stream is idle passes through stages
        busy, silent = behind_a_stage(busy), behind_a_stage(silent)
    with LocalRunner(joined(busy, silent), clock=lambda: clock[0]) as job:
        assert job.run_batch([5, 20], [3]) == []  # W(19) and W(2)
        clock[0] += 101
        assert job.run_batch([30], []) == [5, 20]  # W(29); the second stream is silent for too long
        if restarts:
            job.restart()
        assert job.run_batch([40], []) == [30]
        assert job.run_batch([50], [35]) == []  # back, at W(34): it holds the clock again
        if restarts:
            job.restart()
        assert job.run_batch([60], []) == []
        assert job.run_batch([], [56]) == [40, 50]
        assert job.end_of_input() == [60]


class Highest(WatermarkGenerator):
    """A generator of a program's own."""

    def __init__(self) -> None:
        self.highest = 0

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.highest = max(self.highest, event_timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        output.emit_watermark(self.highest - 1)


@pytest.mark.parametrize("generator", [False, True], ids=["built in", "own"])
def test_records_that_do_not_move_event_time_keep_their_stream_from_being_idle(
    *, generator: bool
) -> None:
    clock = [1000]
    env = StreamExecutionEnvironment.get_execution_environment()
    timed = strategy()
    if generator:
        timed = (
            WatermarkStrategy.for_generator(Highest)
            .with_timestamp_assigner(lambda record, _: record)
            .with_idleness("100 ms")
        )
    left, right = (
        behind_a_stage(env.from_collection([])).assign_timestamps_and_watermarks(timed)
        for _ in range(2)
    )
    with LocalRunner(joined(left, right), parallelism=1, clock=lambda: clock[0]) as job:
        assert job.run_batch([5, 20], [30]) == [5]  # W(19) and W(29)
        clock[0] += 101
        assert job.run_batch([20], [40]) == []  # W(19) still
        clock[0] += 101
        assert job.run_batch([], [50]) == [20]  # now it is idle


def test_a_step_that_has_only_idle_inputs_holds_nobody_up() -> None:
    clock = [1000]
    env = StreamExecutionEnvironment.get_execution_environment()
    busy, left, right = (
        env.from_collection([]).assign_timestamps_and_watermarks(strategy()) for _ in range(3)
    )
    idle = left.connect(right).key_by(everything, everything).process(Alarms())
    with LocalRunner(joined(behind_a_stage(busy), idle), clock=lambda: clock[0]) as job:
        assert job.run_batch([5, 20], [3], [4]) == []
        clock[0] += 101
        assert job.run_batch([30], [], []) == [5, 20]
        assert job.run_batch([40], [], [7]) == []  # W(6) of one of the two: they count again
        clock[0] += 101
        assert job.run_batch([50], [], []) == [30, 40]


class Both(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterator[Any]:
        yield value

    def flat_map2(self, value: Any) -> Iterator[Any]:
        yield value


def test_two_inputs_tell_that_they_are_idle_and_that_they_are_back() -> None:
    told: list[object] = []

    class Next:
        def accept(self, records: object) -> None:
            pass

        def watermark(self, timestamp: int) -> None:
            told.append(timestamp)

        def idle(self) -> None:
            told.append("idle")

    with TwoInputHarness.for_co_flat_map(Both()) as harness:
        harness.operator.output.main = [Next()]
        harness.process_watermark1(10)
        harness.process_watermark2(5)
        harness.process_idle1()
        harness.process_idle2()
        assert told == [5, 10, "idle"]
        harness.process_watermark2(5)
        assert told == [5, 10, "idle", 10]
