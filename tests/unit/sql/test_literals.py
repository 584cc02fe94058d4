"""Literals: their Python values, and what they are refused for."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from headrace.errors import SqlParseError
from headrace.sql.ast import IntervalLiteral, LiteralKind, SqlLiteral, UnaryOperation
from headrace.sql.parser import parse_expression
from sql_trees import col, expression, op


def read(sql: str) -> SqlLiteral:
    found = expression(sql)
    assert isinstance(found, SqlLiteral)
    return found


@pytest.mark.parametrize(
    ("sql", "value", "kind"),
    [
        ("42", 42, LiteralKind.INTEGER),
        ("1.50", Decimal("1.50"), LiteralKind.DECIMAL),
        (".5", Decimal("0.5"), LiteralKind.DECIMAL),
        ("5.", Decimal(5), LiteralKind.DECIMAL),
        ("1e3", 1000.0, LiteralKind.DOUBLE),
        ("2.5E-1", 0.25, LiteralKind.DOUBLE),
        ("TRUE", True, LiteralKind.BOOLEAN),
        ("false", False, LiteralKind.BOOLEAN),
        ("NULL", None, LiteralKind.NULL),
        ("UNKNOWN", None, LiteralKind.NULL),
        ("'it''s'", "it's", LiteralKind.STRING),
        ("'a\\nb'", "a\\nb", LiteralKind.STRING),
        ("'two ' 'parts'", "two parts", LiteralKind.STRING),
        ("_UTF16'x'", "x", LiteralKind.STRING),
        ("n'x'", "x", LiteralKind.STRING),
        (r"U&'\00e4\+01F600\\'", "ä😀\\", LiteralKind.STRING),
        ("U&'!00e4' UESCAPE '!'", "ä", LiteralKind.STRING),
        (r"e'a\nb\x41\101\u0041'", "a\nbAAA", LiteralKind.STRING),
        ("x'0aFF'", b"\x0a\xff", LiteralKind.BINARY),
        ("DATE '2024-01-31'", datetime.date(2024, 1, 31), LiteralKind.DATE),
        ("DATE '2024-1-3'", datetime.date(2024, 1, 3), LiteralKind.DATE),
        ("TIME '10:30:00'", datetime.time(10, 30), LiteralKind.TIME),
        ("TIME '10:30:00.25'", datetime.time(10, 30, 0, 250_000), LiteralKind.TIME),
        ("TIMESTAMP '2024-01-31 10:30:00'", datetime.datetime(2024, 1, 31, 10, 30),
         LiteralKind.TIMESTAMP),
        ("TIMESTAMP '2024-01-31'", datetime.datetime(2024, 1, 31), LiteralKind.TIMESTAMP),
        ("TIMESTAMP WITH LOCAL TIME ZONE '2024-01-31 10:30:00'",
         datetime.datetime(2024, 1, 31, 10, 30), LiteralKind.TIMESTAMP_LTZ),
    ],
)  # fmt: skip
def test_a_literal_has_its_python_value(sql: str, value: object, kind: LiteralKind) -> None:
    found = read(sql)
    assert (found.value, found.kind) == (value, kind)
    assert type(found.value) is type(value)


def test_digits_give_the_precision() -> None:
    assert read("1.50").precision == 2
    assert read("TIMESTAMP '2024-01-31 10:30:00.120'").precision == 3
    assert read("TIMESTAMP '2024-01-31 10:30:00'").precision == 0
    nanos = read("TIMESTAMP '2024-01-31 10:30:00.123456789'")
    assert (nanos.precision, nanos.nanoseconds) == (9, 789)
    assert nanos.value == datetime.datetime(2024, 1, 31, 10, 30, 0, 123_456)


def test_a_sign_is_an_operation() -> None:
    assert expression("-1") == UnaryOperation("-", read("1"))


@pytest.mark.parametrize(
    ("sql", "amount", "months"),
    [
        ("INTERVAL '5' SECOND", 5_000, False),
        ("INTERVAL '1.5' SECOND", 1_500, False),
        ("INTERVAL '0.0015' SECOND(1, 4)", 1, False),
        ("INTERVAL '10' MINUTES", 600_000, False),
        ("INTERVAL -'2' HOUR", -7_200_000, False),
        ("INTERVAL '-2' HOUR", -7_200_000, False),
        ("INTERVAL -'-2' HOUR", 7_200_000, False),
        ("INTERVAL '3' DAY(4)", 259_200_000, False),
        ("INTERVAL '2' WEEK", 1_209_600_000, False),
        ("INTERVAL 3 DAY", 259_200_000, False),
        ("INTERVAL '1 10' DAY TO HOUR", 122_400_000, False),
        ("INTERVAL '1 10:30' DAY TO MINUTE", 124_200_000, False),
        ("INTERVAL '1 00:00:01.25' DAY TO SECOND(2)", 86_401_250, False),
        ("INTERVAL '10:30' HOUR TO MINUTE", 37_800_000, False),
        ("INTERVAL '1:00:30' HOUR TO SECOND", 3_630_000, False),
        ("INTERVAL '30:15' MINUTE TO SECOND", 1_815_000, False),
        ("INTERVAL '2' YEAR", 24, True),
        ("INTERVAL '1-6' YEAR TO MONTH", 18, True),
        ("INTERVAL '5' MONTH", 5, True),
        ("INTERVAL '2' QUARTER", 6, True),
    ],
)
def test_an_interval_knows_its_length(sql: str, amount: int, months: bool) -> None:
    found = expression(sql)
    assert isinstance(found, IntervalLiteral)
    assert (found.amount, found.in_months) == (amount, months)


def test_an_interval_of_an_expression_is_a_product() -> None:
    day = parse_expression("INTERVAL '1' DAY")
    assert expression("INTERVAL n DAY") == op("*", col("n"), day)
    assert expression("INTERVAL (a + b) DAY") == op("*", op("+", col("a"), col("b")), day)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DATE '2024-02-30'", "'2024-02-30' is no DATE"),
        ("TIME '25:00:00'", "'25:00:00' is no TIME"),
        ("TIMESTAMP '2024-01-31 10:30'", "is no TIMESTAMP"),
        ("TIMESTAMP '2024-01-31T10:30:00'", "is no TIMESTAMP"),
        ("TIMESTAMP '2024-01-31 10:30:00.1234567891'", "more than nine digits"),
        ("INTERVAL '1 25' DAY TO HOUR", "is no interval of the kind DAY TO HOUR"),
        ("INTERVAL '1:60' HOUR TO MINUTE", "is no interval of the kind HOUR TO MINUTE"),
        ("INTERVAL 'x' DAY", "is no interval of the kind DAY"),
        ("INTERVAL '1-12' YEAR TO MONTH", "is no interval"),
        ("INTERVAL '1' MONTH TO DAY", "expected the end of the statement"),
        ("x'0'", "is no binary literal"),
        (r"U&'\zz'", "needs four digits"),
        ("U&'x' UESCAPE 'ab'", "cannot be the escape sign"),
    ],
)
def test_literals_that_mean_nothing_are_refused(sql: str, message: str) -> None:
    with pytest.raises(SqlParseError, match=message):
        parse_expression(sql)
