"""Which windows run on Catalyst, and what is said about the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from golden.compare import assert_golden
from headrace.common import Configuration, Row, Types, WatermarkStrategy
from headrace.common.watermark_strategy import WatermarkGenerator
from headrace.connectors.files.source import FileSource
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.collecting import dataframe_end
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.expressions import col, count, window_start
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    CumulateEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat
from headrace.plan.planner import PlanOptions, plan
from headrace.testing.programs import graph_of, step_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.datastream import DataStream
    from headrace.plan.physical import PhysicalPlan

EVENT = Types.ROW_NAMED(["user", "value", "ts"], [Types.STRING(), Types.LONG(), Types.LONG()])
TEN = TumblingEventTimeWindows.of(10)
BOUND = WatermarkStrategy.for_bounded_out_of_orderness(5)
TIMES = BOUND.with_timestamp_assigner("ts")


class OwnGenerator(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None: ...

    def on_periodic_emit(self, output: Any) -> None: ...


def read(settings: dict[str, str] | None = None) -> DataStream:
    configuration = Configuration()
    for key, value in (settings or {}).items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(3)
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(EVENT), "/events")
    return env.from_source(source.build(), None, "events")


def timed(events: DataStream, strategy: WatermarkStrategy = TIMES) -> DataStream:
    return events.assign_timestamps_and_watermarks(strategy)


def planned(stream: DataStream, *, sink: bool = True) -> PhysicalPlan:
    if sink:
        stream.sink_to(FileSink.parquet("out"))
    graph = graph_of(stream.get_execution_environment())
    return plan(graph.reachable_from(graph.sinks()), PlanOptions(3))


def counts(events: DataStream, windows: Any = TEN, key: Any = "user") -> DataStream:
    return timed(events).key_by(key).window(windows).select(count().alias("n"))


# --- native --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        counts,
        lambda e: counts(e, SlidingEventTimeWindows.of(10, 5, 3)),
        lambda e: counts(e, EventTimeSessionWindows.with_gap(5)),
        lambda e: counts(e, key=col("user")),
        lambda e: counts(e, key=lambda event: event.user),
        lambda e: counts(e, key=0),
        lambda e: timed(e).window_all(TEN).select(count()),
        lambda e: counts(e.filter(col("value") > 1)).filter(col("n") > 1),
        lambda e: (
            timed(e, BOUND.with_timestamp_assigner(col("ts") * 1000))
            .filter(col("value") > 1)
            .key_by("user")
            .window(TEN)
            .select(count())
        ),
    ],
)
def test_a_native_program_keeps_its_window(program: Callable[[DataStream], DataStream]) -> None:
    physical = planned(program(read()))
    assert physical.native_job is not None
    assert physical.native_job.window is not None
    assert {where for where, _ in physical.lowering.values()} == {"native"}
    assert physical.stages == []
    # Spark's shuffle is as wide as the job, and the end of input is one more source
    assert physical.slots == 3
    assert physical.uses_time


def test_the_steps_of_a_native_window_are_kept_apart() -> None:
    stream = timed(read().filter(col("value") > 1).name("before")).filter(col("value") > 2)
    window = stream.name("between").key_by("user").window(TEN).select(count().alias("n"))
    behind = window.name("window").filter(col("n") > 1).name("behind")
    behind.sink_to(FileSink.parquet("much"))
    job = planned(window).native_job
    assert job is not None
    assert job.window is not None
    assert [step.name for step in job.window.before] == ["before"]
    assert [step.name for step in job.window.between] == ["between"]
    assert job.window.step.name == "window"
    assert [[step.name for step in steps] for _, steps in job.sinks] == [["behind"], []]


def test_a_window_in_a_dataframe_is_native() -> None:
    stream = counts(read())
    dataframe_end(stream)
    assert planned(stream, sink=False).native_job is not None


# --- not native ----------------------------------------------------------------------------------


def _with(change: Callable[[Any], Any]) -> Callable[[DataStream], DataStream]:
    return lambda e: change(timed(e).key_by("user").window(TEN)).select(count())


def _times(strategy: WatermarkStrategy) -> Callable[[DataStream], DataStream]:
    return lambda e: timed(e, strategy).key_by("user").window(TEN).select(count())


def _read_in_front(events: DataStream) -> DataStream:
    events.sink_to(FileSink.parquet("raw"))
    return counts(events)


def _two_windows(events: DataStream) -> DataStream:
    counts(events, SlidingEventTimeWindows.of(10, 5)).sink_to(FileSink.parquet("other"))
    return counts(events)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (lambda e: counts(e, TumblingProcessingTimeWindows.of(5)), "no TumblingProcessingTime"),
        (lambda e: counts(e, CumulateEventTimeWindows.of(10, 5)), "Spark has no Cumulate"),
        (lambda e: counts(e, SlidingEventTimeWindows.of(5, 10)), "gaps between its windows"),
        (lambda e: counts(e, TumblingEventTimeWindows.of(1 << 50)), "longer than a thousand years"),
        (lambda e: counts(e, key=lambda event: event.value % 2), "its key is not a column"),
        (_with(lambda w: w.trigger(CountTrigger.of(2))), "a trigger of its own"),
        (_with(lambda w: w.evictor(CountEvictor.of(2))), "it has an evictor"),
        (_with(lambda w: w.allowed_lateness(1)), "evaluated again for late records"),
        (_with(lambda w: w.side_output_late_data(OutputTag("late"))), "go to a side output"),
        (
            lambda e: timed(e).window_all(EventTimeSessionWindows.with_gap(5)).select(count()),
            "no sessions over a whole stream",
        ),
        (_times(BOUND.with_timestamp_assigner(lambda event: event.ts)), "by a Python function"),
        (_times(TIMES.with_idleness("1 s")), "it has an idle timeout"),
        (_times(WatermarkStrategy.no_watermarks()), "it makes no watermarks"),
        (
            _times(
                WatermarkStrategy.for_generator(OwnGenerator).with_timestamp_assigner(col("ts"))
            ),
            "a generator in Python",
        ),
        (lambda e: counts(e.map(_same, EVENT).name("py")), "'py' runs in Python"),
        (lambda e: counts(e).map(str).name("py"), "'py' runs in Python"),
        (lambda e: counts(e.rebalance()), "'Timestamps/Watermarks' comes after an exchange"),
        (lambda e: counts(timed(e)), "not assigned exactly once"),
        (lambda e: counts(e.union(e)), "reads several streams"),
        (_read_in_front, "'FileSink' reads the records before the window"),
        (_two_windows, "has another window"),
    ],
)
def test_other_windows_run_in_python_and_say_why(program: Any, why: str) -> None:
    physical = planned(program(read()))
    assert physical.native_job is None
    reasons = {
        reason for where, reason in physical.lowering.values() if reason.startswith("aggregates")
    }
    assert reasons
    for reason in reasons:
        assert reason.startswith("aggregates over columns, evaluated in Python: ")
        assert why in reason


def _same(event: Any) -> Any:
    return event


def test_a_sink_in_python_keeps_the_window_in_python() -> None:
    stream = counts(read())
    stream.print()
    [reason] = [r for _, r in planned(stream, sink=False).lowering.values() if "aggregates" in r]
    assert reason.endswith("'Print' is a sink in Python")


def test_native_windows_can_be_switched_off() -> None:
    physical = planned(counts(read({"headrace.windows.native": "false"})))
    assert physical.native_job is None
    assert any("headrace.windows.native is off" in r for _, r in physical.lowering.values())


def test_a_source_with_splits_has_a_watermark_for_each() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    events = env.from_collection([Row(user="a", value=1, ts=1)], EVENT)
    source: Any = step_of(events).source
    source.has_splits = lambda: True
    [reason] = [r for _, r in planned(counts(events)).lowering.values() if "aggregates" in r]
    assert "its splits have watermarks of their own" in reason


# --- explain -------------------------------------------------------------------------------------


def test_golden_text_of_a_native_window() -> None:
    windows = timed(read()).key_by("user").window(TEN)
    stream = windows.select(col("user"), count().alias("n"), window_start())
    stream.filter(col("n") > 1).sink_to(FileSink.parquet("out"))
    assert_golden("plans/native_window.txt", stream.get_execution_environment().explain())


def test_golden_text_of_a_window_that_python_evaluates() -> None:
    stream = counts(read(), EventTimeSessionWindows.with_gap(5))
    stream.print()
    assert_golden("plans/python_window.txt", stream.get_execution_environment().explain())
