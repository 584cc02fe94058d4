"""The argument of key_by becomes keys: read from a column where that is certain, else called."""

from __future__ import annotations

import datetime as dt
import operator
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.datastream.functions import KeySelector
from headrace.errors import InvalidArgumentError, UserFunctionError
from headrace.runtime.key_selectors import (
    Keying,
    key_selector,
    picked_field,
    returns_its_argument,
)

POSITION = 1


def _named(record: Any) -> Any:
    return record["user"]


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        (lambda r: r[0], 0),
        (lambda r: r[2], 2),
        (lambda r: r["user"], "user"),
        (lambda r: r.user, "user"),
        (_named, "user"),
        (operator.itemgetter(1), 1),
        (operator.itemgetter("user"), "user"),
        (operator.attrgetter("user"), "user"),
    ],
)
def test_a_selector_that_picks_a_field_is_recognised(selector: Any, field: Any) -> None:
    assert picked_field(selector) == field


def _with_closure(index: int) -> Any:
    return lambda r: r[index]


class _ById(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value[0]


async def _async(record: Any) -> Any:
    return record[0]


def _generator(record: Any) -> Any:
    yield record[0]


OTHER = SimpleNamespace(user="constant")


@pytest.mark.parametrize(
    "selector",
    [
        lambda r: r,
        lambda r: r[0] or "none",
        lambda r: r[0] if r[0] else r[1],
        lambda r: (r[0], r[1]),
        lambda r: r[0][1],
        lambda r: r.user.name,
        lambda r: r.user(),
        lambda r: r[0] + 1,
        lambda r: -r[0],
        lambda r: r[POSITION],
        lambda r: r[0:1],
        lambda r: r[True],
        lambda r: r[1.0],
        lambda r, i=0: r[i],
        lambda r, *, other=OTHER: other.user,
        lambda *r: r[0],
        lambda **r: r["user"],
        lambda r: OTHER.user,
        lambda r: 0,
        _with_closure(0),
        _async,
        _generator,
        _ById().get_key,
        operator.itemgetter(0, 1),
        operator.attrgetter("a", "b"),
        len,
        str.upper,
    ],
)
def test_a_selector_that_does_anything_else_is_called(selector: Any) -> None:
    assert picked_field(selector) is None


def _encoded(type_info: Any, values: list[Any]) -> Records:
    codec = codec_for(type_info)
    return Records(batch=codec.encode(values), codec=codec)


_FIELD_TYPES = [
    (Types.INT(), 7),
    (Types.LONG(), 2**40),
    (Types.BYTE(), -1),
    (Types.BOOLEAN(), True),
    (Types.DOUBLE(), 0.1),
    (Types.FLOAT(), 0.1),
    (Types.STRING(), "ä"),
    (Types.CHAR(), "c"),
    (Types.BIG_INT(), 10**30),
    (Types.BIG_DEC(), Decimal("1.50")),
    (Types.SQL_DATE(), dt.date(2024, 1, 2)),
    (Types.SQL_TIME(), dt.time(1, 2, 3)),
    (Types.SQL_TIMESTAMP(), dt.datetime(2024, 1, 2, 3, 4, 5)),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab"),
    (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "a")),
    (Types.ROW([Types.INT(), Types.STRING()]), Row(1, "a")),
    (Types.PICKLED_BYTE_ARRAY(), ("any", 1)),
]


@pytest.mark.parametrize(("field_type", "value"), _FIELD_TYPES, ids=lambda x: str(x)[:30])
@pytest.mark.parametrize("row", [True, False], ids=["row", "tuple"])
def test_keys_are_what_the_selector_returns_for_every_field_type(
    field_type: Any, value: Any, row: bool
) -> None:
    if row:
        records = _encoded(Types.ROW([field_type, Types.INT()]), [Row(value, 1), Row(value, 2)])
    else:
        records = _encoded(Types.TUPLE([field_type, Types.INT()]), [(value, 1), (value, 2)])

    def selector(record: Any) -> Any:
        return record[0]

    keys = Keying(selector).keys(records)
    called = [selector(record) for record in records.values]
    assert keys == called
    assert [type(key) for key in keys] == [type(key) for key in called]


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.text(max_size=3)), max_size=10))
def test_keys_of_arrow_records_are_those_of_the_values(values: list[tuple[int, str]]) -> None:
    kind = Types.TUPLE([Types.INT(), Types.STRING()])
    for selector in (lambda r: r[0], lambda r: r[1], lambda r: r[-1], lambda r: r):
        assert Keying(selector).keys(_encoded(kind, values)) == list(map(selector, values))


