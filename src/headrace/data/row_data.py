"""Lines between SQL operators as Arrow batches: which Arrow type each type of SQL has.

    ROW<a INT, b DECIMAL(10, 2)>, with changes   ──▶   a: int32, b: decimal128(10, 2), $kind: int8

In: a `RowDataTypeInfo`.  Out: the codec of its lines, whose records are tuples of Python values.
Columns are nullable in Arrow whatever SQL says, so that lines need no copy where only that differs.
docs/architecture/path-of-a-statement.md has the table of types.  Next: runtime/table/lines.py
"""

from __future__ import annotations

import datetime
import decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as d
from headrace.common.row_data_type import KIND_COLUMN, RowDataTypeInfo
from headrace.data import scalar_columns as sc
from headrace.data.codec_base import FINDINGS, Codec, first_misfit
from headrace.data.columns import ColumnCodec, Fault, ListColumn, MapColumn, RecordColumn, each
from headrace.data.record_shapes import TupleShape
from headrace.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RowDataCodec", "arrow_schema", "arrow_type_of", "column_of"]


class RowDataCodec(Codec):
    """Lines as tuples of the Python values of their columns, and the kind last if there is one.

    Attributes:
        columns: the conversion of each column, without `$kind`.
        kind_column: whether the last column is `$kind`.
    """

    schema: pa.Schema

    def __init__(self, type_info: RowDataTypeInfo) -> None:
        super().__init__(type_info)
        names, kinds = type_info.get_field_names(), type_info.get_data_types()
        if not kinds:
            msg = "lines without columns cannot be counted in Arrow: keep one column"
            raise InternalError(msg)
        self.columns = [column_of(kind) for kind in kinds]
        self.kind_column = type_info.changes
        whole: list[ColumnCodec] = list(self.columns)
        if type_info.changes:
            names, whole = [*names, KIND_COLUMN], [*whole, sc.IntColumn(pa.int8())]
        self._lines = RecordColumn(names, whole, TupleShape(len(names)))
        self.schema = pa.schema(list(self._lines.arrow))

    def encode(self, values: list[Any]) -> pa.RecordBatch:
        try:
            arrays = self._lines.columns_of(values)
        except FINDINGS as error:
            raise first_misfit(
                values, lambda value: self._lines.record_fault(value, ""), error
            ) from None
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def decode(self, batch: pa.RecordBatch, kinds: bytes | None = None) -> list[Any]:
        arrays = [batch.column(i) for i in range(len(self.schema))]
        return self._lines.records_of(arrays, batch.num_rows)


def arrow_schema(type_info: RowDataTypeInfo) -> pa.Schema:
    """The columns of a stream of lines."""
    return RowDataCodec(type_info).schema


def arrow_type_of(data_type: d.DataType) -> pa.DataType:
    """The Arrow type of a column."""
    return column_of(data_type).arrow


class _DecimalColumn(ColumnCodec):
    """Decimal numbers of a fixed number of digits; whole numbers are taken, too."""

    def __init__(self, precision: int, scale: int) -> None:
        self.arrow = pa.decimal128(precision, scale)
        self.expected = f"decimal.Decimal that fits DECIMAL({precision}, {scale})"

    def to_arrow(self, values: list[Any]) -> pa.Array:
        if not _DECIMALS.issuperset(map(type, values)):
            self._check(values)
            values = each(decimal.Decimal, values)
        return pa.array(values, self.arrow)

    def to_python(self, array: pa.Array) -> list[Any]:
        found: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
        return found

    def fault(self, value: Any, path: str) -> Fault | None:
        if value is None:
            return None
        try:
            if isinstance(value, bool) or not isinstance(value, decimal.Decimal | int):
                return Fault(path, value, self.expected)
            pa.scalar(decimal.Decimal(value), self.arrow)
        except pa.ArrowException:
            return Fault(path, value, self.expected)
        return None


_DECIMALS = frozenset({decimal.Decimal, type(None)})


class _NullColumn(ColumnCodec):
    """Nothing but NULL."""

    arrow = pa.null()
    expected = "None"

    def to_arrow(self, values: list[Any]) -> pa.Array:
        return pa.array(values, self.arrow)

    def to_python(self, array: pa.Array) -> list[Any]:
        return [None] * len(array)

    def fault(self, value: Any, path: str) -> Fault | None:
        return None if value is None else Fault(path, value, self.expected)


