"""Arrow types for the Table API's types as PyFlink pairs them, for pandas and for users.

In: a `DataType`.  Out: a pyarrow type, and back.  Between operators the types of data/row_data.py
are used, which know times in microseconds alone.  Next: table/ calls it for `from_pandas`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types as at

from headrace.common.data_types import (
    MAX_LENGTH,
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    NullType,
    RowField,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from headrace.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PLAIN: dict[type[DataType], pa.DataType] = {
    TinyIntType: pa.int8(),
    SmallIntType: pa.int16(),
    IntType: pa.int32(),
    BigIntType: pa.int64(),
    BooleanType: pa.bool_(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    CharType: pa.utf8(),
    VarCharType: pa.utf8(),
    VarBinaryType: pa.binary(),
    DateType: pa.date32(),
    NullType: pa.null(),
}


def time_unit(precision: int) -> str:
    """Arrow's coarsest unit for seconds of so many digits."""
    return ("s", "ms", "us", "ns")[(precision + 2) // 3]


def to_arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type of a type.

    Raises:
        ArgumentTypeError: PyFlink has none for it.
    """
    found = _PLAIN.get(type(data_type))
    if found is not None:
        return found
    if isinstance(data_type, BinaryType):
        return pa.binary(data_type.length)
    if isinstance(data_type, DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, TimeType):
        unit = time_unit(data_type.precision)
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        return pa.timestamp(time_unit(data_type.precision))
    if isinstance(data_type, MapType):
        return pa.map_(to_arrow_type(data_type.key_type), to_arrow_type(data_type.value_type))
    if isinstance(data_type, ArrayType):
        return pa.list_(_inner(data_type.element_type))
    if isinstance(data_type, RowType):
        names = data_type.field_names()
        return pa.struct(
            [
                pa.field(name, _inner(kind), kind.is_nullable)
                for name, kind in zip(names, data_type.field_types(), strict=True)
            ]
        )
    raise _no_arrow(data_type)


def _inner(data_type: DataType) -> pa.DataType:
    if isinstance(data_type, LocalZonedTimestampType | RowType):
        raise _no_arrow(data_type)
    return to_arrow_type(data_type)


def _no_arrow(what: object) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{what} cannot be exchanged with pandas or Arrow at this place",
        fix="use a column of another type, such as TIMESTAMP for TIMESTAMP_LTZ in arrays",
    )


def create_arrow_schema(field_names: Sequence[str], field_types: Sequence[DataType]) -> pa.Schema:
    """The Arrow schema of columns."""
    pairs = zip(field_names, field_types, strict=True)
    return pa.schema([pa.field(name, to_arrow_type(t), t.is_nullable) for name, t in pairs])


_FROM: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, bool], DataType]]] = [
    (at.is_boolean, lambda _, nullable: BooleanType(nullable)),
    (at.is_int8, lambda _, nullable: TinyIntType(nullable)),
    (at.is_int16, lambda _, nullable: SmallIntType(nullable)),
    (at.is_int32, lambda _, nullable: IntType(nullable)),
    (at.is_int64, lambda _, nullable: BigIntType(nullable)),
    (at.is_float32, lambda _, nullable: FloatType(nullable)),
    (at.is_float64, lambda _, nullable: DoubleType(nullable)),
    (at.is_decimal, lambda kind, nullable: DecimalType(kind.precision, kind.scale, nullable)),
    (at.is_string, lambda _, nullable: VarCharType(MAX_LENGTH, nullable)),
    (at.is_large_string, lambda _, nullable: VarCharType(MAX_LENGTH, nullable)),
    (at.is_fixed_size_binary, lambda kind, nullable: BinaryType(kind.byte_width, nullable)),
    (at.is_binary, lambda _, nullable: VarBinaryType(MAX_LENGTH, nullable)),
    (at.is_large_binary, lambda _, nullable: VarBinaryType(MAX_LENGTH, nullable)),
    (at.is_date32, lambda _, nullable: DateType(nullable)),
    (at.is_time, lambda kind, nullable: TimeType(_digits(kind.unit), nullable)),
    (at.is_timestamp, lambda kind, nullable: TimestampType(_digits(kind.unit), nullable)),
    (at.is_map, lambda kind, nullable: _map_of(kind, nullable=nullable)),
    (at.is_list, lambda kind, nullable: ArrayType(_of_field(kind.value_field), nullable)),
    (at.is_large_list, lambda kind, nullable: ArrayType(_of_field(kind.value_field), nullable)),
    (at.is_struct, lambda kind, nullable: _row_of(kind, nullable=nullable)),
    (at.is_null, lambda *_: NullType()),
]


def _digits(unit: str) -> int:
    return {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit]


def _of_field(field: pa.Field) -> DataType:
    return from_arrow_type(field.type, field.nullable)


def _map_of(kind: pa.DataType, *, nullable: bool) -> DataType:
    return MapType(_of_field(kind.key_field), _of_field(kind.item_field), nullable)


def _row_of(kind: pa.DataType, *, nullable: bool) -> DataType:
    if any(at.is_struct(field.type) for field in kind):
        raise _no_arrow(kind)
    return RowType([RowField(field.name, _of_field(field)) for field in kind], nullable)


def from_arrow_type(arrow_type: pa.DataType, nullable: bool = True) -> DataType:  # noqa: FBT001, FBT002
    """The type for values of an Arrow type.

    Raises:
        ArgumentTypeError: there is none.
    """
    for fits, make in _FROM:
        if fits(arrow_type):
            return make(arrow_type, nullable)
    raise _no_arrow(arrow_type)
