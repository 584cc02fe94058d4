"""State whose declared type has changed: what is converted, what is refused, in which words."""

from __future__ import annotations

import decimal
from dataclasses import dataclass, field, make_dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.state_ttl import StateTtlConfig
from headrace.common.time import Time
from headrace.common.type_inference import infer_type
from headrace.common.type_json import to_json
from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.types import Row
from headrace.data.codec import codec_for
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.errors import StateError
from headrace.runtime.pages.store import DictStore
from headrace.runtime.state.evolution import CannotConvert, converter
from headrace.runtime.state.provider import StateProvider
from headrace.runtime.state.recorded import recorded_in


def convert(old: TypeInformation, new: TypeInformation, value: Any) -> Any:
    function = converter(to_json(old), to_json(new))
    return value if function is None else function(value)


# --- one value -----------------------------------------------------------------------------------

_NUMBERS = [Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG(), Types.BIG_INT()]


@given(st.integers(-128, 127), st.integers(0, 3), st.integers(1, 4))
def test_whole_numbers_are_widened_and_never_narrowed(value: int, old: int, more: int) -> None:
    narrow, wide = _NUMBERS[old], _NUMBERS[min(old + more, 4)]
    assert convert(narrow, wide, value) == value
    with pytest.raises(CannotConvert):
        convert(wide, narrow, value)
    assert type(convert(narrow, Types.DOUBLE(), value)) is float
    assert convert(narrow, Types.BIG_DEC(), value) == decimal.Decimal(value)


def test_none_stays_none() -> None:
    assert convert(Types.INT(), Types.DOUBLE(), None) is None
    pair = Types.ROW_NAMED(["a"], [Types.INT()]), Types.ROW_NAMED(["a"], [Types.DOUBLE()])
    assert convert(*pair, Row(a=None)) == Row(a=None)


_FIELDS = {"a": Types.INT(), "b": Types.STRING(), "c": Types.DOUBLE(), "d": Types.LONG()}
_WIDER = {"a": Types.DOUBLE(), "b": Types.STRING(), "c": Types.DOUBLE(), "d": Types.BIG_INT()}
_VALUES = {"a": 1, "b": "x", "c": 2.5, "d": 7}
_names = st.lists(st.sampled_from("abcd"), min_size=1, unique=True)


@given(_names, _names, st.booleans())
def test_named_rows_gain_lose_and_widen_fields_in_any_order(
    before: list[str], after: list[str], widened: bool
) -> None:
    old = Types.ROW_NAMED(before, [_FIELDS[name] for name in before])
    kinds = _WIDER if widened else _FIELDS
    new = Types.ROW_NAMED(after, [kinds[name] for name in after])
    value = Row(**{name: _VALUES[name] for name in before})
    if not set(before) & set(after):
        with pytest.raises(CannotConvert, match="no field has kept its name"):
            convert(old, new, value)
        return
    found = convert(old, new, value)
    assert found.as_dict() == {name: _VALUES[name] if name in before else None for name in after}
    codec_for(new).encode([found])  # it is of the new type
    inside = Types.LIST(Types.MAP(Types.STRING(), old)), Types.LIST(Types.MAP(Types.STRING(), new))
    assert convert(*inside, [{"k": value}]) == [{"k": found}]


@dataclass
class Order:
    number: float
    tags: list[str] = field(default_factory=list)
    note: str = "none"


class Point(NamedTuple):
    x: int
    y: int = 5


def older(name: str, *fields: tuple[str, type]) -> Any:
    return make_dataclass(name, fields, namespace={"__module__": __name__})


def test_dataclasses_gain_fields_with_their_defaults_and_lose_others() -> None:
    old = older("Order", ("number", int), ("gone", str))
    first, second = (convert(infer_type(old), infer_type(Order), old(3, "x")) for _ in range(2))  # type: ignore[arg-type]
    assert first == Order(3.0, [], "none")
    assert first.tags is not second.tags


