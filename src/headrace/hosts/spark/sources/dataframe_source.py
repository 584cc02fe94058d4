"""A DataFrame as a source, for `env.from_dataframe(df)`.

In: a streaming or batch DataFrame.  Out: a streaming DataFrame with the columns of its row type.
Next: hosts/spark/types.py maps its schema.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from headrace.hosts.spark.types import spark_schema_of, type_info_of
from headrace.spi.source import Boundedness, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.common.typeinfo import RowTypeInfo

__all__ = ["DataFrameSource", "open_dataframe_source"]


class DataFrameSource(Source):
    """The rows of a DataFrame of PySpark.

    A streaming DataFrame is used as it is, with Spark's guarantees for its source. A batch
    DataFrame is written once, as Parquet, into the job's directory and read from there: after a
    restart the job reads the same rows, even if the query behind the DataFrame would give others.
    """

    def __init__(self, df: DataFrame) -> None:
        self.df = df
        self._type_info = type_info_of(df.schema)

    def __getstate__(self) -> dict[str, Any]:
        # Spark reads the DataFrame, so it stays on the driver; workers need no copy.
        return {"df": None, "_type_info": self._type_info}

    def produced_type(self) -> RowTypeInfo:
        """A row with one field a column."""
        return self._type_info

    def boundedness(self) -> Boundedness:
        """A batch DataFrame ends, a streaming one does not."""
        return Boundedness.CONTINUOUS_UNBOUNDED if self.df.isStreaming else Boundedness.BOUNDED

    def describe(self) -> str:
        """``DataFrameSource(batch: id, name)``."""
        kind = "streaming" if self.df.isStreaming else "batch"
        return f"DataFrameSource({kind}: {', '.join(self.df.columns)})"


def open_dataframe_source(
    source: DataFrameSource,
    spark: SparkSession,
    source_dir: str,
    *,
    max_files_per_batch: int | None,
) -> DataFrame:
    """The streaming DataFrame; ``source_dir`` keeps a batch DataFrame's rows over restarts."""
    frame = _with_our_types(source)
    if frame.isStreaming:
        return _in_session(frame, spark)
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


def _with_our_types(source: DataFrameSource) -> DataFrame:
    """Casts what headrace keeps in one fixed form, such as decimals."""
    wanted = spark_schema_of(source.produced_type())
    frame = source.df
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
