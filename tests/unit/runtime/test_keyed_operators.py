"""Keyed process functions, states, timers, rolling aggregates, keyed co-functions."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.datastream.functions import (
    AggregateFunction,
    CoFlatMapFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.time_domain import TimeDomain
from headrace.errors import InvalidArgumentError, StateError, UserFunctionError
from headrace.runtime.operators.connected import KeyedCoOperator
from headrace.runtime.operators.keyed import (
    KeyedMapOperator,
    KeyedProcessOperator,
    ReduceOperator,
)
from headrace.testing import KeyedHarness, TwoInputHarness

if TYPE_CHECKING:
    from headrace.runtime.operators.base import Operator

COUNT = ValueStateDescriptor("count", Types.LONG())
ITEMS = ListStateDescriptor("items", Types.STRING())
SEEN = MapStateDescriptor("seen", Types.STRING(), Types.LONG())
TOTAL = ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
SIDE = OutputTag("side")


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


MEAN = AggregatingStateDescriptor("mean", Mean(), Types.TUPLE([Types.LONG(), Types.LONG()]))


def first(record: Any) -> Any:
    return record[0]


# --- states ------------------------------------------------------------------------------------


class AllStates(KeyedProcessFunction):
    """Keeps what it is given in every kind of state; "clear" empties them."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.items = runtime_context.get_list_state(ITEMS)
        self.seen = runtime_context.get_map_state(SEEN)
        self.total = runtime_context.get_reducing_state(TOTAL)
        self.mean = runtime_context.get_aggregating_state(MEAN)

    def process_element(self, value: Any, ctx: Any) -> Any:
        _, what = value
        if what == "clear":
            for state in (self.count, self.items, self.seen, self.total, self.mean):
                state.clear()
        elif what is not None:
            self.count.update((self.count.value() or 0) + 1)
            self.items.add(str(what))
            self.seen[str(what)] = what
            self.total.add(what)
            self.mean.add(what)
        yield (
            self.count.value(),
            list(self.items.get()),
            dict(self.seen.items()),
            self.total.get(),
            self.mean.get(),
        )


def test_every_kind_of_state_is_empty_then_kept_by_key_and_can_be_cleared() -> None:
    with KeyedHarness.for_process_function(AllStates(), key_by=first) as harness:
        harness.process_element(("a", None))
        assert harness.take_output() == [(None, [], {}, None, None)]
        harness.process_elements(("a", 1), ("b", 10), ("a", 2))
        assert harness.take_output() == [
            (1, ["1"], {"1": 1}, 1, 1.0),
            (1, ["10"], {"10": 10}, 10, 10.0),
            (2, ["1", "2"], {"1": 1, "2": 2}, 3, 1.5),
        ]
        assert harness.num_keyed_state_entries() == 10
        assert harness.state(COUNT, "a") == 2
        assert harness.state(ITEMS, "b") == ["10"]
        assert harness.state(SEEN, "a") == {"1": 1, "2": 2}
        assert harness.state(TOTAL, "a") == 3
        assert harness.state(MEAN, "a") == 1.5
        harness.process_elements(("a", "clear"), ("a", None), ("b", None))
        assert harness.take_output()[1:] == [
            (None, [], {}, None, None),
            (1, ["10"], {"10": 10}, 10, 10.0),
        ]
        harness.process_element(("b", "clear"))
        assert harness.num_keyed_state_entries() == 0


def test_every_kind_of_state_survives_a_restart_and_unflushed_changes_do_not() -> None:
    with KeyedHarness.for_process_function(AllStates(), key_by=first) as harness:
        harness.process_elements(("a", 1), ("a", 2))
        snapshot = harness.snapshot()
        harness.process_element(("a", 100))
        harness.restore(snapshot)
        harness.take_output()
        harness.process_element(("a", 3))
        assert harness.take_output() == [(3, ["1", "2", "3"], {"1": 1, "2": 2, "3": 3}, 6, 2.0)]


