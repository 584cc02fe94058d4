"""Parquet files as a source: Spark lists them, workers read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.formats.parquet import ParquetColumnarRowInputFormat
from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.datastream import DataStream

pytestmark = pytest.mark.spark

ROW = Types.ROW_NAMED(["key", "value"], [Types.STRING(), Types.LONG()])


def totals(folder: Path, checkpoint: Path) -> DataStream:
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(checkpoint))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(2)
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(ROW), str(folder))
    one_by_one = source.set_option("maxFilesPerTrigger", "1").build()
    events = env.from_source(one_by_one, WatermarkStrategy.no_watermarks(), "files").uid("files")
    return events.key_by(lambda row: row.key).sum("value").uid("sum")


def collect(stream: DataStream) -> list[tuple[str, int]]:
    with stream.execute_and_collect() as results:
        return [(row.key, row.value) for row in results]


def test_files_are_read_once_each_also_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        table = pa.table({"key": ["a", "b"], "value": [number, 10]})
        pq.write_table(table, folder / f"{number}.parquet")
    found = collect(totals(folder, tmp_path / "job"))
    assert [value for key, value in found if key == "b"] == [10, 20, 30]
    assert max(value for key, value in found if key == "a") == 3
    pq.write_table(pa.table({"key": ["a"], "value": [100]}), folder / "late.parquet")
    assert collect(totals(folder, tmp_path / "job")) == [("a", 103)]


def test_a_broken_file_is_named(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "broken.parquet").write_bytes(b"no parquet")
    with pytest.raises(ConnectorError, match="could not be read") as caught:
        collect(totals(folder, tmp_path / "job"))
    assert "broken.parquet" in str(caught.value)
