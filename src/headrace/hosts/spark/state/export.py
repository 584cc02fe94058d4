"""Takes state out of a checkpoint: Spark's state store files -> entries as rows.

In: a checkpoint and the number of a committed batch; the job may be running meanwhile, since what
is committed does not change.  Out: a DataFrame of entries.  Next: runtime/savepoint/entries.py
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.data.pickling import UserCode
from headrace.hosts.spark.state.checkpoint_files import stateful_operators
from headrace.runtime.savepoint.entries import export
from headrace.runtime.savepoint.files import ROWS, to_batches
from headrace.runtime.savepoint.spooled import SpooledStore
from headrace.runtime.state.layouts import ProgramLayouts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ENTRIES = from_arrow_schema(ROWS)


def entries_frame(
    spark: SparkSession,
    checkpoint: str,
    batch_id: int,
    max_parallelism: Mapping[str, int],
    *,
    state: str | None = None,
) -> DataFrame | None:
    """Every entry of every operator after a batch; None if the job keeps nothing.

    Args:
        spark: any session.
        checkpoint: of the job's query.
        batch_id: a committed batch.
        max_parallelism: of every operator that may have state, by uid.
        state: only this one.
    """
    frames = [
        pages_frame(spark, checkpoint, operator, batch_id).mapInArrow(
            _exporter(dict(max_parallelism), state), ENTRIES
        )
        for operator in stateful_operators(checkpoint)
    ]
    return reduce(lambda one, other: one.unionAll(other), frames) if frames else None


def pages_frame(spark: SparkSession, checkpoint: str, operator: int, batch_id: int) -> DataFrame:
    """The pages of one stage, all those of a slot in one partition."""
    found = (
        spark.read.format("statestore")
        .option("path", checkpoint)
        .option("operatorId", str(operator))
        .option("batchId", str(batch_id))
        .option("stateVarName", "pages")
        .load()
    )
    return found.select(
        F.col("user_map_key.name").alias("name"), F.col("user_map_value.content").alias("content")
    )


def _exporter(
    max_parallelism: dict[str, int], state: str | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    user_code, layouts = UserCode.of_driver(), ProgramLayouts.of_driver()

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        user_code.adopt()
        layouts.adopt()
        pages = (
            (name, content)
            for batch in batches
            for name, content in zip(
                batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True
            )
        )
        with SpooledStore(pages) as store:
            yield from to_batches(export(store, max_parallelism, state))

    return run
