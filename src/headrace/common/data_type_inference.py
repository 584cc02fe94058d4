"""Types of the Table API, read from Python values: what `from_elements` needs without a schema.

In: rows, tuples, dicts, objects.  Out: a `RowType` that fits them all.
Next: common/data_type_checks.py checks values against a type
"""

from __future__ import annotations

import ctypes
import datetime
import decimal
from array import array
from functools import reduce
from typing import TYPE_CHECKING

from headrace.common.data_types import MAX_LENGTH as _MAX
from headrace.common.data_types import (
    ArrayType,
    BigIntType,
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
    MultisetType,
    NullType,
    RowField,
    RowType,
    SmallIntType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from headrace.common.types import Row
from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from headrace.common.opaque import Record

_type_mappings: dict[type, DataType] = {
    bool: BooleanType(),
    int: BigIntType(),
    float: DoubleType(),
    str: VarCharType(_MAX),
    bytearray: VarBinaryType(_MAX),
    bytes: VarBinaryType(_MAX),
    decimal.Decimal: DecimalType(38, 18),
    datetime.date: DateType(),
    datetime.datetime: LocalZonedTimestampType(),
    datetime.time: TimeType(),
}

_array_signed_int_typecode_ctype_mappings = {
    "b": ctypes.c_byte,
    "h": ctypes.c_short,
    "i": ctypes.c_int,
    "l": ctypes.c_long,
}
_array_unsigned_int_typecode_ctype_mappings = {
    "B": ctypes.c_ubyte,
    "H": ctypes.c_ushort,
    "I": ctypes.c_uint,
    "L": ctypes.c_ulong,
}


def _int_size_to_type(size: int) -> DataType | None:
    """The narrowest whole number of so many bits."""
    wide_enough = (kind for kind in (TinyIntType, SmallIntType, IntType, BigIntType))
    return next((kind() for kind in wide_enough if size <= kind.bits), None)


def _array_types() -> dict[str, DataType]:
    found: dict[str, DataType | None] = {"f": FloatType(), "d": DoubleType()}
    for code, signed in _array_signed_int_typecode_ctype_mappings.items():
        found[code] = _int_size_to_type(ctypes.sizeof(signed) * 8)
    for code, unsigned in _array_unsigned_int_typecode_ctype_mappings.items():
        found[code] = _int_size_to_type(ctypes.sizeof(unsigned) * 8 + 1)  # SQL has signed ones only
    found["u"] = CharType(ctypes.sizeof(ctypes.c_wchar))
    return {code: kind for code, kind in found.items() if kind is not None}


_array_type_mappings = _array_types()


def _infer_type(obj: Record) -> DataType:
    """The type of a value.

    Raises:
        TypeError: no type has such values.
    """
    if obj is None:
        return NullType()
    declared = getattr(obj, "__UDT__", None)
    if declared is not None:
        return declared  # type: ignore[no-any-return]
    simple = _type_mappings.get(type(obj))
    if simple is not None:
        return simple
    if isinstance(obj, dict):
        return _infer_map(obj)
    if isinstance(obj, list):
        return ArrayType(_infer_type(next((item for item in obj if item is not None), None)))
    if isinstance(obj, array):
        if obj.typecode not in _array_type_mappings:
            raise _no_type(f"array({obj.typecode})")
        return ArrayType(_array_type_mappings[obj.typecode].not_null())
    return _infer_schema(obj)


def _infer_map(obj: dict[Record, Record]) -> DataType:
    for key, value in obj.items():
        if key is not None and value is not None:
            return MapType(_infer_type(key).not_null(), _infer_type(value))
    return MapType(NullType(), NullType())


def _no_type(what: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"SQL has no type for {what}", fix="give the schema explicitly")


def _infer_schema(row: Record, names: list[str] | None = None) -> RowType:
    """The type of a row, dict, tuple or object."""
    return RowType([RowField(name, _infer_type(value)) for name, value in _items(row, names)])


def _items(row: Record, names: list[str] | None) -> Iterable[tuple[str, Record]]:
    if isinstance(row, dict):
        return sorted(row.items())
    if isinstance(row, Row | tuple | list):
        if hasattr(row, "_fields"):
            return zip(row._fields, row, strict=False)
        names = [] if names is None else names
        names.extend(f"_{i}" for i in range(len(names) + 1, len(row) + 1))
        return zip(names, row, strict=False)
    if hasattr(row, "__dict__"):
        return sorted(vars(row).items())
    raise _no_type(f"{row!r} of {type(row)}")


def _has_nulltype(dt: DataType) -> bool:
    """Whether some part of it was never seen but as None."""
    if isinstance(dt, RowType):
        return any(map(_has_nulltype, dt.field_types()))
    if isinstance(dt, ArrayType | MultisetType):
        return _has_nulltype(dt.element_type)
    if isinstance(dt, MapType):
        return _has_nulltype(dt.key_type) or _has_nulltype(dt.value_type)
    return isinstance(dt, NullType)


def _merge_type(a: DataType, b: DataType, name: str | None = None) -> DataType:
    """The type of values of either.

    Raises:
        TypeError: there is none.
    """
    if isinstance(a, NullType):
        return b
    if isinstance(b, NullType):
        return a
    if type(a) is not type(b):
        place = "" if name is None else f"{name}: "
        msg = f"{place}some values are of type {a}, others of type {b}"
        raise ArgumentTypeError(msg, fix="give all of them one Python type, or give the schema")
    if isinstance(a, RowType) and isinstance(b, RowType):
        return _merge_rows(a, b, name)
    if isinstance(a, ArrayType | MultisetType) and isinstance(b, ArrayType | MultisetType):
        merged = _merge_type(a.element_type, b.element_type, f"element in array {name}")
        return type(a)(merged)
    if isinstance(a, MapType) and isinstance(b, MapType):
        key = _merge_type(a.key_type, b.key_type, f"key of map {name}")
        return MapType(key, _merge_type(a.value_type, b.value_type, f"value of map {name}"))
    return a


def _merge_rows(a: RowType, b: RowType, name: str | None) -> RowType:
    others = {field.name: field.data_type for field in b}
    within = "" if name is None else f" in {name}"
    merged = [
        RowField(
            field.name,
            _merge_type(
                field.data_type, others.pop(field.name, NullType()), f"field {field.name}{within}"
            ),
        )
        for field in a
    ]
    return RowType([*merged, *(RowField(name, kind) for name, kind in others.items())])


def _infer_schema_from_data(elements: Sequence[Record], names: list[str] | None = None) -> RowType:
    """The type that all elements fit.

    Args:
        elements: rows, tuples, dicts or objects.
        names: of the columns, for elements that have none; missing ones are called _2, _3, ...
    """
    if not elements:
        msg = "no types can be read from no elements"
        raise InvalidArgumentError(msg, fix="give the schema as DataTypes.ROW([...])")
    rows = (_infer_schema(row, names) for row in elements)
    schema = reduce(lambda a, b: _merge_rows(a, b, None), rows)
    unknown = [field.name for field in schema if _has_nulltype(field.data_type)]
    if unknown:
        msg = f"columns {unknown} hold nothing but None, so their types are not known"
        raise InvalidArgumentError(msg, fix="give the schema as DataTypes.ROW([...])")
    return schema


def _create_converter(data_type: DataType) -> Callable[[Record], Record]:
    """What makes plain tuples of the rows in a value."""
    if isinstance(data_type, ArrayType | MultisetType):
        element = _create_converter(data_type.element_type)
        return lambda values: values if values is None else [element(value) for value in values]
    if isinstance(data_type, MapType):
        key, item = _create_converter(data_type.key_type), _create_converter(data_type.value_type)
        return lambda m: m if m is None else {key(k): item(v) for k, v in m.items()}
    if not isinstance(data_type, RowType):
        return lambda value: value
    row_type = data_type
    parts = [_create_converter(kind) for kind in row_type.field_types()]

    def convert(obj: Record) -> Record:
        if obj is None:
            return None
        values = row_type.values_of(obj)
        return tuple(part(value) for part, value in zip(parts, values, strict=False))

    return convert
