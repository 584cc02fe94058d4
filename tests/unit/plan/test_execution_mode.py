"""BATCH and AUTOMATIC: who runs in one batch, what comes out of it, and what is refused."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.functions import KeyedProcessFunction
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    TumblingEventTimeWindows,
)
from headrace.errors import InvalidArgumentError, PlanError, SavepointError, UnsupportedStepError
from headrace.testing import LocalRunner, collect_locally
from headrace.testing.programs import program_of

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.datastream import DataStream

BATCH, AUTOMATIC = RuntimeExecutionMode.BATCH, RuntimeExecutionMode.AUTOMATIC
NUMBERS = Types.TUPLE([Types.STRING(), Types.INT()])


def environment(mode: RuntimeExecutionMode, **settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(2).set_runtime_mode(mode)


def totals(env: StreamExecutionEnvironment) -> DataStream:
    pairs = [("a", 1), ("b", 2), ("a", 3), ("b", 4), ("a", 5)]
    return env.from_collection(pairs, NUMBERS).key_by(lambda pair: pair[0]).sum(1)


def generator(rate: RateLimiterStrategy | None = None, count: int | None = 10) -> Any:
    return DataGeneratorSource(lambda n: n, count, rate, type_info=Types.LONG())


def by_time(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event[1])
    )


@pytest.mark.parametrize("mode", [BATCH, AUTOMATIC])
def test_a_bounded_program_gives_one_result_a_key(mode: RuntimeExecutionMode) -> None:
    assert sorted(collect_locally(totals(environment(mode)))) == [("a", 9), ("b", 6)]


def test_streaming_stays_the_default_and_gives_running_results() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    assert len(collect_locally(totals(env))) == 5


def test_batch_refuses_a_source_that_never_ends_at_its_line() -> None:
    env = environment(BATCH)
    env.from_source(generator(count=None), None, "endless").print()
    with pytest.raises(PlanError, match="'endless' never ends") as refused:
        env.explain()
    assert "test_execution_mode.py" in str(refused.value.where)


def test_automatic_streams_what_never_ends() -> None:
    env = environment(AUTOMATIC)
    env.from_source(generator(count=None), None, "endless").print()
    assert "One streaming query" in env.explain()


def test_explain_says_that_it_is_a_batch() -> None:
    env = environment(BATCH)
    totals(env).print()
    text = env.explain()
    assert "One batch over the whole input (BATCH mode)" in text
    assert "transformWithState" not in text


def test_no_record_is_late_however_much_out_of_order() -> None:
    env = environment(BATCH)
    late = OutputTag("late", NUMBERS)
    windows = (
        by_time(env.from_collection([("a", 100), ("a", 5), ("a", 101), ("a", 1)], NUMBERS))
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        .side_output_late_data(late)
        .reduce(lambda a, b: (a[0], max(a[1], b[1])))
    )
    with LocalRunner(windows, windows.get_side_output(late)) as job:
        found, too_late = job.run_batch([("a", 100), ("a", 5), ("a", 101), ("a", 1)])
    assert sorted(found) == [("a", 5), ("a", 101)]
    assert too_late == []


class Timers(KeyedProcessFunction):
    """Tells in which order everything happens to a key."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.update((self.seen.value() or 0) + 1)
        service = ctx.timer_service()
        service.register_processing_time_timer(10**15)
        service.register_event_time_timer(value[1] + 100)
        yield value[0], "element", value[1], service.current_watermark() == -(1 << 63)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(timestamp + 1)  # would go on for ever
        at_end = ctx.timer_service().current_watermark() == (1 << 63) - 1
        yield ctx.get_current_key(), ctx.time_domain().name, self.seen.value(), at_end


def test_elements_in_time_order_then_event_timers_then_processing_timers() -> None:
    env = environment(BATCH)
    events = by_time(env.from_collection([("a", 7), ("b", 1), ("a", 3), ("a", 7)], NUMBERS))
    found = collect_locally(events.key_by(lambda event: event[0]).process(Timers()))
    assert [record[1:] for record in found if record[0] == "a"] == [
        ("element", 3, True),
        ("element", 7, True),
        ("element", 7, True),
        ("EVENT_TIME", 3, True),  # 103 and 107, each once
        ("EVENT_TIME", 3, True),
        ("PROCESSING_TIME", 3, True),
    ]
    assert len([record for record in found if record[0] == "b"]) == 3


def test_triggers_that_set_themselves_again_come_to_an_end() -> None:
    env = environment(BATCH)
    windows = (
        by_time(env.from_collection([("a", 1), ("a", 2)], NUMBERS))
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        .trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(1)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    found = collect_locally(windows)
    assert found
    assert set(found) == {("a", 3)}


def test_nothing_is_kept_for_keys_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.runtime import sorted_inputs

    monkeypatch.setattr(sorted_inputs, "GROUP_RECORDS", 2)
    env = environment(BATCH)
    windows = (
        env.from_collection([("a", n) for n in range(20)], NUMBERS)
        .key_by(lambda event: event[1] % 7)
        .process(Timers())
    )
    with LocalRunner(windows) as job:
        job.run_batch([("a", n) for n in range(20)])
        states = [
            operator.runtime.store.content  # type: ignore[attr-defined]
            for (level, _), task in job.tasks.items()
            if level > 0
            for operator in task.operators.values()
        ]
    assert states
    assert not any(states)


def test_count_triggers_fire_as_records_come() -> None:
    env = environment(BATCH)
    windows = (
        by_time(env.from_collection([("a", n) for n in range(5)], NUMBERS))
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .trigger(CountTrigger.of(2))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    assert collect_locally(windows) == [("a", 1), ("a", 6)]


def test_a_second_batch_is_refused_by_the_local_runner() -> None:
    with LocalRunner(totals(environment(BATCH))) as job:
        job.run_batch([("a", 1)])
        assert job.end_of_input() == []
        with pytest.raises(UnsupportedStepError, match="one batch"):
            job.run_batch([("a", 1)])


# --- refused before Spark starts -----------------------------------------------------------------


def test_a_rate_limit_is_refused() -> None:
    from headrace.control.executor import check_gives_all_at_once, plan_options
    from headrace.plan.planner import plan

    for limit in (RateLimiterStrategy.per_second(1), RateLimiterStrategy.per_checkpoint(1)):
        env = environment(BATCH)
        env.from_source(generator(limit), None, "slow").print()
        physical = plan(program_of(env), plan_options(env.job_spec("job")))
        with pytest.raises(PlanError, match="little by little") as refused:
            check_gives_all_at_once(physical)
        assert "test_execution_mode.py" in str(refused.value.where)


def test_a_savepoint_is_refused_and_a_checkpoint_directory_is_told_to_be_of_no_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from headrace.control.executor import checkpoint_dir

    env = environment(BATCH, execution__checkpointing__dir=str(tmp_path))
    totals(env).print()
    graph = program_of(env)
    with caplog.at_level(logging.WARNING):
        assert checkpoint_dir(graph, env.job_spec("job")) is None
    assert "keeps no checkpoint" in caplog.text

    env = environment(BATCH, execution__state_recovery__path=str(tmp_path))
    totals(env).print()
    graph = program_of(env)
    with pytest.raises(SavepointError, match="cannot start from a savepoint"):
        checkpoint_dir(graph, env.job_spec("job"))


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises((InvalidArgumentError, ValueError, AttributeError)):
        environment("BATCH")  # type: ignore[arg-type]
