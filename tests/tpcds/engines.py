"""Runs a query on headrace and on DuckDB, which read the same Parquet files.

In: Flink's text, which DuckDB understands as it is, and a folder of tables.  Out: lines.
Next: comparing.py
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb

from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment
from tpcds.comparing import Answer, Lines

if TYPE_CHECKING:
    from pathlib import Path

    from tpcds.flink_texts import Schemas

_COMMENT = re.compile(r"--[^\n]*")
_LIMIT = re.compile(r"\blimit\s+(\d+)\s*$", re.I)
_LAST_ORDER = re.compile(r".*\border\s+by\b(.*)", re.I | re.S)


def duckdb_on(folder: Path, schemas: Schemas) -> duckdb.DuckDBPyConnection:
    """DuckDB with all tables, and with Flink's division of integers and order of NULLs."""
    connection = duckdb.connect()
    connection.execute("SET integer_division = true")
    connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    for name in schemas:
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{folder}/{name}/*.parquet'")
    return connection


def wanted(connection: duckdb.DuckDBPyConnection, text: str) -> Answer:
    """DuckDB's answer, with the lines that LIMIT cuts off."""
    bare = _COMMENT.sub("", text).strip()
    limit, endless = _LIMIT.search(bare), _LIMIT.sub("", bare)
    result = connection.execute(endless)
    names = [column[0] for column in result.description or ()]
    order = _LAST_ORDER.match(endless)
    return Answer(
        result.fetchall(),
        None if limit is None else int(limit.group(1)),
        [] if order is None else _named_in(order.group(1), names),
    )


def _named_in(order: str, names: list[str]) -> list[int]:
    """The places of the columns that an ORDER BY names, also within expressions."""
    words = set(re.findall(r"\w+", order.lower()))
    return [i for i, name in enumerate(names) if name.lower() in words or str(i + 1) in words]


def headrace_on(folder: Path, schemas: Schemas, *, streaming: bool) -> TableEnvironment:
    """A table environment with all tables, on the local host."""
    configuration = Configuration()
    configuration.set_string("headrace.execution.host", "local")
    builder = EnvironmentSettings.new_instance().with_configuration(configuration)
    mode = builder.in_streaming_mode() if streaming else builder.in_batch_mode()
    t_env = TableEnvironment.create(mode.build())
    for name, columns in schemas.items():
        declared = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        t_env.execute_sql(f"""
            CREATE TABLE {name} ({declared})
            WITH ('connector' = 'filesystem', 'path' = '{folder / name}', 'format' = 'parquet')""")
    return t_env


def found(t_env: TableEnvironment, text: str) -> Lines:
    """The table that the changes of a query leave."""
    left: Counter[tuple[Any, ...]] = Counter()
    for row in t_env.execute_sql(text).collect():
        left[tuple(row)] += 1 if str(row.get_row_kind()) in ("+I", "+U") else -1
        assert left[tuple(row)] >= 0, f"{row} is taken back, and was not there"
    return list(left.elements())
