"""Expressions hold nodes of the syntax tree, and read as Flink writes them."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from headrace.common.data_types import DataTypes
from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.sql import api_ast, ast
from headrace.table import expressions as e
from headrace.table.expression import Expression, JsonOnNull, TimeIntervalUnit, TimePointUnit
from headrace.table.expressions import col, lit


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (col("a") + 1, "plus(a, 1)"),
        (2 - col("a"), "minus(2, a)"),
        (col("a") ** 2, "power(a, 2)"),
        (-col("a"), "minusPrefix(a)"),
        (~col("a"), "isNotTrue(a)"),
        (col("a") == col("b"), "equals(a, b)"),
        (col("a").alias("x", "y"), "as(a, 'x', 'y')"),
        (col("a").cast(DataTypes.INT()), "cast(a, INT)"),
        (col("a").trim(), "trim(true, true, ' ', a)"),
        (col("a").trim_leading("x"), "trim(true, false, 'x', a)"),
        (col("a").extract(TimeIntervalUnit.DAY), "extract(DAY, a)"),
        (col("a").floor(TimeIntervalUnit.HOUR), "floor(a, HOUR)"),
        (lit(10).weeks, "6048000000"),
        (lit(2).years, "24"),
        (lit(-3).days, "-259200000"),
        (lit("it's"), "'it''s'"),
        (lit(None), "null"),
        (lit(True), "true"),
        (lit(datetime.timedelta(seconds=2)), "2000"),
        (col("a").get("x"), "get(a, 'x')"),
        (col("a").x, "get(a, 'x')"),
        (col("a")[1], "at(a, 1)"),
        (col("a").sum.distinct, "distinct(sum(a))"),
        (col("a").sum.over(col("w")), "over(sum(a), w)"),
        (e.and_(col("a"), col("b"), col("c")), "and(a, b, c)"),
        (e.timestamp_diff(TimePointUnit.DAY, col("a"), col("b")), "timestampDiff(DAY, a, b)"),
        (e.call("a.b.c", col("x")), "a.b.c(x)"),
        (e.map_("k", 1), "map('k', 1)"),
        (e.range_("a", "c"), "rangeTo(a, c)"),
        (e.null_of(DataTypes.INT()), "null"),
    ],
)
def test_an_expression_reads_as_flink_writes_it(made: Expression[object], text: str) -> None:
    assert str(made) == text


def test_an_operation_is_the_node_that_the_parser_would_make() -> None:
    from headrace.sql.parser import parse_expression

    assert (col("a") + 1)._node == parse_expression("a + 1")
    assert (col("a").between(1, 2))._node == parse_expression("a BETWEEN 1 AND 2")
    assert col("a").is_not_null._node == parse_expression("a IS NOT NULL")
    assert col("a").like("x%")._node == parse_expression("a LIKE 'x%'")
    assert e.if_then_else(col("a"), 1, 2)._node == parse_expression("CASE WHEN a THEN 1 ELSE 2 END")
    assert col("a").trim()._node == parse_expression("TRIM(BOTH ' ' FROM a)")
    assert col("a").extract(TimeIntervalUnit.YEAR)._node == parse_expression("EXTRACT(YEAR FROM a)")
    assert e.json_object(JsonOnNull.ABSENT, "k", col("v"))._node == parse_expression(
        "JSON_OBJECT(KEY 'k' VALUE v ABSENT ON NULL)"
    )


def test_intervals_of_literals_are_literals_and_others_are_products() -> None:
    literal = lit(5).minutes._node
    assert isinstance(literal, ast.IntervalLiteral)
    assert literal.amount == 300_000
    product = col("n").days._node
    assert isinstance(product, ast.BinaryOperation)
    assert product.operator == "*"


def test_a_literal_with_a_type_has_the_value_of_lines() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    moment = datetime.datetime(2024, 1, 1, 2, tzinfo=zone)
    found = lit(moment, DataTypes.TIMESTAMP_LTZ(3))._node
    assert isinstance(found, api_ast.TypedLiteral)
    assert found.value == datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    small = lit(Decimal("1.256"), DataTypes.DECIMAL(5, 2))._node
    assert isinstance(small, api_ast.TypedLiteral)
    assert small.value == Decimal("1.26")


@pytest.mark.parametrize(
    ("value", "kind"), [(128, DataTypes.TINYINT()), ("x", DataTypes.INT()), (1, "INT")]
)
def test_a_literal_that_does_not_fit_its_type_is_refused(value: object, kind: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        lit(value, kind)  # type: ignore[arg-type]


def test_orders_have_no_value() -> None:
    with pytest.raises(ArgumentTypeError, match="is an order"):
        col("a").desc + 1


def test_what_is_no_value_is_refused_with_a_hint() -> None:
    with pytest.raises(ArgumentTypeError, match=r"cannot stand in an expression"):
        col("a") + object()
    with pytest.raises(InvalidArgumentError, match="keys and values in turn"):
        e.map_("a", 1, "b")


def test_private_names_are_no_fields() -> None:
    with pytest.raises(AttributeError):
        col("a")._no_such_thing  # noqa: B018
