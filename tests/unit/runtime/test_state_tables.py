"""Entries of states as rows of tables, and the types of columns that nobody declared."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.types import Row
from headrace.data.codec import codec_for
from headrace.errors import StateError
from headrace.runtime.savepoint.entries import SavedEntry
from headrace.runtime.savepoint.new_entries import shaper
from headrace.runtime.savepoint.table_rows import StateTable, TableColumns
from headrace.runtime.savepoint.value_types import merged, settled, type_of, type_of_all

PICKLED = Types.PICKLED_BYTE_ARRAY()


class Point(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, None, 2], Types.LONG()),
        ([1, 2.5], Types.DOUBLE()),
        ([1, 1 << 70], Types.BIG_INT()),
        ([True, 1], PICKLED),
        (["a", 1], PICKLED),
        ([None], PICKLED),
        ([b"a"], Types.PRIMITIVE_ARRAY(Types.BYTE())),
        ([(1, None), (None, "a")], Types.TUPLE([Types.LONG(), Types.STRING()])),
        ([(1,), (1, 2)], PICKLED),
        ([[], [1], [2.5]], Types.LIST(Types.DOUBLE())),
        ([{}, {"a": 1}, {"b": None}], Types.MAP(Types.STRING(), Types.LONG())),
        ([{}], PICKLED),
        ([{None: 1}], PICKLED),
        ([datetime.datetime(2026, 1, 1)], Types.SQL_TIMESTAMP()),
        ([datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)], Types.TIMESTAMP_LTZ()),
        ([object()], PICKLED),
    ],
)
def test_the_type_that_all_values_fit(values: list[Any], expected: TypeInformation) -> None:
    assert settled(type_of_all(values)) == expected
    assert settled(type_of_all(reversed(values))) == expected


def test_rows_and_classes_keep_their_names() -> None:
    found: Any = type_of_all([Row(a=1, b=None), Row(a=None, b="x")])
    assert found.get_field_names() == ["a", "b"]
    assert found.get_field_types() == [Types.LONG(), Types.STRING()]
    assert type_of(Point(1, 2)).get_field_names() == ["x", "y"]  # type: ignore[attr-defined]
    assert merged(type_of(Row(a=1)), type_of(Row(b=1))) == PICKLED


_values = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False) | st.text() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(_values, min_size=1, max_size=5))
def test_all_values_fit_the_type_that_was_found(values: list[Any]) -> None:
    column = Types.TUPLE([settled(type_of_all(values))])
    codec_for(column).encode([(value,) for value in values])


# --- rows ----------------------------------------------------------------------------------------


def rows(table: StateTable, **fields: Any) -> list[Any]:
    entry = SavedEntry("op", table.state, 3, "k", fields.get("namespace"), fields.get("value"))
    return list(table.rows(entry._replace(part=fields.get("part"))))


def test_values_lists_maps_windows_and_timers_have_their_columns() -> None:
    value = StateTable("user/s", "value")
    assert (value.columns, rows(value, value=5)) == (("key", "value"), [("k", 5)])
    items = StateTable("user/s", "list")
    assert items.columns == ("key", "position", "value")
    assert rows(items, value=["a", "b"]) == [("k", 0, "a"), ("k", 1, "b")]
    assert rows(items, value=["c"], part=10_000) == [("k", 10_000, "c")]
    pairs = StateTable("user/s", "map")
    assert pairs.columns == ("key", "map_key", "value")
    assert rows(pairs, value={"a": 1}) == [("k", "a", 1)]
    broadcast = StateTable("broadcast/s", "broadcast")
    assert (broadcast.columns, rows(broadcast, value=1)) == (("map_key", "value"), [("k", 1)])
    window = StateTable("contents")
    assert window.columns == ("key", "window", "value")
    assert rows(window, namespace=(0, 10), value=1) == [("k", Row(start=0, end=10), 1)]
    timers = StateTable("timers/event")
    assert rows(timers, namespace=(7, (0, 10))) == [("k", 7, Row(start=0, end=10))]


def test_values_that_expire_are_shown_without_their_time() -> None:
    assert rows(StateTable("user/s", "value", expires=True), value=(9, "a")) == [("k", "a")]
    assert rows(StateTable("user/s", "list", expires=True), value=[(9, "a")]) == [("k", 0, "a")]
    assert rows(StateTable("user/s", "map", expires=True), value={"m": (9, 1)}) == [("k", "m", 1)]


def test_columns_are_arrow_and_refuse_what_does_not_fit() -> None:
    columns = TableColumns.of(("key", "value"), (Types.STRING(), Types.INT()))
    batch = columns.batch([("a", 1), ("b", None)])
    assert batch.schema.names == ["key", "value"]
    assert batch.schema.field("value").type == pa.int32()
    with pytest.raises(StateError, match="not of the type that was recorded"):
        columns.batch([("a", "x")])


def test_rows_of_tables_become_what_a_type_declares() -> None:
    row = Row(x=1, y=2)
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    assert shaper(pair)(row) == (1, 2)
    assert shaper(Types.LIST(pair))([row]) == [(1, 2)]
    assert shaper(Types.MAP(Types.STRING(), pair))({"a": row}) == {"a": (1, 2)}
    assert shaper(type_of(Point(0, 0)))(row) == Point(1, 2)
    assert shaper(Types.LONG())(3) == 3
