"""Broadcast state: written by one side, read by the other, declared beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.data.records import Records
from headrace.datastream.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.errors import StateError, UserFunctionError
from headrace.testing import TwoInputHarness

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
OTHER = MapStateDescriptor("other", Types.STRING(), Types.INT())
SUM = ValueStateDescriptor("sum", Types.INT())


class Apply(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        rules = ctx.get_broadcast_state(RULES)
        yield value, dict(rules.items()), rules.get("x"), "x" in rules, ctx.timestamp()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        rules = ctx.get_broadcast_state(RULES)
        name, factor = value
        if factor is None:
            rules.remove(name)
        else:
            rules[name] = factor
        yield "rule", value


def test_the_broadcast_side_writes_and_the_other_side_reads() -> None:
    with TwoInputHarness.for_broadcast_process_function(Apply(), RULES) as harness:
        harness.process_element1("a", timestamp=5)
        harness.process_broadcast_element(("x", 2), timestamp=6)
        harness.process_element1("b", timestamp=7)
        harness.process_broadcast_element(("x", None))
        harness.process_element1("c")
        assert harness.timestamped_output == [
            (("a", {}, None, False, 5), 5),
            (("rule", ("x", 2)), 6),
            (("b", {"x": 2}, 2, True, 7), 7),
            (("rule", ("x", None)), None),
            (("c", {}, None, False, None), None),
        ]


def test_broadcast_state_survives_a_restart() -> None:
    with TwoInputHarness.for_broadcast_process_function(Apply(), RULES) as harness:
        harness.process_broadcast_element(("x", 2))
        snapshot = harness.snapshot()
        harness.process_broadcast_element(("x", 3))
        harness.restore(snapshot)
        harness.take_output()
        harness.process_element1("a")
        assert harness.output[0][1] == {"x": 2}


_WRITES: list[Any] = [
    lambda state: state.put("x", 1),
    lambda state: state.put_all({"x": 1}),
    lambda state: state.remove("x"),
    lambda state: state.clear(),
    lambda state: state.__setitem__("x", 1),
    lambda state: state.__delitem__("x"),
]


class Writes(BroadcastProcessFunction):
    def __init__(self, write: Any) -> None:
        self.write = write

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.write(ctx.get_broadcast_state(RULES))

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put("x", value)


@pytest.mark.parametrize("number", range(len(_WRITES)))
def test_the_other_side_cannot_write(number: int) -> None:
    with TwoInputHarness.for_broadcast_process_function(Writes(_WRITES[number]), RULES) as harness:
        harness.process_broadcast_element(7)
        with pytest.raises(StateError, match="only the broadcast side can write"):
            harness.process_element1("a")


@pytest.mark.parametrize("side", [1, 2])
def test_a_state_that_was_not_declared_is_refused(side: int) -> None:
    class Undeclared(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(OTHER)

        process_broadcast_element = process_element

    harness = TwoInputHarness.for_broadcast_process_function(Undeclared(), RULES)
    with pytest.raises(StateError, match="'other' was not declared; declared are: 'rules'"):
        getattr(harness, f"process_element{side}")("a")


class KeyedApply(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(SUM)

    def process_element(self, value: Any, ctx: Any) -> Any:
        factor = ctx.get_broadcast_state(RULES).get("factor") or 1
        self.sum.update((self.sum.value() or 0) + factor * value[1])
        ctx.timer_service().register_event_time_timer(10)
        yield ctx.get_current_key(), self.sum.value()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        if value == "timer":
            ctx.timer_service().register_event_time_timer(5)
        elif value == "state":
            self.sum.update(1)
        else:
            ctx.get_broadcast_state(RULES).put("factor", value)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        self.sum.clear()
        yield "timer", ctx.get_current_key(), ctx.get_broadcast_state(RULES).get("factor")


def _keyed() -> TwoInputHarness:
    return TwoInputHarness.for_keyed_broadcast_process_function(
        KeyedApply(), lambda record: record[0], RULES
    )


def test_a_keyed_stream_has_state_and_timers_beside_the_broadcast_state() -> None:
    with _keyed() as harness:
        harness.process_element1(("a", 1))
        harness.process_broadcast_element(10)
        harness.process_element1(("a", 1))
        harness.process_element1(("b", 2))
        assert harness.take_output() == [("a", 1), ("a", 11), ("b", 20)]
        harness.process_watermark1(10)
        assert harness.output == []
        harness.process_watermark2(10)
        assert sorted(harness.output) == [("timer", "a", 10), ("timer", "b", 10)]
        assert harness.num_keyed_state_entries() == 0
        assert harness.num_event_time_timers() == 0


def test_the_broadcast_side_has_no_key_so_neither_timers_nor_keyed_state() -> None:
    with _keyed() as harness:
        harness.process_element1(("a", 1))
        with pytest.raises(StateError, match="timers need a keyed stream"):
            harness.process_broadcast_element("timer")
        with pytest.raises(StateError, match="outside of a keyed call"):
            harness.process_broadcast_element("state")


def test_everything_survives_a_restart() -> None:
    with _keyed() as harness:
        harness.process_broadcast_element(10)
        harness.process_element1(("a", 1))
        harness.restore(harness.snapshot())
        harness.process_element1(("a", 1))
        harness.process_watermark(10)
        assert harness.output == [("a", 10), ("a", 20), ("timer", "a", 10)]


@pytest.mark.parametrize("number", [0, 1])
def test_an_error_names_the_record_of_either_side(number: int) -> None:
    class Failing(KeyedBroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield 1 // value[1]

        process_broadcast_element = process_element

    harness = TwoInputHarness.for_keyed_broadcast_process_function(
        Failing(), lambda record: record[0], RULES
    )
    with pytest.raises(UserFunctionError) as caught:
        harness.operator.process(Records([("a", 1), ("a", 0)]), number)
    assert caught.value.record == "('a', 0)"
