"""Records of a declared type as Arrow batches, and back.

In: lists of records (runtime/exchange/buffers.py).  Out: pyarrow RecordBatches.  Next:
data/columns.py

What fits: fields, and values of one-column types, may be None (Arrow null), as in Flink's rows;
whole tuples and rows, keys of maps, and elements of primitive arrays may not. bool is not an int;
an int in a float column becomes a float; an int must be within its declared width. Named rows may
list their fields in any order.

Change kinds: ``encode`` takes rows of kind INSERT only, so that no kind is lost unseen. For streams
that may carry a changelog use ``encode_changelog``; it hands back the kinds as bytes, to be kept in
the buffer's header and given to ``decode``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.common.row_data_type import KIND_COLUMN, ChangeRowTypeInfo, RowDataTypeInfo
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ClassTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    ZonedTimestampTypeInfo,
    _ElementTypeInfo,
)
from headrace.data import columns as c
from headrace.data import scalar_columns as sc
from headrace.data.codec_base import FINDINGS, Codec, DoesNotFit, first_misfit
from headrace.data.record_shapes import (
    ClassShape,
    RowShape,
    TupleShape,
    row_kinds,
    with_row_kinds,
)
from headrace.data.row_data import RowDataCodec
from headrace.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Codec", "DoesNotFit", "codec_for"]

VALUE_COLUMN = "value"


class _ValueCodec(Codec):
    """One column: numbers, texts, lists, maps."""

    def __init__(self, type_info: TypeInformation, *, wraps: bool) -> None:
        super().__init__(type_info)
        self._column = _column_for(type_info, wraps=wraps)
        self.schema = pa.schema([pa.field(VALUE_COLUMN, self._column.arrow)])

    def encode(self, values: list[Any]) -> pa.RecordBatch:
        try:
            array = self._column.to_arrow(values)
        except FINDINGS as error:
            raise first_misfit(values, lambda value: self._column.fault(value, ""), error) from None
        return pa.RecordBatch.from_arrays([array], schema=self.schema)

    def decode(self, batch: pa.RecordBatch, kinds: bytes | None = None) -> list[Any]:
        return self._column.to_python(batch.column(0))


class _RecordCodec(Codec):
    """One column for each field: tuples, rows, instances of user classes."""

    def __init__(self, type_info: TypeInformation, *, wraps: bool) -> None:
        super().__init__(type_info)
        self._column = _record_column(type_info, wraps=wraps)
        self._changelog = _record_column(type_info, wraps=wraps, with_kinds=True)
        self._has_kinds = isinstance(self._changelog.shape, RowShape)
        self._arity = len(self._column.columns)
        self.schema = self._rows = pa.schema(list(self._column.arrow))

    def encode(self, values: list[Any]) -> pa.RecordBatch:
        return self._encode(values, self._column)

    def encode_changelog(self, values: list[Any]) -> tuple[pa.RecordBatch, bytes | None]:
        if not self._has_kinds:
            return self._encode(values, self._column), None
        return self._encode(values, self._changelog), row_kinds(values)

    def _encode(self, values: list[Any], column: c.RecordColumn) -> pa.RecordBatch:
        try:
            arrays = column.columns_of(values)
        except FINDINGS as error:
            raise first_misfit(values, lambda v: column.record_fault(v, ""), error) from None
        return pa.RecordBatch.from_arrays(arrays, schema=self._rows)

    def decode(self, batch: pa.RecordBatch, kinds: bytes | None = None) -> list[Any]:
        arrays = [batch.column(i) for i in range(self._arity)]
        records = self._column.records_of(arrays, batch.num_rows)
        return records if kinds is None else with_row_kinds(records, kinds)


class _ChangeRowCodec(_RecordCodec):
    """Rows with their kinds of change, which are the last column."""

    def __init__(self, type_info: ChangeRowTypeInfo, *, wraps: bool) -> None:
        super().__init__(type_info, wraps=wraps)
        self.schema = self._rows.append(pa.field(KIND_COLUMN, pa.int8()))

    def encode(self, values: list[Any]) -> pa.RecordBatch:
        batch, kinds = self.encode_changelog(values)
        column = pa.array(kinds or bytes(len(values)), pa.int8())
        return pa.RecordBatch.from_arrays([*batch.columns, column], schema=self.schema)

    def encode_changelog(self, values: list[Any]) -> tuple[pa.RecordBatch, bytes | None]:
        return self._encode(values, self._changelog), row_kinds(values)

    def decode(self, batch: pa.RecordBatch, kinds: bytes | None = None) -> list[Any]:
        if kinds is None:
            kinds = bytes(batch.column(self._arity).to_pylist())
        return super().decode(batch, kinds)


def codec_for(type_info: TypeInformation, *, wraps: bool = False) -> Codec:
    """The codec of a type. Build it once for a stream and keep it.

    Args:
        type_info: the type.
        wraps: an int of 64 bits that is too wide for its column loses its upper bits, as in Java.
    """
    if isinstance(type_info, ExternalTypeInfo):
        return codec_for(type_info.type_info, wraps=wraps)
    if isinstance(type_info, PickledBytesTypeInfo):
        return Codec(type_info)
    if isinstance(type_info, RowDataTypeInfo):
        return RowDataCodec(type_info)
    if isinstance(type_info, ChangeRowTypeInfo) and type_info.get_field_types():
        return _ChangeRowCodec(type_info, wraps=wraps)
    if isinstance(type_info, TupleTypeInfo | RowTypeInfo) and type_info.get_field_types():
        return _RecordCodec(type_info, wraps=wraps)
    if isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        return Codec(type_info)  # no fields, no columns: Spark and Arrow cannot count such rows
    return _ValueCodec(type_info, wraps=wraps)


_INTEGERS: dict[BasicType, pa.DataType] = {
    BasicType.BYTE: pa.int8(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
}

_BASIC: dict[BasicType, Callable[[], c.ColumnCodec]] = {
    BasicType.BOOLEAN: sc.bool_column,
    BasicType.FLOAT: lambda: sc.FloatColumn(pa.float32()),
    BasicType.DOUBLE: lambda: sc.FloatColumn(pa.float64()),
    BasicType.STRING: sc.string_column,
    BasicType.CHAR: sc.char_column,
    BasicType.BIG_INT: sc.big_int_column,
    BasicType.BIG_DEC: sc.decimal_column,
    BasicType.INSTANT: sc.instant_column,
}

_LOCAL: dict[LocalTimeTypeInfo.TimeType, Callable[[], c.ColumnCodec]] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: sc.date_column,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: sc.time_column,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: sc.timestamp_column,
}

_BY_CLASS: dict[type[TypeInformation], Callable[[], c.ColumnCodec]] = {
    DateTypeInfo: sc.date_column,
    TimeTypeInfo: sc.time_column,
    TimestampTypeInfo: sc.timestamp_column,
    ZonedTimestampTypeInfo: sc.zoned_timestamp_column,
    PickledBytesTypeInfo: sc.pickled_column,
}


def _column_for(info: TypeInformation, *, wraps: bool) -> c.ColumnCodec:
    if isinstance(info, BasicTypeInfo) and info.basic_type in _INTEGERS:
        column = sc.WrappingIntColumn if wraps else sc.IntColumn
        return column(_INTEGERS[info.basic_type])
    if isinstance(info, BasicTypeInfo):
        return _BASIC[info.basic_type]()
    if isinstance(info, TupleTypeInfo | RowTypeInfo):
        # Arrow and Parquet know no struct without fields.
        if not info.get_field_types():
            return sc.pickled_column()
        return _record_column(info, wraps=wraps)
    if isinstance(info, PrimitiveArrayTypeInfo):
        if info.element_type == BasicTypeInfo.BYTE_TYPE_INFO():
            return sc.BytesColumn()
        return c.ListColumn(_column_for(info.element_type, wraps=wraps), nullable=False)
    if isinstance(info, _ElementTypeInfo):
        return c.ListColumn(_column_for(info.element_type, wraps=wraps))
    if isinstance(info, MapTypeInfo):
        return c.MapColumn(
            _column_for(info.key_type, wraps=wraps), _column_for(info.value_type, wraps=wraps)
        )
    if isinstance(info, LocalTimeTypeInfo):
        return _LOCAL[info.time_type]()
    if isinstance(info, ExternalTypeInfo):
        return _column_for(info.type_info, wraps=wraps)
    if type(info) in _BY_CLASS:
        return _BY_CLASS[type(info)]()
    msg = f"no codec for type {info!r} of class {type(info).__name__}"
    raise InternalError(msg)


def _record_column(
    info: TypeInformation, *, wraps: bool, with_kinds: bool = False
) -> c.RecordColumn:
    assert isinstance(info, TupleTypeInfo | RowTypeInfo)
    names = info.get_field_names()
    shape: c.RecordShape
    if isinstance(info, ClassTypeInfo):
        shape = ClassShape(info)
    elif isinstance(info, TupleTypeInfo):
        shape = TupleShape(len(names))
    else:
        shape = RowShape(names, named=info.is_named, with_kinds=with_kinds)
    columns = [_column_for(kind, wraps=wraps) for kind in info.get_field_types()]
    return c.RecordColumn(names, columns, shape)
