"""Asking an outside service: how many at a time, for how long, how often, and in which order."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from headrace.api.functions.retrying import NoRetryStrategy, RetryPredicate
from headrace.data.records import Records
from headrace.datastream import AsyncFunction, AsyncRetryStrategy
from headrace.errors import StateError, UserFunctionError
from headrace.runtime.async_io.event_loop import EventLoop
from headrace.testing import Harness
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

FOREVER_S = 3600


def no_loop_is_left() -> bool:
    return EventLoop._shared is None and "headrace async I/O" not in {
        thread.name for thread in threading.enumerate()
    }


@pytest.fixture(autouse=True)
def _no_leaks() -> Iterator[None]:
    yield
    assert no_loop_is_left()


def fed(harness: Harness, *values: Any) -> list[Any]:
    """Records in one list, as a task hands them over; then the end of the batch."""
    harness.operator.process(Records(list(values), None), 0)
    harness.end_of_batch()
    return harness.take_output()


def later_in_the_loop(harness: Harness, seconds: float = 0.0) -> None:
    """Until all that was due in the event loop by then has happened."""
    harness.operator._loop.run(asyncio.sleep(seconds))  # type: ignore[attr-defined]


class Twice(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        return [value, value]


def test_every_result_of_a_record_carries_its_timestamp() -> None:
    with Harness.for_async_function(Twice()) as harness:
        harness.process_element(1, timestamp=10)
        harness.process_element(2)
        harness.end_of_batch()
        assert harness.timestamped_output == [(1, 10), (1, 10), (2, None), (2, None)]


def test_no_result_is_fine() -> None:
    class Nothing(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            return []

    with Harness.for_async_function(Nothing()) as harness:
        assert fed(harness, 1, 2, 3) == []


# --- capacity ----------------------------------------------------------------------------------


class Crowd(AsyncFunction[int, int]):
    """Gives how many requests were under way with each."""

    async def open(self, runtime_context: Any) -> None:
        self.inside = 0

    async def async_invoke(self, value: int) -> list[int]:
        self.inside += 1
        await asyncio.sleep(0.001)
        most = self.inside
        await asyncio.sleep(0)
        self.inside -= 1
        return [most]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("capacity", [1, 7, 100])
def test_no_more_than_capacity_are_under_way_and_so_many_are(capacity: int, ordered: bool) -> None:
    harness = Harness.for_async_function(Crowd(), capacity=capacity, ordered=ordered)
    with harness:
        assert max(fed(harness, *range(50))) == min(capacity, 50)


class Stuck(AsyncFunction[int, int]):
    """Answers nobody before record 0 is let go; keeps what it was asked about."""

    asked: list[int]

    async def open(self, runtime_context: Any) -> None:
        self.asked = []
        self.gate = asyncio.Event()

    async def async_invoke(self, value: int) -> list[int]:
        self.asked.append(value)
        if value == 0:
            await self.gate.wait()
        return [value]


def test_results_that_wait_for_an_earlier_one_take_room_as_in_flink() -> None:
    with Harness.for_async_function(Stuck(), capacity=3) as harness:
        function: Any = harness.operator.function  # type: ignore[attr-defined]
        harness.process_elements(0, 1, 2, 3)
        wait_until(lambda: len(function.asked) == 3)
        later_in_the_loop(harness, 0.02)  # for the fourth, if it were let in
        assert function.asked == [0, 1, 2]
        harness.operator._loop.call(function.gate.set)  # type: ignore[attr-defined]
        harness.end_of_batch()
        assert harness.output == [0, 1, 2, 3]


def test_without_order_a_slow_request_takes_one_place_only() -> None:
    with Harness.for_async_function(Stuck(), capacity=2, ordered=False) as harness:
        function: Any = harness.operator.function  # type: ignore[attr-defined]
        harness.operator.process(Records(list(range(50))), 0)
        wait_until(lambda: len(function.asked) == 50)
        harness.operator._loop.call(function.gate.set)  # type: ignore[attr-defined]
        harness.end_of_batch()
        assert harness.output == [*range(1, 50), 0]


def test_the_operator_waits_when_more_are_held_up_than_are_asked_about() -> None:
    with Harness.for_async_function(Stuck(), capacity=2) as harness:
        function: Any = harness.operator.function  # type: ignore[attr-defined]
        opened: list[bool] = []

        def open_gate() -> None:
            opened.append(True)
            harness.operator._loop.call(function.gate.set)  # type: ignore[attr-defined]

        threading.Timer(0.2, open_gate).start()
        harness.operator.process(Records(list(range(10))), 0)
        assert opened  # it has waited for that


# --- watermarks --------------------------------------------------------------------------------


def test_a_watermark_waits_for_the_records_in_front_of_it_and_holds_nothing_up() -> None:
    with Harness.for_async_function(Stuck(), ordered=False) as harness:
        function: Any = harness.operator.function  # type: ignore[attr-defined]
        harness.process_element(0, timestamp=5)
        harness.process_watermark(5)
        harness.process_element(1, timestamp=6)
        wait_until(lambda: len(function.asked) == 2)  # also about the record behind the watermark
        harness.process_watermark(6)
        assert (harness.output, harness.watermarks) == ([], [])
        harness.operator._loop.call(function.gate.set)  # type: ignore[attr-defined]
        harness.end_of_batch()
        assert harness.timestamped_output == [(0, 5), (1, 6)]
        assert harness.watermarks == [5, 6]


def test_a_watermark_goes_on_at_once_when_nothing_is_under_way() -> None:
    with Harness.for_async_function(Twice()) as harness:
        harness.process_watermark(5)
        harness.end_of_batch()
        assert harness.watermarks == [5]
        harness.process_watermark(4)  # not backwards
        harness.end_of_input()
        assert harness.watermarks == [5, (1 << 63) - 1]


# --- timeouts ----------------------------------------------------------------------------------


class Slow(AsyncFunction[int, Any]):
    """Takes forever for negative records."""

    def open(self, runtime_context: Any) -> None:
        self.asked: list[int] = []
        self.cancelled: list[int] = []

    async def async_invoke(self, value: int) -> list[Any]:
        self.asked.append(value)
        try:
            await asyncio.sleep(FOREVER_S if value < 0 else 0)
        except asyncio.CancelledError:
            self.cancelled.append(value)
            raise
        return [value]


class SlowWithTimeout(Slow):
    def timeout(self, value: int) -> list[Any]:
        return [f"late {value}"]


@pytest.mark.parametrize("ordered", [True, False])
def test_timeout_gives_the_results_of_a_record_that_took_too_long(ordered: bool) -> None:
    harness = Harness.for_async_function(SlowWithTimeout(), timeout="50 ms", ordered=ordered)
    with harness:
        function: Any = harness.operator.function  # type: ignore[attr-defined]
        harness.operator.process(Records([1, -2, 3, -4]), 0)
        harness.operator.end_of_part()
        wait_until(lambda: function.cancelled == [-2, -4])
        expected = [1, "late -2", 3, "late -4"] if ordered else [1, 3, "late -2", "late -4"]
        assert harness.take_output() == expected
        assert fed(harness, -5) == ["late -5"]


def test_timeout_may_be_asynchronous() -> None:
    class Patient(Slow):
        async def timeout(self, value: int) -> list[Any]:
            await asyncio.sleep(0)
            return [f"late {value}"]

    with Harness.for_async_function(Patient(), timeout=10) as harness:
        assert fed(harness, -1) == ["late -1"]


def test_a_coroutine_that_does_not_let_itself_be_cancelled_does_not_count_either() -> None:
    class Stubborn(SlowWithTimeout):
        async def async_invoke(self, value: int) -> list[Any]:
            try:
                await asyncio.sleep(FOREVER_S)
            except asyncio.CancelledError:
                return ["too late"]
            return ["never"]

    with Harness.for_async_function(Stubborn(), timeout=10) as harness:
        assert fed(harness, 1) == ["late 1"]
        assert fed(harness, 2) == ["late 2"]


def test_time_runs_from_the_beginning_of_the_request_not_from_its_arrival() -> None:
    class Sleeping(SlowWithTimeout):
        async def async_invoke(self, value: int) -> list[Any]:
            await asyncio.sleep(0.05)
            return [value]

    with Harness.for_async_function(Sleeping(), timeout=1000, capacity=1) as harness:
        assert fed(harness, *range(30)) == list(range(30))  # 1.5 s in all


def test_without_timeout_a_job_fails_with_the_record_that_took_too_long() -> None:
    harness = Harness.for_async_function(Slow(), timeout=20)
    with harness, pytest.raises(UserFunctionError) as caught:
        fed(harness, 1, -7)
    assert caught.value.original == "TimeoutError: no answer in time for -7"
    assert caught.value.record == "-7"


# --- asking again --------------------------------------------------------------------------------


class Flaky(AsyncFunction[int, Any]):
    """Fails as often as the record says, then tells how often it was asked."""

    def open(self, runtime_context: Any) -> None:
        self.asked: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[Any]:
        self.asked[value] = self.asked.get(value, 0) + 1
        if self.asked[value] <= value:
            raise ConnectionError(f"attempt {self.asked[value]}")
        return [(value, self.asked[value])]


def has_failed(error: Exception) -> bool:
    return isinstance(error, ConnectionError)


def test_exceptions_that_the_predicate_names_are_asked_again() -> None:
    retries: Any = AsyncRetryStrategy.fixed_delay(3, 1, None, has_failed)
    with Harness.for_async_function(Flaky(), timeout="60 s", retries=retries) as harness:
        assert fed(harness, 0, 1, 2, 3) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_the_last_exception_counts_when_all_attempts_are_used_up() -> None:
    retries: Any = AsyncRetryStrategy.fixed_delay(2, 1, None, has_failed)
    harness = Harness.for_async_function(Flaky(), timeout="60 s", retries=retries)
    with harness, pytest.raises(UserFunctionError, match="ConnectionError: attempt 3") as caught:
        fed(harness, 5)
    assert caught.value.record == "5"


def test_other_exceptions_are_not_asked_again() -> None:
    retries: Any = AsyncRetryStrategy.fixed_delay(2, 1, None, lambda e: isinstance(e, KeyError))
    harness = Harness.for_async_function(Flaky(), timeout="60 s", retries=retries)
    with harness, pytest.raises(UserFunctionError, match="ConnectionError: attempt 1"):
        fed(harness, 1)


class Growing(AsyncFunction[int, int]):
    """Gives 1, 2, 3, ..., one more with each attempt."""

    def open(self, runtime_context: Any) -> None:
        self.asked: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[int]:
        self.asked[value] = self.asked.get(value, 0) + 1
        return [self.asked[value]]


def test_results_that_the_predicate_names_are_asked_again_and_the_last_one_counts() -> None:
    too_small: Any = AsyncRetryStrategy.exponential_backoff(
        4, 1, 5, 2.0, lambda results: results[0] < 3, None
    )
    with Harness.for_async_function(Growing(), timeout="60 s", retries=too_small) as harness:
        assert fed(harness, 7, 8) == [3, 3]
    never_enough: Any = AsyncRetryStrategy.fixed_delay(4, 1, lambda results: True, None)
    with Harness.for_async_function(Growing(), timeout="60 s", retries=never_enough) as harness:
        assert fed(harness, 7) == [5]


def test_the_timeout_is_for_all_attempts_together() -> None:
    class Hopeless(Flaky):
        def timeout(self, value: int) -> list[Any]:
            return ["late"]

    retries: Any = AsyncRetryStrategy.fixed_delay(1_000_000, 5, None, has_failed)
    with Harness.for_async_function(Hopeless(), timeout=300, retries=retries) as harness:
        assert fed(harness, 1_000_000) == ["late"]
        asked: dict[int, int] = harness.operator.function.asked  # type: ignore[attr-defined]
        count = asked[1_000_000]
        assert 1 < count <= 61
        later_in_the_loop(harness, 0.05)  # the next attempt would be due before
        assert asked[1_000_000] == count  # called off


def test_a_strategy_of_the_users_own_decides_by_the_number_of_attempts() -> None:
    class Thrice(NoRetryStrategy[Any]):
        def can_retry(self, current_attempts: int) -> bool:
            return current_attempts < 3

        def get_backoff_time_millis(self, current_attempts: int) -> int:
            return current_attempts

        def get_retry_predicate(self) -> RetryPredicate[Any]:
            return RetryPredicate(lambda results: True, None)

    with Harness.for_async_function(Growing(), timeout="60 s", retries=Thrice()) as harness:
        assert fed(harness, 7) == [3]


def test_a_predicate_that_raises_ends_the_job() -> None:
    retries: Any = AsyncRetryStrategy.fixed_delay(2, 1, lambda results: results["x"], None)  # type: ignore[call-overload]
    harness = Harness.for_async_function(Growing(), timeout="60 s", retries=retries)
    with harness, pytest.raises(UserFunctionError, match="TypeError: list indices"):
        fed(harness, 1)


# --- errors --------------------------------------------------------------------------------------


class Raising(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        return [1 // value]


@pytest.mark.parametrize("ordered", [True, False])
def test_an_exception_comes_out_with_the_users_line_and_the_record(ordered: bool) -> None:
    harness = Harness.for_async_function(Raising(), ordered=ordered, capacity=2)
    with harness, pytest.raises(UserFunctionError) as caught:
        fed(harness, 3, 2, 0, 1)
    error = caught.value
    assert error.original.startswith("ZeroDivisionError: integer division")
    assert error.record == "0"
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.user_traceback.count("File ") == 1
    assert "return [1 // value]" in error.user_traceback


def test_a_failed_batch_leaves_nothing_for_the_next_one() -> None:
    with Harness.for_async_function(Raising(), capacity=2) as harness:
        with pytest.raises(UserFunctionError):
            fed(harness, 3, 2, 0, 1, 5, 6, 7)
        harness.take_output()
        assert fed(harness, 1, 1) == [1, 1]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "The result of AsyncFunction cannot be none: async_invoke returned None"),
        (
            3,
            "The result of AsyncFunction should be of list type: async_invoke returned 3 (int)",
        ),
    ],
)
def test_what_is_no_list_of_results_is_told(value: Any, message: str) -> None:
    class Same(AsyncFunction[Any, Any]):
        async def async_invoke(self, value: Any) -> Any:
            return value

    harness = Harness.for_async_function(Same())
    with harness, pytest.raises(UserFunctionError) as caught:
        fed(harness, value)
    assert caught.value.message == message
    assert "return a list of results" in str(caught.value.fix)


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), KeyboardInterrupt()])
def test_a_coroutine_cannot_end_the_loop_of_all(error: BaseException) -> None:
    class Leaving(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            if value < 0:
                raise error
            return [value]

    with Harness.for_async_function(Leaving()) as harness:
        with pytest.raises(UserFunctionError, match=f"left by {type(error).__name__}"):
            fed(harness, 1, -1)
        harness.take_output()
        assert fed(harness, 2) == [2]


# --- the life of the function and of the loop ----------------------------------------------------


class Life(AsyncFunction[int, Any]):
    """Knows which loop each method ran in."""

    closed: list[Any] = []  # noqa: RUF012

    async def open(self, runtime_context: Any) -> None:
        self.loop = asyncio.get_running_loop()
        self.subtask = runtime_context.get_index_of_this_subtask()

    async def async_invoke(self, value: int) -> list[Any]:
        return [asyncio.get_running_loop() is self.loop, self.subtask]

    async def close(self) -> None:
        Life.closed.append(asyncio.get_running_loop() is self.loop)


def test_open_and_close_may_run_in_the_loop_of_the_requests() -> None:
    with Harness.for_async_function(Life()) as harness:
        assert fed(harness, 1) == [True, 0]
    assert Life.closed.pop() is True


class PlainLife(Twice):
    """As PyFlink's functions are: knows in which threads its methods ran."""

    threads: list[str] = []  # noqa: RUF012

    def open(self, runtime_context: Any) -> None:
        self.threads.append(threading.current_thread().name)

    async def async_invoke(self, value: int) -> list[int]:
        self.threads.append(threading.current_thread().name)
        return [value]

    def close(self) -> None:
        self.threads.append(threading.current_thread().name)


