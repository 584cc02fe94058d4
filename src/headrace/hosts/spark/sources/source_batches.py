"""Records of a Python source as Arrow batches for Spark: where Catalyst goes on with them.

In: a range of one split.  Out: the columns of the produced type (or one column ``pickled``), then
``__ts`` and ``__split`` where the source has them.  Next: hosts/spark/sources/python_source.py,
hosts/source_ranges.py. Runs in Python workers; imports no pyspark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.data.codec import codec_for
from headrace.data.pickling import dumps
from headrace.hosts.source_ranges import fit_schema, read_range
from headrace.spi.python_source import TIMESTAMP_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.opaque import Record
    from headrace.common.typeinfo import TypeInformation
    from headrace.data.records import Records
    from headrace.spi.python_source import Offset, PythonSource

__all__ = [
    "PICKLED_COLUMN",
    "SPLIT_COLUMN",
    "TIMESTAMP_COLUMN",
    "column_schema",
    "fit_schema",
    "read_batches",
]

PICKLED_COLUMN = "pickled"
SPLIT_COLUMN = "__split"

_RECORDS_PER_PICKLE = 1_000


def column_schema(type_info: TypeInformation) -> pa.Schema:
    """The record columns of a stream of this type: the codec's, or one of pickled chunks."""
    schema = codec_for(type_info).schema
    return pa.schema([(PICKLED_COLUMN, pa.binary())]) if schema is None else schema


def read_batches(
    source: PythonSource, split: str, start: Offset, end: Offset, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The records of ``[start, end)`` as batches of ``schema``.

    Args:
        source: what is read.
        split: the split's name.
        start: first offset.
        end: offset after the last.
        schema: record columns, then timestamp and split columns, as Spark wants them.

    Raises:
        UserFunctionError: the source's code raised.
        TypeMismatchError: a record is not of the produced type.
    """
    codec = codec_for(source.produced_type())
    for records in read_range(source, split, start, end, codec):
        batch = _pickled(records) if codec.schema is None else _columns(records)
        if source.has_splits():
            names = pa.repeat(pa.scalar(split), batch.num_rows)
            batch = batch.append_column(SPLIT_COLUMN, names)
        yield fit_schema(batch, schema)


def _columns(records: Records) -> pa.RecordBatch:
    batch = records.batch
    assert batch is not None
    if records.timestamps is None:
        return batch
    return batch.append_column(TIMESTAMP_COLUMN, pa.array(records.timestamps, pa.int64()))


def _pickled(records: Records) -> pa.RecordBatch:
    cells = [dumps(chunk) for chunk in _chunks(records.values)]
    batch = pa.record_batch({PICKLED_COLUMN: pa.array(cells, pa.binary())})
    if records.timestamps is None:
        return batch
    # A pickled cell holds many records, so its timestamp column holds a list of as many.
    times = pa.array(_chunks(records.timestamps), pa.list_(pa.int64()))
    return batch.append_column(TIMESTAMP_COLUMN, times)


def _chunks(values: list[Record]) -> list[list[Record]]:
    step = _RECORDS_PER_PICKLE
    return [values[i : i + step] for i in range(0, len(values), step)]
