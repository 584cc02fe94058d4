"""Reads Parquet files in the worker that needs their records, as columns from the start.

In: paths, which Spark lists and puts into batches.  Out: Records.  Spark's own reader would turn
columns into rows, and the rows into columns again on their way to Python: half of what the JVM did
in benchmark `state`.  Next: hosts/spark/sources/layouts.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.common.typeinfo import BasicType, BasicTypeInfo
from headrace.data.records import Records
from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.typeinfo import RowTypeInfo
    from headrace.data.codec import Codec

_ROWS_AT_ONCE = 100_000
# Columns of these types are the same in a file and on an exchange.
_PLAIN = {
    BasicType.BOOLEAN,
    BasicType.SHORT,
    BasicType.INT,
    BasicType.LONG,
    BasicType.FLOAT,
    BasicType.DOUBLE,
    BasicType.STRING,
}


def is_plain(row_type: RowTypeInfo) -> bool:
    """Whether all fields have types that can be read here."""
    kinds = row_type.get_field_types()
    return all(isinstance(kind, BasicTypeInfo) and kind.basic_type in _PLAIN for kind in kinds)


def read_parquet(uri: str, codec: Codec) -> Iterator[Records]:
    """The records of a file, some at a time.

    Raises:
        ConnectorError: it is not there, is not a Parquet file, or has a column of another type.
    """
    path = unquote(urlparse(uri).path)
    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            present = set(file.schema_arrow.names)
            wanted = [field.name for field in codec.schema or () if field.name in present]
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=wanted):
                yield Records(batch=_fitted(batch, codec, uri), codec=codec)
    except (pa.ArrowException, OSError) as error:
        raise ConnectorError(
            f"a file could not be read: {str(error).strip():.300}",
            where=uri,
            fix="restore the file; keep out a file that does not belong here with "
            "set_option('pathGlobFilter', '*.parquet')",
        ) from error


def _fitted(batch: pa.RecordBatch, codec: Codec, uri: str) -> pa.RecordBatch:
    """The declared columns; a column that the file does not have is None."""
    names = batch.schema.names
    columns = [
        _column(batch.column(names.index(field.name)), field, uri)
        if field.name in names
        else pa.nulls(batch.num_rows, field.type)
        for field in codec.schema or ()
    ]
    return pa.RecordBatch.from_arrays(columns, schema=codec.schema)


def _column(column: pa.Array, field: pa.Field, uri: str) -> pa.Array:
    if column.type == field.type:
        return column
    if not _widens(column.type, field.type):
        raise ConnectorError(
            f"column {field.name!r} of the file is {column.type}, where {field.type} is declared",
            where=uri,
            fix="declare the type that its columns have",
        )
    return column.cast(field.type)


def _widens(stored: pa.DataType, declared: pa.DataType) -> bool:
    """Whether every value of a type is one of another."""
    if pa.types.is_string(declared):
        return bool(pa.types.is_large_string(stored) or pa.types.is_dictionary(stored))
    if pa.types.is_signed_integer(stored) and pa.types.is_signed_integer(declared):
        return bool(stored.bit_width <= declared.bit_width)
    if pa.types.is_float64(declared):
        return bool(
            pa.types.is_float32(stored)
            or (pa.types.is_signed_integer(stored) and stored.bit_width <= 32)
        )
    return False
