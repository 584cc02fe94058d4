"""Kernels of text and collection functions give what their row bodies give, line by line."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import data_types as t
from headrace.scalars import build
from headrace.scalars.evaluate import Evaluator, row_function
from headrace.scalars.json_paths.documents import parse, write
from headrace.scalars.nodes import Literal, Ref
from headrace.scalars.session import ScalarSession
from headrace.scalars.values import arrow_column, python_values

STRING = t.VarCharType(0x7FFFFFFF)
INTS = t.ArrayType(t.IntType())
ROWS = t.RowType([t.RowField("a", t.IntType()), t.RowField("b", STRING)])

TEXTS = st.lists(st.none() | st.text("aAbß é😀,. ", max_size=8) | st.text(max_size=5), max_size=8)
PARTS = st.text("aAbß ,.", max_size=2)
PLACES = st.integers(-9, 9)
WHOLE = st.none() | st.integers(-5, 5)


def text(value: str) -> Literal:
    """A constant text."""
    return Literal(value, t.VarCharType(max(len(value), 1), nullable=False))


def number(value: int) -> Literal:
    """A constant number."""
    return Literal(value, t.IntType(nullable=False))


def check(name: str, arguments: list[Any], values: list[Any], type_: Any = STRING) -> None:
    """The same by kernel and by row, for a whole column and for a slice of it."""
    call = build.call(name, arguments)
    body = row_function(call, session=ScalarSession())
    expected = [body((value,)) for value in values]
    column = arrow_column(values, type_)
    evaluator = Evaluator(call, session=ScalarSession())
    assert _run(evaluator, column) == expected
    assert _run(evaluator, column.slice(1)) == expected[1:]


def _run(evaluator: Evaluator, column: pa.Array) -> list[Any]:
    found = evaluator.run(pa.RecordBatch.from_arrays([column], names=["x"]))
    return python_values(found, evaluator.nodes[0].type)


X = Ref(0, STRING)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_functions_of_one_text(values: list[str | None]) -> None:
    for name in ("UPPER", "LOWER", "CHAR_LENGTH", "REVERSE", "LTRIM", "RTRIM", "BTRIM"):
        check(name, [X], values)


@settings(max_examples=60, deadline=None)
@given(TEXTS, PARTS, PARTS)
def test_functions_of_a_text_and_constants(values: list[str | None], one: str, other: str) -> None:
    for name in ("LTRIM", "RTRIM", "BTRIM", "STARTSWITH", "ENDSWITH", "INSTR", "CONCAT", "||"):
        check(name, [X, text(one)], values)
    for side in ("BOTH", "LEADING", "TRAILING"):
        check("TRIM", [text(side), text(one), X], values)
    for name in ("POSITION", "LOCATE"):
        check(name, [text(one), X], values)
    check("REPLACE", [X, text(one), text(other)], values)


@settings(max_examples=60, deadline=None)
@given(TEXTS, PARTS, PLACES, PLACES)
def test_functions_of_a_text_and_places(
    values: list[str | None], cut: str, one: int, other: int
) -> None:
    for name in ("LEFT", "RIGHT", "SUBSTRING", "REPEAT"):
        check(name, [X, number(one)], values)
    check("SUBSTRING", [X, number(one), number(other)], values)
    check("SPLIT_INDEX", [X, text(cut), number(one)], values)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.lists(WHOLE, max_size=4), max_size=6), st.integers(1, 5))
def test_functions_of_arrays(values: list[list[int | None] | None], place: int) -> None:
    array = Ref(0, INTS)
    check("CARDINALITY", [array], values, INTS)
    check("ITEM", [array, number(place)], values, INTS)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.tuples(WHOLE, st.none() | st.text(max_size=3)), max_size=6))
def test_fields_of_rows(values: list[tuple[int | None, str | None] | None]) -> None:
    for place in (0, 1):
        check("$FIELD", [Ref(0, ROWS), number(place)], values, ROWS)


@settings(max_examples=60, deadline=None)
@given(st.lists(WHOLE, max_size=6))
def test_constructors(values: list[int | None]) -> None:
    value = Ref(0, t.IntType())
    check("ARRAY", [value, number(7), value], values, t.IntType())
    check("ROW", [value, text("a"), value], values, t.IntType())


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON_VALUES)
def test_what_is_written_as_json_reads_back(value: Any) -> None:
    assert parse(write(value)) == value
