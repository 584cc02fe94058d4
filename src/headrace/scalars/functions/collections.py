"""Constructors of arrays, maps and rows, access to their parts, and functions over them.

Arrays are lists, maps dictionaries, rows tuples.  Items are compared as ``=`` does: NaN is equal to
nothing; NULL is a value like any other, unless a function says otherwise.

In: collections.  Out: entries.  Next: scalars/functions/collection_rules.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.scalars import types as kinds
from headrace.scalars.functions import collection_kernels as kernels
from headrace.scalars.functions import collection_rules as rules
from headrace.scalars.functions.entry import FunctionEntry
from headrace.scalars.functions.rules import (
    ARRAY,
    BOOLEAN,
    INT,
    MAP,
    STRING,
    VARCHAR,
    first_argument,
    takes,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import Operand


# --- bodies --------------------------------------------------------------------------------------


def item(collection: list[Any] | dict[Any, Any], index: Any) -> Any:
    """An item of an array by its place, from 1, or of a map by its key; NULL if it is not there."""
    if isinstance(collection, dict):
        return collection.get(index)
    return collection[index - 1] if 1 <= index <= len(collection) else None


def element(array: list[Any]) -> Any:
    """The only item; NULL of an empty array."""
    if len(array) > 1:
        message = f"ELEMENT was given an array of {len(array)} items"
        raise InvalidArgumentError(message, fix="take one of several with array[place]")
    return array[0] if array else None


class _SeenItems:
    """Which items were there already; those that cannot be hashed are compared one by one."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self.hashed: set[Hashable] = set()
        self.others: list[Any] = []
        for each in items:
            self.add(each)

    def __contains__(self, value: Any) -> bool:
        if value != value:
            return False
        try:
            return value in self.hashed
        except TypeError:
            return value in self.others

    def add(self, value: Any) -> None:
        if value != value:
            return
        try:
            self.hashed.add(value)
        except TypeError:
            self.others.append(value)


def distinct(*arrays: list[Any]) -> list[Any]:
    """The items of all arrays, each once, in their order."""
    seen = _SeenItems()
    kept = []
    for array in arrays:
        for each in array:
            if each not in seen:
                seen.add(each)
                kept.append(each)
    return kept


def array_except(one: list[Any], other: list[Any]) -> list[Any]:
    """The items of the first that the second has not, each once."""
    seen = _SeenItems(other)
    kept = []
    for each in one:
        if each not in seen:
            seen.add(each)
            kept.append(each)
    return kept


def array_intersect(one: list[Any], other: list[Any]) -> list[Any]:
    """The items of the first that the second has, too, each once."""
    there = _SeenItems(other)
    return distinct([each for each in one if each in there])


def array_contains(array: list[Any] | None, needle: Any) -> bool | None:
    """Whether an item is there; NULL can be looked for."""
    if array is None:
        return None
    return any(_same(each, needle) for each in array)


def _same(one: Any, other: Any) -> bool:
    return one is None if other is None else bool(one is not None and one == other)


def array_position(array: list[Any], needle: Any) -> int:
    """Where an item is first, from 1; 0 if it is not there."""
    return next((i for i, each in enumerate(array, 1) if _same(each, needle)), 0)


def array_remove(array: list[Any] | None, needle: Any) -> list[Any] | None:
    """The array without an item; NULL can be removed."""
    return None if array is None else [each for each in array if not _same(each, needle)]


def array_slice(array: list[Any], start: int, end: int | None = None) -> list[Any]:
    """The items from a place to another, both included; negative places count from the end."""
    size = len(array)
    last = size if end is None else end
    first = max(1, start + size + 1 if start < 0 else start)
    last = last + size + 1 if last < 0 else last
    last = 1 if last == 0 else min(last, size)
    return array[first - 1 : last] if array and last >= first else []


def _order(value: Any) -> tuple[bool, Any]:
    """NaN behind all numbers."""
    return (True, 0.0) if value != value else (False, value)


def array_sort(array: list[Any], up: bool = True, nulls_first: bool | None = None) -> list[Any]:  # noqa: FBT001, FBT002
    """The items in their order; NULL first when it goes up, last when down, unless told."""
    values = sorted((each for each in array if each is not None), key=_order, reverse=not up)
    nulls = [None] * (len(array) - len(values))
    first = up if nulls_first is None else nulls_first
    return nulls + values if first else values + nulls


def array_max(array: list[Any]) -> Any:
    """The largest item that is not NULL; a NaN is never larger."""
    return _extreme(array, lambda one, other: one > other)


