"""MATCH_RECOGNIZE in whole queries: functions of the user, savepoints, another parallelism."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import HeadraceError
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.udf import AggregateFunction, udaf, udf
from patience import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.table.table_result import TableResult

TICKS = [("ACME", 12, 1), ("ACME", 17, 2), ("ACME", 19, 1), ("ACME", 21, 3), ("ACME", 25, 2),
         ("ACME", 18, 1), ("ACME", 15, 1), ("ACME", 14, 2), ("ACME", 24, 2)]  # fmt: skip


class WeightedAverage(AggregateFunction):
    """The average of values, by their weights."""

    def create_accumulator(self) -> Any:
        return [0, 0]

    def accumulate(self, accumulator: Any, value: int, weight: int) -> None:
        accumulator[0] += value * weight
        accumulator[1] += weight

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1] if accumulator[1] else None


def tables(mode: str = "streaming") -> TableEnvironment:
    """An environment without Spark, with prices of a share."""
    settings = EnvironmentSettings.in_streaming_mode()
    if mode == "batch":
        settings = EnvironmentSettings.in_batch_mode()
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("headrace.execution.host", "local")
    t_env.get_config().set("parallelism.default", "1")
    rows = ", ".join(
        f"('{symbol}', {price}, {tax}, TIMESTAMP '2020-01-01 10:00:{place:02}')"
        for place, (symbol, price, tax) in enumerate(TICKS)
    )
    t_env.execute_sql(
        "CREATE TEMPORARY VIEW ticks AS SELECT *, PROCTIME() AS pt FROM (VALUES "
        f"{rows}) AS t (symbol, price, tax, ts)"
    )
    return t_env


def rows_of(result: TableResult) -> list[tuple[Any, ...]]:
    with result.collect() as found:
        return [tuple(row) for row in found]


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_functions_of_the_user(mode: str) -> None:
    """Flink has Java's here, and none of Python's."""
    t_env = tables(mode)
    falls = udf(lambda now, before: now < before, result_type=DataTypes.BOOLEAN())
    average = udaf(
        WeightedAverage(), result_type=DataTypes.DOUBLE(),
        accumulator_type=DataTypes.ARRAY(DataTypes.BIGINT()),
    )  # fmt: skip
    t_env.create_temporary_system_function("falls", falls)
    t_env.create_temporary_system_function("weighted", average)
    found = t_env.execute_sql("""
        SELECT * FROM ticks MATCH_RECOGNIZE (
            PARTITION BY symbol ORDER BY pt
            MEASURES FIRST(S.price) AS high, LAST(DOWN.price) AS low,
                     weighted(DOWN.price, DOWN.tax) AS average, falls(S.price, UP.price) AS less
            AFTER MATCH SKIP PAST LAST ROW
            PATTERN (S DOWN{2,} UP)
            DEFINE DOWN AS falls(DOWN.price, LAST(price, 1)) AND weighted(DOWN.price, 1) > 0,
                   UP AS UP.price > 20)""")
    assert rows_of(found) == [("ACME", 25, 14, (18 + 15 + 2 * 14) / 4, False)]


@pytest.mark.parametrize("mode", ["micro-batch", "continuous"])
def test_streams_in_both_modes(mode: str) -> None:
    t_env = tables()
    t_env.get_config().set("headrace.execution.mode", mode)
    found = t_env.execute_sql("""
        SELECT * FROM ticks MATCH_RECOGNIZE (
            PARTITION BY symbol ORDER BY pt MEASURES A.price AS p, COUNT(*) AS n
            PATTERN (A B+ C)
            DEFINE B AS B.price > LAST(price, 1), C AS C.price < LAST(B.price))""")
    assert rows_of(found) == [("ACME", 12, 6), ("ACME", 17, 5), ("ACME", 19, 4), ("ACME", 21, 3)]


def test_a_function_that_fails_says_which_condition() -> None:
    t_env = tables()
    fails = udf(lambda price: 1 // (price - 19) > 0, result_type=DataTypes.BOOLEAN())
    t_env.create_temporary_system_function("fails", fails)
    with pytest.raises(HeadraceError, match="the condition of B in DEFINE"):
        rows_of(t_env.execute_sql(
            "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY pt MEASURES A.price AS p "
            "PATTERN (A B) DEFINE A AS price > 10, B AS fails(B.price))"
        ))  # fmt: skip


# --- savepoints ----------------------------------------------------------------------------------

NEVER_DONE = 10**9
# Every third line is of the same key, and a match takes sixteen lines of a key. The keys begin one
# after the other, so that at any time one of them has a partial match.
BEGINS = {0: 0, 1: 25, 2: 50}
QUERY = """
    INSERT INTO found SELECT * FROM numbers MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY pt
        MEASURES FIRST(A.id) AS f, COUNT(B.id) AS n, LAST(id) AS l
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B{14} C)
        DEFINE A AS id >= 24 * k, B AS B.id = LAST(id, 1) + 3)"""


def start(
    parallelism: int, savepoint: str = "", query: str = QUERY, rows: int = NEVER_DONE
) -> TableResult:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("headrace.execution.host", "local")
    t_env.get_config().set("parallelism.default", str(parallelism))
    t_env.get_config().set("pipeline.max-parallelism", "8")
    if savepoint:
        t_env.get_config().set("execution.state-recovery.path", savepoint)
    t_env.execute_sql(f"""
        CREATE TABLE numbers (id BIGINT, k AS id % 3, pt AS PROCTIME()) WITH (
            'connector' = 'datagen', 'rows-per-second' = '400', 'fields.id.kind' = 'sequence',
            'fields.id.start' = '0', 'fields.id.end' = '{rows - 1}')""")
    t_env.execute_sql(
        "CREATE TABLE found (k BIGINT, f BIGINT, n BIGINT, l BIGINT) WITH ('connector' = 'print')"
    )
    return t_env.execute_sql(query)


def lines(printed: str) -> list[tuple[int, ...]]:
    found = re.findall(r"\+I\[(\d+), (\d+), (\d+), (\d+)\]", printed)
    return [tuple(map(int, line)) for line in found]


def test_partial_matches_go_on_from_a_savepoint_with_another_parallelism(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = start(1).get_job_client()
    assert client is not None
    printed = ""

    def has_found_some() -> bool:
        nonlocal printed
        printed += capsys.readouterr().out
        return len(lines(printed)) >= 4

    wait_until(has_found_some)
    savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
    before = lines(printed + capsys.readouterr().out)
    with pytest.raises(HeadraceError, match=r"match \[A, B, C\]"):
        start(1, savepoint, QUERY.replace("B{14}", "B{13}")).wait()
    capsys.readouterr()
    rows = max(last for *_, last in before) + 400  # however late it was stopped
    start(2, savepoint, rows=rows).wait()
    after = lines(capsys.readouterr().out)
    expected = [
        (key, first, 14, first + 45)
        for key, begin in BEGINS.items()
        for first in range(begin, rows - 45, 48)
    ]
    assert 4 <= len(before) < len(expected)
    assert sorted([*before, *after]) == expected