def test_plain_open_and_close_run_in_the_tasks_thread() -> None:
    own = threading.current_thread().name
    with Harness.for_async_function(PlainLife()) as harness:
        fed(harness, 1)
    assert PlainLife.threads == [own, "headrace async I/O", own]


def test_an_open_that_raises_is_told_and_leaves_no_loop() -> None:
    class Bad(Twice):
        async def open(self, runtime_context: Any) -> None:
            raise ConnectionError("no server")

    with pytest.raises(UserFunctionError, match="ConnectionError: no server"):
        Harness.for_async_function(Bad())


def test_state_is_not_for_asynchronous_functions() -> None:
    from headrace.common import Types
    from headrace.datastream.state import ValueStateDescriptor

    class Stateful(Twice):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    with pytest.raises(StateError):
        Harness.for_async_function(Stateful())


def test_all_operators_of_a_process_share_one_loop() -> None:
    with Harness.for_async_function(Life()) as one, Harness.for_async_function(Life()) as two:
        fed(one, 1)
        fed(two, 1)
        loops = {
            harness.operator.function.loop  # type: ignore[attr-defined]
            for harness in (one, two)
        }
        assert len(loops) == 1
    assert loops.pop().is_closed()


def test_closing_calls_off_what_is_under_way() -> None:
    with Harness.for_async_function(Slow()) as harness:
        function: Any = harness.operator.function  # type: ignore[attr-defined]
        harness.process_elements(-1, -2)
        wait_until(lambda: len(function.asked) == 2)
    assert function.cancelled == [-1, -2]


# --- speed ---------------------------------------------------------------------------------------


def test_requests_wait_together_not_one_after_the_other() -> None:
    class Together(AsyncFunction[int, int]):
        async def open(self, runtime_context: Any) -> None:
            self.all_of_them = asyncio.Barrier(100)

        async def async_invoke(self, value: int) -> list[int]:
            await self.all_of_them.wait()  # one after the other nobody would come back
            return [value]

    with Harness.for_async_function(Together(), capacity=100) as harness:
        assert fed(harness, *range(1000)) == list(range(1000))
