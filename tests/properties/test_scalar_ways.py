"""Whatever a function gives for a column, it gives for each of its rows: kernels equal bodies.

Every function with a kernel is asked with every combination of types that its rule takes, with NULL
and extremes among the values; every cast, too.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import data_types as t
from headrace.errors import HeadraceError
from headrace.scalars.build import call, cast, operand_of
from headrace.scalars.casts import can_cast
from headrace.scalars.compile import bound_call, is_deterministic
from headrace.scalars.evaluate import Evaluator
from headrace.scalars.functions.registry import all_entries, lookup
from headrace.scalars.nodes import Call, Literal, Ref
from headrace.scalars.session import ScalarSession
from headrace.scalars.values import arrow_column, arrow_type, python_values
from scalar_texts import same

_SPANS = t.DayTimeIntervalType.DayTimeResolution
_TEXTS = ["", "a", "abc", " 12 ", "12", "-1.5", "true", "2020-02-29", "2020-02-29 12:34:56.7",
          "ü€😀", "A%b_c", "1e5", "+7", "99999999999", "x\ny", "AbC dEf"]  # fmt: skip
_MOMENTS = [
    datetime(1970, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2020, 2, 29, 12, 34, 56, 789123),
    datetime(2020, 3, 8, 2, 30),
    datetime(2020, 11, 1, 1, 30),
    datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59),
    datetime(1850, 6, 1, 1, 2, 3),
    datetime(2020, 5, 17),
]


def integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return st.one_of(st.sampled_from([0, 1, -1, low, high, 5, 10]), st.integers(low, high))


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    edge = 10**precision - 1
    digits = st.one_of(st.sampled_from([0, 5, 50, -50, edge, -edge]), st.integers(-edge, edge))
    return digits.map(lambda number: Decimal(f"{number}e-{scale}"))


_DOUBLES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan, 1e300, 1e-300]),
    st.floats(-1e6, 1e6),
)
# A type, and what its values are.
VALUES: dict[t.DataType, st.SearchStrategy[Any]] = {
    t.BooleanType(): st.booleans(),
    t.TinyIntType(): integers(8),
    t.IntType(): integers(32),
    t.BigIntType(): integers(64),
    t.FloatType(): st.floats(width=32),
    t.DoubleType(): _DOUBLES,
    t.DecimalType(5, 2): decimals(5, 2),
    t.DecimalType(38, 10): decimals(38, 10),
    t.VarCharType(0x7FFFFFFF): st.one_of(st.sampled_from(_TEXTS), st.text(max_size=6)),
    t.CharType(3): st.text("ab1 ", min_size=3, max_size=3),
    t.VarBinaryType(0x7FFFFFFF): st.binary(max_size=4),
    t.DateType(): st.sampled_from([moment.date() for moment in _MOMENTS]) | st.dates(),
    t.TimeType(0): st.sampled_from([time(0), time(23, 59, 59), time(12, 34, 56)]),
    t.TimestampType(3): st.sampled_from(
        [m.replace(microsecond=m.microsecond // 1000 * 1000) for m in _MOMENTS]
    ),
    t.TimestampType(6): st.sampled_from(_MOMENTS)
    | st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    t.LocalZonedTimestampType(3): st.sampled_from(_MOMENTS[:5]).map(
        lambda m: m.replace(microsecond=m.microsecond // 1000 * 1000, tzinfo=UTC)
    ),
    t.DayTimeIntervalType(_SPANS.DAY_TO_SECOND): st.integers(-(10**9), 10**9),
    t.YearMonthIntervalType(3): st.integers(-50, 50),
    t.ArrayType(t.IntType()): st.lists(st.none() | integers(32), max_size=3),
}
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "DOY", "HOUR", "MINUTE", "SECOND")
WORDS = {"EXTRACT": 0, "FLOOR": 1, "CEIL": 1, "TIMESTAMPADD": 0, "TIMESTAMPDIFF": 0}
ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "+02:00")


def literals(name: str, count: int) -> list[Any]:
    """Constants that may stand at a place of a call."""
    if name in ("LIKE", "NOT LIKE"):
        return ["a%", "%b", "%1%", "a_c", "%", "", "_%b%"]
    if name == "DATE_FORMAT":
        return ["yyyy-MM-dd", "HH:mm:ss.SSS", "yyyyMMdd", "d.M.yy", "EEE"]
    return [2, -1] if name in ("ROUND", "TRUNCATE") and count == 2 else []


def calls(name: str) -> list[tuple[Call, list[t.DataType]]]:
    """Calls of a function with columns of all types that it takes."""
    found = []
    for count in (1, 2, 3):
        for types in product(VALUES, repeat=count) if count < 3 else triples():
            arguments: list[Any] = [Ref(i, type_) for i, type_ in enumerate(types)]
            for changed in variants(name, arguments):
                if lookup(name).rule(tuple(map(operand_of, changed))) is None:
                    continue
                made = call(name, changed)
                bound = bound_call(made, ScalarSession())
                if lookup(name).arrow_body(bound) is not None:
                    found.append((made, list(types)))
    return found


def triples() -> list[tuple[t.DataType, ...]]:
    return [*((one,) * 3 for one in VALUES), (t.VarCharType(0x7FFFFFFF), t.IntType(), t.IntType())]


def variants(name: str, arguments: list[Any]) -> list[list[Any]]:
    place = WORDS.get(name)
    if place is not None and place < len(arguments):
        return [_with(arguments, place, unit) for unit in UNITS] + [arguments]
    words = literals(name, len(arguments))
    if words and len(arguments) > 1:
        return [_with(arguments, 1, word) for word in words] + [arguments]
    return [arguments]


def _with(arguments: list[Any], place: int, value: Any) -> list[Any]:
    type_ = t.IntType(False) if isinstance(value, int) else t.CharType(max(1, len(value)), False)
    return [*arguments[:place], Literal(value, type_), *arguments[place + 1 :]]


def by_rows(evaluator: Evaluator, lines: list[tuple[Any, ...]]) -> list[Any] | None:
    run = evaluator.row()
    try:
        return [run(line) for line in lines]
    except HeadraceError:
        return None


# Numbers of these say how long a text gets.
LONG = {"REPEAT", "LPAD", "RPAD"}


def agree(node: Any, types: list[t.DataType], data: st.DataObject, zone: str) -> None:
    small = isinstance(node, Call) and node.function in LONG
    values = {**VALUES, t.IntType(): st.integers(-3, 9)} if small else VALUES
    width = st.tuples(*(st.one_of(st.none(), values[type_]) for type_ in types))
    lines = data.draw(st.lists(width, min_size=1, max_size=8))
    evaluator = Evaluator(node, ScalarSession(zone))
    columns = [arrow_column([line[i] for line in lines], type_) for i, type_ in enumerate(types)]
    batch = pa.RecordBatch.from_arrays(columns, [str(i) for i in range(len(types))])
    wanted = by_rows(evaluator, lines)
    if wanted is None:
        with pytest.raises(HeadraceError):
            evaluator.run(batch)
        return
    found = evaluator.run(batch)
    assert found.type == arrow_type(node.type)
    for one, other in zip(python_values(found, node.type), wanted, strict=True):
        assert same(one, other), (str(node), lines, one, other)


NAMES = sorted(
    name
    for name, entry in all_entries().items()
    if (entry.arrow or entry.arrow_of) and name == entry.name and not name.startswith("$")
)
# Their kernels take constants, such as patterns and units, that this test does not make up.
NOT_REACHED = {
    "NOT SIMILAR TO",
    "REGEXP",
    "REGEXP_EXTRACT",
    "REGEXP_SUBSTR",
    "SIMILAR TO",
    "TIMESTAMPADD",
    "TRIM",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_the_same_by_column_and_by_row(name: str) -> None:
    found = [(node, types) for node, types in calls(name) if is_deterministic(node)]
    assert bool(found) == (name not in NOT_REACHED), "NOT_REACHED is out of date"
    if not found:
        return

    @settings(max_examples=25, deadline=None, database=None, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        node, types = data.draw(st.sampled_from(found))
        agree(node, types, data, data.draw(st.sampled_from(ZONES)))

    check()


CASTS = [(one, other) for one, other in product(VALUES, repeat=2) if can_cast(one, other)]


@settings(max_examples=250, deadline=None, database=None, derandomize=True)
@given(st.data())
def test_a_cast_is_the_same_by_column_and_by_row(data: st.DataObject) -> None:
    source, target = data.draw(st.sampled_from(CASTS))
    node = cast(Ref(0, source), target, lenient=data.draw(st.booleans()))
    agree(node, [source], data, data.draw(st.sampled_from(ZONES)))


def test_functions_with_kernels_are_asked() -> None:
    assert {"+", "=", "AND", "LIKE", "EXTRACT", "DATE_FORMAT", "CEIL"} <= set(NAMES)
    assert date(2020, 1, 1) < date.max
