"""Columns of Parquet files as declared columns, by the rules of Spark's reader.

In: a column as Arrow reads it.  Out: the same values as the declared type, or `ColumnMisfit`.
Names fit in any case, as Spark's do; fields that a file does not have are null.
Next: connectors/files/readers.py, connectors/files/parquet_parts.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.errors import UnsupportedStepError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ColumnMisfit", "fitted", "name_in", "refuse_times"]


class ColumnMisfit(Exception):
    """A column holds another type than the declared one, and not all its values are of both."""

    def __init__(self, stored: pa.DataType, declared: pa.DataType) -> None:
        super().__init__(f"is {stored}, where {declared} is declared")


def name_in(names: Iterable[str], wanted: str) -> str | None:
    """The name of a column in the file: as it is declared, or in another case."""
    found = list(names)
    if wanted in found:
        return wanted
    others = [name for name in found if name.lower() == wanted.lower()]
    return others[0] if len(others) == 1 else None


def refuse_times(schema: pa.Schema) -> None:
    """Refuses what Spark's reader refuses, too.

    Raises:
        UnsupportedStepError: a column is declared as a time of day.
    """
    for field in schema:
        if pa.types.is_time(field.type):
            raise UnsupportedStepError(
                f"column {field.name!r} cannot be read as a time of day from a Parquet file",
                fix="store times as texts or as whole numbers, and convert them in a map()",
            )


def fitted(column: pa.Array, declared: pa.DataType) -> pa.Array:
    """The column as the declared type.

    Raises:
        ColumnMisfit: it has another type.
    """
    stored = column.type
    if stored == declared:
        return column
    if pa.types.is_dictionary(stored):
        return fitted(column.cast(stored.value_type), declared)
    if pa.types.is_struct(declared) and pa.types.is_struct(stored):
        return _struct(column, declared)
    if pa.types.is_list(declared) and (pa.types.is_list(stored) or pa.types.is_large_list(stored)):
        lists = column.cast(pa.list_(stored.value_type))
        values = fitted(lists.values, declared.value_type)
        mask = lists.is_null() if lists.null_count else None
        return pa.ListArray.from_arrays(lists.offsets, values, type=declared, mask=mask)
    if pa.types.is_map(declared) and pa.types.is_map(stored):
        keys = fitted(column.keys, declared.key_type)
        items = fitted(column.items, declared.item_type)
        made = pa.MapArray.from_arrays(column.offsets, keys, items)
        return _with_nulls_of(column, made).cast(declared)
    if not _fits(stored, declared):
        raise ColumnMisfit(stored, declared)
    try:
        return column.cast(declared)
    except pa.ArrowInvalid:
        raise ColumnMisfit(stored, declared) from None


def _struct(column: pa.StructArray, declared: pa.StructType) -> pa.StructArray:
    names = [field.name for field in column.type]
    children = []
    for field in declared:
        name = name_in(names, field.name)
        children.append(
            pa.nulls(len(column), field.type)
            if name is None
            else fitted(column.field(names.index(name)), field.type)
        )
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(declared), mask=mask)


def _with_nulls_of(column: pa.Array, made: pa.MapArray) -> pa.MapArray:
    if not column.null_count:
        return made
    buffers = [column.buffers()[0], *made.buffers()[1:2]]
    return pa.MapArray.from_buffers(
        made.type, len(column), buffers, column.null_count, column.offset, [made.values]
    )


def _fits(stored: pa.DataType, declared: pa.DataType) -> bool:
    """Whether every value of a type is one of another."""
    t = pa.types
    if t.is_string(declared) or t.is_binary(declared):
        return any(kind(stored) for kind in _BYTES)
    if t.is_integer(stored) and t.is_signed_integer(declared):
        return bool(stored.bit_width + t.is_unsigned_integer(stored) <= declared.bit_width)
    if t.is_float64(declared):
        return bool(t.is_float32(stored) or (t.is_integer(stored) and stored.bit_width <= 32))
    if t.is_timestamp(declared):
        # Nanoseconds would lose their last digits; days begin with their first moment.
        whole = t.is_timestamp(stored) and stored.unit != "ns"
        return bool(whole or (t.is_date(stored) and declared.tz is None))
    return False


_BYTES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)
