"""How lists, maps and records become Arrow columns, and back; the base of all columns.

In: a list of Python values (data/codec.py cuts records into such lists).  Out: a pyarrow Array.
Next: data/scalar_columns.py (numbers, texts, times), data/record_shapes.py

Everything here works on whole columns: nested rows, lists and maps are flattened into child
columns, so Python code runs per column and not per value. ``set(map(type, values))`` checks a
column of the expected Python type at 20 ns a value; only a column that fails the check is looked
at value by value.
"""

from __future__ import annotations

from itertools import accumulate, chain, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "ColumnCodec",
    "Fault",
    "ListColumn",
    "MapColumn",
    "RecordColumn",
    "RecordShape",
    "Unfit",
    "column_lists",
    "each",
    "null_positions",
]

_NoneType = type(None)


class Fault(NamedTuple):
    """Why a value does not fit: the path to the part, that part, what was expected."""

    field: str
    value: Any
    expected: str


class Unfit(Exception):
    """A column holds a value that does not fit; the codec then finds out which."""


class ColumnCodec:
    """One type's conversion in both directions."""

    arrow: pa.DataType
    expected: str

    def to_arrow(self, values: list[Any]) -> pa.Array:
        """The values as an Arrow array; raises Unfit or an Arrow error if one does not fit."""
        raise NotImplementedError

    def to_python(self, array: pa.Array) -> list[Any]:
        """The values of an Arrow array that ``to_arrow`` made."""
        raise NotImplementedError

    def fault(self, value: Any, path: str) -> Fault | None:
        """What is wrong with a value, None if it fits."""
        raise NotImplementedError

    def _check(self, values: list[Any], path: str = "") -> None:
        """Raise Unfit if any value has a fault: the slow look after a failed type check."""
        if any(self.fault(value, path) for value in values):
            raise Unfit


def null_positions(array: pa.Array) -> list[int]:
    """Where an array has nulls."""
    positions: list[int] = array.is_null().to_numpy(zero_copy_only=False).nonzero()[0].tolist()
    return positions