def test_a_value_read_before_a_checkpoint_is_not_changed_by_what_follows() -> None:
    with KeyedHarness.for_process_function(AllStates(), key_by=first) as harness:
        harness.process_element(("a", 1))
        first_items = harness.output[0][1]
        harness.process_element(("a", 2))
        assert first_items == ["1"]


class StateProbe(KeyedProcessFunction):
    """Calls a function of the test with all states."""

    def __init__(self, probe: Any) -> None:
        self.probe = probe

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(COUNT)
        self.items = runtime_context.get_list_state(ITEMS)
        self.map = runtime_context.get_map_state(SEEN)
        self.mean = runtime_context.get_aggregating_state(MEAN)

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield self.probe(self)


def _probe(probe: Any) -> tuple[Any, int]:
    with KeyedHarness.for_process_function(StateProbe(probe), key_by=first) as harness:
        harness.process_element(("a", 1))
        return harness.output[0], harness.num_keyed_state_entries()


def test_list_state_update_replaces_and_an_empty_update_clears() -> None:
    def probe(s: Any) -> Any:
        s.items.add_all(["x", "y"])
        s.items.update(["z"])
        s.items.add("w")
        got = list(s.items)
        s.items.update([])
        return got, list(s.items.get())

    assert _probe(probe) == ((["z", "w"], []), 0)


def test_map_state_speaks_the_dictionary_protocol() -> None:
    def probe(s: Any) -> Any:
        empty = (s.map.is_empty(), s.map.get("x"), "x" in s.map, s.map["x"])
        s.map.put_all({"x": 1, "y": 2})
        s.map["z"] = 3
        full = (sorted(s.map), sorted(s.map.values()), s.map.contains("x"), s.map.is_empty())
        del s.map["x"]
        s.map.remove("unknown")
        rest = dict(s.map.items())
        s.map.remove("y")
        s.map.remove("z")
        return empty, full, rest, s.map.is_empty()

    assert _probe(probe) == (
        (
            (True, None, False, None),
            (["x", "y", "z"], [1, 2, 3], True, False),
            {"y": 2, "z": 3},
            True,
        ),
        0,
    )


def test_a_map_may_be_changed_while_it_is_walked() -> None:
    def probe(s: Any) -> Any:
        s.map.put_all({"x": 1, "y": 2, "z": 3})
        for key in s.map.keys():  # noqa: SIM118
            s.map.remove(key)
        return s.map.is_empty()

    assert _probe(probe) == (True, 0)


def test_updating_a_value_with_none_clears_it() -> None:
    def probe(s: Any) -> Any:
        s.value.update(1)
        s.value.update(None)
        return s.value.value()

    assert _probe(probe) == (None, 0)


def test_falsy_values_are_values() -> None:
    def probe(s: Any) -> Any:
        s.value.update(0)
        s.map["x"] = 0
        s.map["y"] = None
        return s.value.value(), s.map.get("x"), "y" in s.map

    assert _probe(probe) == ((0, 0, True), 2)


def test_adding_none_to_an_aggregating_state_clears_it() -> None:
    def probe(s: Any) -> Any:
        s.mean.add(3)
        s.mean.add(None)
        return s.mean.get()

    assert _probe(probe) == (None, 0)


