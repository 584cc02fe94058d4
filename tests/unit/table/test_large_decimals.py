"""Decimals of all 38 digits, as they come from streams and as sums."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types
from headrace.data.line_values import decimal_fitting
from headrace.table import Schema

if TYPE_CHECKING:
    from headrace.table import StreamTableEnvironment, TableEnvironment

LARGEST = Decimal("9999999999999999999999999999.9999999999")


@pytest.mark.parametrize("value", [LARGEST, LARGEST.copy_negate(), Decimal("0.0000000001")])
def test_all_digits_fit(value: Decimal) -> None:
    fitted = decimal_fitting(38, 10)(value)
    assert fitted is not None
    assert fitted.compare_total(value) == 0


def test_one_more_is_too_large() -> None:
    assert decimal_fitting(38, 10)(Decimal("9999999999999999999999999999.99999999996")) is None


def test_a_stream_gives_all_digits(stream_env: StreamTableEnvironment, rows: Any) -> None:
    stream = stream_env._env.from_collection(
        [(LARGEST,)], Types.ROW_NAMED(["d"], [Types.BIG_DEC()])
    )
    schema = Schema.new_builder().column("d", "DECIMAL(38, 10)").build()
    table = stream_env.from_data_stream(stream, schema)
    assert rows(table) == [f"+I({LARGEST!r},)"]


def test_a_sum_of_38_digits_is_there(t_env: TableEnvironment, rows: Any) -> None:
    nines = "9" * 38
    text = f"SELECT SUM(d) FROM (VALUES (CAST('{nines}' AS DECIMAL(38, 0)))) AS t (d)"
    assert rows(t_env.sql_query(text)) == [f"+I(Decimal('{nines}'),)"]
