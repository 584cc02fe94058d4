"""Tables of Parquet files are read as far as queries ask for their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common import Row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.table import Table, TableEnvironment, TableResult

    Rows = Callable[[Table | TableResult], list[str]]

_INNER = pa.struct([("x", pa.int64()), ("y", pa.string())])
_BID = pa.struct([("price", pa.int64()), ("who", pa.string()), ("deep", _INNER)])
_LINES = [
    {"kind": 1, "bid": None, "ts": 1_000, "note": "a"},
    {"kind": 2, "bid": {"price": 5, "who": "ada", "deep": {"x": 7, "y": "q"}}, "ts": 2_000},
    {"kind": 2, "bid": {"price": None, "who": "bob", "deep": None}, "ts": 3_000, "note": "c"},
]


@pytest.fixture
def bids(t_env: TableEnvironment, tmp_path: Path) -> TableEnvironment:
    schema = pa.schema(
        [("kind", pa.int32()), ("bid", _BID), ("ts", pa.timestamp("ms")), ("note", pa.string())]
    )
    pq.write_table(pa.Table.from_pylist(_LINES, schema), tmp_path / "one.parquet")
    t_env.execute_sql(f"""
        CREATE TABLE bids (
            kind INT,
            bid ROW<price BIGINT, who STRING, deep ROW<x BIGINT, y STRING>>,
            twice AS kind * 2,
            ts TIMESTAMP(3),
            note STRING,
            WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
        ) WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '{tmp_path}')""")
    return t_env


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """For every reading of a file the columns that were read."""
    found: list[list[str]] = []
    iter_batches = pq.ParquetFile.iter_batches

    def spy(self: pq.ParquetFile, *args: object, columns: list[str], **rest: object) -> object:
        found.append(columns)
        return iter_batches(self, *args, columns=columns, **rest)

    monkeypatch.setattr("headrace.connectors.files.parquet_parts.pq.ParquetFile.iter_batches", spy)
    return found


QUERIES: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = {
    "SELECT note FROM bids": (["ts", "note"], [("a",), (None,), ("c",)]),
    "SELECT bid.price FROM bids WHERE kind = 2": (
        ["kind", "bid.price", "ts"],
        [(5,), (None,)],
    ),
    "SELECT bid.deep.y, bid.deep FROM bids": (
        ["bid.deep.x", "bid.deep.y", "ts"],
        [(None, None), ("q", Row(7, "q")), (None, None)],
    ),
    "SELECT twice, bid IS NULL FROM bids": (
        ["kind", "bid.price", "bid.who", "bid.deep.x", "bid.deep.y", "ts"],
        [(2, True), (4, False), (4, False)],
    ),
    "SELECT b.deep.x FROM (SELECT bid AS b, note FROM bids) WHERE b.who LIKE 'a%'": (
        ["bid.who", "bid.deep.x", "ts"],
        [(7,)],
    ),
    "SELECT COUNT(*) FROM bids WHERE note IS NULL": (["ts", "note"], [(1,)]),
    "SELECT a.note, b.kind FROM bids a JOIN bids b ON a.kind = b.bid.price - 4": (
        ["kind", "bid.price", "ts", "note"],
        [("a", 2)],
    ),
}


@pytest.mark.parametrize("query", QUERIES)
def test_only_columns_that_are_asked_for_are_read(
    bids: TableEnvironment, rows: Rows, asked: list[list[str]], query: str
) -> None:
    columns, expected = QUERIES[query]
    found = rows(bids.sql_query(query))
    assert sorted(found) == sorted(f"+I{line}" for line in expected)
    assert {tuple(each) for each in asked} == {tuple(columns)}
    assert len(asked) == 1  # one scan, however many readers


def test_one_scan_serves_all_inserts(bids: TableEnvironment, asked: list[list[str]]) -> None:
    bids.execute_sql("CREATE TABLE notes (a STRING) WITH ('connector' = 'blackhole')")
    bids.execute_sql("CREATE TABLE prices (a BIGINT) WITH ('connector' = 'blackhole')")
    statements = bids.create_statement_set()
    statements.add_insert_sql("INSERT INTO notes SELECT note FROM bids")
    statements.add_insert_sql("INSERT INTO prices SELECT bid.price FROM bids")
    statements.execute().wait()
    assert asked == [["bid.price", "ts", "note"]]


def test_explain_names_the_columns(bids: TableEnvironment) -> None:
    plan = bids.explain_sql("SELECT bid.price FROM bids WHERE kind = 2")
    assert "fields=[kind, bid.price, ts]" in plan


def test_partitions_are_not_looked_for_in_files(
    t_env: TableEnvironment, rows: Rows, tmp_path: Path
) -> None:
    folder = tmp_path / "day=1"
    folder.mkdir()
    pq.write_table(pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]}), folder / "one.parquet")
    t_env.execute_sql(f"""
        CREATE TABLE t (a INT, `day` INT, b STRING) PARTITIONED BY (`day`)
        WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '{tmp_path}')""")
    assert rows(t_env.sql_query("SELECT b, `day` FROM t")) == ["+I('x', 1)"]
    assert rows(t_env.sql_query("SELECT `day` FROM t")) == ["+I(1,)"]
