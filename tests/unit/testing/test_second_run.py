"""A bounded job that has ended runs again with new records: new event time, the same state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.common.watermark_strategy import WatermarkGenerator
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.testing import LocalRunner

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.datastream import DataStream

EVENT = Types.TUPLE([Types.STRING(), Types.LONG()])
LATE = OutputTag("late", EVENT)


def events(strategy: WatermarkStrategy | None = None) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    strategy = strategy or WatermarkStrategy.for_bounded_out_of_orderness("1 ms")
    return env.from_collection([], EVENT).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event[1])
    )


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, sorted(at for _, at in elements)


WINDOWS = {
    "tumbling": TumblingEventTimeWindows.of(Time.milliseconds(10)),
    "sliding": SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(10)),
    "sessions": EventTimeSessionWindows.with_gap(Time.milliseconds(5)),
}


@pytest.mark.parametrize("process_is_new", [False, True])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_a_second_run_hold_its_records_and_none_is_late(
    name: str, process_is_new: bool
) -> None:
    windows = events().key_by(lambda event: event[0]).window(WINDOWS[name])
    result = windows.side_output_late_data(LATE).process(Contents())

    def night(job: LocalRunner, batches: list[list[Any]]) -> list[Any]:
        found: list[Any] = []
        for outputs in (*(job.run_batch(batch) for batch in batches), job.end_of_input()):
            found += outputs[0]
            assert outputs[1] == []
        return found

    # the second night begins before the first has ended, in event time
    first, second = [[("a", 1), ("b", 3)], [("a", 25)]], [[("a", 4), ("a", 27)], [("b", 41)]]
    with LocalRunner(result, result.get_side_output(LATE)) as job:
        night(job, first)
        if process_is_new:
            job.restart()
        found = night(job, second)
    with LocalRunner(result, result.get_side_output(LATE)) as alone:
        assert sorted(found) == sorted(night(alone, second))


@pytest.mark.parametrize("process_is_new", [False, True])
def test_timers_fire_in_every_run_and_state_is_kept(process_is_new: bool) -> None:
    class Counting(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("n", Types.INT()))

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            ctx.timer_service().register_event_time_timer(value[1] + 10)
            yield "element", ctx.timer_service().current_watermark() < value[1]

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield timestamp, self.count.value()

    with LocalRunner(events().key_by(lambda event: event[0]).process(Counting())) as job:
        assert job.run_batch([("a", 5)]) == [("element", True)]
        assert job.end_of_input() == [(15, 1)]
        if process_is_new:
            job.restart()
        assert job.run_batch([("a", 3)]) == [("element", True)]
        assert job.run_batch([("a", 20)]) == [("element", True), (13, 3)]
        assert job.end_of_input() == [(30, 3)]


@pytest.mark.parametrize("process_is_new", [False, True])
def test_a_watermark_generator_begins_anew(process_is_new: bool) -> None:
    class Highest(WatermarkGenerator):
        def __init__(self) -> None:
            self.highest = -1

        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
            self.highest = max(self.highest, event_timestamp)
            output.emit_watermark(self.highest - 1)

        def on_periodic_emit(self, output: Any) -> None:
            pass

    class Clock(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value[1], ctx.timer_service().current_watermark()

    stream = events(WatermarkStrategy.for_generator(Highest)).key_by(lambda event: event[0])
    with LocalRunner(stream.process(Clock()), parallelism=1) as job:
        first = [job.run_batch([("a", 100)]), job.run_batch([("a", 110)]), job.end_of_input()]
        if process_is_new:
            job.restart()
        second = [job.run_batch([("a", 100)]), job.run_batch([("a", 110)]), job.end_of_input()]
    assert first == second
    assert first[1] == [(110, 99)]


def test_a_restart_in_the_middle_of_a_run_is_no_new_run() -> None:
    windows = events().key_by(lambda event: event[0]).window(WINDOWS["tumbling"])
    result = windows.side_output_late_data(LATE).process(Contents())
    with LocalRunner(result, result.get_side_output(LATE)) as job:
        job.run_batch([("a", 1)])
        job.run_batch([("a", 95)])
        job.restart()
        assert job.run_batch([("a", 2)]) == [[], [("a", 2)]]


def test_two_stages_begin_anew_together() -> None:
    keyed = events().key_by(lambda event: event[0])
    sums = keyed.window(WINDOWS["tumbling"]).reduce(lambda a, b: (a[0], max(a[1], b[1])))
    again = sums.key_by(lambda event: event[0]).window(WINDOWS["tumbling"])
    result: Callable[[], Any] = lambda: again.process(Contents())  # noqa: E731
    with LocalRunner(result()) as job:
        runs = []
        for _ in range(2):
            runs.append([*job.run_batch([("a", 1), ("a", 15)]), *job.end_of_input()])
    assert sorted(runs[0]) == sorted(runs[1]) == [("a", 0, [1]), ("a", 10, [15])]