def test_a_new_field_without_a_default_is_refused_with_the_way_out() -> None:
    old = older("Order", ("note", str))
    with pytest.raises(CannotConvert, match="'number' of Order is new and has no default") as found:
        convert(infer_type(old), infer_type(Order), None)  # type: ignore[arg-type]
    assert found.value.fix == "give number a default value"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Types.STRING(), Types.LONG()),
        (Types.DOUBLE(), Types.LONG()),
        (Types.TUPLE([Types.INT()]), Types.TUPLE([Types.INT(), Types.INT()])),
        (Types.LIST(Types.STRING()), Types.LIST(Types.INT())),
        (Types.LIST(Types.INT()), Types.INT()),
        (Types.MAP(Types.STRING(), Types.INT()), Types.LIST(Types.INT())),
        (infer_type(Order), infer_type(Point)),
    ],
)
def test_what_cannot_be_converted_is_refused(old: TypeInformation, new: TypeInformation) -> None:
    with pytest.raises(CannotConvert, match="cannot become"):
        converter(to_json(old), to_json(new))


# --- a whole state -------------------------------------------------------------------------------


def states(store: DictStore) -> StateProvider:
    return StateProvider(store, "op", lambda: 1000)


def put(store: DictStore, descriptor: Any, values: dict[Any, Any]) -> None:
    provider = states(store)
    state = provider.of(descriptor)
    for key, value in values.items():
        provider.scope.set(key)
        (state.put_all if hasattr(state, "put_all") else state.update)(value)
    provider.flush()


def content(store: DictStore, descriptor: Any, keys: Any) -> dict[Any, Any]:
    provider = states(store)
    state = provider.of(descriptor)
    found: dict[Any, Any] = {}
    for key in keys:
        provider.scope.set(key)
        if hasattr(state, "items"):
            found[key] = dict(state.items())
        else:
            found[key] = state.value() if hasattr(state, "value") else list(state.get())
    provider.flush()
    return found


def expiring(descriptor: Any, wanted: bool) -> Any:
    if wanted:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    return descriptor


OLD, NEW = Types.ROW_NAMED(["n"], [Types.INT()]), Types.ROW_NAMED(["n", "m"], [Types.DOUBLE()] * 2)


@pytest.mark.parametrize("ttl", [False, True])
def test_a_value_state_is_converted_when_it_is_opened_and_stays_so(ttl: bool) -> None:
    store = DictStore()
    put(store, expiring(ValueStateDescriptor("s", OLD), ttl), {k: Row(n=k) for k in range(500)})
    new = expiring(ValueStateDescriptor("s", NEW), ttl)
    expected = {k: Row(n=float(k), m=None) for k in range(500)}
    assert content(store, new, range(500)) == expected
    assert recorded_in(store, "op/user/s").type == to_json(NEW)  # type: ignore[union-attr]
    before = store.writes
    assert content(store, new, range(500)) == expected
    assert store.writes == before


@pytest.mark.parametrize("ttl", [False, True])
def test_large_and_small_lists_and_maps_are_converted(ttl: bool) -> None:
    store = DictStore()
    lists = {"small": [1], "large": list(range(3000))}
    put(store, expiring(ListStateDescriptor("l", Types.INT()), ttl), lists)
    maps = {key: dict.fromkeys(items, 1) for key, items in lists.items()}
    put(store, expiring(MapStateDescriptor("m", Types.INT(), Types.INT()), ttl), maps)

    found = content(store, expiring(ListStateDescriptor("l", Types.DOUBLE()), ttl), lists)
    assert found == lists
    assert {type(item) for items in found.values() for item in items} == {float}
    wider = expiring(MapStateDescriptor("m", Types.LONG(), Types.DOUBLE()), ttl)
    both = content(store, wider, maps)
    assert both == maps
    assert {type(value) for found in both.values() for value in found.values()} == {float}


def test_a_failed_batch_leaves_the_old_type() -> None:
    store = DictStore()
    put(store, ValueStateDescriptor("s", Types.INT()), {"a": 1})
    before = store.snapshot()
    provider = states(store)
    provider.of(ValueStateDescriptor("s", Types.DOUBLE()))
    store.content = dict(before)  # what Spark does with a batch that failed
    provider.forget()
    provider.scope.set("a")
    provider.flush()
    assert content(store, ValueStateDescriptor("s", Types.DOUBLE()), ["a"]) == {"a": 1.0}


def test_the_error_names_operator_state_both_types_and_the_way_out() -> None:
    store = DictStore()
    put(store, ValueStateDescriptor("total", Types.STRING()), {"a": "x"})
    with pytest.raises(StateError) as caught:
        states(store).of(ValueStateDescriptor("total", Types.LONG()))
    text = str(caught.value)
    for part in ("'total'", "'op'", "value of STRING", "value of LONG", "another name"):
        assert part in text
    assert content(store, ValueStateDescriptor("total", Types.STRING()), ["a"]) == {"a": "x"}
