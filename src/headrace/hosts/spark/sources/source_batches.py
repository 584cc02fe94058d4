"""Records of a Python source as Arrow batches in the layout that stage 0 expects.

In: a range of one split.  Out: the columns of the produced type (or one column ``pickled``), then
``__ts`` and ``__split`` where the source has them.  Next: hosts/spark/sources/python_source.py,
data/codec.py. Runs in Python workers; imports no pyspark.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.data.codec import DoesNotFit, codec_for
from headrace.data.pickling import dumps
from headrace.errors import HeadraceError, TypeMismatchError
from headrace.runtime.operators.base import user_code_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.opaque import Record
    from headrace.common.typeinfo import TypeInformation
    from headrace.errors import UserFunctionError
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
TIMESTAMP_COLUMN = "__ts"
SPLIT_COLUMN = "__split"

_RECORDS_PER_BATCH = 10_000
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
        source: read through `read_columns` if it has columns, else through `read`.
        split: the split's name.
        start: first offset.
        end: offset after the last.
        schema: record columns, then timestamp and split columns, as Spark wants them.

    Raises:
        UserFunctionError: the source's code raised.
        TypeMismatchError: a record is not of the produced type.
    """
    try:
        columns = source.read_columns(split, start, end)
        batches = _encoded(source, split, start, end) if columns is None else columns
        for batch in batches:
            yield fit_schema(_with_split(source, split, batch), schema)
    except HeadraceError:
        raise
    except Exception as error:
        raise _user_error(source, split, start, end, error) from error


def _encoded(
    source: PythonSource, split: str, start: Offset, end: Offset
) -> Iterator[pa.RecordBatch]:
    codec = codec_for(source.produced_type())
    records = iter(source.read(split, start, end))
    count = 0
    while chunk := list(islice(records, _RECORDS_PER_BATCH)):
        try:
            batch = _pickled(chunk) if codec.schema is None else codec.encode(chunk)
        except DoesNotFit as misfit:
            raise _mismatch(
                source, split, _named(start, count + misfit.index), chunk, misfit
            ) from None
        if source.has_timestamps():
            batch = _with_timestamps(source, chunk, batch, in_chunks=codec.schema is None)
        yield batch
        count += len(chunk)


def _pickled(records: list[Record]) -> pa.RecordBatch:
    cells = [dumps(chunk) for chunk in _chunks(records)]
    return pa.record_batch({PICKLED_COLUMN: pa.array(cells, pa.binary())})


def _with_timestamps(
    source: PythonSource, records: list[Record], batch: pa.RecordBatch, *, in_chunks: bool
) -> pa.RecordBatch:
    times = list(map(source.timestamp, records))
    # A pickled cell holds many records, so its timestamp column holds a list of as many.
    column = (
        pa.array(_chunks(times), pa.list_(pa.int64())) if in_chunks else pa.array(times, pa.int64())
    )
    return batch.append_column(TIMESTAMP_COLUMN, column)


def _chunks(values: list[Record]) -> list[list[Record]]:
    step = _RECORDS_PER_PICKLE
    return [values[i : i + step] for i in range(0, len(values), step)]


def _with_split(source: PythonSource, split: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    if not source.has_splits():
        return batch
    return batch.append_column(SPLIT_COLUMN, pa.repeat(pa.scalar(split), batch.num_rows))


def fit_schema(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """``batch`` with exactly the types of ``schema``; Spark refuses any other.

    The columns must have the right names; a cast changes units, zones and nested names only.
    """
    if batch.schema.equals(schema):
        return batch
    if batch.schema.names != schema.names:
        raise TypeMismatchError(
            f"a source returned the columns {batch.schema.names} instead of {schema.names}",
            fix="return the columns of the produced type from read_columns, in this order",
        )
    arrays = [
        array if array.type.equals(field.type) else array.cast(field.type)
        for array, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _named(start: Offset, index: int) -> str:
    """A record of a range, for people: its number, if offsets are numbers."""
    return str(start + index) if isinstance(start, int) else f"{index} behind {json.dumps(start)}"


def _mismatch(
    source: PythonSource, split: str, record: str, chunk: list[Record], misfit: DoesNotFit
) -> TypeMismatchError:
    part = f", field {misfit.field!r}" if misfit.field else ""
    return TypeMismatchError(
        f"{source.describe()} produced a record that is not of its type: record "
        f"{record} of split {split!r}{part} is {misfit.value!r} "
        f"({type(misfit.value).__name__}), which does not fit {misfit.expected}; "
        f"the whole record: {chunk[misfit.index]!r:.120}",
        fix=f"correct the record or the produced type {source.produced_type()}",
    )


def _user_error(
    source: PythonSource, split: str, start: Offset, end: Offset, error: Exception
) -> UserFunctionError:
    wrapped = user_code_error(error, source.describe(), None)
    wrapped.message = (
        f"{source.describe()} failed to read split {split!r} from offset {start} to {end}: "
        f"{wrapped.original}"
    )
    wrapped.fix = "see the traceback below; the job reads the same range again after a restart"
    wrapped.step = source.describe()
    return wrapped
