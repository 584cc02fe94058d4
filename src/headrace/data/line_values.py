"""Values of users' records as values of lines, and back, type by type.

    Instant  ◀──▶  datetime in UTC          Row  ◀──▶  tuple          timedelta  ──▶  milliseconds

In: a `DataType`, and for the way back a `TypeInformation`.  Out: functions of a value, None where
nothing changes.  Next: runtime/table/conversions.py uses them where Arrow columns cannot be cast
"""

from __future__ import annotations

import datetime
import decimal
from collections import Counter
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as d
from headrace.common.time import Instant
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ClassTypeInfo,
    ExternalTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    _ElementTypeInfo,
)
from headrace.common.types import Row
from headrace.data.record_shapes import ClassShape

if TYPE_CHECKING:
    from collections.abc import Callable

    Convert = Callable[[Any], Any]

__all__ = ["decimal_fitting", "to_line_value", "to_record_value"]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)


def to_line_value(data_type: d.DataType) -> Convert | None:
    """What makes a value of a line of a value of a user's record; None if it is one already."""
    if isinstance(data_type, d.UserDefinedType):
        return _user_value(data_type)
    make = _TO_LINES.get(type(data_type))
    return None if make is None else make(data_type)


def _user_value(data_type: d.UserDefinedType) -> Convert:
    kept = to_line_value(data_type.sql_type()) or _same
    return lambda value: kept(data_type.serialize(value))


def _same(value: Any) -> Any:
    return value


def decimal_fitting(precision: int, scale: int) -> Callable[[decimal.Decimal], Any]:
    """What rounds a decimal to a number of digits; None for one that is too large, as in Flink."""
    unit, limit = decimal.Decimal(1).scaleb(-scale), decimal.Decimal(10) ** (precision - scale)
    exact = decimal.Context(prec=80, rounding=decimal.ROUND_HALF_UP)

    def fit(value: decimal.Decimal) -> decimal.Decimal | None:
        # copy_abs, since abs() rounds to the 28 digits of the context around
        if not value.is_finite() or value.copy_abs() >= limit * 10:
            return None
        rounded = value.quantize(unit, context=exact)
        return rounded if rounded.copy_abs() < limit else None

    return fit


def _decimal(data_type: d.DecimalType) -> Convert:
    fit = decimal_fitting(data_type.precision, data_type.scale)

    def convert(value: Any) -> Any:
        if isinstance(value, decimal.Decimal):
            return fit(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return fit(decimal.Decimal(value))
        return value  # does not fit: the codec says so

    return convert


def _zoned(value: Any) -> Any:
    if isinstance(value, Instant):
        return _EPOCH + datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    if isinstance(value, datetime.datetime):
        # without a zone it is what UTC's clock shows, as in PyFlink
        naive = value.tzinfo is None
        return value.replace(tzinfo=datetime.UTC) if naive else value.astimezone(datetime.UTC)
    return value


def _date(value: Any) -> Any:
    return value.date() if isinstance(value, datetime.datetime) else value


def _span(value: Any) -> Any:
    return value // _MILLISECOND if isinstance(value, datetime.timedelta) else value


def _list(data_type: d.ArrayType) -> Convert:
    inner = to_line_value(data_type.element_type)
    if inner is None:
        return lambda values: list(values) if hasattr(values, "__iter__") else values
    return lambda values: [None if item is None else inner(item) for item in values]


def _map(data_type: d.MapType) -> Convert | None:
    key = to_line_value(data_type.key_type) or _same
    item = to_line_value(data_type.value_type) or _same
    if key is _same and item is _same:
        return None
    return lambda found: {key(k): None if v is None else item(v) for k, v in found.items()}


def _multiset(data_type: d.MultisetType) -> Convert:
    inner = to_line_value(data_type.element_type) or _same

    def convert(found: Any) -> Any:
        counted = found if isinstance(found, dict) else Counter(found)
        return {inner(item): count for item, count in counted.items()}

    return convert


def _row(data_type: d.RowType) -> Convert:
    parts = [to_line_value(kind) for kind in data_type.field_types()]

    def convert(record: Any) -> Any:
        values = data_type.values_of(record)
        if len(values) != len(parts):
            return record  # does not fit: the codec says so
        return tuple(
            value if value is None or part is None else part(value)
            for value, part in zip(values, parts, strict=True)
        )

    return convert


_TO_LINES: dict[type[d.DataType], Callable[[Any], Convert | None]] = {
    d.DecimalType: _decimal,
    d.DateType: lambda _: _date,
    d.LocalZonedTimestampType: lambda _: _zoned,
    d.DayTimeIntervalType: lambda _: _span,
    d.ArrayType: _list,
    d.MapType: _map,
    d.MultisetType: _multiset,
    d.RowType: _row,
}


def to_record_value(data_type: d.DataType, info: TypeInformation) -> Convert | None:
    """What makes a value of a user's record of one of a line; None if it is one already.

    Args:
        data_type: of the line.
        info: of the record.
    """
    if isinstance(info, ExternalTypeInfo):
        return to_record_value(data_type, info.type_info)
    if isinstance(data_type, d.UserDefinedType):
        kept = to_record_value(data_type.sql_type(), info) or _same
        return lambda value: data_type.deserialize(kept(value))
    if isinstance(data_type, d.LocalZonedTimestampType):
        return _instant_of if _is_instant(info) else None
    if isinstance(data_type, d.ArrayType) and isinstance(info, _ElementTypeInfo):
        inner = to_record_value(data_type.element_type, info.element_type)
        return inner and (lambda values: [None if v is None else inner(v) for v in values])
    if isinstance(data_type, d.MapType) and isinstance(info, MapTypeInfo):
        return _map_back(data_type, info)
    if isinstance(data_type, d.RowType) and isinstance(info, RowTypeInfo | TupleTypeInfo):
        return _row_back(data_type, info)
    return None


def _is_instant(info: TypeInformation) -> bool:
    return isinstance(info, BasicTypeInfo) and info.basic_type is BasicType.INSTANT


def _instant_of(moment: datetime.datetime) -> Instant:
    micros = (moment - _EPOCH) // datetime.timedelta(microseconds=1)
    seconds, rest = divmod(micros, 1_000_000)
    return Instant(seconds, rest * 1000)


def _map_back(data_type: d.MapType, info: MapTypeInfo) -> Convert | None:
    key = to_record_value(data_type.key_type, info.key_type) or _same
    item = to_record_value(data_type.value_type, info.value_type) or _same
    if key is _same and item is _same:
        return None
    return lambda found: {key(k): None if v is None else item(v) for k, v in found.items()}


def _row_back(data_type: d.RowType, info: RowTypeInfo | TupleTypeInfo) -> Convert:
    pairs = zip(data_type.field_types(), info.get_field_types(), strict=True)
    parts = [to_record_value(kind, field) for kind, field in pairs]
    build = record_builder(info)

    def convert(values: Any) -> Any:
        converted = (
            value if value is None or part is None else part(value)
            for value, part in zip(values, parts, strict=True)
        )
        return build(tuple(converted))

    return convert


def record_builder(info: RowTypeInfo | TupleTypeInfo) -> Callable[[tuple[Any, ...]], Any]:
    """What makes a record of a type of the values of its fields."""
    if isinstance(info, TupleTypeInfo):
        return tuple
    if isinstance(info, ClassTypeInfo):
        shape = ClassShape(info)
        return lambda values: shape.put_together([[value] for value in values], 1)[0]
    names = info.get_field_names()
    return lambda values: Row.of_values(values, names)
