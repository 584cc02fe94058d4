"""What a stored state says about itself, and values that are not what was declared."""

from __future__ import annotations

import json
from dataclasses import dataclass, make_dataclass
from typing import Any

import pytest

from headrace.common.state_ttl import StateTtlConfig
from headrace.common.time import Time
from headrace.common.type_inference import infer_type
from headrace.common.type_json import to_json
from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.types import Row
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.errors import StateError
from headrace.runtime.pages.store import DictStore
from headrace.runtime.state.evolution import changed_type
from headrace.runtime.state.provider import StateProvider
from headrace.runtime.state.recorded import Recorded, recorded_in


def _states(store: DictStore) -> StateProvider:
    states = StateProvider(store, "op")
    states.scope.set("k")
    return states


def _stored(descriptor: Any, fill: Any) -> DictStore:
    store = DictStore()
    states = _states(store)
    fill(states.of(descriptor))
    states.flush()
    return DictStore(store.snapshot())


def _expiring(descriptor: Any) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    return descriptor


VALUE = ValueStateDescriptor("s", Types.TUPLE([Types.STRING(), Types.LONG()]))


def test_a_state_is_recorded_once_as_plain_json() -> None:
    store = _stored(VALUE, lambda state: state.update(("a", 1)))
    assert json.loads(store.content[b"op/user/s\0s"]) == {
        "version": 1,
        "kind": "value",
        "type": {"tuple": ["string", "long"]},
        "ttl": False,
        "key_type": None,
    }
    assert recorded_in(store, "op/user/s") == Recorded("value", {"tuple": ["string", "long"]})
    assert recorded_in(store, "op/user/other") is None
    states = _states(store)
    states.of(VALUE).update(("b", 2))
    states.flush()
    assert store.writes == 1  # the page


def test_a_state_that_is_declared_and_never_used_leaves_nothing() -> None:
    assert _stored(VALUE, lambda state: None).content == {}


def test_a_batch_that_failed_does_not_leave_a_state_unrecorded() -> None:
    store = DictStore()
    states = _states(store)
    state = states.of(VALUE)
    for _ in range(2):
        state.update(("a", 1))
        states.flush()
        if _ == 0:
            store.content.clear()  # the batch fails
            states.forget()
            states.scope.set("k")
    assert recorded_in(store, "op/user/s") is not None


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (ListStateDescriptor("s", Types.LONG()), "declares list of LIST<LONG>"),
        (ValueStateDescriptor("s", Types.STRING()), "declares value of STRING"),
        (
            ValueStateDescriptor("s", Types.TUPLE([Types.STRING(), Types.INT()])),
            "stored as value of TUPLE<STRING, LONG>, but the program declares value of "
            "TUPLE<STRING, INT>",
        ),
    ],
)
def test_another_kind_or_type_is_refused_when_the_state_is_opened(
    declared: Any, message: str
) -> None:
    store = _stored(VALUE, lambda state: state.update(("a", 1)))
    with pytest.raises(StateError, match=message) as caught:
        _states(store).of(declared)
    assert "'s'" in str(caught.value)
    assert "declare the stored type again" in str(caught.value.fix)


def test_time_to_live_cannot_be_switched_on_or_off_for_stored_state() -> None:
    plain = _stored(ValueStateDescriptor("s", Types.LONG()), lambda state: state.update(1))
    with pytest.raises(StateError, match="without time-to-live, but the program declares it with"):
        _states(plain).of(_expiring(ValueStateDescriptor("s", Types.LONG())))
    expiring = _expiring(ValueStateDescriptor("s", Types.LONG()))
    store = _stored(expiring, lambda state: state.update(1))
    with pytest.raises(StateError, match="with time-to-live, but the program declares it without"):
        _states(store).of(ValueStateDescriptor("s", Types.LONG()))


@pytest.mark.parametrize(
    ("stored", "declared", "fits"),
    [
        (Types.LONG(), Types.LONG(), True),
        (Types.INT(), Types.LONG(), True),
        (None, Types.STRING(), True),
        (Types.STRING(), None, True),
        (Types.PICKLED_BYTE_ARRAY(), Types.STRING(), True),
        (Types.LONG(), Types.STRING(), False),
        (Types.LONG(), Types.DOUBLE(), False),
        (Types.TUPLE([Types.LONG()]), Types.LONG(), False),
    ],
)
def test_keys_of_a_stream_stay_what_they_are(stored: Any, declared: Any, fits: bool) -> None:
    store = DictStore()
    descriptor = ValueStateDescriptor("total", Types.LONG())
    states = StateProvider(store, "count", key_type=stored)
    total = states.value(descriptor)
    states.scope.set(1)
    total.update(3)
    states.flush()
    later = StateProvider(store, "count", key_type=declared)
    if fits:
        later.value(descriptor)
        return
    with pytest.raises(StateError, match=r"its keys are .*, and those of the stream are"):
        later.value(descriptor)


@dataclass
class Order:
    number: int


OLD = make_dataclass("Order", [("number", int), ("gone", str)], namespace={"__module__": __name__})
OTHER = make_dataclass("Order", [("number", str)], namespace={"__module__": __name__})