class _FineColumn(ColumnCodec):
    """Times of nanoseconds; as Python values they have microseconds, the rest is cut off."""

    def __init__(self, arrow: pa.DataType, micros: ColumnCodec) -> None:
        self.arrow = arrow
        self.expected = micros.expected
        self._micros = micros

    def to_arrow(self, values: list[Any]) -> pa.Array:
        return self._micros.to_arrow(values).cast(self.arrow)

    def to_python(self, array: pa.Array) -> list[Any]:
        if pa.types.is_timestamp(array.type):  # a cast alone would cut towards 1970
            array = pc.floor_temporal(array, unit="microsecond")
        return self._micros.to_python(array.cast(self._micros.arrow, safe=False))

    def fault(self, value: Any, path: str) -> Fault | None:
        found = self._micros.fault(value, path)
        if found or value is None:
            return found
        try:
            self.to_arrow([value])
        except pa.ArrowException:
            expected = f"{self.expected}, within what nanoseconds can count (1677 to 2262)"
            return Fault(path, value, expected)
        return None


def _time_column(kind: d.TimeType) -> ColumnCodec:
    micros = sc._TypedColumn(
        pa.time64("us"),
        datetime.time,
        "datetime.time without tzinfo",
        exact=(),
        accepts=lambda value: value.tzinfo is None,
        revert=lambda array: each(_time_of, sc._plain_values(array.cast(pa.int64()))),
    )
    return micros if kind.precision <= 6 else _FineColumn(pa.time64("ns"), micros)


def _time_of(micros: int) -> datetime.time:
    seconds, rest = divmod(micros, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return datetime.time(hour, minute, second, rest)


def _timestamp_column(kind: d.TimestampType) -> ColumnCodec:
    micros = sc.timestamp_column()
    return micros if kind.precision <= 6 else _FineColumn(pa.timestamp("ns"), micros)


def _zoned_column(kind: d.LocalZonedTimestampType) -> ColumnCodec:
    micros = sc.zoned_timestamp_column()
    return micros if kind.precision <= 6 else _FineColumn(pa.timestamp("ns", tz="UTC"), micros)


def _row_column(kind: d.RowType) -> ColumnCodec:
    columns = [column_of(part) for part in kind.field_types()]
    if not columns:
        return sc.pickled_column()  # Arrow and Parquet know no struct without fields
    return RecordColumn(kind.field_names(), columns, TupleShape(len(columns)))


def column_of(data_type: d.DataType) -> ColumnCodec:
    """The conversion of a column between Python values and Arrow."""
    if isinstance(data_type, d.UserDefinedType):
        return column_of(data_type.sql_type())
    make = _COLUMNS.get(type(data_type))
    if make is None:
        msg = f"columns of type {data_type} have no Arrow form"
        raise InternalError(msg)
    return make(data_type)


_COLUMNS: dict[type[d.DataType], Callable[[Any], ColumnCodec]] = {
    d.NullType: lambda _: _NullColumn(),
    d.BooleanType: lambda _: sc.bool_column(),
    d.TinyIntType: lambda _: sc.IntColumn(pa.int8()),
    d.SmallIntType: lambda _: sc.IntColumn(pa.int16()),
    d.IntType: lambda _: sc.IntColumn(pa.int32()),
    d.BigIntType: lambda _: sc.IntColumn(pa.int64()),
    d.FloatType: lambda _: sc.FloatColumn(pa.float32()),
    d.DoubleType: lambda _: sc.FloatColumn(pa.float64()),
    d.DecimalType: lambda kind: _DecimalColumn(kind.precision, kind.scale),
    d.CharType: lambda _: sc.string_column(),
    d.VarCharType: lambda _: sc.string_column(),
    d.BinaryType: lambda _: sc.BytesColumn(),
    d.VarBinaryType: lambda _: sc.BytesColumn(),
    d.DateType: lambda _: sc.date_column(),
    d.TimeType: _time_column,
    d.TimestampType: _timestamp_column,
    d.LocalZonedTimestampType: _zoned_column,
    d.YearMonthIntervalType: lambda _: sc.IntColumn(pa.int32()),
    d.DayTimeIntervalType: lambda _: sc.IntColumn(pa.int64()),
    d.ArrayType: lambda kind: ListColumn(column_of(kind.element_type)),
    d.MapType: lambda kind: MapColumn(column_of(kind.key_type), column_of(kind.value_type)),
    d.MultisetType: lambda kind: MapColumn(column_of(kind.element_type), sc.IntColumn(pa.int32())),
    d.RowType: _row_column,
    d.RawType: lambda _: sc.pickled_column(),
    d.ZonedTimestampType: lambda _: sc.pickled_column(),
}
