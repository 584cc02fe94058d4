"""Subqueries and LATERAL queries in batch mode against DuckDB, also those that Flink cannot plan.

Next: sql/cases/subquery_edges.py has them; test_sql.py compares with Flink's answers;
random_queries.py makes more.

    HEADRACE_ORACLE=full     many more of them
    HEADRACE_ORACLE_SEED=7   the first seed; it is printed with a failure
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from oracle.random_queries import COLUMNS, RandomQueries, tables
from oracle.sql import run_headrace
from oracle.sql.cases import subqueries, subquery_edges
from oracle.sql.engine import shown
from oracle.sql.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

# A LATERAL aggregate of nothing has a line in SQL, and none in Flink, whom headrace follows.
NOT_ALIKE = {"lateral", "lateral_left_count", "lateral_twice", "lateral_scalar"}
CASES = {
    case.name: case
    for case in (*subqueries.CASES, *subquery_edges.CASES)
    if case.name not in NOT_ALIKE
}

FULL = os.environ.get("HEADRACE_ORACLE") == "full"
FIRST = int(os.environ["HEADRACE_ORACLE_SEED"])
QUERIES = 300 if FULL else 30  # some 50 ms each


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name in ("orders", "users"):
            columns = ", ".join(f"{column} {kind}" for column, kind in TABLES[name].columns.items())
            connection.execute(f"CREATE TABLE {name} ({columns})")
            marks = ", ".join("?" for _ in TABLES[name].columns)
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", TABLES[name].rows)
        yield connection


@pytest.mark.parametrize("name", CASES)
def test_headrace_gives_what_duckdb_gives(name: str, duck: duckdb.DuckDBPyConnection) -> None:
    text = CASES[name].sql.replace("a > (SELECT AVG(a)", "a > (SELECT CAST(TRUNC(AVG(a)) AS INT)")
    wanted = Counter(_texts(duck.execute(text).fetchall()))
    outcome = run_headrace.run(CASES[name], "batch", None, cut=None, restarts=False)
    assert Counter(_texts(row[1:] for row in outcome["changes"])) == wanted


def test_random_queries_give_what_duckdb_gives() -> None:
    settings = EnvironmentSettings.new_instance().in_batch_mode().build()
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("headrace.execution.host", "local").set("parallelism.default", "1")
    kinds = [DataTypes.INT().not_null(), *[DataTypes.INT()] * 3]
    row = DataTypes.ROW([DataTypes.FIELD(*each) for each in zip(COLUMNS, kinds, strict=True)])
    with duckdb.connect() as connection:
        for name, lines in tables(FIRST).items():
            t_env.create_temporary_view(name, t_env.from_elements(lines, row))
            connection.execute(f"CREATE TABLE {name} (id INT NOT NULL, x INT, y INT, z INT)")
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", lines)
        for seed in range(FIRST, FIRST + QUERIES):
            text = RandomQueries(seed).text()
            wanted = Counter(connection.execute(text).fetchall())
            got = Counter(tuple(line) for line in t_env.execute_sql(text).collect())
            assert got == wanted, f"first seed {FIRST}, seed {seed}: {text}"


def _texts(rows: Any) -> list[str]:
    return [repr([shown(value) for value in row]) for row in rows]
