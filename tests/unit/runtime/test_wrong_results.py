"""A function that gives a number where results are iterated is told so, with what it gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    CoFlatMapFunction,
    FlatJoinFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import UserFunctionError
from headrace.testing import collect_locally

if TYPE_CHECKING:
    from collections.abc import Callable

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Seven(
    FlatMapFunction,
    CoFlatMapFunction,
    FlatJoinFunction,
):
    def flat_map(self, value: Any) -> Any:
        return 7

    def flat_map1(self, value: Any) -> Any:
        return 7

    flat_map2 = flat_map1

    def join(self, first: Any, second: Any) -> Any:
        return 7


class SevenProcess(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return 7


class SevenKeyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return 7


class SevenAtTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return 7


class SevenWindow(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        return 7


class SevenInterval(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        return 7


def pairs(*, timed: bool = False) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = env.from_collection([("a", 1), ("a", 2)], PAIR)
    if not timed:
        return stream
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda record, _: record[1])
    )


def two() -> tuple[Any, Any]:
    first = pairs(timed=True)
    return first, first.map(lambda record: record, PAIR)


def connected() -> Any:
    first, second = two()
    return first.connect(second)


def joined() -> Any:
    first, second = two()
    return first.join(second).where(0).equal_to(0).window(TumblingEventTimeWindows.of(10))


def interval() -> Any:
    first, second = two()
    return first.key_by(0).interval_join(second.key_by(0)).between(-5, 5)


PROGRAMS: dict[str, Callable[[], Any]] = {
    "flat_map": lambda: pairs().flat_map(lambda record: 7),
    "flat_map with time": lambda: pairs(timed=True).flat_map(Seven()),
    "keyed flat_map": lambda: pairs().key_by(0).flat_map(Seven()),
    "co flat_map": lambda: connected().flat_map(Seven()),
    "process": lambda: pairs().process(SevenProcess()),
    "keyed process": lambda: pairs().key_by(0).process(SevenKeyed()),
    "keyed process with time": lambda: pairs(timed=True).key_by(0).process(SevenKeyed()),
    "timer": lambda: pairs(timed=True).key_by(0).process(SevenAtTimer()),
    "window": lambda: (
        pairs(timed=True).key_by(0).window(TumblingEventTimeWindows.of(10)).apply(SevenWindow())
    ),
    "join": lambda: joined().apply(Seven()),
    "interval join": lambda: interval().process(SevenInterval()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_says_what_was_returned_and_what_is_expected(name: str) -> None:
    with pytest.raises(UserFunctionError) as caught:
        collect_locally(PROGRAMS[name]())
    error = caught.value
    assert error.message == (
        "the function returned 7 (int), where an iterable of results is expected"
    )
    assert error.fix == "yield the results, or return a list of them: of one, if there is one"
    assert "test_wrong_results.py" in str(error.where)
    assert error.step


@pytest.mark.parametrize("keyed", [False, True])
def test_none_is_no_list_of_results_for_flat_map_as_in_flink(keyed: bool) -> None:
    stream = pairs().key_by(0) if keyed else pairs()
    with pytest.raises(UserFunctionError, match="the function returned None, where an iterable"):
        collect_locally(stream.flat_map(lambda record: None))


def _adds_text(record: Any, ctx: Any = None) -> Any:
    yield 1
    yield record[1] + "x"


class AddsText(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return _adds_text(value)


@pytest.mark.parametrize(
    "build",
    [
        lambda stream: stream.flat_map(_adds_text),
        lambda stream: stream.process(_adds_text),
        lambda stream: stream.key_by(0).flat_map(_adds_text),
        lambda stream: stream.key_by(0).process(AddsText()),
    ],
)
@pytest.mark.parametrize("timed", [False, True])
def test_a_type_error_inside_the_function_stays_what_it_is(
    build: Callable[[Any], Any],
    timed: bool,
) -> None:
    with pytest.raises(UserFunctionError) as caught:
        collect_locally(build(pairs(timed=timed)))
    assert "unsupported operand" in caught.value.original
    assert caught.value.record == "('a', 1)"
    assert "in _adds_text" in caught.value.user_traceback


def test_what_it_was_given_is_no_fix() -> None:
    with pytest.raises(UserFunctionError) as caught:
        collect_locally(pairs().map(lambda record: record[2]))
    assert "  given: ('a', 1)\n" in str(caught.value)
    assert "given" not in str(caught.value.fix)
