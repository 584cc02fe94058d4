"""The type that several values have in common, and which casts happen without being asked.

    common_type([INT, DECIMAL(3, 1)])    DECIMAL(11, 1)
    common_type([CHAR(1), CHAR(3)])      VARCHAR(3)

CASE, COALESCE, UNION, IN, ARRAY[...] and comparisons use it.

In: types of arguments.  Out: a type, or None if they have nothing in common.
Next: scalars/casts.py does the casts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.interval_types import common_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.data_types import DataType

_INTEGERS = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)


def common_type(types: Sequence[DataType]) -> DataType | None:
    """The type that values of all these types can be cast to without being asked.

    Returns:
        A type that may be NULL if one of them may; None if there is none.
    """
    typed = [type_ for type_ in types if not kinds.is_null(type_)]
    if not typed:
        return t.NullType() if types else None
    nullable = len(typed) < len(types) or kinds.any_nullable(typed)
    found: DataType | None = typed[0].nullable()
    for type_ in typed[1:]:
        found = _common(found, type_.nullable())
    return None if found is None else kinds.with_nullability(found, nullable)


def merged_type(types: Sequence[DataType]) -> DataType | None:
    """The same for functions that Flink has of its own: TIMESTAMP_LTZ wins, wherever it stands."""
    found = common_type(types)
    if isinstance(found, t.TimestampType) and any(map(kinds.is_local_timestamp, types)):
        return t.LocalZonedTimestampType(found.precision, kinds.is_nullable(found))
    return found


def is_mixed(one: DataType, other: DataType) -> bool:
    """Whether one is a TIMESTAMP and the other a TIMESTAMP_LTZ."""
    both = kinds.is_any_timestamp(one) and kinds.is_any_timestamp(other)
    return both and kinds.is_local_timestamp(one) is not kinds.is_local_timestamp(other)


def _common(one: DataType | None, other: DataType) -> DataType | None:
    """What two types have in common; both may be NULL."""
    if one is None or one == other:
        return one
    for applies, merge in _MERGES:
        if applies(one) and applies(other):
            return merge(one, other)
    return None


def _numbers(one: DataType, other: DataType) -> DataType:
    if kinds.is_exact(one) and kinds.is_exact(other):
        return _exact_numbers(one, other)
    if kinds.is_decimal(one) or kinds.is_decimal(other):
        return t.DoubleType()
    # Flink's FLOAT and DOUBLE have equal precision, so the first of them wins.
    return one if kinds.is_approximate(one) else other


def _exact_numbers(one: DataType, other: DataType) -> DataType:
    if kinds.is_integral(one) and kinds.is_integral(other):
        return one if kinds.INTEGER_BITS[type(one)] > kinds.INTEGER_BITS[type(other)] else other
    (p1, s1), (p2, s2) = kinds.digits_of(one), kinds.digits_of(other)
    scale = max(s1, s2)
    whole = max(p1 - s1, p2 - s2)  # these digits are kept, the fraction has what is left
    scale = min(scale, kinds.MAX_PRECISION - whole)
    return t.DecimalType(whole + scale, scale)


def _texts(one: DataType, other: DataType) -> DataType:
    assert isinstance(one, t.CharType | t.VarCharType)
    assert isinstance(other, t.CharType | t.VarCharType)
    return t.VarCharType(max(one.length, other.length))


def _bytes(one: DataType, other: DataType) -> DataType:
    assert isinstance(one, t.BinaryType | t.VarBinaryType)
    assert isinstance(other, t.BinaryType | t.VarBinaryType)
    return t.VarBinaryType(max(one.length, other.length))


def _times(one: DataType, other: DataType) -> DataType:
    assert isinstance(one, t.TimeType)
    assert isinstance(other, t.TimeType)
    return t.TimeType(max(one.precision, other.precision))


def _timestamps(one: DataType, other: DataType) -> DataType:
    """Of TIMESTAMP and TIMESTAMP_LTZ the first, but the second if their precisions differ.

    So Flink's planner has it for CASE, UNION, VALUES and =.
    """
    assert isinstance(one, t.TimestampType | t.LocalZonedTimestampType)
    assert isinstance(other, t.TimestampType | t.LocalZonedTimestampType)
    make = type(one if one.precision == other.precision else other)
    return make(max(one.precision, other.precision))


def _arrays(one: DataType, other: DataType) -> DataType | None:
    assert isinstance(one, t.ArrayType)
    assert isinstance(other, t.ArrayType)
    element = common_type([one.element_type, other.element_type])
    return None if element is None else t.ArrayType(element)


def _multisets(one: DataType, other: DataType) -> DataType | None:
    assert isinstance(one, t.MultisetType)
    assert isinstance(other, t.MultisetType)
    element = common_type([one.element_type, other.element_type])
    return None if element is None else t.MultisetType(element)


def _maps(one: DataType, other: DataType) -> DataType | None:
    assert isinstance(one, t.MapType)
    assert isinstance(other, t.MapType)
    key = common_type([one.key_type, other.key_type])
    value = common_type([one.value_type, other.value_type])
    return None if key is None or value is None else t.MapType(key, value)


def _rows(one: DataType, other: DataType) -> DataType | None:
    """Field by field; the names are those of the first."""
    assert isinstance(one, t.RowType)
    assert isinstance(other, t.RowType)
    if len(one) != len(other):
        return None
    fields = []
    for left, right in zip(one, other, strict=True):
        both = common_type([left.data_type, right.data_type])
        if both is None:
            return None
        fields.append(t.RowField(left.name, both))
    return t.RowType(fields)


_MERGES = (
    (kinds.is_numeric, _numbers),
    (kinds.is_character, _texts),
    (kinds.is_binary, _bytes),
    (kinds.is_time, _times),
    (kinds.is_any_timestamp, _timestamps),
    (kinds.is_interval, common_interval),
    (lambda type_: isinstance(type_, t.ArrayType), _arrays),
    (lambda type_: isinstance(type_, t.MultisetType), _multisets),
    (lambda type_: isinstance(type_, t.MapType), _maps),
    (lambda type_: isinstance(type_, t.RowType), _rows),
)


def comparison_type(one: DataType, other: DataType, *, ordered: bool = False) -> DataType | None:
    """The type in which two values are compared.

    Texts become what they are compared with, and a day its first moment.

    Args:
        one: the type on the left.
        other: the type on the right.
        ordered: whether by < and its kin: then the right one of TIMESTAMP and TIMESTAMP_LTZ wins,
            or that with more digits.
    """
    if ordered and is_mixed(one, other):
        assert isinstance(one, t.TimestampType | t.LocalZonedTimestampType)
        assert isinstance(other, t.TimestampType | t.LocalZonedTimestampType)
        wins = one if one.precision > other.precision else other
        return kinds.with_nullability(wins, kinds.any_nullable([one, other]))
    common = common_type([one, other])
    if common is not None:
        return common
    nullable = kinds.any_nullable([one, other])
    for left, right in ((one, other), (other, one)):
        text = kinds.is_character(left) and _is_read(right)
        if text or (kinds.is_date(left) and kinds.is_any_timestamp(right)):
            return kinds.with_nullability(right, nullable)
    return None


def _is_read(type_: DataType) -> bool:
    """Whether a text that is compared with it is read as a value of its type."""
    return kinds.is_numeric(type_) or kinds.is_boolean(type_) or kinds.is_datetime(type_)


def implicitly_castable(source: DataType, target: DataType) -> bool:
    """Whether an argument of one type may stand where another is wanted, without a CAST."""
    if kinds.is_null(source) or type(source) is type(target):
        return True
    if kinds.is_integral(source) and kinds.is_integral(target):
        return _INTEGERS.index(type(source)) <= _INTEGERS.index(type(target))
    if kinds.is_numeric(source):
        return kinds.is_decimal(target) or kinds.is_approximate(target)
    if kinds.is_any_timestamp(source):
        return kinds.is_any_timestamp(target)
    both_text = kinds.is_character(source) and isinstance(target, t.VarCharType)
    return both_text or (kinds.is_binary(source) and isinstance(target, t.VarBinaryType))
