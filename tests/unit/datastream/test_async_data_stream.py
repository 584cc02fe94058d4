"""Whole programs with AsyncDataStream: stages, keys, batches, restarts, BATCH mode; no Spark."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from headrace.api.functions.retrying import NO_RETRY_STRATEGY
from headrace.common import Configuration, RestartStrategies, Types, WatermarkStrategy
from headrace.common.time import Duration, Time
from headrace.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    KeyedProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headrace.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import InvalidArgumentError, UserFunctionError
from headrace.testing import LocalRunner, collect_locally

if TYPE_CHECKING:
    from pathlib import Path

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
WAITS = [AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait]
# functions are pickled by reference to this module, so they all see these
asked: list[Any] = []
now = [0]


def new_env(parallelism: int = 2) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


class Backwards(AsyncFunction[Any, Any]):
    """The smaller a number, the longer its answer takes."""

    async def async_invoke(self, value: Any) -> list[Any]:
        number = value[1] if isinstance(value, tuple) else value
        await asyncio.sleep(max(0, 20 - number) / 1000)
        return [value]


class Noting(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        asked.append(value)
        await asyncio.sleep(0.001)
        if value < 0:
            raise ValueError("negative")
        return [value]


class Waiting(AsyncFunction[int, int]):
    """Waits for all but 0, and notes what is called off."""

    async def async_invoke(self, value: int) -> list[int]:
        try:
            await asyncio.sleep(0 if value == 0 else 3600)
        except asyncio.CancelledError:
            asked.append(value)
            raise
        return [value]


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("timeout", [Time.seconds(5), Duration.of_seconds(5), "5 s", 5000])
def test_a_timeout_is_any_amount_of_time(wait: Any, timeout: Any) -> None:
    stream = new_env(1).from_collection([1, 2, 3], Types.LONG())
    assert sorted(collect_locally(wait(stream, Backwards(), timeout))) == [1, 2, 3]


def test_ordered_wait_keeps_the_order_within_a_subtask_through_an_exchange() -> None:
    stream = new_env(3).from_collection([("a", n) for n in range(15)], PAIR)
    keyed = stream.key_by(lambda pair: pair[0])
    waited = AsyncDataStream.ordered_wait(keyed, Backwards(), Time.seconds(5), 4, PAIR)
    assert collect_locally(waited) == [("a", n) for n in range(15)]


def test_a_keyed_stream_is_asked_about_where_its_keys_are() -> None:
    class Place(AsyncFunction[Any, Any]):
        def open(self, runtime_context: Any) -> None:
            self.subtask = runtime_context.get_index_of_this_subtask()

        async def async_invoke(self, value: Any) -> list[Any]:
            return [(value[0], self.subtask)]

    stream = new_env(3).from_collection([(f"k{n % 7}", n) for n in range(50)], PAIR)
    waited = AsyncDataStream.unordered_wait(stream.key_by(lambda p: p[0]), Place(), 5000)
    places = set(collect_locally(waited))
    assert len(places) == 7
    assert len({subtask for _, subtask in places}) > 1


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("exchange", [True, False])
def test_results_reach_the_windows_of_their_records(wait: Any, exchange: bool) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda pair, _: pair[1]
    )
    stream = new_env().from_collection([], PAIR)
    if exchange:
        stream = stream.rebalance().map(lambda pair: pair, PAIR).set_parallelism(1)
    timed = stream.assign_timestamps_and_watermarks(strategy)
    counted = (
        wait(timed, Backwards(), "5 s", 3, PAIR)
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(5))
        .reduce(lambda one, other: (one[0], one[1] + other[1]))
    )
    with LocalRunner(counted) as job:
        first = job.run_batch([("a", n) for n in range(7)])
        second = job.run_batch([("a", n) for n in range(7, 12)])
        assert first == [("a", 0 + 1 + 2 + 3 + 4)]  # watermark 5 came behind its records
        assert second == [("a", 5 + 6 + 7 + 8 + 9)]
        assert job.end_of_input() == [("a", 10 + 11)]


class Later(KeyedProcessFunction):
    """Its timers are due as soon as the records of the batch are in."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_processing_time_timer(100)
        now[0] = 200

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key()


def test_records_of_timers_that_fire_when_all_input_is_in_are_waited_for_too() -> None:
    now[0] = 0
    timers = new_env(1).from_collection([], Types.LONG()).key_by(lambda n: n).process(Later())
    waited = AsyncDataStream.ordered_wait(timers, Backwards(), "5 s")
    with LocalRunner(waited, parallelism=1, clock=lambda: now[0]) as job:
        assert job.run_batch([3]) == [3]


@pytest.mark.parametrize("wait", WAITS)
def test_nothing_is_under_way_between_batches_so_a_restart_asks_only_again_for_what_failed(
    wait: Any,
) -> None:
    asked.clear()
    stream = new_env(1).from_collection([], Types.LONG())
    waited = wait(stream.rebalance(), Noting(), "5 s", 2, Types.LONG())
    with LocalRunner(waited, parallelism=1) as job:
        assert job.run_batch([1, 2, 3]) == [1, 2, 3]
        with pytest.raises(UserFunctionError, match="ValueError: negative"):
            job.run_batch([4, -5, 6])
        job.restart()
        assert job.run_batch([4, 5, 6]) == [4, 5, 6]
        state = job.state_entries()
        job.run_batch([7])
        assert job.state_entries() == state
    assert asked[:3] == [1, 2, 3]
    assert asked[-4:] == [4, 5, 6, 7]
    assert asked.count(1) == 1


