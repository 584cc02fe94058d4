"""Watermark strategies, restart strategies, accumulators, job results, schemas."""

from __future__ import annotations

import io
import pickle
from typing import Any

import pytest

from headrace.common import (
    AssignerWithPeriodicWatermarksWrapper,
    AverageAccumulator,
    ByteArraySchema,
    CompletableFuture,
    DoubleCounter,
    Duration,
    Encoder,
    Histogram,
    IntCounter,
    JobExecutionResult,
    JobID,
    JobStatus,
    ListAccumulator,
    RestartStrategies,
    Row,
    SimpleStringSchema,
    TimestampAssigner,
    Types,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from headrace.common.serialization import RowFieldExtractorSchema
from headrace.common.serializer import PickleTypeSerializer
from headrace.errors import InvalidArgumentError


class Second(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Punctuated(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def test_watermark_strategies() -> None:
    assert WatermarkStrategy.for_monotonous_timestamps().delay_ms == 0
    assert WatermarkStrategy.no_watermarks().delay_ms is None
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    assert bounded.delay_ms == 5000
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness("5s")
        .with_timestamp_assigner(Second())
        .with_idleness("1 min")
        .with_watermark_alignment("group", "20 s", "2 s")
    )
    # Unlike PyFlink's, the order of the calls does not matter: the assigner is still there.
    assert isinstance(strategy.timestamp_assigner, Second)
    assert strategy.idle_timeout_ms == 60_000
    assert strategy.alignment is not None
    assert (strategy.alignment.max_drift_ms, strategy.alignment.update_interval_ms) == (
        20_000,
        2000,
    )
    assert bounded.timestamp_assigner is None
    assert pickle.loads(pickle.dumps(strategy)).delay_ms == 5000
    generator = WatermarkStrategy.for_generator(Punctuated).generator_supplier
    assert generator is not None
    assert isinstance(generator(), Punctuated)


def test_functions_as_timestamp_assigners() -> None:
    base = WatermarkStrategy.no_watermarks()
    one = base.with_timestamp_assigner(lambda value: value + 1).timestamp_assigner
    two = base.with_timestamp_assigner(lambda value, previous: value + previous).timestamp_assigner
    assert one is not None
    assert one.extract_timestamp(5, 100) == 6
    assert two is not None
    assert two.extract_timestamp(5, 100) == 105


@pytest.mark.parametrize(
    "make",
    [
        lambda: WatermarkStrategy.for_bounded_out_of_orderness(-1),
        lambda: WatermarkStrategy.no_watermarks().with_idleness(0),
        lambda: WatermarkStrategy.no_watermarks().with_timestamp_assigner(5),
        lambda: WatermarkStrategy.for_generator(5),  # type: ignore[arg-type]
        lambda: AssignerWithPeriodicWatermarksWrapper(None),
        lambda: RestartStrategies.fixed_delay_restart(-1, 1),
        lambda: RestartStrategies.failure_rate_restart(0, 1, 1),
        lambda: RestartStrategies.exponential_delay_restart(jitter_factor=2),
        lambda: JobID("x"),
        lambda: SimpleStringSchema("no-such-charset"),
        lambda: RowFieldExtractorSchema(-1),
    ],
)
def test_mistakes_are_refused(make: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        make()


def test_restart_strategies() -> None:
    fixed = RestartStrategies.fixed_delay_restart(3, 1000)
    assert fixed.get_restart_attempts() == 3
    assert fixed.get_delay_between_attempts_interval().total_seconds() == 1
    rate = RestartStrategies.failure_rate_restart(2, "1 min", "1 s")
    assert rate.get_failure_interval().total_seconds() == 60
    assert rate == RestartStrategies.failure_rate_restart(2, 60_000, 1000)
    assert str(fixed) == "Restart with fixed delay (1000 ms). #3 restart attempts."
    assert str(rate) == (
        "Failure rate restart with maximum of 2 failures within interval 60000 ms and fixed delay "
        "1000 ms."
    )
    growing = RestartStrategies.exponential_delay_restart()
    assert (growing.initial_backoff_ms, growing.max_backoff_ms) == (1000, 60_000)
    assert RestartStrategies.no_restart() == RestartStrategies.no_restart()


@pytest.mark.parametrize(
    ("make", "one", "other", "together"),
    [
        (IntCounter, [1, 2], [3], 6),
        (DoubleCounter, [0.5], [1.0], 1.5),
        (AverageAccumulator, [1, 2], [6], 3.0),
        (ListAccumulator, ["a"], ["b"], ["a", "b"]),
        (Histogram, [2, 1, 2], [1], {1: 2, 2: 2}),
    ],
)
def test_accumulators_add_merge_and_reset(
    make: Any, one: list[Any], other: list[Any], together: Any
) -> None:
    first, second = make(), make()
    for value in one:
        first.add(value)
    for value in other:
        second.add(value)
    copied = pickle.loads(pickle.dumps(first)).clone()
    copied.merge(second)
    assert copied.get_local_value() == together
    assert first.get_local_value() != together
    copied.reset()
    assert copied.get_local_value() == make().get_local_value()


def test_job_results() -> None:
    job_id = JobID.generate()
    assert len(str(job_id)) == 32
    assert JobID(str(job_id)) == job_id
    result = JobExecutionResult(job_id, 12, {"n": 3})
    assert result.get_accumulator_result("n") == 3
    assert result.get_accumulator_result("m") is None
    assert result.get_net_runtime() == 12
    assert "n: 3" in str(result)
    assert JobStatus.FAILED.is_globally_terminal_state()
    assert JobStatus.SUSPENDED.is_terminal_state()
    assert not JobStatus.RUNNING.is_terminal_state()


def test_futures() -> None:
    future: CompletableFuture[int] = CompletableFuture()
    assert not future.done()
    future.complete(5)
    assert (future.done(), future.result(), future.exception()) == (True, 5, None)
    failed: CompletableFuture[int] = CompletableFuture()
    failed.complete_exceptionally(KeyError("x"))
    with pytest.raises(KeyError):
        failed.result()
    waiting: CompletableFuture[int] = CompletableFuture()
    assert waiting.cancel()
    assert waiting.cancelled()
    assert CompletableFuture.completed(7).result() == 7


def test_schemas() -> None:
    schema = SimpleStringSchema("ISO-8859-1")
    assert schema.deserialize(schema.serialize("ä")) == "ä"
    assert schema.get_produced_type() == Types.STRING()
    assert ByteArraySchema().deserialize(b"x") == b"x"
    assert RowFieldExtractorSchema(1).serialize(Row(1, b"x")) == b"x"
    assert RowFieldExtractorSchema(0).serialize(Row(1, b"x")) == b"1"
    assert Encoder.simple_string_encoder().encode(5) == b"5\n"
    stream = io.BytesIO()
    PickleTypeSerializer().serialize({"a": 1}, stream)
    stream.seek(0)
    assert PickleTypeSerializer().deserialize(stream) == {"a": 1}
