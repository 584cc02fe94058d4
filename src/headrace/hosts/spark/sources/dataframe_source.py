"""A DataFrame as a source, for `env.from_dataframe(df)`.

In: a streaming or batch DataFrame.  Out: a streaming DataFrame with the columns of its row type.
The source and its adapter are in one file, because only Spark has DataFrames.
Next: hosts/spark/types.py maps its schema.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from headrace.common.row_data_type import RowDataTypeInfo
from headrace.hosts.spark.sources.adapter import OpenedSource, SourceAdapter, SourceRequest
from headrace.hosts.spark.sources.layouts import ROWS
from headrace.hosts.spark.types import row_type_of, spark_schema_of, type_info_of
from headrace.spi.source import Boundedness, Obstacle, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.common.typeinfo import RowTypeInfo, TypeInformation

__all__ = ["DataFrameAdapter", "DataFrameSource"]


class DataFrameSource(Source):
    """The rows of a DataFrame of PySpark.

    A streaming DataFrame is used as it is, with Spark's guarantees for its source. A batch
    DataFrame is written once, as Parquet, into the job's directory and read from there: after a
    restart the job reads the same rows, even if the query behind the DataFrame would give others.

    Args:
        df: the DataFrame.
        lines: whether records are lines of a table, with the types of the Table API, or rows.
    """

    def __init__(self, df: DataFrame, *, lines: bool = False) -> None:
        self.df = df
        self._type_info: RowTypeInfo | RowDataTypeInfo = (
            RowDataTypeInfo(row_type_of(df.schema)) if lines else type_info_of(df.schema)
        )

    def __getstate__(self) -> dict[str, object]:
        # Spark reads the DataFrame, so it stays on the driver; workers need no copy.
        return {"df": None, "_type_info": self._type_info}

    def produced_type(self) -> RowTypeInfo | RowDataTypeInfo:
        """A row with one field a column, or a line."""
        return self._type_info

    def boundedness(self) -> Boundedness:
        """A batch DataFrame ends, a streaming one does not."""
        return Boundedness.CONTINUOUS_UNBOUNDED if self.df.isStreaming else Boundedness.BOUNDED

    def describe(self) -> str:
        """``DataFrameSource(batch: id, name)``."""
        kind = "streaming" if self.df.isStreaming else "batch"
        return f"DataFrameSource({kind}: {', '.join(self.df.columns)})"

    def place_obstacle(self) -> Obstacle | None:
        """A batch DataFrame's rows may come in another order for another job."""
        if self.df.isStreaming:
            return None
        return Obstacle(
            "is a batch DataFrame, whose rows are written again for every job: the savepoint's "
            "position among them is not known",
            fix="write the rows to files and read the files",
        )


class DataFrameAdapter(SourceAdapter[DataFrameSource]):
    """Reads a streaming DataFrame as it is, a batch one from a copy in the job's directory."""

    def open(self, source: DataFrameSource, request: SourceRequest) -> OpenedSource:
        return OpenedSource(
            opened_frame(as_typed(source.df, source.produced_type()), request), ROWS
        )

    def streams(self, source: DataFrameSource) -> int:
        return count_streams(source.df) if source.df.isStreaming else 1


def opened_frame(frame: DataFrame, request: SourceRequest) -> DataFrame:
    """A DataFrame as a streaming one of the job's session."""
    if frame.isStreaming:
        return _in_session(frame, request.spark)
    source_dir = f"{request.job_dir.rstrip('/')}/sources/{_file_name(request.source_id)}"
    return _from_files(frame, request.spark, source_dir, request.options.max_files_per_batch)


def count_streams(frame: DataFrame) -> int:
    """How many of Spark's sources a streaming DataFrame reads."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    return sum(bool(leaves.apply(i).isStreaming()) for i in range(leaves.size()))


def _file_name(source_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", source_id)


def _from_files(
    frame: DataFrame, spark: SparkSession, source_dir: str, max_files_per_batch: int | None
) -> DataFrame:
    """A batch DataFrame's rows as a stream; ``source_dir`` keeps them over restarts."""
    rows = (
        str(PurePosixPath(source_dir) / "rows") if "://" not in source_dir else f"{source_dir}/rows"
    )
    if not _is_written(spark, rows):
        # A half-written directory of a failed start has no _SUCCESS and is replaced.
        frame.write.mode("overwrite").parquet(rows)
    reader = spark.readStream.schema(frame.schema)
    if max_files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", max_files_per_batch)
    return reader.parquet(rows)


def _in_session(frame: DataFrame, spark: SparkSession) -> DataFrame:
    """The same DataFrame in another session of the same Spark.

    A query runs in the session of its DataFrame, with that session's state store and number of
    shuffle partitions; the user's session knows nothing of what the job needs. What the DataFrame
    was analysed with (time zone, ANSI mode, views, functions) it keeps.
    """
    jvm = spark._jvm
    assert jvm is not None
    plan = frame._jdf.queryExecution().analyzed()
    moved = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan)
    return ClassicDataFrame(moved, spark)


def as_typed(frame: DataFrame, kind: TypeInformation) -> DataFrame:
    """The columns of a type; casts what headrace keeps in one fixed form, such as decimals."""
    wanted = spark_schema_of(kind)
    return frame.select(
        *[
            frame[f"`{field.name}`"].cast(field.dataType).alias(field.name)
            for field in wanted.fields
        ]
    )


def _is_written(spark: SparkSession, path: str) -> bool:
    jvm = spark._jvm
    assert jvm is not None
    marker = jvm.org.apache.hadoop.fs.Path(f"{path}/_SUCCESS")
    return bool(marker.getFileSystem(spark._jsc.hadoopConfiguration()).exists(marker))