def test_a_field_with_nulls_is_read_by_calling_the_selector() -> None:
    records = _encoded(Types.TUPLE([Types.INT(), Types.INT()]), [(None, 1), (2, 2)])
    assert Keying(lambda r: r[0]).column(records) is None
    assert Keying(lambda r: r[0]).keys(records) == [None, 2]


def test_subscripting_a_text_or_list_record_is_not_a_field() -> None:
    assert Keying(lambda r: r[0]).keys(_encoded(Types.STRING(), ["ab", "cd"])) == ["a", "c"]
    kind = Types.LIST(Types.INT())
    assert Keying(lambda r: r[1]).keys(_encoded(kind, [[1, 2], [3, 4]])) == [2, 4]


def test_a_row_with_one_field_called_value_is_still_a_row() -> None:
    records = _encoded(Types.ROW_NAMED(["value"], [Types.STRING()]), [Row(value="ab")])
    assert Keying(lambda r: r[0]).keys(records) == ["ab"]


@dataclass(frozen=True)
class Click:
    user: str
    at: int


class Visit(NamedTuple):
    user: str
    at: int


@pytest.mark.parametrize("record", [Click("u", 1), Visit("u", 1)], ids=["dataclass", "namedtuple"])
def test_attributes_of_user_classes_are_keys(record: Any) -> None:
    from headrace.common.type_inference import infer_type

    records = _encoded(infer_type(type(record)), [record])
    assert Keying(lambda r: r.user).column(records) is not None
    assert Keying(lambda r: r.user).keys(records) == ["u"]


def test_what_key_by_accepts() -> None:
    row = Row(user="u", n=1)
    assert key_selector("user")(row) == "u"
    assert key_selector("first name")({"first name": "x"}) == "x"
    assert key_selector(1)(("a", "b")) == "b"
    assert key_selector(_ById())(("a", "b")) == "a"
    assert key_selector(len)("abc") == 3
    for wrong in (None, 1.5, True, ["a"]):
        with pytest.raises(InvalidArgumentError, match="a key selector is"):
            key_selector(wrong)


def test_an_error_of_the_selector_names_the_record() -> None:
    records = Records([{"user": 1}, {"name": 2}, {"user": 3}])
    with pytest.raises(
        UserFunctionError, match="the key selector raised KeyError: 'user'"
    ) as caught:
        Keying(lambda r: r["user"]).keys(records)
    assert caught.value.record == "{'name': 2}"
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("selector", "whole"),
    [
        (lambda record: record, True),
        (lambda record: record[0], False),
        (lambda record: record + 1, False),
        (lambda record=None: 1, False),
        (lambda *records: records, False),
        (str, False),
        (_async, False),
    ],
)
def test_a_selector_that_returns_the_record_is_recognised(selector: Any, whole: bool) -> None:
    assert returns_its_argument(selector) is whole


def test_a_record_that_is_its_own_key_is_read_from_its_column() -> None:
    codec = codec_for(Types.STRING())
    keying = Keying(lambda record: record)
    records = Records(batch=codec.encode(["a", "b", "a"]), codec=codec)
    column = keying.column(records)
    assert column is not None
    assert column.to_pylist() == keying.keys(records) == ["a", "b", "a"]
    with_null = Records(batch=codec.encode(["a", None]), codec=codec)
    assert keying.column(with_null) is None
    assert keying.keys(with_null) == ["a", None]
    pairs = codec_for(Types.TUPLE([Types.STRING(), Types.LONG()]))
    whole = Records(batch=pairs.encode([("a", 1)]), codec=pairs)
    assert keying.column(whole) is None
    assert keying.keys(whole) == [("a", 1)]