def each(convert: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    """The values, converted one by one; None stays None."""
    return [None if value is None else convert(value) for value in values]


_SEQUENCES = frozenset({list, tuple, _NoneType})
_MAPPINGS = frozenset({dict, _NoneType})


class ListColumn(ColumnCodec):
    """Lists (or tuples) of one type; they come back as lists."""

    def __init__(self, element: ColumnCodec, *, nullable: bool = True) -> None:
        self.element = element
        self.arrow = pa.list_(element.arrow)
        self.expected = f"list of {element.expected}"
        self._nullable = nullable

    def to_arrow(self, values: list[Any]) -> pa.Array:
        if not _SEQUENCES.issuperset(map(type, values)):
            self._check(values)
            values = [None if value is None else list(value) for value in values]
        offsets, mask = _offsets(values)
        children = list(chain.from_iterable(filter(None, values)))
        if not self._nullable and None in map(_none_marker, children):
            raise Unfit
        return pa.ListArray.from_arrays(offsets, self.element.to_arrow(children), mask=mask)

    def to_python(self, array: pa.Array) -> list[Any]:
        cuts = _cuts(array)
        children = self.element.to_python(array.values.slice(cuts[0], cuts[-1] - cuts[0]))
        return _cut(array, children, cuts)

    def fault(self, value: Any, path: str) -> Fault | None:
        if value is None:
            return None
        if isinstance(value, str | bytes | dict) or not hasattr(value, "__getitem__"):
            return Fault(path, value, self.expected)
        for index, item in enumerate(value):
            if item is None and not self._nullable:
                return Fault(f"{path}[{index}]", item, self.element.expected)
            found = self.element.fault(item, f"{path}[{index}]")
            if found:
                return found
        return None


def _none_marker(value: Any) -> Any:
    # Compare by identity only: `None in children` would call user-defined __eq__.
    return None if value is None else 0


class MapColumn(ColumnCodec):
    """Dicts; keys cannot be None."""

    def __init__(self, key: ColumnCodec, value: ColumnCodec) -> None:
        self.key = key
        self.value = value
        self.arrow = pa.map_(key.arrow, value.arrow)
        self.expected = f"dict from {key.expected} to {value.expected}"

    def to_arrow(self, values: list[Any]) -> pa.Array:
        if not _MAPPINGS.issuperset(map(type, values)):
            self._check(values)
        offsets, mask = _offsets(values)
        present = list(filter(None, values))
        keys = self.key.to_arrow(list(chain.from_iterable(present)))
        if keys.null_count:
            raise Unfit
        items = self.value.to_arrow(list(chain.from_iterable(map(dict.values, present))))
        entries = pa.StructArray.from_arrays(
            [keys, items], fields=[self.arrow.key_field, self.arrow.item_field]
        )
        # MapArray.from_arrays has no mask argument that keeps the offsets: go by way of a list.
        as_list = pa.ListArray.from_arrays(offsets, entries, mask=mask)
        return pa.MapArray.from_buffers(
            self.arrow, len(as_list), as_list.buffers()[:2], children=[entries]
        )

    def to_python(self, array: pa.Array) -> list[Any]:
        cuts = _cuts(array)
        size = cuts[-1] - cuts[0]
        keys = self.key.to_python(array.keys.slice(cuts[0], size))
        items = self.value.to_python(array.items.slice(cuts[0], size))
        pairs = list(zip(keys, items, strict=True))
        return each(dict, _cut(array, pairs, cuts))

    def fault(self, value: Any, path: str) -> Fault | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            return Fault(path, value, self.expected)
        for key, item in value.items():
            if key is None:
                return Fault(f"{path} key", key, self.key.expected)
            found = self.key.fault(key, f"{path} key") or self.value.fault(item, f"{path}[{key!r}]")
            if found:
                return found
        return None


def _offsets(values: list[Any]) -> tuple[pa.Array, pa.Array | None]:
    """Where each list begins among all elements, and which lists are null."""
    if None in map(_none_marker, values):
        mask = [value is None for value in values]
        lengths: Iterable[int] = (0 if value is None else len(value) for value in values)
        return pa.array(accumulate(lengths, initial=0), pa.int32()), pa.array(mask, pa.bool_())
    return pa.array(list(accumulate(map(len, values), initial=0)), pa.int32()), None


def _cuts(array: pa.Array) -> list[int]:
    cuts: list[int] = array.offsets.to_numpy(zero_copy_only=False).tolist()
    return cuts


def _cut(array: pa.Array, children: list[Any], cuts: list[int]) -> list[Any]:
    first = cuts[0]
    lists: list[Any] = [children[begin - first : end - first] for begin, end in pairwise(cuts)]
    if array.null_count:
        for position in null_positions(array):
            lists[position] = None
    return lists


class RecordShape(Protocol):
    """How records of one kind (tuple, Row, dataclass, ...) are taken apart and put together.

    Implemented in data/record_shapes.py.
    """

    expected: str

    def take_apart(self, records: list[Any], arity: int) -> list[list[Any]]:
        """One list of values for each field; raises Unfit if a record has another shape."""

    def put_together(self, columns: list[list[Any]], count: int) -> list[Any]:
        """The records whose fields are the given columns."""

    def fault(self, record: Any, path: str) -> Fault | None:
        """What is wrong with the record's shape, without looking at its values."""

    def values_of(self, record: Any) -> Iterable[Any]:
        """The values of one well-shaped record, in order of the fields."""


class RecordColumn(ColumnCodec):
    """Records inside another record: an Arrow struct."""

    def __init__(self, names: list[str], columns: list[ColumnCodec], shape: RecordShape) -> None:
        self.names = names
        self.columns = columns
        self.shape = shape
        self.expected = shape.expected
        self.arrow = pa.struct(
            [pa.field(name, column.arrow) for name, column in zip(names, columns, strict=True)]
        )

    def to_arrow(self, values: list[Any]) -> pa.Array:
        if None not in map(_none_marker, values):
            return self._struct(values, None)
        present = [value for value in values if value is not None]
        if not present:
            return pa.nulls(len(values), self.arrow)
        # Build the present records only, then spread them: take with a null index gives null.
        numbering = iter(range(len(present)))
        index = [None if value is None else next(numbering) for value in values]
        return self._struct(present, None).take(pa.array(index, pa.int32()))

    def _struct(self, records: list[Any], mask: pa.Array | None) -> pa.Array:
        arrays = self.columns_of(records)
        return pa.StructArray.from_arrays(arrays, fields=list(self.arrow), mask=mask)

    def columns_of(self, records: list[Any]) -> list[pa.Array]:
        """One Arrow array for each field of the records; none may be None."""
        parts = self.shape.take_apart(records, len(self.columns))
        return [column.to_arrow(part) for column, part in zip(self.columns, parts, strict=True)]

    def records_of(self, arrays: list[pa.Array], count: int) -> list[Any]:
        """The records whose fields are the given Arrow arrays."""
        parts = [c.to_python(array) for c, array in zip(self.columns, arrays, strict=True)]
        return self.shape.put_together(parts, count)

    def to_python(self, array: pa.Array) -> list[Any]:
        records = self.records_of([array.field(i) for i in range(len(self.columns))], len(array))
        if array.null_count:
            for position in null_positions(array):
                records[position] = None
        return records

    def fault(self, value: Any, path: str) -> Fault | None:
        return None if value is None else self.record_fault(value, path)

    def record_fault(self, record: Any, path: str) -> Fault | None:
        """Like ``fault``, but None does not pass for a record."""
        found = self.shape.fault(record, path)
        if found:
            return found
        prefix = f"{path}." if path else ""
        parts = zip(self.names, self.columns, self.shape.values_of(record), strict=True)
        for name, column, value in parts:
            found = column.fault(value, prefix + name)
            if found:
                return found
        return None


def column_lists(records: list[Any], arity: int) -> list[list[Any]]:
    """Transpose a list of tuples or lists, field by field.

    ``zip(*records)`` would pass 100,000 arguments, which measured far slower.
    """
    return [list(map(itemgetter(i), records)) for i in range(arity)]