def test_state_used_outside_of_a_keyed_call_is_refused() -> None:
    class InOpen(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(COUNT).value()

        def process_element(self, value: Any, ctx: Any) -> Any: ...

    with pytest.raises(StateError, match="outside of a keyed call"):
        KeyedHarness.for_process_function(InOpen(), key_by=first)


def test_one_name_for_two_kinds_of_state_is_refused() -> None:
    class Confused(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(ValueStateDescriptor("x", Types.LONG()))
            runtime_context.get_list_state(ListStateDescriptor("x", Types.LONG()))

        def process_element(self, value: Any, ctx: Any) -> Any: ...

    with pytest.raises(StateError, match="'x' is declared twice"):
        KeyedHarness.for_process_function(Confused(), key_by=first)


# --- timers ------------------------------------------------------------------------------------


class Timers(KeyedProcessFunction):
    """("key", command, time): sets or deletes timers; reports what fires."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        _, command, time = value
        getattr(ctx.timer_service(), command)(time)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        if timestamp == 3:
            ctx.timer_service().register_event_time_timer(4)
        yield (
            ctx.get_current_key(),
            timestamp,
            ctx.timestamp(),
            ctx.time_domain(),
            ctx.timer_service().current_watermark(),
        )


def _event(key: str, time: int) -> tuple[str, str, int]:
    return key, "register_event_time_timer", time


def _clock(key: str, time: int) -> tuple[str, str, int]:
    return key, "register_processing_time_timer", time


def test_timers_fire_in_order_those_set_meanwhile_included() -> None:
    with KeyedHarness.for_process_function(Timers(), key_by=first) as harness:
        for time in (5, 3, 3, 10):  # V5.1
            harness.process_element(_event("a", time))
        harness.process_watermark(6)
        assert harness.timestamped_output == [
            (("a", time, time, TimeDomain.EVENT_TIME, 6), time) for time in (3, 4, 5)
        ]
        harness.take_output()
        harness.process_watermark(10)
        assert [(o[1], o[4]) for o in harness.take_output()] == [(10, 10)]
        assert harness.num_event_time_timers() == 0


def test_a_timer_set_in_the_past_fires_at_the_next_watermark() -> None:
    with KeyedHarness.for_process_function(Timers(), key_by=first) as harness:
        harness.process_watermark(20)  # V5.2
        harness.process_element(_event("a", 15))
        harness.process_watermark(20)
        assert harness.output == []
        harness.process_watermark(21)
        assert [(o[1], o[4]) for o in harness.output] == [(15, 21)]


def test_a_deleted_timer_does_not_fire_and_an_unknown_one_may_be_deleted() -> None:
    with KeyedHarness.for_process_function(Timers(), key_by=first) as harness:
        harness.process_element(_event("a", 5))
        harness.process_element(_event("b", 5))
        harness.process_element(("a", "delete_event_time_timer", 5))
        harness.process_element(("a", "delete_event_time_timer", 99))
        assert harness.num_event_time_timers() == 1
        harness.process_watermark(5)
        assert [o[0] for o in harness.output] == ["b"]


def test_event_and_processing_timers_of_one_time_are_two_timers() -> None:
    with KeyedHarness.for_process_function(Timers(), key_by=first) as harness:
        harness.process_element(_event("a", 5))
        harness.process_element(_clock("a", 5))
        harness.process_element(_clock("a", 5))
        assert (harness.num_event_time_timers(), harness.num_processing_time_timers()) == (1, 1)
        harness.set_processing_time(4)
        assert harness.output == []
        harness.set_processing_time(5)
        assert harness.timestamped_output == [
            (("a", 5, None, TimeDomain.PROCESSING_TIME, MIN_TIMESTAMP), None)
        ]
        harness.process_watermark(5)
        assert len(harness.output) == 2
        assert (harness.num_event_time_timers(), harness.num_processing_time_timers()) == (0, 0)


def test_timers_survive_a_restart_and_overdue_ones_fire_at_once() -> None:
    with KeyedHarness.for_process_function(Timers(), key_by=first) as harness:
        harness.process_element(_event("a", 5))
        harness.process_element(_clock("b", 7))
        harness.restore(harness.snapshot())
        harness.set_processing_time(100)
        harness.process_watermark(5)
        assert sorted((o[0], o[1]) for o in harness.output) == [("a", 5), ("b", 7)]


def test_processing_timers_are_dropped_at_the_end_of_input() -> None:
    with KeyedHarness.for_process_function(Timers(), key_by=first) as harness:
        harness.process_element(_clock("a", 7))
        harness.process_element(_event("a", MAX_TIMESTAMP - 1))
        harness.end_of_input()
        harness.set_processing_time(100)
        assert [o[1] for o in harness.output] == [MAX_TIMESTAMP - 1]


def test_results_of_timers_go_out_before_the_watermark() -> None:
    order: list[Any] = []

    class Recorder:
        def accept(self, records: Records) -> None:
            order.extend(records.values)

        def watermark(self, timestamp: int) -> None:
            order.append(f"W({timestamp})")

        def idle(self) -> None:
            order.append("idle")

    with KeyedHarness.for_process_function(Timers(), key_by=first) as harness:
        harness.operator.output.main.append(Recorder())
        harness.process_element(_event("a", 5))
        harness.process_watermark(7)
        assert [o if isinstance(o, str) else o[1] for o in order] == [5, "W(7)"]


def test_side_outputs_of_records_and_timers() -> None:
    class Sides(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(9)
            yield SIDE, ("record", value)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield SIDE, ("timer", timestamp)

    with KeyedHarness.for_process_function(Sides(), key_by=lambda v: v) as harness:
        harness.process_element("a", timestamp=1)
        harness.process_watermark(9)
        assert harness.output == []
        assert harness.side_output(SIDE) == [("record", "a"), ("timer", 9)]


def test_a_function_without_on_timer_forgets_its_timers() -> None:
    class NoOnTimer(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(9)

    with KeyedHarness.for_process_function(NoOnTimer(), key_by=lambda v: v) as harness:
        harness.process_element("a")
        harness.process_watermark(9)
        assert harness.num_event_time_timers() == 0


# --- keyed map and flat_map --------------------------------------------------------------------


class CountingMap(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def map(self, value: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return value, self.count.value()


class Dedup(FlatMapFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def flat_map(self, value: Any) -> Any:
        if self.count.value() is None:
            self.count.update(1)
            yield value


def test_a_keyed_map_has_state() -> None:
    with KeyedHarness.for_keyed_map(CountingMap(), key_by=lambda v: v) as harness:
        harness.operator.process(Records(["a", "b", "a"], [1, 2, 3]), 0)
        assert harness.timestamped_output == [(("a", 1), 1), (("b", 1), 2), (("a", 2), 3)]
        assert harness.num_keyed_state_entries() == 2


def test_a_keyed_flat_maps_generator_runs_under_its_own_key() -> None:
    with KeyedHarness.for_keyed_flat_map(Dedup(), key_by=lambda v: v) as harness:
        harness.operator.process(Records(["a", "b", "a", "b", "c"]), 0)
        assert harness.output == ["a", "b", "c"]


# --- reduce and rolling ------------------------------------------------------------------------


class Summing(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


@pytest.mark.parametrize("function", [Summing(), lambda a, b: (a[0], a[1] + b[1])])
def test_reduce_puts_out_after_every_record_the_first_unchanged(function: Any) -> None:
    with KeyedHarness.for_reduce(function, key_by=first) as harness:
        harness.operator.process(Records([("a", 1), ("b", 5), ("a", 2)], [7, 8, 9]), 0)
        harness.restore(harness.snapshot())
        harness.process_element(("a", 3), timestamp=1)
        assert harness.timestamped_output == [
            (("a", 1), 7), (("b", 5), 8), (("a", 3), 9), (("a", 6), 1)
        ]  # fmt: skip
        assert harness.num_keyed_state_entries() == 2


class Reading(NamedTuple):
    key: str
    n: int
    tag: str


_ROLLING = {  # V6.1
    "sum": ["3x", "4x", "5x", "7x"],
    "min": ["3x", "1x", "1x", "1x"],
    "max": ["3x", "3x", "3x", "3x"],
    "min_by": ["3x", "1y", "1y", "1y"],
    "max_by": ["3x", "3x", "3x", "3x"],
}
_SHAPES: dict[str, tuple[Any, Any, Any]] = {
    "tuple": (lambda *v: v, 1, first),
    "row by position": (Row, 1, first),
    "row by name": (lambda k, n, t: Row(key=k, n=n, tag=t), "n", first),
    "named tuple": (Reading, 1, first),
    "named tuple by name": (Reading, "n", first),
    "list": (lambda *v: list(v), 1, first),
    "dict": (lambda k, n, t: {"key": k, "n": n, "tag": t}, "n", lambda r: r["key"]),
}


def _short(record: Any) -> str:
    if isinstance(record, dict):
        return f"{record['n']}{record['tag']}"
    return f"{record[1]}{record[2]}"


@pytest.mark.parametrize("kind", list(_ROLLING))
@pytest.mark.parametrize("shape", list(_SHAPES))
@pytest.mark.parametrize("together", [True, False], ids=["one list", "one by one"])
def test_rolling_aggregates_are_flinks_for_every_shape_of_record(
    kind: str, shape: str, together: bool
) -> None:
    make, field, key_by = _SHAPES[shape]
    rows = [("a", 3, "x"), ("a", 1, "y"), ("a", 1, "z"), ("a", 2, "w")]
    records = [make(*row) for row in rows]
    with KeyedHarness.for_rolling(kind, field, key_by) as harness:
        if together:
            harness.operator.process(Records(records), 0)
        else:
            harness.process_elements(*records)
        assert [_short(record) for record in harness.output] == _ROLLING[kind]
    assert [_short(record) for record in records] == ["3x", "1y", "1z", "2w"]  # inputs untouched


@pytest.mark.parametrize(
    ("kind", "records", "expected"),
    [
        ("sum", [1, 2, 3], [1, 3, 6]),
        ("max", [1.5, 0.5, 2.5], [1.5, 1.5, 2.5]),
        ("min", ["pear", "apple", "plum"], ["pear", "apple", "apple"]),
        ("max_by", ["pear", "apple", "plum"], ["pear", "pear", "plum"]),
        ("sum", [Decimal("1.5"), Decimal("3.25")], [Decimal("1.5"), Decimal("4.75")]),
        ("min", [Decimal("1.5"), Decimal("0.5")], [Decimal("1.5"), Decimal("0.5")]),
        ("max_by", [Decimal("1.5"), Decimal("3.5")], [Decimal("1.5"), Decimal("3.5")]),
        ("max", [date(2020, 1, 1), date(2020, 1, 3)], [date(2020, 1, 1), date(2020, 1, 3)]),
        ("min_by", [b"ab", b"aa", b"b"], [b"ab", b"aa", b"aa"]),
    ],
)
def test_position_zero_of_a_plain_value_is_the_value(
    kind: str, records: list[Any], expected: list[Any]
) -> None:
    with KeyedHarness.for_rolling(kind, 0, lambda value: 0) as harness:
        harness.process_elements(*records)
        assert harness.output == expected


def test_max_by_takes_the_larger_record_and_keeps_the_first_of_equals() -> None:
    with KeyedHarness.for_rolling("max_by", 1, first) as harness:
        harness.process_elements(("a", 1, "x"), ("a", 2, "y"), ("a", 2, "z"))
        assert [record[2] for record in harness.output] == ["x", "y", "y"]


def test_a_field_that_a_record_does_not_have_is_named() -> None:
    with KeyedHarness.for_rolling("sum", 5, first) as harness:
        harness.process_element(("a", 1))
        with pytest.raises(InvalidArgumentError, match=r"record \('a', 1\) .* has no field 5"):
            harness.process_element(("a", 2))


# --- two keyed inputs --------------------------------------------------------------------------


class Join(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.STRING()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.left.update(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.left.value(), value["v"]

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        self.left.clear()
        yield "cleared", ctx.get_current_key()


def test_two_keyed_inputs_share_state_timers_and_the_slower_clock() -> None:
    with TwoInputHarness.for_keyed_co_process_function(Join(), first, lambda r: r["k"]) as harness:
        harness.process_element1(("a", "x"), timestamp=0)
        harness.process_element2({"k": "a", "v": 1}, timestamp=1)
        harness.process_element2({"k": "b", "v": 2}, timestamp=1)
        harness.process_watermark1(50)
        assert harness.take_output() == [("a", "x", 1), ("b", None, 2)]
        harness.process_watermark2(10)
        assert harness.take_output() == [("cleared", "a")]
        assert harness.watermarks == [10]
        assert harness.num_keyed_state_entries() == 0
        assert harness.num_event_time_timers() == 0


def test_a_keyed_co_flat_map_shares_state() -> None:
    class Gate(CoFlatMapFunction):
        def open(self, runtime_context: Any) -> None:
            self.allowed = runtime_context.get_state(COUNT)

        def flat_map1(self, value: Any) -> Any:
            if self.allowed.value():
                yield value

        def flat_map2(self, value: Any) -> Any:
            self.allowed.update(1)
            return ()

    with TwoInputHarness.for_keyed_co_flat_map(Gate(), first, lambda v: v) as harness:
        harness.process_element1(("a", 1))
        harness.process_element2("a")
        harness.process_element1(("a", 2))
        harness.process_element1(("b", 3))
        assert harness.output == [("a", 2)]


# --- errors ------------------------------------------------------------------------------------


class Failing(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(5)
        yield 1 // value[1]

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        msg = "timer went off"
        raise RuntimeError(msg)


class FailingMap(MapFunction):
    def map(self, value: Any) -> Any:
        return 1 // value[1]


class FailingFlat(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        yield 1 // value[1]


class FailingCo(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        yield 1 // value[1]

    flat_map2 = flat_map1


@pytest.mark.parametrize(
    ("operator", "selectors"),
    [
        (KeyedProcessOperator(Failing()), (first,)),
        (KeyedMapOperator(FailingMap(), "map"), (first,)),
        (KeyedMapOperator(FailingFlat(), "flat_map"), (first,)),
        (KeyedMapOperator(lambda v: 1 // v[1], "filter"), (first,)),
        (ReduceOperator(lambda a, b: (a[0], 1 // b[1])), (first,)),
        (KeyedCoOperator(FailingCo(), ("flat_map1", "flat_map2")), (first, first)),
    ],
    ids=["process", "map", "flat_map", "filter", "reduce", "co"],
)
def test_an_error_names_the_record(operator: Operator, selectors: Any) -> None:
    harness = KeyedHarness(operator, selectors)
    records = Records([("a", 1), ("a", 2), ("a", 0), ("a", 4)])
    with pytest.raises(UserFunctionError, match="ZeroDivisionError") as caught:
        harness.operator.process(records, 0)
    assert caught.value.record == "('a', 0)"


def test_an_error_of_the_key_selector_names_step_and_record() -> None:
    harness = KeyedHarness(KeyedMapOperator(lambda v: v, "map"), (lambda v: v["k"],))
    with pytest.raises(UserFunctionError, match="key selector raised KeyError: 'k'") as caught:
        harness.operator.process(Records([{"k": 1}, {}]), 0)
    assert caught.value.record == "{}"
    assert caught.value.where == "step 'harness' at test"


def test_an_error_in_on_timer_names_the_step() -> None:
    harness = KeyedHarness.for_process_function(Failing(), key_by=first)
    harness.process_element(("a", 1))
    with pytest.raises(UserFunctionError, match="RuntimeError: timer went off") as caught:
        harness.process_watermark(5)
    assert caught.value.record is None
    assert "on_timer" in caught.value.user_traceback


class Counted(ReduceFunction):
    """Adds, and counts its calls in a state of the key."""

    def open(self, runtime_context: Any) -> None:
        self.calls = runtime_context.get_state(ValueStateDescriptor("calls", Types.LONG()))

    def reduce(self, value1: Any, value2: Any) -> Any:
        self.calls.update((self.calls.value() or 0) + 1)
        return (value1[0], value1[1] + value2[1], self.calls.value())


def test_a_reduce_function_has_keyed_state() -> None:
    harness = KeyedHarness(ReduceOperator(Counted()), (lambda record: record[0],))
    records = [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 5)]
    harness.process_elements(*records)
    assert harness.take_output()[2:] == [("a", 3, 1), ("a", 6, 2), ("b", 6, 1)]
