"""An expression gives the same by rows and as an Arrow kernel, over NULLs and extremes.

The third way, Spark's, is compared in tests/spark/test_expression_ways.py.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expressions import BINARY, RECORD, VALUES, exact, expressions
from headrace.common import Row
from headrace.data.codec import codec_for
from headrace.datastream.expressions import col
from headrace.errors import RecordError
from headrace.expr.functions import FUNCTIONS
from headrace.expr.kernels import kernel_of
from headrace.expr.nodes import CallNode, FieldNode, walk
from headrace.expr.rows import row_function

CODEC = codec_for(RECORD)
ALL = expressions()
FAILED = "no result"


def fields_of(expression: Any) -> list[str]:
    return sorted({part.name for part in walk(expression.node) if isinstance(part, FieldNode)})


def by_row(expression: Any, record: Row) -> Any:
    try:
        return exact(row_function(expression.node, RECORD)(record))
    except RecordError:
        return FAILED


def by_arrow(expression: Any, records: list[Row]) -> list[Any]:
    kernel = kernel_of(expression.node, RECORD)
    assert kernel is not None, f"{expression!r} has no kernel"
    codec = codec_for(kernel.type_info)
    try:
        column = kernel.column(CODEC.encode(records))
    except pa.ArrowInvalid:
        return [FAILED] * len(records)
    batch = pa.RecordBatch.from_arrays([column], schema=codec.schema)
    return [exact(value) for value in codec.decode(batch)]


def has_short_cuts(expression: Any) -> bool:
    """A part that fails may be left out by rows: behind None, or behind what decides alone."""
    return sum(isinstance(part, CallNode) for part in walk(expression.node)) > 1


def record_with(values: dict[str, Any]) -> Row:
    return Row(**{name: values.get(name) for name in VALUES})


def check_records_one_by_one(expression: Any, records: list[Row]) -> None:
    for record in records:
        row, [arrow] = by_row(expression, record), by_arrow(expression, [record])
        if arrow == FAILED and has_short_cuts(expression):
            continue  # a kernel evaluates all parts: rows are asked then
        assert row == arrow, f"{expression!r} of {record}"


def test_there_are_expressions_for_every_function() -> None:
    assert set(ALL) == set(FUNCTIONS)


@pytest.mark.parametrize("name", sorted(ALL))
def test_extremes_give_the_same_by_rows_and_in_arrow(name: str) -> None:
    for expression in ALL[name]:
        fields = fields_of(expression)
        extremes = product(*(VALUES[field][1] for field in fields))
        records = [record_with(dict(zip(fields, values, strict=True))) for values in extremes]
        results = [by_row(expression, record) for record in records]
        fine = [r for r, found in zip(records, results, strict=True) if found != FAILED]
        if FAILED in results:
            first = records[results.index(FAILED)]
            check_records_one_by_one(expression, [first])
            assert by_arrow(expression, records)[0] == FAILED
        if fine:
            expected = [found for found in results if found != FAILED]
            found = by_arrow(expression, fine)
            if found[0] != FAILED or not has_short_cuts(expression):
                assert found == expected, repr(expression)


STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "b": st.integers(-128, 127),
    "h": st.integers(-(2**15), 2**15 - 1),
    "i": st.integers(-(2**31), 2**31 - 1),
    "n": st.integers(-(2**63), 2**63 - 1),
    "f": st.floats(width=32),
    "d": st.floats(),
    "s": st.text(st.characters(exclude_categories=["Cs"])),
    "z": st.text(max_size=3),
    "t": st.booleans(),
    "u": st.booleans(),
    "day": st.dates(),
    "at": st.datetimes(),
}
RECORDS = st.fixed_dictionaries(
    {
        name: st.none() | st.sampled_from(VALUES[name][1]) | strategy
        for name, strategy in STRATEGIES.items()
    }
).map(record_with)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([e for group in ALL.values() for e in group]), st.lists(RECORDS, max_size=5))
def test_any_records_give_the_same_by_rows_and_in_arrow(expression: Any, records: Any) -> None:
    check_records_one_by_one(expression, records)


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.sampled_from("infd").map(lambda name: ("col", name)),
        lambda inner: st.tuples(st.sampled_from(["+", "-", "*", "%", "/"]), inner, inner),
        max_leaves=5,
    ),
    RECORDS,
)
def test_nested_arithmetic_has_the_same_types_and_values(tree: Any, record: Row) -> None:
    def build(part: Any) -> Any:
        if part[0] == "col":
            return col(part[1])
        return BINARY[part[0]](build(part[1]), build(part[2]))

    check_records_one_by_one(build(tree), [record])
