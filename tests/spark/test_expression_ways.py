"""An expression gives on Spark what it gives by rows: types, values, and where there is no result.

Rows and Arrow are compared in tests/properties/test_expression_ways.py over the same expressions.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from expressions import RECORD, VALUES, exact, expressions
from headrace.common import Row
from headrace.errors import RecordError
from headrace.expr.functions import FUNCTIONS
from headrace.expr.nodes import FieldNode, walk
from headrace.expr.rows import row_function
from headrace.expr.types import type_of
from headrace.hosts.spark.native.columns import BODIES, column_of
from headrace.hosts.spark.types import spark_schema_of, type_info_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FAILED = "no result"


def by_row(expression: Any, record: Row) -> Any:
    try:
        return exact(row_function(expression.node, RECORD)(record))
    except RecordError:
        return FAILED


def test_every_function_has_a_body_for_spark() -> None:
    assert set(BODIES) == set(FUNCTIONS)


def tables() -> list[tuple[list[Row], list[Any]]]:
    """Expressions of the same fields, with all combinations of extremes of these fields."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for expression in (e for group in expressions().values() for e in group):
        names = sorted({p.name for p in walk(expression.node) if isinstance(p, FieldNode)})
        found.setdefault(tuple(names), []).append(expression)
    return [(records_of(names), group) for names, group in found.items()]


def records_of(names: tuple[str, ...]) -> list[Row]:
    extremes = product(*(VALUES[name][1] for name in names))
    return [
        Row(**{**dict.fromkeys(VALUES), **dict(zip(names, values, strict=True))})
        for values in extremes
    ]


def test_extremes_give_the_same_on_spark_and_by_rows(spark: SparkSession) -> None:
    wrong: list[str] = []
    for records, group in tables():
        wrong.extend(differences(spark, records, group))
    assert not wrong, "\n".join([f"{len(wrong)} differences", *wrong[:40]])


def differences(spark: SparkSession, records: list[Row], group: list[Any]) -> list[str]:
    expected = [[by_row(expression, record) for record in records] for expression in group]
    fine = [[value != FAILED for value in values] for values in expected]
    frame = frame_of(spark, records, fine)
    # a record without a result is left out: it would end the query
    columns = [
        F.when(F.col(f"fine{number}"), column_of(expression.node)).alias(f"c{number}")
        for number, expression in enumerate(group)
    ]
    selected = frame.select(*columns)
    wrong = [
        f"{expression!r} is {found} on Spark, {type_of(expression.node, RECORD)} here"
        for expression, found in zip(
            group, type_info_of(selected.schema).get_field_types(), strict=True
        )
        if found != type_of(expression.node, RECORD)
    ]
    for record, row, number in (
        (records[place], row, number)
        for place, row in enumerate(selected.collect())
        for number in range(len(group))
        if fine[number][place]
    ):
        value = by_row(group[number], record)
        if exact(row[number]) != value:
            given = {k: v for k, v in record.as_dict().items() if v is not None}
            wrong.append(f"{group[number]!r} of {given}: {row[number]!r} on Spark, {value[1]} here")
    return wrong


def frame_of(spark: SparkSession, records: list[Row], fine: list[list[bool]]) -> DataFrame:
    schema = spark_schema_of(RECORD)
    for number in range(len(fine)):
        schema = schema.add(f"fine{number}", BooleanType())
    flags = zip(*fine, strict=True)
    rows = [(*record, *flag) for record, flag in zip(records, flags, strict=True)]
    return spark.createDataFrame(rows, schema).coalesce(1)


def test_what_has_no_result_by_rows_has_none_on_spark(spark: SparkSession) -> None:
    """One record for each function and type of result."""
    failing: dict[tuple[str, str], tuple[Any, Row]] = {}
    for records, group in tables():
        for expression in group:
            key = (expression.kind, str(type_of(expression.node, RECORD)))
            bad = [record for record in records if by_row(expression, record) == FAILED]
            if bad and key not in failing:
                failing[key] = (expression, bad[0])
    assert len(failing) > 10
    for expression, record in failing.values():
        frame = frame_of(spark, [record], [[True]])
        with pytest.raises(Exception, match=r"OVERFLOW|BY_ZERO"):
            frame.select(column_of(expression.node)).collect()
