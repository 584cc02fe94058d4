"""The types of values that no one declared: for state that is shown as a table.

In: values.  Out: the narrowest TypeInformation that all of them fit; pickled where there is none.
Next: runtime/savepoint/table_rows.py
"""

from __future__ import annotations

import datetime
import decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

from headrace.common.time import Instant
from headrace.common.type_inference import infer_type
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.common.types import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class _Unknown(TypeInformation):
    """The type of None and of the items of an empty list: fits every other."""


UNKNOWN: TypeInformation = _Unknown()
_PICKLED = Types.PICKLED_BYTE_ARRAY()
_LONG = range(-(1 << 63), 1 << 63)

_BY_CLASS: dict[type, Callable[[Any], TypeInformation]] = {
    type(None): lambda _: UNKNOWN,
    bool: lambda _: Types.BOOLEAN(),
    int: lambda value: Types.LONG() if value in _LONG else Types.BIG_INT(),
    float: lambda _: Types.DOUBLE(),
    str: lambda _: Types.STRING(),
    bytes: lambda _: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    decimal.Decimal: lambda _: Types.BIG_DEC(),
    datetime.date: lambda _: Types.SQL_DATE(),
    datetime.time: lambda value: Types.SQL_TIME() if value.tzinfo is None else _PICKLED,
    datetime.datetime: lambda value: (
        Types.SQL_TIMESTAMP() if value.tzinfo is None else Types.TIMESTAMP_LTZ()
    ),
    Instant: lambda _: Types.INSTANT(),
    list: lambda value: Types.LIST(type_of_all(value)),
    tuple: lambda value: Types.TUPLE([type_of(item) for item in value]) if value else _PICKLED,
    dict: lambda value: (
        _PICKLED if None in value else Types.MAP(type_of_all(value), type_of_all(value.values()))
    ),
    Row: lambda value: _row(value),
}


def type_of(value: Any) -> TypeInformation:
    """The type of one value, with UNKNOWN where it tells nothing."""
    known = _BY_CLASS.get(type(value))
    return known(value) if known is not None else infer_type(type(value)) or _PICKLED


def type_of_all(values: Iterable[Any]) -> TypeInformation:
    """The type that all values fit."""
    return reduce(merged, map(type_of, values), UNKNOWN)


def _row(value: Row) -> TypeInformation:
    types = [type_of(item) for item in value]
    names = getattr(value, "_fields", None)
    return Types.ROW_NAMED(list(names), types) if names else Types.ROW(types)


def merged(one: TypeInformation, other: TypeInformation) -> TypeInformation:
    """The narrowest type for the values of two."""
    if isinstance(one, _Unknown):
        return other
    if isinstance(other, _Unknown):
        return one
    if isinstance(one, BasicTypeInfo) and isinstance(other, BasicTypeInfo):
        return one if one == other else _WIDER.get((one.basic_type, other.basic_type), _PICKLED)
    if type(one) is RowTypeInfo and type(other) is RowTypeInfo:
        if (one.get_field_names(), one.is_named) != (other.get_field_names(), other.is_named):
            return _PICKLED
        fields = _merged_fields(one.get_field_types(), other.get_field_types())
        return RowTypeInfo(fields, one.get_field_names() if one.is_named else None)
    if isinstance(one, TupleTypeInfo) and isinstance(other, TupleTypeInfo):
        if len(one.get_field_types()) != len(other.get_field_types()):
            return _PICKLED
        return TupleTypeInfo(_merged_fields(one.get_field_types(), other.get_field_types()))
    if isinstance(one, ListTypeInfo) and isinstance(other, ListTypeInfo):
        return ListTypeInfo(merged(one.element_type, other.element_type))
    if isinstance(one, MapTypeInfo) and isinstance(other, MapTypeInfo):
        return MapTypeInfo(
            merged(one.key_type, other.key_type), merged(one.value_type, other.value_type)
        )
    return one if one == other else _PICKLED


def _merged_fields(
    one: list[TypeInformation], other: list[TypeInformation]
) -> list[TypeInformation]:
    return [merged(*pair) for pair in zip(one, other, strict=True)]


_WIDER: dict[tuple[BasicType, BasicType], TypeInformation] = {
    pair: wider
    for narrow, wide, wider in (
        (BasicType.LONG, BasicType.BIG_INT, Types.BIG_INT()),
        (BasicType.LONG, BasicType.DOUBLE, Types.DOUBLE()),
    )
    for pair in ((narrow, wide), (wide, narrow))
}


def settled(info: TypeInformation) -> TypeInformation:
    """A type for columns: what stayed unknown is pickled, and maps with keys without a type."""
    if isinstance(info, _Unknown):
        return _PICKLED
    if isinstance(info, ListTypeInfo):
        return ListTypeInfo(settled(info.element_type))
    if isinstance(info, MapTypeInfo):
        key = settled(info.key_type)
        return _PICKLED if key == _PICKLED else MapTypeInfo(key, settled(info.value_type))
    if isinstance(info, TupleTypeInfo):
        return TupleTypeInfo([settled(field) for field in info.get_field_types()])
    if type(info) is RowTypeInfo:
        fields = [settled(field) for field in info.get_field_types()]
        return RowTypeInfo(fields, info.get_field_names() if info.is_named else None)
    return info
