"""Shapes of programs, each as one streaming query: branches, unions, connects, exchanges."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from headrace.common import Types
from headrace.datastream import OutputTag
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.functions import (
    CoMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
)
from headrace.datastream.state import ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
ODD = OutputTag("odd", Types.LONG())
BIG = OutputTag("big", Types.STRING())


class Sort(ProcessFunction):
    """Even numbers go on, odd and big ones to side outputs."""

    def process_element(self, value: int, ctx: Any) -> Any:
        if value % 2:
            yield ODD, value
        else:
            yield value
        if value >= 10:
            yield BIG, f"big {value}"


class WithSubtask(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()

    def map(self, value: Any) -> Any:
        return value, self.subtask, self.subtasks


def add_second(first: Any, second: Any) -> Any:
    return first[0], first[1] + second[1]


def test_sinks_side_outputs_and_branches_of_a_program_are_one_query(
    env: StreamExecutionEnvironment, tmp_path: Path, running_queries: Callable[[], int]
) -> None:
    even: list[Any] = []
    odd: list[Any] = []
    tripled: list[Any] = []
    queries: set[int] = set()
    numbers = env.from_collection(list(range(12)), Types.LONG())
    sorted_out = numbers.process(Sort(), output_type=Types.LONG())
    sorted_out.map(lambda x: x * 10, output_type=Types.LONG()).add_sink(even.append)
    sorted_out.get_side_output(ODD).add_sink(odd.append)
    sorted_out.get_side_output(BIG).sink_to(FileSink.text(str(tmp_path / "big")))
    numbers.filter(lambda x: x > 8).map(lambda x: x * 3).add_sink(tripled.append)
    numbers.add_sink(lambda _value: queries.add(running_queries()))

    env.execute("branches")

    assert sorted(even) == [0, 20, 40, 60, 80, 100]
    assert sorted(odd) == [1, 3, 5, 7, 9, 11]
    assert sorted(tripled) == [27, 30, 33]
    lines = [line for file in (tmp_path / "big").glob("*.txt") for line in file.open()]
    assert sorted(lines) == ["big 10\n", "big 11\n"]
    assert queries == {1}


def test_a_union_has_the_records_of_all_its_sources(env: StreamExecutionEnvironment) -> None:
    first = env.from_collection([1, 2, 3, 4, 5, 6], Types.LONG())
    second = env.from_collection([10, 20], Types.LONG()).map(lambda x: x + 1, Types.LONG())
    third = env.from_sequence(100, 102)

    found = list(first.union(second, third).map(lambda x: -x).execute_and_collect())

    assert sorted(found) == sorted([-1, -2, -3, -4, -5, -6, -11, -21, -100, -101, -102])


class Tagged(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return f"number {value}"

    def map2(self, value: Any) -> Any:
        return f"word {value}"


class Enrich(KeyedCoProcessFunction):
    """Orders wait, in state, for the name of their customer; and the other way round."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        self.waiting = runtime_context.get_state(
            ValueStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element1(self, value: Any, ctx: Any) -> Any:
        name = self.name.value()
        if name is None:
            self.waiting.update([*(self.waiting.value() or []), value[1]])
        else:
            yield name, value[1]

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.name.update(value[1])
        for amount in self.waiting.value() or []:
            yield value[1], amount
        self.waiting.clear()


def test_two_sources_meet_in_a_connect_with_and_without_keys(
    env: StreamExecutionEnvironment,
) -> None:
    orders = env.from_collection([(n % 3, n) for n in range(12)])
    names = env.from_collection([(0, "ann"), (1, "bob"), (2, "cid")])
    plain: list[Any] = []
    enriched: list[Any] = []
    orders.map(lambda order: order[1]).connect(names.map(lambda n: n[1])).map(Tagged()).add_sink(
        plain.append
    )
    by_key = orders.connect(names).key_by(lambda order: order[0], lambda name: name[0])
    by_key.process(Enrich()).add_sink(enriched.append)

    env.execute("connect")

    assert sorted(plain) == sorted(
        [f"number {n}" for n in range(12)] + ["word ann", "word bob", "word cid"]
    )
    expected = [(["ann", "bob", "cid"][n % 3], n) for n in range(12)]
    assert sorted(enriched) == sorted(expected)


