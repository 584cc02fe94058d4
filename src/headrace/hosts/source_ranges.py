"""A range of a Python source as records: the reading that all hosts share, done where they run.

In: a `PythonSource` and a range of one of its splits.  Out: `Records`, with Arrow columns where the
source's type has them.  Next: hosts/local/sources.py, hosts/spark/sources/layouts.py (stage 0 reads
by itself), hosts/spark/sources/source_batches.py (rows for Catalyst).  Imports no pyspark.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.data.codec import DoesNotFit
from headrace.data.records import Records
from headrace.errors import HeadraceError, TypeMismatchError
from headrace.runtime.operators.base import user_code_error
from headrace.spi.python_source import TIMESTAMP_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.opaque import Record
    from headrace.data.codec import Codec
    from headrace.errors import UserFunctionError
    from headrace.spi.python_source import Offset, PythonSource

__all__ = ["fit_schema", "read_range"]

_RECORDS_AT_ONCE = 10_000


def read_range(
    source: PythonSource, split: str, start: Offset, end: Offset, codec: Codec
) -> Iterator[Records]:
    """The records of ``[start, end)``, with their timestamps if the source has them.

    Args:
        source: read through `read_columns` if it has columns, else through `read`.
        split: the split's name.
        start: first offset.
        end: offset after the last.
        codec: of the source's type.

    Raises:
        UserFunctionError: the source's code raised.
        TypeMismatchError: a record is not of the produced type.
    """
    try:
        batches = source.read_columns(split, start, end)
        if batches is None:
            yield from _records(source, split, start, end, codec)
            return
        for batch in batches:
            yield _columns(source, batch, codec)
    except HeadraceError:
        raise
    except Exception as error:
        raise _user_error(source, split, start, end, error) from error


def _columns(source: PythonSource, batch: pa.RecordBatch, codec: Codec) -> Records:
    if codec.schema is None:
        raise TypeMismatchError(
            f"{source.describe()} has columns, but its type {source.produced_type()} has none",
            fix="say the type of the records in produced_type()",
        )
    times: list[int] | None = None
    if source.has_timestamps() and batch.schema.names[-1:] == [TIMESTAMP_COLUMN]:
        last = batch.num_columns - 1
        times = batch.column(last).to_numpy(zero_copy_only=False).tolist()
        batch = batch.select(list(range(last)))
    batch = fit_schema(batch, codec.schema)
    if source.has_timestamps() and times is None:
        times = list(map(source.timestamp, codec.decode(batch)))
    return Records(timestamps=times, batch=batch, codec=codec)


def _records(
    source: PythonSource, split: str, start: Offset, end: Offset, codec: Codec
) -> Iterator[Records]:
    records = iter(source.read(split, start, end))
    count = 0
    while chunk := list(islice(records, _RECORDS_AT_ONCE)):
        times = list(map(source.timestamp, chunk)) if source.has_timestamps() else None
        if codec.schema is None:
            yield Records(chunk, times)
        else:
            try:
                batch = codec.encode(chunk)
            except DoesNotFit as misfit:
                record = _named(start, count + misfit.index)
                raise _mismatch(source, split, record, chunk, misfit) from None
            yield Records(timestamps=times, batch=batch, codec=codec)
        count += len(chunk)


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
    wrapped.fix = "see its traceback; the job will read the same range again after a restart"
    wrapped.step = source.describe()
    return wrapped
