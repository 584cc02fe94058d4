"""CURRENT_WATERMARK, fields of rows by their names alone, and orders that nobody needs."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import HeadraceError, SqlError
from headrace.table import DataTypes
from headrace.table.expressions import col, lit
from headrace.table.window import Over
from headrace.testing import LocalRunner
from oracle.sql.engine import SqlEngine
from oracle.sql.model import SqlCase

if TYPE_CHECKING:
    from headrace.table import TableEnvironment

ENGINE = SqlEngine("headrace")
OPTIONS = {"headrace.execution.host": "local", "scan.watermark.emit.strategy": "on-event"}


def asked(text: str, *, cut: int | None = None, restarts: bool = False) -> list[Any]:
    """Lines of a query over bids, which come in batches."""
    tables = ENGINE.build(SqlCase("", text, ("bids",)), "streaming", None, OPTIONS)
    stream, _, _ = tables._planner().to_stream(tables.sql_query(text)._rel)
    found: list[Any] = []
    with LocalRunner(stream, parallelism=1) as job:
        for _ in range(12 if cut else 1):
            found += job.read_batch(cut)
            if restarts:
                job.restart()
        found += job.end_of_input()
    return found


def second(number: float) -> dt.datetime:
    return dt.datetime(2020, 4, 15, 8) + dt.timedelta(seconds=number)


@pytest.mark.parametrize(("cut", "restarts"), [(None, False), (1, False), (1, True), (5, True)])
def test_the_watermark_is_that_of_the_lines_before(cut: int | None, restarts: bool) -> None:
    found = asked("SELECT price, CURRENT_WATERMARK(ts) FROM bids", cut=cut, restarts=restarts)
    marks = [None, -1, 1, 1, 4.5, 4.5, 9, 9, 9, 10.25, 15, 16]
    assert [mark for _, mark in found] == [None if m is None else second(m) for m in marks]


def test_late_lines_are_found_by_it() -> None:
    text = "SELECT bidder FROM bids WHERE CURRENT_WATERMARK(ts) >= ts"
    assert asked(text, cut=1) == [("late",)]


def test_only_a_time_attribute_has_one() -> None:
    with pytest.raises(SqlError, match="takes a time attribute of event time"):
        asked("SELECT CURRENT_WATERMARK(CAST(ts AS TIMESTAMP(3)) + INTERVAL '1' SECOND) FROM bids")


def test_a_join_cannot_ask_for_it() -> None:
    text = (
        "SELECT a.item FROM bids a JOIN bids b ON a.item = b.item "
        "AND b.ts > CURRENT_WATERMARK(a.ts)"
    )
    with pytest.raises(HeadraceError, match="CURRENT_WATERMARK can be asked in SELECT and WHERE"):
        asked(text)


def test_a_field_is_found_by_its_name_alone(t_env: TableEnvironment, rows: Any) -> None:
    table = t_env.from_elements(
        [(1, (2, ("x",)))],
        DataTypes.ROW(
            [
                DataTypes.FIELD("id", DataTypes.INT()),
                DataTypes.FIELD(
                    "r",
                    DataTypes.ROW(
                        [
                            DataTypes.FIELD("a", DataTypes.INT()),
                            DataTypes.FIELD(
                                "q", DataTypes.ROW([DataTypes.FIELD("s", DataTypes.STRING())])
                            ),
                        ]
                    ),
                ),
            ]
        ),
    )
    t_env.create_temporary_view("t", table)
    assert rows(t_env.sql_query("SELECT a, s, q.s AS s2 FROM t")) == ["+I(2, 'x', 'x')"]
    with pytest.raises(SqlError, match="several columns have a field s"):
        t_env.sql_query("SELECT s FROM t, (SELECT r AS r2 FROM t)")


def test_an_order_below_an_aggregate_is_dropped(t_env: TableEnvironment, rows: Any) -> None:
    table = t_env.from_elements([(1, "b"), (3, "a"), (2, "c")], ["a", "b"])
    assert rows(table.order_by(col("b")).select(col("a").max))[-1] == "+U(3,)"
    with pytest.raises(HeadraceError, match="cannot be sorted"):
        rows(table.order_by(col("b")).select(col("a").first_value))


def test_a_whole_number_counts_lines(t_env: TableEnvironment, rows: Any) -> None:
    table = t_env.sql_query(
        "SELECT id, PROCTIME() AS pt FROM (VALUES (1), (2), (3)) AS t (id)"
    ).over_window(Over.order_by(col("pt")).preceding(lit(1)).alias("w"))
    assert rows(table.select(col("id").sum.over(col("w")))) == ["+I(1,)", "+I(3,)", "+I(5,)"]
