"""Arguments that cannot work are refused at the line that passes them; those that can are not."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from golden.compare import assert_golden
from headrace.common import Types
from headrace.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    CoMapFunction,
    DataStream,
    FilterFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from headrace.datastream.expressions import col
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import CountTrigger, TumblingEventTimeWindows
from headrace.errors import (
    ArgumentTypeError,
    HeadraceError,
    InvalidArgumentError,
    UnsupportedStepError,
)
from headrace.testing import collect_locally

if TYPE_CHECKING:
    from collections.abc import Callable

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
ORDER = Types.ROW_NAMED(["user", "amount"], [Types.STRING(), Types.LONG()])
TUMBLING = TumblingEventTimeWindows.of(10)


class Upper(MapFunction):
    def map(self, value: Any) -> Any:
        return value


class Odd(FilterFunction):
    def filter(self, value: Any) -> bool:
        return True


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class Total(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value[1]

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Ask(AsyncFunction):
    async def async_invoke(self, value: Any) -> Any:
        return [value]


class AskPlainly(AsyncFunction):
    def async_invoke(self, value: Any) -> Any:
        return [value]


class First(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value[0]


class Named:
    """Anything with the right method will do."""

    def map(self, value: Any) -> Any:
        return value


@dataclass
class Order:
    user: str
    amount: int

    @property
    def large(self) -> bool:
        return self.amount > 100


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def pairs(type_info: Any = PAIR) -> DataStream:
    return environment().from_collection([("a", 1), ("b", 2)], type_info)


def keyed() -> Any:
    return pairs().key_by(0)


def connected() -> Any:
    first = pairs()
    return first.connect(first.map(tuple))


REFUSED: dict[str, Callable[[], Any]] = {
    "map_of_a_number": lambda: pairs().map(3),
    "map_of_a_class": lambda: pairs().map(Upper),
    "map_of_a_filter_function": lambda: pairs().map(Odd()),
    "map_of_an_async_function": lambda: pairs().map(Ask()),
    "keyed_map_of_none": lambda: keyed().map(None),
    "flat_map_of_none": lambda: pairs().flat_map(None),
    "filter_of_text": lambda: pairs().filter("x"),
    "filter_of_a_list_of_expressions": lambda: pairs().filter([col("f0") == "a"]),
    "process_of_text": lambda: pairs().process("x"),
    "keyed_process_of_none": lambda: keyed().process(None),
    "reduce_of_a_number": lambda: keyed().reduce(1),
    "sum_of_half_a_field": lambda: keyed().sum(1.5),
    "sum_of_a_field_that_is_not_there": lambda: keyed().max_by(2),
    "window_sum_of_a_name_that_is_not_there": lambda: keyed().window(TUMBLING).sum("amount"),
    "key_by_a_column_of_no_columns": lambda: pairs().map(len, Types.INT()).key_by("f0"),
    "key_by_a_column_that_is_not_there": lambda: pairs(PAIR).key_by("f2"),
    "key_by_a_misspelt_column": lambda: pairs(ORDER).key_by("usr"),
    "key_by_a_column_of_plain_tuples": lambda: pairs(None).key_by("user"),
    "key_by_a_position_that_is_not_there": lambda: pairs(PAIR).key_by(2),
    "key_by_none": lambda: pairs().key_by(None),
    "broadcast_of_a_keyed_stream": lambda: keyed().broadcast(),
    "broadcast_with_another_state": lambda: pairs().broadcast(
        ValueStateDescriptor("rules", Types.LONG())
    ),
    "window_of_a_number": lambda: keyed().window(5),
    "window_of_a_class": lambda: keyed().window(TumblingEventTimeWindows),
    "window_all_of_none": lambda: pairs().window_all(None),
    "trigger_of_a_number": lambda: keyed().window(TUMBLING).trigger(10),
    "evictor_that_is_a_trigger": lambda: keyed().window(TUMBLING).evictor(CountTrigger.of(3)),
    "late_data_to_a_name": lambda: keyed().window(TUMBLING).side_output_late_data("late"),
    "window_reduce_of_a_number": lambda: keyed().window(TUMBLING).reduce(1),
    "window_reduce_with_text": lambda: keyed().window(TUMBLING).reduce(max, "x"),
    "aggregate_of_a_function": lambda: keyed().window(TUMBLING).aggregate(max),
    "aggregate_of_a_class": lambda: keyed().window(TUMBLING).aggregate(Total),
    "window_apply_of_none": lambda: keyed().window(TUMBLING).apply(None),
    "window_process_of_none": lambda: pairs().window_all(TUMBLING).process(None),
    "side_output_by_name": lambda: pairs().get_side_output("late"),
    "union_with_a_list": lambda: pairs().union([1, 2]),
    "union_with_another_environment": lambda: pairs().union(pairs()),
    "connect_with_another_environment": lambda: pairs().connect(pairs()),
    "connect_with_a_list": lambda: pairs().connect([1, 2]),
    "co_map_of_a_map_function": lambda: connected().map(Upper()),
    "co_map_of_a_class": lambda: connected().map(Both),
    "co_flat_map_of_a_function": lambda: connected().flat_map(max),
    "co_process_of_none": lambda: connected().process(None),
    "watermarks_of_none": lambda: pairs().assign_timestamps_and_watermarks(None),
    "partitioner_that_is_a_number": lambda: pairs().partition_custom(1, max),
    "partitioner_with_key_none": lambda: pairs().partition_custom(max, None),
    "sink_to_a_function": lambda: pairs().sink_to(max),
    "add_sink_of_none": lambda: pairs().add_sink(None),
    "sink_parallelism_of_text": lambda: pairs().print().set_parallelism("two"),
    "async_wait_of_a_list": lambda: AsyncDataStream.ordered_wait([1], Ask(), 5),
    "async_wait_with_a_class": lambda: AsyncDataStream.ordered_wait(pairs(), Ask, 5),
    "async_wait_with_a_map_function": lambda: AsyncDataStream.unordered_wait(pairs(), Upper(), 5),
    "async_wait_with_a_plain_method": lambda: AsyncDataStream.ordered_wait(
        pairs(), AskPlainly(), 5
    ),
    "async_wait_without_capacity": lambda: AsyncDataStream.ordered_wait(pairs(), Ask(), 5, 0),
    "async_wait_with_a_type_as_capacity": lambda: AsyncDataStream.ordered_wait(
        pairs(), Ask(), 5, PAIR
    ),
    "async_wait_with_half_a_second": lambda: AsyncDataStream.ordered_wait(pairs(), Ask(), 0.5),
    "async_wait_with_time_that_is_over": lambda: AsyncDataStream.ordered_wait(pairs(), Ask(), -1),
    "async_wait_with_no_strategy": lambda: AsyncDataStream.ordered_wait_with_retry(
        pairs(), Ask(), 5, None
    ),
    "async_wait_that_may_repeat_forever": lambda: AsyncDataStream.unordered_wait_with_retry(
        pairs(), Ask(), 0, AsyncRetryStrategy.fixed_delay(3, 100, None, bool)
    ),
    "async_predicate_that_is_no_function": lambda: AsyncRetryStrategy.fixed_delay(3, 1, [], None),
    "name_of_a_number": lambda: pairs().map(str).name(3),
    "uid_of_none": lambda: pairs().map(str).uid(None),
    "from_source_of_a_list": lambda: environment().from_source([1], None, "list"),
    "from_collection_of_a_number": lambda: environment().from_collection(3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_where_it_is_written_with_a_way_out(name: str) -> None:
    with pytest.raises((InvalidArgumentError, UnsupportedStepError)) as caught:
        REFUSED[name]()
    assert caught.value.fix
    assert "test_arguments.py" in str(caught.value.where)


def test_the_messages_read_well() -> None:
    """All of them in one file, for a person to read."""
    texts = []
    for name, call in REFUSED.items():
        with pytest.raises(HeadraceError) as caught:
            call()
        texts.append(f"{name}\n{caught.value}\n")
    assert_golden("errors/arguments.txt", "\n".join(texts))


def test_a_wrong_type_is_a_type_error_as_in_pyflink() -> None:
    with pytest.raises(TypeError, match="map expects a function or a MapFunction, not 3"):
        pairs().map(3)
    assert issubclass(ArgumentTypeError, ValueError)


ACCEPTED: dict[str, Callable[[], DataStream]] = {
    "a builtin function": lambda: pairs().map(str),
    "a partial": lambda: pairs().map(functools.partial(operator.add, ())),
    "an itemgetter": lambda: pairs().map(operator.itemgetter(0)),
    "a bound method": lambda: pairs().map("{}".format),
    "a class that is no Function": lambda: pairs().map(tuple),
    "an object with the method": lambda: pairs().map(Named()),
    "expressions": lambda: pairs(ORDER).map([col("user"), col("amount")]),
    "a filter expression": lambda: pairs(ORDER).filter(col("amount") > 1),
    "a KeySelector": lambda: pairs().key_by(First()).reduce(max),
    "a position from the end": lambda: pairs().key_by(-2).sum(-1),
    "a name of a tuple's field": lambda: pairs().key_by("f0").sum(1),
    "a column": lambda: pairs(ORDER).key_by("user").sum("amount"),
    "a column expression": lambda: pairs(ORDER).key_by(col("user")).sum("amount"),
    "a window function that is a function": lambda: (
        pairs().key_by(0).window(TUMBLING).apply(lambda key, window, inputs: inputs)
    ),
    "a tag": lambda: pairs().get_side_output(OutputTag("late", PAIR)),
    "a guessed type binds nobody": lambda: pairs().map(_guessed).key_by("size").reduce(max),
}


def _guessed(record: Any) -> Order:
    return Order(*record)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_can_work_is_accepted(name: str) -> None:
    assert isinstance(ACCEPTED[name](), DataStream)


def test_a_tuple_is_keyed_by_the_names_its_type_gives_its_fields() -> None:
    stream = pairs().map(lambda r: (r[0], r[1] + 1), PAIR).key_by("f0").sum("f1")
    assert sorted(collect_locally(stream)) == [("a", 2), ("b", 3)]


def test_a_class_is_keyed_by_its_properties_too() -> None:
    orders = pairs().map(lambda r: Order(*r), Order)
    assert sorted(collect_locally(orders.key_by("large").map(lambda o: o.amount))) == [1, 2]
