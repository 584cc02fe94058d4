"""Silent sources and splits do not hold the clock once their idle timeout is over."""

from __future__ import annotations

from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.runtime.watermarks import Valve
from headrace.testing import LocalRunner


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