def array_min(array: list[Any]) -> Any:
    """The smallest item that is not NULL."""
    return _extreme(array, lambda one, other: one < other)


def _extreme(array: list[Any], better: Any) -> Any:
    best = None
    for each in array:
        if each is not None and (best is None or better(each, best)):
            best = each
    return best


def array_join(array: list[str | None], separator: str, *instead: str) -> str:
    """Texts with a separator between them; NULL is left out, or replaced."""
    missing = instead[0] if instead else None
    texts = (missing if each is None else each for each in array)
    return separator.join(text for text in texts if text is not None)


def map_from_arrays(keys: list[Any], values: list[Any]) -> dict[Any, Any]:
    """A map of keys and their values."""
    if len(keys) != len(values):
        message = f"MAP_FROM_ARRAYS was given {len(keys)} keys and {len(values)} values"
        raise InvalidArgumentError(message, fix="give arrays of one length")
    return dict(zip(keys, values, strict=True))


def map_union(*maps: dict[Any, Any]) -> dict[Any, Any]:
    """The entries of all maps; the last that has a key wins."""
    return {key: value for each in maps for key, value in each.items()}


# --- entries -------------------------------------------------------------------------------------


def _item_type(types: tuple[DataType, ...]) -> DataType:
    assert isinstance(types[0], t.ArrayType)
    return types[0].element_type


def _keys(types: tuple[DataType, ...]) -> DataType:
    assert isinstance(types[0], t.MapType)
    return t.ArrayType(types[0].key_type)


def _values(types: tuple[DataType, ...]) -> DataType:
    assert isinstance(types[0], t.MapType)
    return t.ArrayType(types[0].value_type)


def _entries(types: tuple[DataType, ...]) -> DataType:
    assert isinstance(types[0], t.MapType)
    fields = [t.RowField("key", types[0].key_type), t.RowField("value", types[0].value_type)]
    return t.ArrayType(t.RowType(fields))


def _ordered_array(operand: Operand) -> DataType | None:
    found = ARRAY(operand)
    if not isinstance(found, t.ArrayType) or not rules.is_comparable(found.element_type):
        return None
    return found


def _text_array(operand: Operand) -> DataType | None:
    found = ARRAY(operand)
    if not isinstance(found, t.ArrayType) or not kinds.is_character(found.element_type):
        return None
    return found


def _entry(name: str, doc: str, form: str, **more: Any) -> FunctionEntry:
    category = more.pop("category", "collection")
    return FunctionEntry(name=name, category=category, doc=doc, forms=(form,), **more)


_TWO_ARRAYS = rules.common_collections(t.ArrayType, 2, 2)

