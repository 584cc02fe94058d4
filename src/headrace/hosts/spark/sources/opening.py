"""Opens any source as a streaming DataFrame: finds the adapter of its class and asks that.

In: a `Source` of the program.  Out: an `OpenedSource`: the DataFrame and the layout of its rows.
Next: adapter.py (what an adapter is), then python_adapter.py, file_reader.py, collection_reader.py
or dataframe_source.py beside this file.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from headrace.connectors.collection.source import CollectionSource
from headrace.connectors.files.source import FileSource
from headrace.connectors.spark_tables.source import SparkTableSource
from headrace.hosts.spark.sources.adapter import SourceOptions, SourceRequest
from headrace.hosts.spark.sources.collection_reader import CollectionAdapter
from headrace.hosts.spark.sources.dataframe_source import DataFrameAdapter, DataFrameSource
from headrace.hosts.spark.sources.file_reader import FileAdapter
from headrace.hosts.spark.sources.python_adapter import PythonSourceAdapter
from headrace.hosts.spark.sources.spark_tables import SparkTableAdapter
from headrace.spi.job_spec import JobSpec
from headrace.spi.python_source import PythonSource
from headrace.spi.source_adapters import SourceAdapters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from headrace.common.opaque import JsonObject, JsonValue
    from headrace.hosts.spark.sources.adapter import SourceAdapter
    from headrace.plan.physical import SourcePlan
    from headrace.spi.source import Source

__all__ = [
    "ADAPTERS",
    "SourceOptions",
    "are_exhausted",
    "open_source",
    "pending_reports",
    "streams_of",
]

# Any: each adapter reads one class of sources, and the table pairs them
ADAPTERS: SourceAdapters[SourceAdapter[Any]] = SourceAdapters(
    "Spark",
    group="headrace.spark_sources",
    shipped={
        CollectionSource: CollectionAdapter(),
        DataFrameSource: DataFrameAdapter(),
        FileSource: FileAdapter(),
        PythonSource: PythonSourceAdapter(),
        SparkTableSource: SparkTableAdapter(),
    },
    fix="derive your source from PythonSource, or register a SourceAdapter for it",
)


def open_source(
    source: Source,
    spark: SparkSession,
    job_dir: str,
    options: SourceOptions | None = None,
    *,
    source_id: str = "source",
) -> DataFrame:
    """A source as a streaming DataFrame of plain columns. Nothing is read before a query starts.

    Args:
        source: any source of headrace.
        spark: the session that will run the query.
        job_dir: the job's directory, the same one after a restart; may be a URI.
        options: limits of a batch; those of a job that sets nothing if None.
        source_id: names the source within the job, the same after a restart (its uid).

    Raises:
        ConnectorError: a path does not exist.
        UnserializableFunctionError: a source written in Python cannot be pickled.
        UnsupportedStepError: the source is of a kind that Spark has no reader for.
    """
    limits = options or SourceOptions.of(JobSpec(source_id, parallelism=1))
    request = SourceRequest(spark, job_dir, source_id, limits, columns=True)
    return ADAPTERS.of(source).open(source, request).frame


def streams_of(source: Source, *, where: object = None) -> int:
    """How many of Spark's sources a source is: each has an offset of its own in the checkpoint."""
    return ADAPTERS.of(source, where=where).streams(source)


def pending_reports(
    plans: Sequence[SourcePlan], progress: JsonObject | None
) -> Iterator[tuple[int, dict[str, JsonObject]]]:
    """What waits in the sources that count it, by Spark's report on a batch."""
    streams = iter(() if progress is None else progress["sources"])
    for plan in plans:
        own = list(islice(streams, ADAPTERS.of(plan.source).streams(plan.source)))
        if not (own and plan.source.counts_pending):
            continue
        position, latest = (_json(own[0].get(key)) for key in ("endOffset", "latestOffset"))
        if position is not None and latest is not None:
            adapter = ADAPTERS.of(plan.source)
            yield from adapter.reports(plan.step.stable_id, plan.source, position, latest)


def _json(text: JsonValue) -> JsonValue:
    return json.loads(text) if isinstance(text, str) else text


def are_exhausted(sources: Sequence[Source], offsets: Sequence[JsonValue]) -> bool:
    """Whether every source that may hold records back has given them all.

    Args:
        sources: of the job, in its order.
        offsets: of all their streams, in the same order; fewer if no batch has run yet.
    """
    first = 0
    for source in sources:
        adapter = ADAPTERS.of(source)
        last = first + adapter.streams(source)
        if source.may_hold_back():
            own = offsets[first:last]
            if len(own) < last - first:
                return False
            if not source.is_exhausted(adapter.position(source, own)):
                return False
        first = last
    return True
