"""Many JSON objects to Arrow columns at once, where that gives what record by record would.

In: messages, each one JSON object.  Out: a batch with the columns of the row's type, or None.
Next: json_objects.py (flat objects), json_deserialization.py, which goes record by record

Both msgspec and, for nested types, Arrow's reader take a stream of JSON objects and are strict
about types, so what Flink reads leniently (a number as text, 1.0 as LONG) is an error in them,
never another value. What is left to check is written at each check below. Measured in
benchmarks/formats.py: about 0.5 microseconds for an object of 80 bytes and five fields with either,
a sixth of the json module's time for parsing alone; larger objects with fewer fields go faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    _ElementTypeInfo,
)
from headrace.data.codec import codec_for
from headrace.formats.column_texts import (
    ColumnsDiffer,
    dates,
    iso_times,
    iso_timestamps,
    joined,
)
from headrace.formats.json_objects import ObjectReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import TypeInformation

__all__ = ["JsonColumns"]

_BLOCK_BYTES = 1 << 20
# The json module gives up at some 1000 levels, depending on the stack; Arrow's reader does not.
_DEPTH = 300
_SHORT_MESSAGE = 2 * _DEPTH

_SAME = {
    BasicType.STRING: pa.string(),
    BasicType.BOOLEAN: pa.bool_(),
    BasicType.BYTE: pa.int8(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.DOUBLE: pa.float64(),
    BasicType.FLOAT: pa.float64(),
}
_TEXTS: dict[type, Callable[[pa.Array], pa.Array]] = {
    DateTypeInfo: dates,
    TimeTypeInfo: iso_times,
    TimestampTypeInfo: iso_timestamps,
}
_LOCAL_TEXTS = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: dates,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: iso_times,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: iso_timestamps,
}


class _NoColumnForm(Exception):
    """A type that is read record by record."""


class JsonColumns:
    """Reads batches of messages of one row type.

    Args:
        row: the type of the records.
        complete: whether a missing field is an error.
    """

    def __init__(self, row: RowTypeInfo, *, complete: bool) -> None:
        self._schema = codec_for(row).schema
        self._complete = complete
        names = row.get_field_names()
        self._fields = [
            _Field(name, kind) for name, kind in zip(names, row.get_field_types(), strict=True)
        ]
        read = pa.schema([pa.field(field.name, field.read_as) for field in self._fields])
        self._objects = ObjectReader.of(read.names, read.types)
        self._parse = pj.ParseOptions(explicit_schema=read, unexpected_field_behavior="ignore")

    @staticmethod
    def of(row: RowTypeInfo, *, complete: bool) -> JsonColumns | None:
        """The reader for a type; None if a part of it has no column form."""
        try:
            return JsonColumns(row, complete=complete) if row.get_field_types() else None
        except _NoColumnForm:
            return None

    def read(self, messages: pa.BinaryArray) -> pa.RecordBatch | None:
        """The records as columns; None if they must be read one by one."""
        if not len(messages):
            return _empty(self._schema)
        texts = _objects(messages)
        if texts is None:
            return None
        try:
            found = self._fields_of(texts)
            arrays = [
                field.convert(array) for field, array in zip(self._fields, found, strict=True)
            ]
        except (pa.ArrowException, ColumnsDiffer):
            return None
        # A null may be null in the message or not be there at all.
        if self._complete and any(map(_any_null, arrays)):
            return None
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _fields_of(self, texts: pa.StringArray) -> list[pa.Array]:
        found = None if self._objects is None else self._objects.read(texts)
        if found is not None:
            return found
        table = pj.read_json(pa.BufferReader(joined(texts)), _options(texts), self._parse)
        if table.num_rows != len(texts):
            raise ColumnsDiffer
        table = table.combine_chunks()
        return [_whole(table.column(field.name)) for field in self._fields]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)


def _objects(messages: pa.BinaryArray) -> pa.StringArray | None:
    """The messages as texts; None if one could be other than one object.

    If each begins with { and ends with }, and all of them joined by line feeds are valid, then each
    is one or more objects: a line feed is not allowed within a string, and between } and { within
    an object or array there would have to be a comma. As many objects as messages then means one
    each.
    """
    if messages.null_count:
        return None
    try:
        texts = messages.cast(pa.string())  # refuses what is not UTF-8, also in fields nobody reads
    except pa.ArrowInvalid:
        return None
    if not _all_objects(texts):
        texts = pc.ascii_trim(texts, " \t\r\n")
        if not _all_objects(texts):
            return None
    return None if _too_deep(texts) else texts


def _options(texts: pa.StringArray) -> pj.ReadOptions:
    # Blocks of 1 MB are the fastest, but a block must hold the longest object.
    longest = pc.max(pc.binary_length(texts)).as_py()
    # One thread: a worker has one core, and a pool of them costs more than it gives.
    return pj.ReadOptions(use_threads=False, block_size=max(_BLOCK_BYTES, longest + 2))


def _all_objects(texts: pa.StringArray) -> bool:
    opened, closed = pc.starts_with(texts, "{"), pc.ends_with(texts, "}")
    return bool(pc.all(opened).as_py() and pc.all(closed).as_py())


def _too_deep(texts: pa.StringArray) -> bool:
    lengths = pc.binary_length(texts)
    if pc.max(lengths).as_py() <= _SHORT_MESSAGE:
        return False
    long = texts.filter(pc.greater(lengths, _SHORT_MESSAGE))
    depth = pc.add(pc.count_substring(long, "["), pc.count_substring(long, "{"))
    return bool(pc.max(depth).as_py() > _DEPTH)


def _any_null(array: pa.Array) -> bool:
    if array.null_count:
        return True
    if pa.types.is_struct(array.type):
        return any(map(_any_null, array.flatten()))
    if pa.types.is_list(array.type):
        return _any_null(array.flatten())
    return False


class _Field:
    """One field: what it is read as, and how that becomes the column."""

    def __init__(self, name: str, kind: TypeInformation) -> None:
        self.name = name
        self.read_as, self.convert = _reading(kind)


def _reading(kind: TypeInformation) -> tuple[pa.DataType, Callable[[pa.Array], pa.Array]]:
    if isinstance(kind, ExternalTypeInfo):
        return _reading(kind.type_info)
    if isinstance(kind, BasicTypeInfo) and kind.basic_type in _SAME:
        return _SAME[kind.basic_type], _SCALARS.get(kind.basic_type, _as_it_is)
    if isinstance(kind, LocalTimeTypeInfo):
        return pa.string(), _LOCAL_TEXTS[kind.time_type]
    if type(kind) in _TEXTS:
        return pa.string(), _TEXTS[type(kind)]
    if isinstance(kind, RowTypeInfo) and kind.get_field_types():
        return _reading_row(kind)
    if isinstance(kind, _ElementTypeInfo) and kind != PrimitiveArrayTypeInfo(
        BasicTypeInfo(BasicType.BYTE)
    ):
        return _reading_list(kind)
    # MAP: Arrow reads pairs, not objects.  Decimals and big integers are texts in our columns.
    raise _NoColumnForm


def _reading_row(kind: RowTypeInfo) -> tuple[pa.DataType, Callable[[pa.Array], pa.Array]]:
    names = kind.get_field_names()
    parts = list(map(_reading, kind.get_field_types()))
    read_as = pa.struct([pa.field(n, part[0]) for n, part in zip(names, parts, strict=True)])
    converts = [part[1] for part in parts]

    def convert(array: pa.Array) -> pa.Array:
        children = [convert(array.field(i)) for i, convert in enumerate(converts)]
        mask = array.is_null() if array.null_count else None
        fields = [pa.field(n, c.type) for n, c in zip(names, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)

    return read_as, convert


def _reading_list(kind: _ElementTypeInfo) -> tuple[pa.DataType, Callable[[pa.Array], pa.Array]]:
    element, convert_element = _reading(kind.element_type)
    nullable = not isinstance(kind, PrimitiveArrayTypeInfo)

    def convert(array: pa.Array) -> pa.Array:
        children = convert_element(array.values)
        if not nullable and children.null_count:
            raise ColumnsDiffer
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(array.offsets, children, mask=mask)

    return pa.list_(element), convert


def _as_it_is(array: pa.Array) -> pa.Array:
    return array


def _doubles(array: pa.Array) -> pa.Array:
    # Record by record, -0 is a whole number and becomes 0.0; Arrow reads -0.0.
    numbers: Any = array.fill_null(1).to_numpy() if array.null_count else array.to_numpy()
    if np.signbit(numbers[numbers == 0]).any():
        raise ColumnsDiffer
    return array


def _floats(array: pa.Array) -> pa.Array:
    return _doubles(array).cast(pa.float32(), safe=False)


_SCALARS = {BasicType.DOUBLE: _doubles, BasicType.FLOAT: _floats}
