"""Values of state in the portable form of savepoints."""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.window.windows import CountWindow, GlobalWindow, TimeWindow
from headrace.common.time import Instant
from headrace.common.types import Row, RowKind
from headrace.errors import StateError
from headrace.runtime.savepoint import portable

_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.builds(Instant, st.integers(-(10**12), 10**12), st.integers(0, 999_999_999))
    | st.builds(TimeWindow, st.integers(-(2**62), 0), st.integers(0, 2**62))
)
_keys = st.integers() | st.text() | st.tuples(st.integers(), st.text())
_values: Any = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(_keys, inner)
        | st.builds(lambda a, b: Row(a, b), inner, inner)
        | st.builds(lambda a: Row(name=a, rest=None), inner)
    ),
    max_leaves=20,
)


@given(_values)
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    found = portable.decode(portable.encode(value))
    assert found == value
    assert type(found) is type(value)


def test_kinds_that_compare_equal_stay_apart() -> None:
    for value in [(1, 2), [1, 2], {1, 2}, frozenset({1}), True, 1, 1.0, CountWindow(3)]:
        found = portable.decode(portable.encode(value))
        assert (type(found), found) == (type(value), value)
    assert isinstance(portable.decode(portable.encode(GlobalWindow())), GlobalWindow)
    assert portable.decode(portable.encode({(1, "a"): [decimal.Decimal("1.10")]})) == {
        (1, "a"): [decimal.Decimal("1.10")]
    }
    zone = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    assert portable.decode(portable.encode(zone)) == zone


def test_a_row_keeps_its_names_and_kind() -> None:
    row = Row.of_kind(RowKind.DELETE, id=1, name="x")
    found = portable.decode(portable.encode(row))
    assert found == row
    assert found.get_row_kind() is RowKind.DELETE
    assert found.name == "x"


def test_nothing_of_headrace_is_pickled() -> None:
    content = portable.encode([Row(1), TimeWindow(0, 1), Instant(1, 2)])
    assert b"headrace" not in content


@dataclass
class Account:
    owner: str
    balance: float


class Point(NamedTuple):
    x: int
    y: int


def test_a_class_may_gain_fields_with_defaults_and_lose_others() -> None:
    account, point = portable.encode(Account("ann", 1.5)), portable.encode(Point(1, 2))
    assert portable.decode(account) == Account("ann", 1.5)
    assert portable.decode(point) == Point(1, 2)

    @dataclass
    class Changed:
        owner: str
        tags: list[str] = field(default_factory=list)

    class ChangedPoint(NamedTuple):
        x: int
        z: int = 7

    globals()["Account"], globals()["Point"] = Changed, ChangedPoint
    try:
        assert portable.decode(account) == Changed("ann", [])
        assert portable.decode(point) == ChangedPoint(1, 7)
    finally:
        globals()["Account"], globals()["Point"] = _Account, _Point


_Account, _Point = Account, Point


def test_a_new_field_without_a_default_is_an_error_that_names_it() -> None:
    stored = portable.encode(Account("ann", 1.5))

    @dataclass
    class Changed:
        owner: str
        country: str

    globals()["Account"] = Changed
    try:
        with pytest.raises(StateError, match="country"):
            portable.decode(stored)
    finally:
        globals()["Account"] = _Account


def test_a_class_that_is_gone_is_named() -> None:
    stored = portable.encode(Account("ann", 1.5))
    del globals()["Account"]
    try:
        with pytest.raises(StateError, match="Account"):
            portable.decode(stored)
    finally:
        globals()["Account"] = _Account


def test_what_cannot_be_stored_is_an_error() -> None:
    with pytest.raises(StateError, match="savepoint"):
        portable.encode([lambda: 0])
