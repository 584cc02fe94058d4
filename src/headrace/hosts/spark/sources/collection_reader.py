"""A list of the program as files beside the checkpoint: no Python process has to hand it out.

Spark runs a Python data source with four processes of its own, which costs seconds; a collection is
finished before the query starts, so a file source can read it.  Cells hold many records each, as
pickles or Arrow batches.  Next: layouts.py opens the cells.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.connectors.collection.source import CollectionSource
from headrace.data.codec import codec_for
from headrace.data.pickling import dumps
from headrace.hosts.spark.sources.adapter import OpenedSource, SourceAdapter, SourceRequest
from headrace.hosts.spark.sources.layouts import ARROW_CELLS, PICKLED_CELLS, SourceLayout
from headrace.hosts.spark.sources.python_adapter import PythonSourceAdapter
from headrace.io.storage import local_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The only column of the files; checkpoints of earlier versions have files with these names.
_COLUMN = {ARROW_CELLS: "__arrow", PICKLED_CELLS: "pickled"}
_RECORDS_PER_CELL = 10_000


class CollectionAdapter(SourceAdapter[CollectionSource]):
    """Writes a collection into the job's directory and lets Spark read the files.

    Where plain columns are asked for, or the directory is on another machine's disk, it is read
    like any other source that is written in Python.
    """

    def open(self, source: CollectionSource, request: SourceRequest) -> OpenedSource:
        here = local_path(request.job_dir)
        if request.columns or here is None:
            return PythonSourceAdapter().open(source, request)
        typed = codec_for(source.produced_type()).schema is not None
        layout = ARROW_CELLS if typed else PICKLED_CELLS
        folder = here / "sources" / request.source_id
        if not folder.exists():  # after a restart they are there already
            _write(source, folder, layout, request.options.max_records_per_batch)
        frame = (
            request.spark.readStream.schema(f"{_COLUMN[layout]} binary")
            .option("maxFilesPerTrigger", 1)
            .option("maxFileAge", "36500d")
            .parquet(str(folder))
        )
        return OpenedSource(frame, layout)


def _write(source: CollectionSource, folder: Path, layout: SourceLayout, max_records: int) -> None:
    hidden = folder.with_name(f".{folder.name}")
    hidden.mkdir(parents=True, exist_ok=True)
    total = source.latest_offset("0", 0)
    for number, start in enumerate(range(0, total, max_records)):
        cells = pa.array(_cells(source, start, min(start + max_records, total)), pa.binary())
        file = hidden / f"part-{number:06d}.parquet"
        pq.write_table(pa.table({_COLUMN[layout]: cells}), file, compression="lz4")
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
