"""Tables of Spark's catalog as streaming DataFrames.

In: a `SparkTableSource`.  Out: what a DataFrame of that table would be (dataframe_source.py).
Next: layouts.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from headrace.connectors.spark_tables.source import SparkTableSource
from headrace.errors import ConnectorError
from headrace.hosts.spark.sources.adapter import OpenedSource, SourceAdapter, SourceRequest
from headrace.hosts.spark.sources.dataframe_source import as_typed, count_streams, opened_frame
from headrace.hosts.spark.sources.layouts import LINES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkTableAdapter(SourceAdapter[SparkTableSource]):
    """Lets Spark read a table; one that is read once is copied into the job's directory."""

    def open(self, source: SparkTableSource, request: SourceRequest) -> OpenedSource:
        return OpenedSource(opened_frame(_with_declared_columns(source), request), LINES)

    def streams(self, source: SparkTableSource) -> int:
        return count_streams(_frame(source)) if source.streaming else 1


def _frame(source: SparkTableSource) -> DataFrame:
    # views are those of a session: of the user's, or of the one that headrace started
    spark = SparkSession.builder.getOrCreate()
    reader = spark.readStream if source.streaming else spark.read
    try:
        return reader.options(**source.options).table(source.table)
    except AnalysisException as error:
        raise ConnectorError(
            f"Spark cannot read the table {source.table!r}: {str(error).splitlines()[0]:.300}",
            fix="see its name in Spark: spark.catalog.listTables(); a view of a batch query is no "
            "stream: leave 'streaming' out",
        ) from None


def _with_declared_columns(source: SparkTableSource) -> DataFrame:
    frame = _frame(source)
    missing = [name for name in source.columns.names if name not in frame.columns]
    if missing:
        raise ConnectorError(
            f"the table {source.table!r} of Spark has no column {missing[0]!r}",
            fix=f"it has {', '.join(frame.columns)}",
        )
    return as_typed(frame, source.produced_type())
