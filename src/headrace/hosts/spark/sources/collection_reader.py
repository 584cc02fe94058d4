"""A list of the program as files beside the checkpoint: no Python process has to hand it out.

Spark runs a Python data source with four processes of its own, which costs seconds; a collection is
finished before the query starts, so a file source can read it.  Cells hold many records each, as
pickles or Arrow batches.  Next: hosts/spark/microbatch/worker.py opens the cells.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.data.codec import codec_for
from headrace.data.pickling import dumps

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.collection.source import CollectionSource

PICKLED_CELLS, ARROW_CELLS = "pickled", "__arrow"
_RECORDS_PER_CELL = 10_000


def open_collection(
    source: CollectionSource, spark: SparkSession, folder: Path, max_records: int
) -> DataFrame:
    """The collection as a stream of files, at most `max_records` a batch."""
    typed = codec_for(source.produced_type()).schema is not None
    name = ARROW_CELLS if typed else PICKLED_CELLS
    if not folder.exists():  # after a restart they are there already
        _write(source, folder, name, max_records)
    return (
        spark.readStream.schema(f"{name} binary")
        .option("maxFilesPerTrigger", 1)
        .option("maxFileAge", "36500d")
        .parquet(str(folder))
    )


def _write(source: CollectionSource, folder: Path, name: str, max_records: int) -> None:
    hidden = folder.with_name(f".{folder.name}")
    hidden.mkdir(parents=True, exist_ok=True)
    total = source.latest_offset("0", 0)
    for number, start in enumerate(range(0, total, max_records)):
        cells = pa.array(_cells(source, start, min(start + max_records, total)), pa.binary())
        file = hidden / f"part-{number:06d}.parquet"
        pq.write_table(pa.table({name: cells}), file, compression="lz4")
        os.utime(file, (number + 1, number + 1))  # Spark takes files in the order of their times
    hidden.rename(folder)


def _cells(source: CollectionSource, start: int, end: int) -> Iterator[bytes]:
    columns = source.read_columns("0", start, end)
    if columns is not None:
        for batch in columns:
            yield batch.serialize().to_pybytes()
        return
    for first in range(start, end, _RECORDS_PER_CELL):
        records = list(source.read("0", first, min(first + _RECORDS_PER_CELL, end)))
        yield dumps(records)
