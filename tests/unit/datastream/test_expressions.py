"""Column expressions in Python give what Catalyst gives, also where there is no Spark at all."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Row, Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.expressions import Expression, col, lit
from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.testing import collect_locally

ORDER = Types.ROW_NAMED(["item", "price"], [Types.STRING(), Types.INT()])
NUMBERS = Row(seven=7, three=3, nothing=None, half=-7.5, _corrupt_record="x")


def _orders() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([Row("hat", 10), Row("coat", 90)], ORDER)


def test_a_filter_right_behind_the_source_filters_without_spark() -> None:
    assert collect_locally(_orders().filter(col("price") > 50)) == [Row(item="coat", price=90)]


def test_a_projection_right_behind_the_source_projects_without_spark() -> None:
    doubled = _orders().select(col("item"), (col("price") * 2).alias("twice"))
    assert [r.as_dict() for r in collect_locally(doubled)] == [
        {"item": "hat", "twice": 20},
        {"item": "coat", "twice": 180},
    ]


def test_expressions_of_spark_are_refused_without_spark() -> None:
    with pytest.raises(UnsupportedStepError, match="it runs without Spark"):
        collect_locally(_orders().select("price * 2 AS twice"))


def test_fields_of_tuples_have_the_names_of_their_columns() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    pairs = env.from_collection([(1, "a"), (2, "b")], Types.TUPLE([Types.INT(), Types.STRING()]))
    assert collect_locally(pairs.filter(col("f0") > 1)) == [(2, "b")]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (col("seven") % 3, 1),
        (col("_corrupt_record").is_null(), False),
        (lit(-7) % col("three"), -1),  # the sign of the dividend, as in SQL
        (-7 % col("three"), -1),
        (col("half") % 3, -1.5),
        (21 / col("three"), 7.0),
        (-col("seven"), -7),
        (-col("nothing"), None),
        (col("seven").isin(1, None), None),  # it might be the unknown one
        (col("seven").isin(7, None), True),
        (col("seven").isin(1, 2), False),
    ],
)
def test_values_are_those_of_sql(expression: Expression, value: Any) -> None:
    assert expression.evaluate(NUMBERS) == value


def test_and_between_expressions_is_refused_at_the_users_line() -> None:
    with pytest.raises(InvalidArgumentError, match="no truth value") as raised:
        _orders().filter(col("price") > 1 and col("item") == "hat")
    assert "test_expressions.py" in str(raised.value.where)


@pytest.mark.parametrize(
    "wrong", [lambda s: s.filter(col("prize") > 1), lambda s: s.select(col("prize") + 1)]
)
def test_a_column_that_is_not_there_is_refused_at_the_users_line(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="asks for field 'prize'") as raised:
        wrong(_orders())
    assert raised.value.fix == "did you mean 'price'?"
    assert "test_expressions.py" in str(raised.value.where)


def test_the_column_of_plain_values_is_called_value() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([1, 5], Types.INT())
    assert collect_locally(numbers.filter(col("value") > 1)) == [5]
    untyped = env.from_collection([{"n": 1}, {"n": 5}])
    assert collect_locally(untyped.filter(col("n") > 1)) == [{"n": 5}]