def test_a_failure_further_down_calls_the_requests_off() -> None:
    asked.clear()
    stream = new_env(1).from_collection([], Types.LONG())
    waited = AsyncDataStream.unordered_wait(stream, Waiting(), 0, 2)
    failing = waited.map(lambda n: 1 // n)
    with LocalRunner(failing, parallelism=1) as job:
        with pytest.raises(UserFunctionError, match="ZeroDivisionError"):
            # more than are asked about at a time, so results leave before the end of the list
            job.run_batch([0, 0, 0, 0, 1, 1, 1])
        assert set(asked) == {1}


class FailsOnce(AsyncFunction[int, dict[str, int]]):
    def __init__(self, flag: Path) -> None:
        self.flag = flag

    async def async_invoke(self, value: int) -> list[dict[str, int]]:
        await asyncio.sleep(0.001 * (5 - value % 5))
        if value == 13 and self.flag.exists():
            self.flag.unlink()
            raise ConnectionError("gone")
        return [{"n": value}]


def test_a_job_on_the_local_host_goes_on_after_a_failure(tmp_path: Path) -> None:
    configuration = Configuration()
    configuration.set_string("headrace.execution.host", "local")
    configuration.set_string("source.max-records-per-batch", "5")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 10))
    (tmp_path / "flag").touch()
    numbers = env.from_sequence(0, 29).rebalance()
    waited = AsyncDataStream.unordered_wait(numbers, FailsOnce(tmp_path / "flag"), "60 s", 3)
    waited.sink_to(FileSink.json(str(tmp_path / "out")))
    env.execute("async")
    assert not (tmp_path / "flag").exists()
    lines = [line for file in (tmp_path / "out").glob("part-*") for line in file.open()]
    assert sorted(json.loads(line)["n"] for line in lines) == list(range(30))


@pytest.mark.parametrize("wait", WAITS)
def test_batch_mode_waits_in_every_stage(wait: Any) -> None:
    env = new_env()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = wait(env.from_collection([("a", 1), ("b", 2), ("a", 3)], PAIR), Backwards(), 5000)
    summed = stream.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    again = wait(summed, Backwards(), 5000)
    assert sorted(collect_locally(again)) == [("a", 4), ("b", 2)]


def test_the_type_of_the_results_is_taken_from_the_hint() -> None:
    class Hinted(AsyncFunction[int, str]):
        async def async_invoke(self, value: int) -> list[str]:
            return [str(value)]

    stream = new_env().from_collection([1], Types.LONG())
    assert AsyncDataStream.ordered_wait(stream, Hinted(), 1).get_type() == Types.STRING()
    declared = AsyncDataStream.ordered_wait(stream, Hinted(), 1, 100, Types.INT())
    assert declared.get_type() == Types.INT()


def test_an_error_names_the_line_of_the_program_that_waits() -> None:
    stream = new_env(1).from_collection([1, -2], Types.LONG())
    waited = AsyncDataStream.ordered_wait(stream, Noting(), "5 s").name("ask")
    with pytest.raises(UserFunctionError) as caught:
        collect_locally(waited)
    assert "test_async_data_stream.py" in str(caught.value.where)
    assert "AsyncDataStream.ordered_wait" in str(caught.value.where)
    assert (caught.value.step, caught.value.record) == ("ask", "-2")


# --- retry strategies --------------------------------------------------------------------------


def test_max_attempts_counts_the_repetitions_as_in_pyflink() -> None:
    fixed: AsyncRetryStrategy[int] = AsyncRetryStrategy.fixed_delay(3, 100, lambda r: not r, None)
    assert [fixed.can_retry(n) for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert fixed.get_backoff_time_millis(2) == 100
    predicate = fixed.get_retry_predicate()
    assert predicate.exception_predicate() is None
    found = predicate.result_predicate()
    assert found is not None
    assert found([])


def test_pauses_grow_up_to_the_maximum_and_do_not_depend_on_each_other() -> None:
    growing: AsyncRetryStrategy[int] = AsyncRetryStrategy.exponential_backoff(
        5, 10, 35, 2.0, None, None
    )
    assert [growing.get_backoff_time_millis(n) for n in (1, 2, 3, 4)] == [10, 20, 35, 35]
    assert [growing.get_backoff_time_millis(n) for n in (3, 3, 1)] == [35, 35, 10]
    assert growing.get_backoff_time_millis(10_000_000) == 35
    assert [growing.can_retry(n) for n in (5, 6)] == [True, False]


def test_no_strategy_never_asks_again() -> None:
    never: AsyncRetryStrategy[int] = AsyncRetryStrategy.no_restart()
    assert never is NO_RETRY_STRATEGY
    assert not never.can_retry(1)


@pytest.mark.parametrize("arguments", [(0, 1), (1, 0), (-1, 5), ("3", 5), (1.5, 5)])
def test_attempts_and_pauses_are_positive(arguments: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="greater than zero") as caught:
        AsyncRetryStrategy.fixed_delay(arguments[0], arguments[1], None, None)
    assert "test_async_data_stream.py" in str(caught.value.where)


def test_a_multiplier_below_one_lets_pauses_shrink() -> None:
    shrinking: AsyncRetryStrategy[int] = AsyncRetryStrategy.exponential_backoff(
        5, 8, 100, 0.5, None, None
    )
    assert [shrinking.get_backoff_time_millis(n) for n in (1, 2, 3)] == [8, 4, 2]
    with pytest.raises(InvalidArgumentError, match="multiplier"):
        AsyncRetryStrategy.exponential_backoff(5, 8, 100, 0, None, None)


def test_predicates_of_pyflink() -> None:
    assert empty_result_predicate([])
    assert not empty_result_predicate([None])
    assert has_exception_predicate(ValueError())
    assert exception_type_predicate(KeyError(), LookupError)
    assert not exception_type_predicate(KeyError(), ValueError)
