"""The keys of lines: what GROUP BY, PARTITION BY and equal columns of joins bring together.

    one column ─▶ its value      several ─▶ a tuple      none ─▶ ()      NULL is a key as any other

Keys come from whole columns: each distinct value becomes a Python object once, each hash is made
once (runtime/key_groups.py has the same hash for a single key, so that rescaling and savepoints
find it).  Flink compares keys as bytes, so NaN is one key, and 0.0 and -0.0 are two; Python sees
that the other way round, so these two are texts in keys: ``"NaN"`` and ``"-0.0"``.
In: Arrow columns.  Out: keys, hashes and codes.  Next: runtime/table/base.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.runtime.key_codes import Codes, codes_of_column, codes_of_pairs, codes_of_values
from headrace.runtime.key_groups import hash_column, stable_hash
from headrace.runtime.key_selectors import Keying
from headrace.runtime.table.lines import in_nanoseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.data.records import Records

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SEQUENCE = np.uint64(1000003)
_START = np.uint64(7)
_HALF = np.uint64(32)
_NAN, _MINUS_ZERO = "NaN", "-0.0"


class LineKeying(Keying):
    """Keys of some columns.

    Args:
        positions: the places of the columns; a line's kind, behind its columns, is never one.
    """

    takes_all = True

    def __init__(self, positions: Sequence[int]) -> None:
        super().__init__(_Select(tuple(positions)))
        self.positions = tuple(positions)

    def keys(self, records: Records) -> list[Any]:
        """The key of every line, in order."""
        if records.batch is None:
            return list(map(self.selector, records.values))
        return self.keys_of(records.batch.columns, len(records))

    def keys_of(self, columns: Sequence[pa.Array], count: int) -> list[Any]:
        """The same of columns, whatever comes behind those that the keys are in."""
        if not self.positions:
            return [()] * count
        found = [key_values(columns[position]) for position in self.positions]
        return found[0] if len(found) == 1 else list(zip(*found, strict=True))

    def codes_of(self, columns: Sequence[pa.Array], count: int) -> Codes:
        """The distinct keys in the order of their first lines, and the number of each line's."""
        if not self.positions:
            return Codes(np.zeros(count, dtype=np.int64), min(1, count), lambda: [()][:count])
        found = [_encoded(columns[position]) for position in self.positions]
        return found[0] if len(found) == 1 else codes_of_pairs(found)

    def columns_of(self, keys: Sequence[Any], types: Sequence[pa.DataType]) -> list[pa.Array]:
        """The columns that some keys were made of, in the order of `positions`."""
        if len(self.positions) == 1:
            return [key_column(keys, types[0])]
        return [key_column([key[n] for key in keys], kind) for n, kind in enumerate(types)]

    def hashes(self, records: Records) -> NDArray[np.uint64] | None:
        """`stable_hash` of every key."""
        if records.batch is None:
            return None
        columns = [hash_key_column(records.batch.column(p)) for p in self.positions]
        if len(columns) == 1:
            return columns[0]
        hashed = np.full(len(records), _START)
        for column in columns:
            hashed = hashed * _SEQUENCE + column
        return (hashed * _MULTIPLIER) >> _HALF

    def column(self, records: Records) -> pa.Array | None:
        """None: `hashes` is asked instead."""
        return None

    def position(self, record_type: object) -> int | None:
        """Lines are always routed as columns."""
        return self.positions[0] if self.positions else 0


class _Select:
    """The key of a line that is a Python object."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        self.positions = positions

    def __call__(self, line: Any) -> Any:
        found = tuple(frozen(line[position]) for position in self.positions)
        return found[0] if len(found) == 1 else found


# --- one column ----------------------------------------------------------------------------------


def key_values(column: pa.Array) -> list[Any]:
    """The values of a column as they are in keys."""
    kind = column.type
    if pa.types.is_floating(kind):
        return list(map(frozen, column.to_pylist()))
    if in_nanoseconds(kind):
        return list(column.cast(pa.int64()).to_pylist())
    if pa.types.is_struct(kind):
        parts = zip(*map(key_values, column.flatten()), strict=True)
        valid = column.is_valid().to_pylist()
        return [part if is_valid else None for part, is_valid in zip(parts, valid, strict=True)]
    values: list[Any] = column.to_pylist()
    return list(map(frozen, values)) if pa.types.is_nested(kind) else values


def key_column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The column of values of keys."""
    if pa.types.is_floating(kind):
        return pa.array([float(v) if type(v) is str else v for v in values], kind)
    if in_nanoseconds(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        parts = [
            key_column([None if value is None else value[number] for value in values], field.type)
            for number, field in enumerate(fields)
        ]
        mask = pa.array([value is None for value in values])
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if pa.types.is_nested(kind):
        return pa.array([_thawed(value, kind) for value in values], kind)
    return pa.array(values, kind)


def hash_key_column(column: pa.Array) -> NDArray[np.uint64]:
    """`stable_hash` of every value of a column as it is in keys."""
    kind = column.type
    if pa.types.is_nested(kind):
        return np.array([stable_hash(value) for value in key_values(column)], dtype=np.uint64)
    if in_nanoseconds(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None):
        column = column.cast(pa.int64())  # the hash of an instant is that of its microseconds
    if pa.types.is_integer(column.type):
        if not column.null_count:
            return hash_column(column)
        hashes = hash_column(column.fill_null(0))
        hashes[pc.is_null(column).to_numpy(zero_copy_only=False)] = 0
        return hashes
    found = _encoded(column)
    distinct = np.array([stable_hash(key) for key in found.keys], dtype=np.uint64)
    hashed: NDArray[np.uint64] = distinct[found.numbers]
    return hashed


def _encoded(column: pa.Array) -> Codes:
    if pa.types.is_nested(column.type):
        return codes_of_values(key_values(column))
    return codes_of_column(column, key_values)


def frozen(value: Any) -> Any:
    """A value of a line as it is in keys: hashable, NaN equal to itself, 0.0 not to -0.0."""
    if type(value) is float:
        if value != value:
            return _NAN
        return _MINUS_ZERO if value == 0 and math.copysign(1, value) < 0 else value
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    if isinstance(value, dict):
        return tuple((frozen(key), frozen(item)) for key, item in value.items())
    return value


def _thawed(value: Any, kind: pa.DataType) -> Any:
    """The way back from `frozen`, as Arrow takes it."""
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_map(kind):
        return [(_thawed(k, kind.key_type), _thawed(v, kind.item_type)) for k, v in value]
    if pa.types.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        return {f.name: _thawed(v, f.type) for f, v in zip(fields, value, strict=True)}
    if pa.types.is_nested(kind):
        return [_thawed(item, kind.value_type) for item in value]
    return value
