"""Rows: access, equality, pickling."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.types import Row, RowKind

if TYPE_CHECKING:
    from collections.abc import Callable


def test_access_by_position_name_and_attribute() -> None:
    row = Row(name="Alice", age=11)
    assert (row["name"], row.age, row[0], row[-1], row[0:1]) == (
        "Alice",
        11,
        "Alice",
        11,
        ["Alice"],
    )
    assert "name" in row
    assert "nope" not in row
    assert list(row) == ["Alice", 11]
    assert len(row) == 2
    row["age"] = 12
    row[0] = "Bob"
    assert row == Row(name="Bob", age=12)


def test_unknown_names_raise_what_both_worlds_expect() -> None:
    row = Row(a=1)
    with pytest.raises(KeyError):
        row["b"]
    with pytest.raises(ValueError, match="b"):
        row["b"]
    with pytest.raises(KeyError):
        Row(1)["b"]
    with pytest.raises(AttributeError):
        _ = row.b
    with pytest.raises(AttributeError):
        row.b = 2  # type: ignore[attr-defined]
    with pytest.raises(KeyError):
        row["b"] = 2


def test_a_misspelt_field_is_told_with_the_ones_that_there_are() -> None:
    row = Row(name="a", amount=1)
    asks: list[Callable[[], Any]] = [lambda: row.amuont, lambda: row["amuont"]]
    for ask in asks:
        with pytest.raises((AttributeError, KeyError), match=r"no field 'amuont'.*mean 'amount'"):
            ask()
    with pytest.raises(AttributeError, match="fields have no names"):
        _ = Row(1, 2).amount
    assert not hasattr(row, "amuont")


def test_a_row_of_names_makes_rows() -> None:
    person = Row("name", "age")
    assert repr(person) == "<Row('name', 'age')>"
    assert repr(person("Bob", 7)) == "Row(name='Bob', age=7)"
    assert "name" in person
    with pytest.raises(ValueError, match="names 2 fields"):
        person(1, 2, 3)
    with pytest.raises(ValueError, match="not both"):
        Row(1, a=2)


def test_equality_ignores_field_order_but_not_kind() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert Row(a=1, b=2) != Row(1, 2)
    assert Row(1, 2) == Row(1, 2)
    assert Row(1) != (1,)
    assert Row(a=1) != Row(b=1)
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)
    assert hash(Row(1, 2)) == hash((1, 2))


def test_kinds() -> None:
    row = Row.of_kind(RowKind.UPDATE_BEFORE, a=1)
    assert row.get_row_kind() is RowKind.UPDATE_BEFORE
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    row.set_row_kind(RowKind.INSERT)
    assert row == Row(a=1)


def test_as_dict() -> None:
    row = Row(key=1, value=Row(name="a"), more=[Row(x=1)], deep={"k": Row(y=2)})
    assert row.as_dict()["value"] == Row(name="a")
    assert row.as_dict(recursive=True) == {
        "key": 1, "value": {"name": "a"}, "more": [{"x": 1}], "deep": {"k": {"y": 2}},
    }  # fmt: skip
    with pytest.raises(TypeError):
        Row(1).as_dict()


def test_fields_by_names_and_renaming() -> None:
    row = Row(a=1, b=2)
    assert row.get_fields_by_names(["b", "a"]) == [2, 1]
    assert Row(1, 2).get_fields_by_names(["b", "a"]) == [1, 2]
    with pytest.raises(ValueError, match="no field"):
        row.get_fields_by_names(["c"])
    row.set_field_names(["x", "y"])
    assert row.y == 2


@pytest.mark.parametrize("row", [Row(), Row(1), Row(a=1), Row.of_kind(RowKind.DELETE, a=[1])])
def test_rows_survive_pickling_and_copying(row: Row) -> None:
    for again in (pickle.loads(pickle.dumps(row)), copy.copy(row), copy.deepcopy(row)):
        assert again == row
        assert repr(again) == repr(row)


def test_pickled_rows_share_their_field_names() -> None:
    fields = ["a_rather_long_name", "another_long_name"]
    rows = [Row.of_values((i, i), fields) for i in range(100)]
    assert pickle.dumps(rows, 5).count(b"a_rather_long_name") == 1
