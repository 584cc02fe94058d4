"""A column that files do not have is NULL, as in Flink; it is told before the job starts."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common import Types
from headrace.common.data_types import DataTypes
from headrace.connectors.files.source import FileSource
from headrace.connectors.files.table import FileTables
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat
from headrace.table import EnvironmentSettings, TableEnvironment
from table_runs import row_type, table

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.common.data_types import RowType

COLUMNS = {"item": ["a"], "price": [1.5], "at": [{"city": "Bern", "zip": 3}]}


def doubts(path: Path, form: str, columns: RowType, **options: str) -> list[str]:
    given = {"path": str(path), "format": form, **options}
    source = FileTables().source(table("filesystem", columns, options=given)).source
    assert source is not None
    return source.doubts()


def parquet(path: Path, columns: dict[str, Any], modified: int) -> None:
    pq.write_table(pa.table(columns), path)
    os.utime(path, (modified, modified))


def test_parquet_columns_are_looked_up_in_the_newest_file(tmp_path: Path) -> None:
    parquet(tmp_path / "new.parquet", COLUMNS, 2_000)
    parquet(tmp_path / "old.parquet", {"item": ["a"]}, 1_000)
    at = row_type(city=DataTypes.STRING(), zipp=DataTypes.INT())
    columns = row_type(ITEM=DataTypes.STRING(), pricee=DataTypes.DOUBLE(), at=at)
    where = f"the newest file, {tmp_path}/new.parquet, has no such column"
    assert doubts(tmp_path, "parquet", columns) == [
        f"column 'pricee' is NULL in every row: {where}; did you mean price?",
        f"column 'at.zipp' is NULL in every row: {where}; did you mean zip?",
    ]


def test_files_that_are_not_read_are_not_looked_at(tmp_path: Path) -> None:
    parquet(tmp_path / "x.parquet", COLUMNS, 2_000)
    parquet(tmp_path / "y.parquet", {"other": [1]}, 1_000)
    columns = row_type(other=DataTypes.INT())
    assert not doubts(
        tmp_path, "parquet", columns, **{"source.path.regex-pattern": r".*/y\.parquet"}
    )
    assert doubts(tmp_path, "parquet", columns)


def test_avro_columns_are_looked_up_too(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "item", "type": "string"}]}
    with (tmp_path / "x.avro").open("wb") as file:
        fastavro.writer(file, schema, [{"item": "a"}])
    columns = row_type(item=DataTypes.STRING(), price=DataTypes.DOUBLE())
    (line,) = doubts(tmp_path, "avro", columns)
    assert line.startswith("column 'price' is NULL in every row")
    assert line.endswith("it has: item")


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "avro"])
def test_what_cannot_be_looked_at_is_no_doubt(form: str, tmp_path: Path) -> None:
    columns = row_type(item=DataTypes.STRING())
    assert not doubts(tmp_path / "nothing", form, columns)
    (tmp_path / "broken").write_text("no such file")
    assert not doubts(tmp_path, form, columns)


def test_a_source_of_files_in_a_program_is_looked_at(tmp_path: Path) -> None:
    parquet(tmp_path / "x.parquet", COLUMNS, 1_000)
    rows = ParquetColumnarRowInputFormat(Types.ROW_NAMED(["prize"], [Types.DOUBLE()]))
    (line,) = FileSource.for_bulk_file_format(rows, str(tmp_path)).build().doubts()
    assert "did you mean price?" in line


def test_a_query_over_a_column_that_is_not_there_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parquet(tmp_path / "x.parquet", COLUMNS, 1_000)
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables.get_config().set("headrace.execution.host", "local")
    tables.execute_sql(
        "CREATE TABLE t (item STRING, pricee DOUBLE, pt AS PROCTIME()) WITH ("
        f"'connector' = 'filesystem', 'format' = 'parquet', 'path' = '{tmp_path}')"
    )
    with caplog.at_level(logging.WARNING):
        rows = tables.execute_sql("SELECT item FROM t").collect()
        assert [tuple(row) for row in rows] == [("a",)]
        assert not caplog.messages  # nobody reads the column
        rows = tables.execute_sql("SELECT item, pricee FROM t").collect()
        assert [tuple(row) for row in rows] == [("a", None)]
    (message,) = caplog.messages
    assert "column 'pricee' is NULL in every row" in message
    assert "did you mean price?" in message
    assert "test_absent_columns.py" in message
