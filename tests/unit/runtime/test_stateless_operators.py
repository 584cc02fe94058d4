"""map, filter, flat_map and process without keys, and the co-functions without keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.accumulators import IntCounter
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    ProcessFunction,
)
from headrace.datastream.output_tag import OutputTag
from headrace.errors import HeadraceError, RecordError, StateError, UserFunctionError
from headrace.runtime.operators.connected import CoOperator
from headrace.runtime.operators.stateless import (
    FilterOperator,
    FlatMapOperator,
    MapOperator,
    ProcessOperator,
)
from headrace.runtime.operators.timestamps import TimestampsOperator
from headrace.testing import Harness, TwoInputHarness

if TYPE_CHECKING:
    from headrace.runtime.operators.base import Operator

ODD = OutputTag("odd", Types.INT())


class Doubling(MapFunction):
    def map(self, value: int) -> int:
        return 2 * value


class Even(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 0


class Repeating(FlatMapFunction):
    def flat_map(self, value: int) -> Any:
        for _ in range(value):
            yield value


@pytest.mark.parametrize("function", [Doubling(), lambda x: 2 * x])
def test_map_keeps_timestamps_and_order(function: Any) -> None:
    with Harness.for_map(function) as harness:
        harness.process_element(1, timestamp=10)
        harness.process_element(2, timestamp=5)
        harness.process_element(3)
        assert harness.timestamped_output == [(2, 10), (4, 5), (6, None)]


@pytest.mark.parametrize("function", [Even(), lambda x: x % 2 == 0, lambda x: (x + 1) % 2])
def test_filter_keeps_what_is_true(function: Any) -> None:
    with Harness.for_filter(function) as harness:
        for number in range(5):
            harness.process_element(number, timestamp=number)
        assert harness.timestamped_output == [(0, 0), (2, 2), (4, 4)]


@pytest.mark.parametrize("function", [Repeating(), lambda x: [x] * x, lambda x: iter([x] * x)])
def test_flat_map_gives_any_number_of_results(function: Any) -> None:
    with Harness.for_flat_map(function) as harness:
        for number in (0, 2, 1):
            harness.process_element(number, timestamp=number)
        assert harness.timestamped_output == [(2, 2), (2, 2), (1, 1)]


def test_a_flat_map_that_returns_nothing_at_all_is_an_error_as_in_pyflink() -> None:
    with Harness.for_flat_map(lambda x: None) as harness, pytest.raises(UserFunctionError):
        harness.process_element(1)


class Split(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Any:
        if value % 2:
            yield ODD, value
        else:
            yield value, ctx.timestamp()
        yield "time", ctx.timer_service().current_watermark()


def test_process_splits_into_side_outputs_and_sees_the_clock() -> None:
    with Harness.for_process_function(Split()) as harness:
        harness.process_element(1, timestamp=7)
        harness.process_watermark(5)
        harness.process_element(2)
        assert harness.side_output(ODD) == [1]
        assert harness.output == [("time", MIN_TIMESTAMP), (2, None), ("time", 5)]
        assert harness.watermarks == [5]


def test_a_pair_that_starts_with_no_tag_is_an_ordinary_record() -> None:
    with Harness.for_flat_map(lambda x: [("odd", x), (ODD, x, x), [ODD, x]]) as harness:
        harness.process_element(1)
        assert harness.output == [("odd", 1), (ODD, 1, 1), [ODD, 1]]


@pytest.mark.parametrize(
    "call", ["register_event_time_timer", "delete_event_time_timer",
             "register_processing_time_timer", "delete_processing_time_timer"]
)  # fmt: skip
def test_timers_without_a_key_are_refused(call: str) -> None:
    class SetsTimer(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            getattr(ctx.timer_service(), call)(5)

    with (
        Harness.for_process_function(SetsTimer()) as harness,
        pytest.raises(StateError, match="timers need a keyed stream"),
    ):
        harness.process_element("x")


def test_keyed_state_without_a_key_is_refused_in_open() -> None:
    class WantsState(ProcessFunction):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(None)

        def process_element(self, value: Any, ctx: Any) -> Any: ...

    with pytest.raises(StateError, match="keyed state needs a keyed stream"):
        Harness.for_process_function(WantsState())


class Counting(MapFunction):
    last: int | None

    def open(self, runtime_context: Any) -> None:
        self.accumulator = IntCounter()
        runtime_context.add_accumulator("seen", self.accumulator)
        group = runtime_context.get_metrics_group().add_group("mine", "deep")
        self.counter = group.counter("records")
        group.gauge("last", lambda: self.last)
        self.distribution = runtime_context.get_metrics_group().distribution("sizes")
        self.place = (
            runtime_context.get_index_of_this_subtask(),
            runtime_context.get_number_of_parallel_subtasks(),
            runtime_context.get_task_name_with_subtasks(),
        )
        self.last = None

    def map(self, value: int) -> Any:
        self.last = value
        self.accumulator.add(value)
        self.counter.inc()
        self.distribution.update(value)
        return self.place


def test_metrics_and_accumulators_report_each_batch_once() -> None:
    harness = Harness(MapOperator(Counting()), parallelism=3, subtask=2)
    harness.process_elements(5, 2, 9)
    assert harness.output[0] == (2, 3, "harness (3/3)#0")
    report = harness.metrics.report()
    assert report["records_in"] == report["records_out"] == 3
    assert report["counters"] == {"mine.deep.records": 3}
    assert report["gauges"] == {"mine.deep.last": 9}
    assert report["distributions"] == {"sizes": (3, 16, 2, 9)}
    assert report["accumulators"]["seen"].get_local_value() == 16
    harness.process_element(1)
    again = harness.metrics.report()
    assert again["records_in"] == 1
    assert again["counters"] == {"mine.deep.records": 1}
    assert again["accumulators"]["seen"].get_local_value() == 1
    assert report["accumulators"]["seen"].get_local_value() == 16  # a copy, not the live one


# --- errors ------------------------------------------------------------------------------------


def _fails(value: Any) -> Any:
    return 10 // value


class FailingProcess(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield 10 // value


def _error(harness: Harness, values: list[Any], number: int = 0) -> UserFunctionError:
    with pytest.raises(UserFunctionError) as caught:
        harness.operator.process(Records(values, list(range(len(values)))), number)
    return caught.value


@pytest.mark.parametrize(
    "operator",
    [
        MapOperator(_fails),
        FilterOperator(_fails),
        FlatMapOperator(lambda v: [_fails(v)]),
        FlatMapOperator(lambda v: (_fails(v) for _ in range(2))),
        ProcessOperator(FailingProcess()),
    ],
    ids=["map", "filter", "flat_map", "flat_map generator", "process"],
)
def test_an_error_names_step_record_and_the_users_line(operator: Operator) -> None:
    error = _error(Harness(operator), [1, 2, 0, 3])
    assert error.record == "0"
    assert error.step == error.uid == "harness"
    assert error.where == "test"
    assert error.original == "ZeroDivisionError: integer division or modulo by zero"
    assert "10 // value" in error.user_traceback
    assert "/headrace/runtime/" not in error.user_traceback
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert "given: 0" in str(error)


def test_an_error_at_the_first_and_last_record_names_it() -> None:
    assert _error(Harness(MapOperator(_fails)), [0]).record == "0"
    assert _error(Harness(MapOperator(_fails)), [5, 0.0]).record == "0.0"


def test_a_record_whose_repr_fails_does_not_hide_the_error() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    error = _error(Harness(MapOperator(lambda value: value.missing)), [Odd()])
    assert error.record == "<Odd, whose repr raised RuntimeError>"


def test_a_long_record_is_shortened() -> None:
    error = _error(Harness(MapOperator(lambda value: value.missing)), ["x" * 1000])
    assert error.record is not None
    assert len(error.record) < 210


def test_an_error_in_open_names_the_step() -> None:
    class BadOpen(MapFunction):
        def open(self, runtime_context: Any) -> None:
            msg = "no model file"
            raise OSError(msg)

        def map(self, value: Any) -> Any:
            return value

    with pytest.raises(UserFunctionError, match="OSError: no model file"):
        Harness.for_map(BadOpen())


def test_headraces_own_errors_learn_their_place() -> None:
    def refuse(value: Any) -> Any:
        msg = "not like this"
        raise StateError(msg)

    harness = Harness.for_map(refuse)
    with pytest.raises(HeadraceError) as caught:
        harness.process_element(1)
    assert caught.value.where == "step 'harness' at test"


# --- two inputs --------------------------------------------------------------------------------


class CoMap(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return ("1", value)

    def map2(self, value: Any) -> Any:
        return None if value == "drop" else ("2", value)


class CoFlat(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        yield from (value, value)

    def flat_map2(self, value: Any) -> Any:
        return None


class CoProcess(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield 1, value, ctx.timestamp(), ctx.timer_service().current_watermark()

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield ODD, value


def test_co_map_drops_none() -> None:
    with TwoInputHarness.for_co_map(CoMap()) as harness:
        harness.process_element1("a", timestamp=1)
        harness.process_element2("b", timestamp=2)
        harness.process_element2("drop", timestamp=3)
        assert harness.timestamped_output == [(("1", "a"), 1), (("2", "b"), 2)]


def test_co_flat_map_calls_by_input() -> None:
    with TwoInputHarness.for_co_flat_map(CoFlat()) as harness:
        harness.process_element1("a")
        harness.process_element2("b")
        assert harness.output == ["a", "a"]


def test_co_process_sees_the_slower_clock() -> None:
    with TwoInputHarness.for_co_process_function(CoProcess()) as harness:
        harness.process_watermark1(10)
        harness.process_element1("a", timestamp=3)
        harness.process_watermark2(5)
        harness.process_element1("b")
        harness.process_element2("c")
        assert harness.output == [(1, "a", 3, MIN_TIMESTAMP), (1, "b", None, 5)]
        assert harness.side_output(ODD) == ["c"]
        assert harness.watermarks == [5]
        harness.process_watermark2(20)
        assert harness.watermarks == [5, 10]


@pytest.mark.parametrize("number", [0, 1])
def test_an_error_of_either_input_names_the_record(number: int) -> None:
    class Failing(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return 1 // value

        map2 = map1

    error = _error(TwoInputHarness(CoOperator(Failing(), ("map1", "map2"))), [1, 0], number)
    assert error.record == "0"


# --- timestamps --------------------------------------------------------------------------------


def _timestamps(assigner: Any, delay: int | None = 5) -> Harness:
    strategy = WatermarkStrategy(delay_ms=delay).with_timestamp_assigner(assigner)
    return Harness(TimestampsOperator(strategy, delay))


def test_bounded_out_of_orderness_is_highest_minus_delay_minus_one() -> None:
    harness = _timestamps(lambda value, previous: value)  # V1.1
    for value in (10, 7, 12):
        harness.process_element(value)
        harness.operator.end_of_part()
    assert harness.timestamped_output == [(10, 10), (7, 7), (12, 12)]
    assert harness.watermarks == [4, 6]


def test_an_assigner_swallows_watermarks_from_upstream_except_the_last() -> None:
    harness = _timestamps(lambda value: value)
    harness.process_watermark(100)
    assert harness.watermarks == []
    harness.process_watermark(MAX_TIMESTAMP)
    assert harness.watermarks == [MAX_TIMESTAMP]


def test_an_assigner_is_given_the_previous_timestamp() -> None:
    harness = Harness(TimestampsOperator(
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda v, previous: previous + 1),
        None,
    ))  # fmt: skip
    harness.process_element("a", timestamp=41)
    harness.process_element("b")
    assert harness.timestamped_output == [("a", 42), ("b", MIN_TIMESTAMP + 1)]


def test_without_an_assigner_timestamps_stay() -> None:
    harness = Harness(TimestampsOperator(WatermarkStrategy.for_monotonous_timestamps(), 0))
    harness.process_element("a", timestamp=41)
    harness.operator.end_of_part()
    assert harness.timestamped_output == [("a", 41)]
    assert harness.watermarks == [40]


@pytest.mark.parametrize("time", ["12", 1.5, None, True])
def test_a_timestamp_that_is_no_whole_number_is_refused(time: Any) -> None:
    harness = _timestamps(lambda value: time)
    with pytest.raises(RecordError, match=r"the timestamp assigner returned .* for 'x'"):
        harness.process_element("x")


def test_an_error_of_the_assigner_names_the_record() -> None:
    harness = _timestamps(lambda value: value["at"])
    assert _error(harness, [{"at": 1}, {}, {"at": 2}]).record == "{}"
