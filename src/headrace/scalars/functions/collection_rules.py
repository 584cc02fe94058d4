"""Rules of functions over arrays, maps and rows: which types go together, and what comes out.

In: types of arguments.  Out: rules for functions/collections.py.
Next: scalars/functions/collections.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.common_types import common_type, merged_type
from headrace.scalars.functions.entry import NO_LITERAL, CallTypes, Operand

if TYPE_CHECKING:
    from headrace.common.data_types import DataType

Operands = tuple[Operand, ...]


def fitting(wanted: DataType, given: DataType) -> DataType | None:
    """The type that a value is cast to where one of `wanted` stands; None if it does not fit."""
    if kinds.is_null(given):
        return wanted.nullable()
    nullable = kinds.is_nullable(given)
    both_texts = kinds.is_character(wanted) and kinds.is_character(given)
    if both_texts or (kinds.is_binary(wanted) and kinds.is_binary(given)):
        return kinds.with_nullability(wanted, nullable)
    common = merged_type([wanted, given])
    if common is None or not kinds.same_type(common, wanted):
        return None
    return kinds.with_nullability(wanted, nullable)


def is_comparable(type_: DataType) -> bool:
    """Whether values have an order."""
    families = (kinds.is_numeric, kinds.is_character, kinds.is_binary, kinds.is_datetime)
    return any(belongs(type_) for belongs in (*families, kinds.is_interval))


def can_be_key(type_: DataType) -> bool:
    """Whether maps may have such keys: Python's dictionaries need values that do not change."""
    if isinstance(type_, t.RowType):
        return all(can_be_key(field.data_type) for field in type_)
    return not kinds.is_constructed(type_)


# --- constructors --------------------------------------------------------------------------------


def array_of(operands: Operands) -> CallTypes | None:
    """ARRAY[...]: items of the type that they have in common."""
    element = common_type([operand.type for operand in operands])
    if element is None or kinds.is_null(element):
        return None
    arguments = tuple(_cast(element, operand) for operand in operands)
    return CallTypes(arguments, t.ArrayType(element, nullable=False))


def map_of(operands: Operands) -> CallTypes | None:
    """MAP[k, v, ...]: keys and values of the types that they have in common."""
    if not operands or len(operands) % 2:
        return None
    key = common_type([operand.type for operand in operands[::2]])
    value = common_type([operand.type for operand in operands[1::2]])
    if key is None or value is None or kinds.is_null(key) or not can_be_key(key):
        return None
    wanted = (key, value) * (len(operands) // 2)
    arguments = tuple(map(_cast, wanted, operands))
    return CallTypes(arguments, t.MapType(key, value, nullable=False))


def row_of(operands: Operands) -> CallTypes | None:
    """ROW(...): Flink names the fields EXPR$0, EXPR$1..."""
    if not operands:
        return None
    types = tuple(operand.type for operand in operands)
    fields = [t.RowField(f"EXPR${i}", type_) for i, type_ in enumerate(types)]
    return CallTypes(types, t.RowType(fields, nullable=False))


def _cast(wanted: DataType, operand: Operand) -> DataType:
    nullable = kinds.is_null(operand.type) or kinds.is_nullable(operand.type)
    return kinds.with_nullability(wanted, nullable)


# --- access --------------------------------------------------------------------------------------


def item(operands: Operands) -> CallTypes | None:
    """array[place] and map[key]."""
    if len(operands) != 2:
        return None
    collection, index = operands[0].type, operands[1]
    if isinstance(collection, t.ArrayType):
        place = fitting(t.IntType(), index.type)
        known = index.literal is not NO_LITERAL and index.literal is not None
        if place is None or (known and index.literal < 1):
            return None
        return CallTypes((collection, place), collection.element_type.nullable())
    if isinstance(collection, t.MapType):
        key = fitting(collection.key_type, index.type)
        if key is not None:
            return CallTypes((collection, key), collection.value_type.nullable())
    return None


def field(operands: Operands) -> CallTypes | None:
    """A field of a row by its place, from 0."""
    row, place = operands
    if not isinstance(row.type, t.RowType) or not isinstance(place.literal, int):
        return None
    type_ = row.type.fields[place.literal].data_type
    nullable = kinds.is_nullable(row.type) or kinds.is_nullable(type_)
    return CallTypes((row.type, place.type), kinds.with_nullability(type_, nullable))


def cardinality(operands: Operands) -> CallTypes | None:
    """The size of an array, a map or a multiset."""
    if len(operands) != 1:
        return None
    type_ = operands[0].type
    if not isinstance(type_, t.ArrayType | t.MapType | t.MultisetType):
        return None
    return CallTypes((type_,), t.IntType(kinds.is_nullable(type_)))


def element(operands: Operands) -> CallTypes | None:
    """The only item of an array."""
    if len(operands) != 1 or not isinstance(operands[0].type, t.ArrayType):
        return None
    array = operands[0].type
    nullable = kinds.is_nullable(array) or kinds.is_nullable(array.element_type)
    return CallTypes((array,), kinds.with_nullability(array.element_type, nullable))


# --- arrays --------------------------------------------------------------------------------------


def with_needle(operands: Operands) -> CallTypes | None:
    """An array and a value of the type of its items; the result is the array's type."""
    if len(operands) != 2 or not isinstance(operands[0].type, t.ArrayType):
        return None
    array = operands[0].type
    needle = fitting(array.element_type, operands[1].type)
    return None if needle is None else CallTypes((array, needle), array)


def contains(operands: Operands) -> CallTypes | None:
    """The same with BOOLEAN, that is NULL with the array only."""
    found = with_needle(operands)
    if found is None:
        return None
    return CallTypes(found.arguments, t.BooleanType(kinds.is_nullable(found.result)))


def position(operands: Operands) -> CallTypes | None:
    """The same with INT, that is NULL with both."""
    found = with_needle(operands)
    if found is None:
        return None
    return CallTypes(found.arguments, t.IntType(kinds.any_nullable(found.arguments)))


def longer(operands: Operands) -> CallTypes | None:
    """The same with an array that may have the value's NULL among its items."""
    found = with_needle(operands)
    if found is None or not isinstance(found.result, t.ArrayType):
        return None
    needle = found.arguments[1]
    nullable = kinds.is_nullable(found.result.element_type) or kinds.is_nullable(needle)
    item_type = kinds.with_nullability(found.result.element_type, nullable)
    array = t.ArrayType(item_type, kinds.any_nullable(found.arguments))
    return CallTypes(found.arguments, array)


def common_collections(kind: type[DataType], least: int, most: int | None = None) -> Rule:
    """Several arrays, or maps, that become one type."""

    def rule(operands: Operands) -> CallTypes | None:
        types = [operand.type for operand in operands]
        if len(types) < least or (most is not None and len(types) > most):
            return None
        if not all(isinstance(type_, kind) or kinds.is_null(type_) for type_ in types):
            return None
        common = merged_type(types)
        if common is None or not isinstance(common, kind):
            return None
        return CallTypes(tuple(_cast(common, operand) for operand in operands), common)

    return rule


def map_parts(operands: Operands) -> CallTypes | None:
    """Two arrays: of keys and of values."""
    if len(operands) != 2:
        return None
    keys, values = (operand.type for operand in operands)
    if not isinstance(keys, t.ArrayType) or not isinstance(values, t.ArrayType):
        return None
    if not can_be_key(keys.element_type):
        return None
    nullable = kinds.any_nullable((keys, values))
    return CallTypes((keys, values), t.MapType(keys.element_type, values.element_type, nullable))


if TYPE_CHECKING:
    from headrace.scalars.functions.entry import Rule