ENTRIES = (
    _entry(
        "ARRAY",
        "An array of values.",
        "ARRAY[value1, value2, ...]",
        category="value",
        rule=rules.array_of,
        row=lambda *values: list(values),
        arrow=kernels.array,
        strict=False,
    ),
    _entry(
        "MAP",
        "A map of keys and values.",
        "MAP[key1, value1, key2, value2, ...]",
        category="value",
        rule=rules.map_of,
        strict=False,
        row=lambda *parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    ),
    _entry(
        "ROW",
        "A row of values.",
        "ROW(value1, value2, ...)",
        category="value",
        rule=rules.row_of,
        row=lambda *values: values,
        arrow_of=kernels.row,
        strict=False,
    ),
    _entry(
        "ITEM",
        "The item at a place of an array, from 1, or the value of a key; NULL if none is.",
        "array[place] or map[key], with a place from 1 or a key of the map's type",
        rule=rules.item,
        row=item,
        arrow=kernels.item,
    ),
    _entry(
        "$FIELD",
        "A field of a row.",
        "row.field",
        category="value",
        internal=True,
        rule=rules.field,
        row=lambda row, place: row[place],
        arrow_of=kernels.field,
    ),
    _entry(
        "CARDINALITY",
        "How many items an array or a map has.",
        "CARDINALITY(array | map)",
        rule=rules.cardinality,
        row=len,
        arrow=kernels.length,
    ),
    _entry(
        "ELEMENT",
        "The only item of an array; an error if it has several.",
        "ELEMENT(array)",
        rule=rules.element,
        row=element,
    ),
    _entry(
        "ARRAY_CONTAINS",
        "Whether an item is there.",
        "ARRAY_CONTAINS(array, item)",
        rule=rules.contains,
        row=array_contains,
        strict=False,
    ),
    _entry(
        "ARRAY_POSITION",
        "Where an item is first, from 1; 0 if it is not there.",
        "ARRAY_POSITION(array, item)",
        rule=rules.position,
        row=array_position,
    ),
    _entry(
        "ARRAY_REMOVE",
        "The array without an item.",
        "ARRAY_REMOVE(array, item)",
        rule=rules.with_needle,
        row=array_remove,
        strict=False,
    ),
    _entry(
        "ARRAY_APPEND",
        "The array with one more item at its end.",
        "ARRAY_APPEND(array, item)",
        rule=rules.longer,
        row=lambda a, value: None if a is None else [*a, value],
        strict=False,
    ),
    _entry(
        "ARRAY_PREPEND",
        "The array with one more item in front.",
        "ARRAY_PREPEND(array, item)",
        rule=rules.longer,
        row=lambda a, value: None if a is None else [value, *a],
        strict=False,
    ),
    _entry(
        "ARRAY_DISTINCT",
        "The items, each once.",
        "ARRAY_DISTINCT(array)",
        rule=takes(ARRAY, gives=first_argument),
        row=distinct,
    ),
    _entry(
        "ARRAY_REVERSE",
        "The array backwards.",
        "ARRAY_REVERSE(array)",
        rule=takes(ARRAY, gives=first_argument),
        row=lambda array: array[::-1],
    ),
    _entry(
        "ARRAY_SLICE",
        "The items from a place to another.",
        "ARRAY_SLICE(array, start[, end])",
        rule=takes(ARRAY, INT, INT, needs=2, gives=first_argument),
        row=array_slice,
    ),
    _entry(
        "ARRAY_SORT",
        "The items in their order.",
        "ARRAY_SORT(array[, ascending[, nulls_first]]), with items that have an order",
        rule=takes(_ordered_array, BOOLEAN, BOOLEAN, needs=1, gives=first_argument),
        row=array_sort,
    ),
    _entry(
        "ARRAY_MAX",
        "The largest item.",
        "ARRAY_MAX(array), with items that have an order",
        rule=takes(_ordered_array, gives=_item_type, nullable=True),
        row=array_max,
    ),
    _entry(
        "ARRAY_MIN",
        "The smallest item.",
        "ARRAY_MIN(array), with items that have an order",
        rule=takes(_ordered_array, gives=_item_type, nullable=True),
        row=array_min,
    ),
    _entry(
        "ARRAY_JOIN",
        "Texts with a separator between them.",
        "ARRAY_JOIN(array_of_strings, separator[, text_for_null])",
        rule=takes(_text_array, STRING, STRING, needs=2, gives=VARCHAR),
        row=array_join,
    ),
    _entry(
        "ARRAY_UNION",
        "The items of both, each once.",
        "ARRAY_UNION(array1, array2)",
        rule=_TWO_ARRAYS,
        row=distinct,
    ),
    _entry(
        "ARRAY_EXCEPT",
        "The items of the first that the second has not, each once.",
        "ARRAY_EXCEPT(array1, array2)",
        rule=_TWO_ARRAYS,
        row=array_except,
    ),
    _entry(
        "ARRAY_INTERSECT",
        "The items that both have, each once.",
        "ARRAY_INTERSECT(array1, array2)",
        rule=_TWO_ARRAYS,
        row=array_intersect,
    ),
    _entry(
        "ARRAY_CONCAT",
        "The items of all arrays.",
        "ARRAY_CONCAT(array1, array2, ...)",
        rule=rules.common_collections(t.ArrayType, 1),
        row=lambda *arrays: [each for array in arrays for each in array],
    ),
    _entry(
        "MAP_KEYS",
        "The keys of a map.",
        "MAP_KEYS(map)",
        rule=takes(MAP, gives=_keys),
        row=list,
    ),
    _entry(
        "MAP_VALUES",
        "The values of a map.",
        "MAP_VALUES(map)",
        rule=takes(MAP, gives=_values),
        row=lambda each: list(each.values()),
    ),
    _entry(
        "MAP_ENTRIES",
        "The entries of a map as rows of key and value.",
        "MAP_ENTRIES(map)",
        rule=takes(MAP, gives=_entries),
        row=lambda each: list(each.items()),
    ),
    _entry(
        "MAP_FROM_ARRAYS",
        "A map of an array of keys and one of values.",
        "MAP_FROM_ARRAYS(keys, values), with keys that are no arrays or maps",
        rule=rules.map_parts,
        row=map_from_arrays,
    ),
    _entry(
        "MAP_UNION",
        "The entries of all maps; the last that has a key wins.",
        "MAP_UNION(map1, map2, ...)",
        rule=rules.common_collections(t.MapType, 1),
        row=map_union,
    ),
)