def test_a_second_key_by_counts_what_the_first_one_reduced(
    env: StreamExecutionEnvironment,
) -> None:
    words = ["a", "b", "a", "c", "a", "b", "d", "a", "b", "c", "d", "a"]
    counts = (
        env.from_collection([(word, 1) for word in words], PAIR)
        .key_by(lambda pair: pair[0])
        .reduce(add_second)
    )
    how_often = (
        counts.map(lambda pair: (str(pair[1]), 1), PAIR).key_by(lambda p: p[0]).reduce(add_second)
    )

    highest: dict[str, int] = defaultdict(int)
    for count, times in how_often.execute_and_collect():
        highest[count] = max(highest[count], times)

    # four words reached a count of 1, four of 2, two of 3 (a, b), one of 4 and of 5 (a)
    assert dict(highest) == {"1": 4, "2": 4, "3": 2, "4": 1, "5": 1}


def test_partitionings_send_records_where_they_should_go(env: StreamExecutionEnvironment) -> None:
    everywhere: list[Any] = []
    chosen: list[Any] = []
    alone: list[Any] = []
    numbers = env.from_collection(list(range(10)), Types.LONG())
    numbers.broadcast().map(WithSubtask()).add_sink(everywhere.append)
    numbers.partition_custom(lambda key, _n: key % 2, lambda x: x // 5).map(WithSubtask()).add_sink(
        chosen.append
    )
    numbers.rebalance().map(lambda x: x).map(WithSubtask()).set_parallelism(1).add_sink(
        alone.append
    ).set_parallelism(1)

    env.execute("partitionings")

    assert sorted(everywhere) == sorted((n, s, 2) for n in range(10) for s in range(2))
    assert sorted(chosen) == [(n, n // 5 % 2, 2) for n in range(10)]
    assert sorted(alone) == [(n, 0, 1) for n in range(10)]


def test_both_ways_through_a_diamond_meet_again(env: StreamExecutionEnvironment) -> None:
    start = env.from_collection([("x", n) for n in range(8)], PAIR).map(lambda p: p, PAIR)
    left = start.map(lambda p: (p[0], p[1] + 100), PAIR)
    right = start.key_by(lambda p: p[0]).reduce(add_second)

    totals = left.union(right).key_by(lambda p: p[0]).reduce(add_second)
    last = max(total for _, total in totals.execute_and_collect())

    sums = [sum(range(n + 1)) for n in range(8)]
    assert last == sum(100 + n for n in range(8)) + sum(sums)


class InOrder(KeyedProcessFunction):
    """Passes on what it gets, with how many came before it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        before = self.seen.value() or 0
        self.seen.update(before + 1)
        yield ctx.get_current_key(), value[1], before


def test_records_of_a_key_stay_in_order_over_many_batches(
    make_env: Callable[..., StreamExecutionEnvironment],
) -> None:
    env = make_env({"source.max-records-per-batch": 16})
    records = [(f"k{n * 7 % 5}", n) for n in range(100)]
    found: list[Any] = []
    env.from_collection(records, PAIR).key_by(lambda p: p[0]).process(InOrder()).key_by(
        lambda triple: triple[0]
    ).process(Again()).add_sink(found.append)

    client = env.execute_async("order")
    client.get_job_execution_result().result(240)

    assert client.get_metrics()["batches"] >= 7
    by_key: dict[str, list[Any]] = defaultdict(list)
    for key, number, before in found:
        by_key[key].append((number, before))
    for key, got in by_key.items():
        sent = [n for k, n in records if k == key]
        assert got == [(n, before) for before, n in enumerate(sent)]
    assert len(found) == 100


class Again(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value