@pytest.mark.parametrize(
    ("stored", "declared", "allowed"),
    [
        (Types.INT(), Types.LONG(), True),
        (Types.LONG(), Types.INT(), False),
        (Types.FLOAT(), Types.DOUBLE(), True),
        (Types.LONG(), Types.PICKLED_BYTE_ARRAY(), True),
        (Types.PICKLED_BYTE_ARRAY(), Types.LONG(), False),
        (Types.LIST(Types.INT()), Types.LIST(Types.LONG()), True),
        (Types.LIST(Types.INT()), Types.OBJECT_ARRAY(Types.INT()), False),
        (Types.MAP(Types.STRING(), Types.INT()), Types.MAP(Types.STRING(), Types.LONG()), True),
        (Types.MAP(Types.STRING(), Types.INT()), Types.MAP(Types.INT(), Types.INT()), False),
        (Types.TUPLE([Types.INT()]), Types.TUPLE([Types.INT(), Types.INT()]), False),
        (Types.ROW_NAMED(["a"], [Types.INT()]), Types.ROW_NAMED(["a"], [Types.LONG()]), True),
        (Types.ROW_NAMED(["a"], [Types.INT()]), Types.ROW_NAMED(["b"], [Types.INT()]), False),
        (Types.ROW_NAMED(["a"], [Types.INT()]), Types.ROW([Types.INT()]), False),
        (infer_type(OLD), infer_type(Order), True),
        (infer_type(OTHER), infer_type(Order), False),
        (infer_type(Order), Types.ROW_NAMED(["number"], [Types.LONG()]), False),
    ],
)
def test_which_types_may_follow_which(
    stored: TypeInformation, declared: TypeInformation, allowed: bool
) -> None:
    pair = Recorded("value", to_json(stored)), Recorded("value", to_json(declared))
    if allowed:
        changed_type("op", "s", *pair)
    else:
        with pytest.raises(StateError, match="stored as"):
            changed_type("op", "s", *pair)


def test_a_description_of_a_later_version_is_refused() -> None:
    with pytest.raises(StateError, match="version 2"):
        Recorded.from_bytes(b'{"version": 2, "kind": "value", "type": "long"}')


# --- values of a wrong type --------------------------------------------------------------------


class Sum:
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return "x" if value == "x" else accumulator + value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator


LONG = Types.LONG()
WRONG: dict[str, tuple[Any, Any]] = {
    "value": (ValueStateDescriptor("s", LONG), lambda state: state.update("x")),
    "list add": (ListStateDescriptor("s", LONG), lambda state: state.add("x")),
    "list update": (ListStateDescriptor("s", LONG), lambda state: state.update([1, "x"])),
    "map key": (MapStateDescriptor("s", LONG, LONG), lambda state: state.put("x", 1)),
    "map value": (MapStateDescriptor("s", LONG, LONG), lambda state: state.put(1, "x")),
    "reducing": (ReducingStateDescriptor("s", max, LONG), lambda state: state.add("x")),
    "aggregating": (AggregatingStateDescriptor("s", Sum(), LONG), lambda state: state.add("x")),
}


@pytest.mark.parametrize("expiring", [False, True])
@pytest.mark.parametrize("case", WRONG)
def test_a_value_of_a_wrong_type_is_refused_at_once(case: str, expiring: bool) -> None:
    descriptor, put = WRONG[case]
    if expiring:
        descriptor = _expiring(type(descriptor)(*_arguments(descriptor)))
    state = _states(DictStore()).of(descriptor)
    with pytest.raises(StateError, match=r"state 's' was given the .*'x'.* is of type str"):
        put(state)


def _arguments(descriptor: Any) -> tuple[Any, ...]:
    if isinstance(descriptor, MapStateDescriptor):
        return ("s", LONG, LONG)
    if isinstance(descriptor, ReducingStateDescriptor):
        return ("s", max, LONG)
    if isinstance(descriptor, AggregatingStateDescriptor):
        return ("s", Sum(), LONG)
    return ("s", LONG)


@pytest.mark.parametrize(
    ("type_info", "fitting", "wrong"),
    [
        (Types.LONG(), [1, -1], True),
        (Types.DOUBLE(), [1.5, 2], "1.5"),
        (Types.STRING(), ["x"], b"x"),
        (Types.TUPLE([LONG, Types.STRING()]), [(1, "x"), (None, None)], (1, 2, 3)),
        (Types.LIST(LONG), [[1], []], 1),
        (Types.MAP(Types.STRING(), LONG), [{"a": 1}, {}], [("a", 1)]),
        (Types.ROW_NAMED(["a"], [LONG]), [Row(a=1)], Row(b=1)),
    ],
)
def test_what_fits_is_taken_and_what_does_not_is_refused(
    type_info: TypeInformation, fitting: list[Any], wrong: Any
) -> None:
    state = _states(DictStore()).of(ValueStateDescriptor("s", type_info))
    for value in fitting:
        state.update(value)
        assert state.value() == value
    fresh = _states(DictStore()).of(ValueStateDescriptor("s", type_info))
    with pytest.raises(StateError, match="where"):
        fresh.update(wrong)


def test_a_wrong_field_is_found_after_the_batch_at_the_latest() -> None:
    states = _states(DictStore())
    state = states.of(VALUE)
    state.update(("a", 1))
    states.scope.set("other")
    state.update(("a", "b"))  # a tuple like the one before, as far as its Python type tells
    with pytest.raises(StateError, match=r"'b' in field 'f1' is of type str"):
        states.flush()


def test_without_a_declared_type_any_value_is_taken() -> None:
    state = _states(DictStore()).of(ValueStateDescriptor("s", Types.PICKLED_BYTE_ARRAY()))
    for value in (1, "x", [1], {1}):
        state.update(value)
        assert state.value() == value
