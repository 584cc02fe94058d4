"""The judge of TPC-DS, on a query and tables of our own."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pytest

from flink_programs.checkout import Checkout
from tpcds.comparing import Answer, difference
from tpcds.engines import found, headrace_on, wanted
from tpcds.flink_texts import queries, schemas
from tpcds.report import is_of_nothing

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "schema/TpcdsSchemaProvider.java": """
        schemaMap.put(
                "shop",
                new TpcdsSchema(Arrays.asList(
                        new Column("s_id", DataTypes.BIGINT()),
                        new Column(
                                "s_opened", DataTypes.DATE().bridgedTo(Date.class)))));
        schemaMap.put("price", new TpcdsSchema(
                Arrays.asList(new Column("p_cost", DataTypes.DECIMAL(7, 2)))));""",
    "TpcdsTestProgram.java": 'TPCDS_QUERIES =\n Arrays.asList("1", "14a");',
    "query1.sql": "one",
    "query14a.sql": "two",
}


class OwnCheckout(Checkout):
    """Files by the end of their path."""

    def __init__(self) -> None:
        super().__init__("")

    def text(self, path: str) -> str:
        return next(text for end, text in TEXTS.items() if path.endswith(f"/{end}"))


def test_columns_and_texts_are_read() -> None:
    assert schemas(OwnCheckout()) == {
        "shop": {"s_id": "BIGINT", "s_opened": "DATE"},
        "price": {"p_cost": "DECIMAL(7, 2)"},
    }
    assert queries(OwnCheckout()) == {"1": "one", "14a": "two"}


def test_numbers_may_differ_by_a_little() -> None:
    answer = Answer([("a", 1 / 3, None), ("b", 2, 5)], None, [])
    assert difference(answer, [("b", Decimal(2), 5), ("a", Decimal("0.333333"), None)]) is None
    assert difference(answer, [("b", 2, 5), ("a", Decimal("0.3334"), None)]) is not None
    assert difference(answer, [("b", 2, 5), ("a", 1 / 3, 0)]) is not None
    assert difference(answer, [("b", 2, 5)]) == "2 lines expected, 1 found"


def test_a_limit_may_take_any_of_equal_lines() -> None:
    answer = Answer([("a", 1), ("b", 2), ("c", 2), ("d", 3)], 2, [1])
    assert difference(answer, [("a", 1), ("b", 2)]) is None
    assert difference(answer, [("a", 1), ("c", 2)]) is None
    assert difference(answer, [("b", 2), ("c", 2)]) is not None  # where is the first line?
    assert difference(answer, [("a", 1), ("d", 3)]) is not None
    assert difference(answer, [("c", 2), ("c", 2)]) is not None


def test_duckdb_gives_the_lines_behind_the_limit_too() -> None:
    text = "-- limit 3\nSELECT * FROM (VALUES (1, 'x'), (2, 'y')) t(n, s) ORDER BY -n\n LIMIT 1"
    with duckdb.connect() as connection:
        assert wanted(connection, text) == Answer([(2, "y"), (1, "x")], 1, [0])


def test_aggregates_of_nothing_are_one_line_of_null_and_zero() -> None:
    assert is_of_nothing(Answer([(0, None)], 100, []))
    assert not is_of_nothing(Answer([(0, 1)], 100, []))
    assert not is_of_nothing(Answer([], None, []))


@pytest.mark.parametrize("streaming", [False, True])
def test_headrace_gives_the_table_that_is_left(tmp_path: Path, *, streaming: bool) -> None:
    (tmp_path / "shop").mkdir()
    with duckdb.connect() as connection:
        connection.execute(f"""
            COPY (SELECT n % 2 AS s_id, n FROM range(5) t(n))
            TO '{tmp_path}/shop/lines.parquet' (FORMAT parquet)""")
    kinds = {"s_id": "BIGINT", "n": "BIGINT"}
    t_env = headrace_on(tmp_path, {"shop": kinds}, streaming=streaming)
    assert sorted(found(t_env, "SELECT s_id, SUM(n) FROM shop GROUP BY s_id")) == [(0, 6), (1, 4)]
