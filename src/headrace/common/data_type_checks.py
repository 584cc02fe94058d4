"""Checks Python values against a type of the Table API, as PyFlink's `from_elements` does.

In: a `DataType`.  Out: a function that raises TypeError or ValueError for a value that does not
fit.  Next: table/ calls it for the elements of tables
"""

from __future__ import annotations

import datetime
import decimal
from array import array
from typing import TYPE_CHECKING

from headrace.common.data_types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    UserDefinedType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    ZonedTimestampType,
)
from headrace.common.types import Row
from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import Record

    Check = Callable[[Record], None]

_acceptable_types: dict[type[DataType], tuple[type, ...]] = {
    BooleanType: (bool,),
    TinyIntType: (int,),
    SmallIntType: (int,),
    IntType: (int,),
    BigIntType: (int,),
    FloatType: (float,),
    DoubleType: (float,),
    DecimalType: (decimal.Decimal,),
    CharType: (str,),
    VarCharType: (str,),
    BinaryType: (bytearray, bytes),
    VarBinaryType: (bytearray, bytes),
    DateType: (datetime.date, datetime.datetime),
    TimeType: (datetime.time,),
    TimestampType: (datetime.datetime,),
    DayTimeIntervalType: (datetime.timedelta,),
    YearMonthIntervalType: (int,),
    LocalZonedTimestampType: (datetime.datetime,),
    ZonedTimestampType: (datetime.datetime,),
    ArrayType: (list, tuple, array),
    MapType: (dict,),
}


def _create_type_verifier(data_type: DataType, name: str | None = None) -> Check:
    """A function that raises if a value is not of the type.

    Args:
        data_type: the type.
        name: what to call the value in messages.

    Raises:
        TypeError: the value has a Python type that the type does not take.
        ValueError: it is out of range, too long, or None without leave.
    """
    place = "" if name is None else f"{name}: "
    check = _check_of(data_type, place, name)

    def verify(obj: Record) -> None:
        if obj is not None:
            check(obj)
        elif not data_type.is_nullable:
            msg = f"{place}None in a column of {data_type}"
            raise InvalidArgumentError(msg, fix="give it a value, or make the type nullable")

    return verify


def _check_of(data_type: DataType, place: str, name: str | None) -> Check:
    if isinstance(data_type, UserDefinedType):
        return _user_check(data_type, place, name)
    if isinstance(data_type, RowType):
        return _row_check(data_type, place, name)
    if type(data_type) not in _acceptable_types:
        msg = f"{place}there are no Python values of {data_type}"
        raise ArgumentTypeError(msg, fix="use another type")
    accepted = _class_check(data_type, place)
    if isinstance(data_type, CharType | VarCharType | BinaryType | VarBinaryType):
        return _length_check(data_type, place, accepted)
    if isinstance(data_type, IntegralType) and not isinstance(data_type, BigIntType):
        return _range_check(data_type, place, accepted)
    if isinstance(data_type, ArrayType):
        element = _create_type_verifier(data_type.element_type, f"element in array {name}")
        return lambda obj: (accepted(obj), [element(item) for item in obj])[0]
    if isinstance(data_type, MapType):
        return _map_check(data_type, name, accepted)
    return accepted


def _class_check(data_type: DataType, place: str) -> Check:
    kinds = _acceptable_types[type(data_type)]

    def check(obj: Record) -> None:
        if type(obj) not in kinds:
            names = " or ".join(kind.__name__ for kind in kinds)
            msg = f"{place}{obj!r} of type {type(obj).__name__} in a column of {data_type}"
            raise ArgumentTypeError(msg, fix=f"give it as {names}")

    return check


def _length_check(
    data_type: CharType | VarCharType | BinaryType | VarBinaryType, place: str, accepted: Check
) -> Check:
    fixed, length = isinstance(data_type, CharType | BinaryType), data_type.length

    def check(obj: Record) -> None:
        accepted(obj)
        if len(obj) > length or (fixed and len(obj) != length):
            msg = f"{place}{obj!r} of length {len(obj)} in a column of {data_type}"
            raise InvalidArgumentError(msg, fix="change its length, or the type")

    return check


def _range_check(data_type: IntegralType, place: str, accepted: Check) -> Check:
    limit = 1 << (data_type.bits - 1)

    def check(obj: Record) -> None:
        accepted(obj)
        if not -limit <= obj < limit:
            msg = f"{place}{obj} in a column of {data_type}"
            raise InvalidArgumentError(msg, fix=f"it holds {-limit} to {limit - 1}")

    return check


def _map_check(data_type: MapType, name: str | None, accepted: Check) -> Check:
    key = _create_type_verifier(data_type.key_type, f"key of map {name}")
    item = _create_type_verifier(data_type.value_type, f"value of map {name}")

    def check(obj: Record) -> None:
        accepted(obj)
        for one, other in obj.items():
            key(one)
            item(other)

    return check


def _row_check(data_type: RowType, place: str, name: str | None) -> Check:
    within = "" if name is None else f" in {name}"
    fields = [_create_type_verifier(f.data_type, f"field {f.name}{within}") for f in data_type]

    def check(obj: Record) -> None:
        if not isinstance(obj, dict | Row | tuple | list) and not hasattr(obj, "__dict__"):
            msg = f"{place}{obj!r} of type {type(obj).__name__} in a column of {data_type}"
            raise ArgumentTypeError(msg, fix="give a Row, a tuple, a dict or an object")
        values = data_type.values_of(obj)
        if len(values) != len(fields):
            msg = f"{place}a row of {len(values)} values for {len(fields)} fields"
            raise InvalidArgumentError(msg, fix=f"the fields are {data_type.names}")
        for field, value in zip(fields, values, strict=True):
            field(value)

    return check


def _user_check(data_type: UserDefinedType, place: str, name: str | None) -> Check:
    kept = data_type.sql_type()
    verify = _create_type_verifier(kept, name)

    def check(obj: Record) -> None:
        if getattr(obj, "__UDT__", None) != data_type:
            msg = f"{place}{obj!r} is no {type(data_type).__name__}"
            raise InvalidArgumentError(msg, fix="give an object of the class that it describes")
        verify(data_type.serialize(obj))

    return check
