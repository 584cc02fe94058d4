"""Questions about types that rules, casts and kernels ask.

In: types of common/data_types.py.  Out: families, nullability, bounds.
Next: scalars/common_types.py finds the type that several have in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.common.data_types import DataType

MAX_LENGTH = 0x7FFFFFFF
MAX_PRECISION = 38
INTEGER_BITS: dict[type[DataType], int] = {
    t.TinyIntType: 8,
    t.SmallIntType: 16,
    t.IntType: 32,
    t.BigIntType: 64,
}
# How many decimal digits the values of an integer type have: INT behaves as DECIMAL(10, 0).
INTEGER_DIGITS: dict[type[DataType], int] = {
    t.TinyIntType: 3,
    t.SmallIntType: 5,
    t.IntType: 10,
    t.BigIntType: 19,
}


def is_nullable(type_: DataType) -> bool:
    """Whether values may be NULL."""
    return type_.is_nullable


def with_nullability(type_: DataType, nullable: bool) -> DataType:  # noqa: FBT001
    """The same type, with or without NULL."""
    if is_nullable(type_) == nullable:
        return type_
    return type_.nullable() if nullable else type_.not_null()


def any_nullable(types: Iterable[DataType]) -> bool:
    """Whether one of them may be NULL."""
    return any(is_nullable(type_) for type_ in types)


def same_type(one: DataType, other: DataType) -> bool:
    """Whether two types are equal when their nullability is not looked at."""
    return one.nullable() == other.nullable() if one is not other else True


def is_null(type_: DataType) -> bool:
    """Whether it is the type of a bare NULL."""
    return isinstance(type_, t.NullType)


def is_integral(type_: DataType) -> bool:
    """TINYINT, SMALLINT, INT, BIGINT."""
    return isinstance(type_, t.IntegralType)


def is_approximate(type_: DataType) -> bool:
    """FLOAT, DOUBLE."""
    return isinstance(type_, t.FloatType | t.DoubleType)


def is_decimal(type_: DataType) -> bool:
    """DECIMAL."""
    return isinstance(type_, t.DecimalType)


def is_exact(type_: DataType) -> bool:
    """An integer, or DECIMAL."""
    return isinstance(type_, t.IntegralType | t.DecimalType)


def is_numeric(type_: DataType) -> bool:
    """A number."""
    return isinstance(type_, t.NumericType)


def is_character(type_: DataType) -> bool:
    """CHAR, VARCHAR, STRING."""
    return isinstance(type_, t.CharType | t.VarCharType)


def is_binary(type_: DataType) -> bool:
    """BINARY, VARBINARY, BYTES."""
    return isinstance(type_, t.BinaryType | t.VarBinaryType)


def is_boolean(type_: DataType) -> bool:
    """BOOLEAN."""
    return isinstance(type_, t.BooleanType)


def is_date(type_: DataType) -> bool:
    """DATE."""
    return isinstance(type_, t.DateType)


def is_time(type_: DataType) -> bool:
    """TIME."""
    return isinstance(type_, t.TimeType)


def is_timestamp(type_: DataType) -> bool:
    """TIMESTAMP without a zone."""
    return isinstance(type_, t.TimestampType)


def is_local_timestamp(type_: DataType) -> bool:
    """TIMESTAMP_LTZ."""
    return isinstance(type_, t.LocalZonedTimestampType)


def is_any_timestamp(type_: DataType) -> bool:
    """TIMESTAMP or TIMESTAMP_LTZ."""
    return isinstance(type_, t.TimestampType | t.LocalZonedTimestampType)


def is_datetime(type_: DataType) -> bool:
    """DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ."""
    kinds = t.DateType | t.TimeType | t.TimestampType | t.LocalZonedTimestampType
    return isinstance(type_, kinds)


def is_months(type_: DataType) -> bool:
    """INTERVAL YEAR TO MONTH."""
    return isinstance(type_, t.YearMonthIntervalType)


def is_duration(type_: DataType) -> bool:
    """INTERVAL DAY TO SECOND."""
    return isinstance(type_, t.DayTimeIntervalType)


def is_interval(type_: DataType) -> bool:
    """An interval of either kind."""
    return isinstance(type_, t.YearMonthIntervalType | t.DayTimeIntervalType)


def is_constructed(type_: DataType) -> bool:
    """ARRAY, MAP, MULTISET, ROW."""
    return isinstance(type_, t.ArrayType | t.MapType | t.MultisetType | t.RowType)


def digits_of(type_: DataType) -> tuple[int, int]:
    """Precision and scale that the values of an exact type need."""
    if isinstance(type_, t.DecimalType):
        return type_.precision, type_.scale
    return INTEGER_DIGITS[type(type_)], 0


def decimal_like(type_: DataType) -> t.DecimalType:
    """The DECIMAL that holds every value of an exact type."""
    precision, scale = digits_of(type_)
    return t.DecimalType(precision, scale, is_nullable(type_))


def fitted_decimal(precision: int, scale: int, *, nullable: bool) -> t.DecimalType:
    """A DECIMAL whose digits were cut to 38: whole digits first, but six of the fraction stay."""
    if precision > MAX_PRECISION:
        whole = precision - scale
        scale = max(MAX_PRECISION - whole, min(scale, 6))
        precision = MAX_PRECISION
    return t.DecimalType(precision, scale, nullable)
