"""Reads Parquet files in the worker that needs their records, as columns from the start.

In: paths, which Spark lists and puts into batches.  Out: Records.  Spark's own reader would turn
columns into rows, and the rows into columns again on their way to Python: half of what the JVM did
in benchmark `state`.  Next: hosts/spark/sources/layouts.py, readers.py
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.common.typeinfo import BasicType, BasicTypeInfo
from headrace.data.records import Records
from headrace.errors import ConnectorError
from headrace.formats.parquet_columns import ColumnMisfit, fitted, name_in

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
    with explained(uri), pq.ParquetFile(path, memory_map=True) as file:
        for batch in column_batches(file, codec.schema or pa.schema([]), uri):
            yield Records(batch=batch, codec=codec)


def column_batches(
    file: pq.ParquetFile, schema: pa.Schema, uri: str, groups: list[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """The declared columns of a file, or of some of its row groups, some rows at a time.

    Raises:
        ConnectorError: a column has another type.
    """
    present = file.schema_arrow.names
    names = {field.name: name_in(present, field.name) for field in schema}
    stored = file.schema_arrow
    wanted = [
        leaf
        for field in schema
        if (name := names[field.name]) is not None
        for leaf in _leaves(name, stored.field(name).type, field.type)
    ]
    if groups is None:
        groups = list(range(file.num_row_groups))
    for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=groups, columns=wanted):
        found = batch.schema.names
        columns = [
            pa.nulls(batch.num_rows, field.type)
            if (name := names[field.name]) is None
            else _column(batch.column(found.index(name)), field, uri)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _leaves(path: str, stored: pa.DataType, declared: pa.DataType) -> list[str]:
    """What has to be read of a column: of a struct only the declared fields."""
    if not (pa.types.is_struct(stored) and pa.types.is_struct(declared)):
        return [path]
    names = [field.name for field in stored]
    pairs = [(name_in(names, field.name), field.type) for field in declared]
    found = [
        leaf
        for name, kind in pairs
        if name is not None
        for leaf in _leaves(f"{path}.{name}", stored.field(name).type, kind)
    ]
    return found or [path]  # whether it is NULL is still to be seen


@contextlib.contextmanager
def explained(uri: str) -> Iterator[None]:
    """Turns errors of Arrow and of the file system into ours."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise ConnectorError(
            f"a file could not be read: {str(error).strip():.300}",
            where=uri,
            fix="restore the file; keep out a file that does not belong here with "
            "set_option('pathGlobFilter', '*.parquet')",
        ) from error


def _column(column: pa.Array, field: pa.Field, uri: str) -> pa.Array:
    try:
        return fitted(column, field.type)
    except ColumnMisfit as misfit:
        raise ConnectorError(
            f"column {field.name!r} of the file {misfit}",
            where=uri,
            fix="declare the type that its columns have",
        ) from None
