"""The 22 queries of TPC-H: headrace, in batch mode and on streams, against DuckDB.

Next: tpch/engines.py says what is compared, and how; spark/test_tpch.py asks Spark as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tpch.engines import (
    assert_order,
    assert_same,
    duckdb_on,
    final_lines,
    headrace_on,
    names_of,
    write_tables,
)
from tpch.queries import QUERIES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

    from headrace.table import TableEnvironment


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tables(tmp_path_factory.mktemp("tpch"))


@pytest.fixture(scope="module")
def duck(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb_on(folder) as connection:
        yield connection


@pytest.fixture(scope="module")
def batch(folder: Path) -> TableEnvironment:
    return headrace_on(folder, batch=True, host="local")


@pytest.fixture(scope="module")
def stream(folder: Path) -> TableEnvironment:
    # several batches, so that lines meet the state that earlier ones left
    return headrace_on(folder, batch=False, host="local", records_per_batch=1500)


@pytest.mark.parametrize("number", QUERIES)
def test_a_batch_gives_what_duckdb_gives(
    number: int, batch: TableEnvironment, duck: duckdb.DuckDBPyConnection
) -> None:
    query = QUERIES[number]
    names, wanted = names_of(query, duck), duck.execute(query.text).fetchall()
    got = [tuple(row) for row in batch.execute_sql(query.text).collect()]
    assert_same(query, names, wanted, got)
    assert_order(query, names, wanted, got)


@pytest.mark.parametrize("number", QUERIES)
def test_a_stream_ends_with_the_table_that_a_batch_gives(
    number: int, stream: TableEnvironment, duck: duckdb.DuckDBPyConnection
) -> None:
    query = QUERIES[number]
    wanted = duck.execute(query.on_streams).fetchall()
    assert_same(query, names_of(query, duck), wanted, final_lines(stream, query.on_streams))
