"""Runs queries of TPC-H on headrace, DuckDB and Spark, and compares what they give.

All engines read the same Parquet files.  Results are compared as multisets, and in the order that
ORDER BY says; decimals by value.  Quotients and averages of decimals have a scale by the rules of
each engine (Flink: at least six digits, DuckDB: a DOUBLE), so those columns, which each query
lists, may differ by `TOLERANCE`.  Next: oracle/test_tpch.py, spark/test_tpch.py
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment
from tpch.data import COLUMNS, SQL_TYPES, tables
from tpch.queries import QUERIES

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from tpch.queries import TpchQuery

# One unit in the sixth digit behind the point: the scale that Flink's AVG keeps.
TOLERANCE = Decimal("0.000001")
Lines = list[tuple[Any, ...]]


def write_tables(folder: Path) -> Path:
    """One folder with one Parquet file for each table."""
    for name, table in tables().items():
        (folder / name).mkdir()
        pq.write_table(table, folder / name / "lines.parquet")
    return folder


def names_of(query: TpchQuery, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The columns of a query's result."""
    return [column[0] for column in connection.execute(query.text).description or ()]


# --- the engines ---------------------------------------------------------------------------------


def duckdb_on(folder: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with all tables and views."""
    import duckdb

    connection = duckdb.connect()
    for name in COLUMNS:
        file = folder / name / "lines.parquet"
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{file}')")
    for query in QUERIES.values():
        for view in query.views:
            connection.execute(view)
    return connection


def headrace_on(
    folder: Path, *, batch: bool, host: str, records_per_batch: int | None = None
) -> TableEnvironment:
    """A table environment with all tables and views."""
    configuration = Configuration()
    configuration.set_string("headrace.execution.host", host)
    configuration.set_string("parallelism.default", "2")
    if records_per_batch is not None:
        configuration.set_string("source.max-records-per-batch", str(records_per_batch))
    builder = EnvironmentSettings.new_instance().with_configuration(configuration)
    mode = builder.in_batch_mode() if batch else builder.in_streaming_mode()
    t_env = TableEnvironment.create(mode.build())
    for name, columns in COLUMNS.items():
        declared = ", ".join(f"{column} {SQL_TYPES[kind]}" for column, kind in columns.items())
        t_env.execute_sql(f"""
            CREATE TABLE {name} ({declared})
            WITH ('connector' = 'filesystem', 'path' = '{folder / name}', 'format' = 'parquet')""")
    for query in QUERIES.values():
        for view in query.views:
            t_env.execute_sql(view)
    return t_env


def final_lines(t_env: TableEnvironment, text: str) -> Lines:
    """The table that the changes of a query leave."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in t_env.execute_sql(text).collect():
        line = tuple(row)
        if str(row.get_row_kind()) in ("+I", "+U"):
            found[line] += 1
        else:
            assert found[line] > 0, f"{row} is taken back, and was not there"
            found[line] -= 1
    return list(found.elements())


# --- comparing -----------------------------------------------------------------------------------


def assert_same(query: TpchQuery, names: list[str], wanted: Lines, got: Lines) -> None:
    """Equal as multisets.

    Raises:
        AssertionError: they are not.
    """
    assert wanted, "the data has nothing for this query"
    rounded = {names.index(name) for name in query.rounded}
    assert len(wanted) == len(got), f"{len(wanted)} lines expected, {len(got)} found"
    for one, other in zip(_sorted(wanted, rounded), _sorted(got, rounded), strict=True):
        assert _exact(one, rounded) == _exact(other, rounded)
        for place in rounded:
            difference = abs(Decimal(one[place]) - Decimal(other[place]))
            assert difference <= TOLERANCE, (names[place], one, other)


def assert_order(query: TpchQuery, names: list[str], wanted: Lines, got: Lines) -> None:
    """Equal in the columns of ORDER BY, line by line.

    Raises:
        AssertionError: they are not.
    """
    places = [names.index(column.split()[0]) for column in query.order]
    assert [[line[p] for p in places] for line in wanted] == [
        [line[p] for p in places] for line in got
    ]


def _exact(line: tuple[Any, ...], rounded: set[int]) -> tuple[Any, ...]:
    return tuple(value for place, value in enumerate(line) if place not in rounded)


def _sorted(lines: Lines, rounded: set[int]) -> Lines:
    return sorted(lines, key=lambda line: _text(_exact(line, rounded)))


def _text(line: tuple[Any, ...]) -> str:
    """A text by which equal lines are equal: 1.50 is 1.5."""
    return repr([v.normalize() if isinstance(v, Decimal) else v for v in line])
