"""Whole columns as 64-bit hashes, and which lines of two sides are equal.

    bool, ints, times, floats ─▶ 64 bits, mixed (one to one)      texts, bytes ─▶ a polynomial
    decimals ─▶ two words                                         the rest ─▶ value by value

Joins keep lines sorted by the hash of their key, so a hash is stored and must never change.
Flink compares keys as bytes: NaN equals NaN, and 0.0 is not -0.0.
In: Arrow columns.  Out: numpy arrays.  Next: runtime/table/joins/runs.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.runtime.key_groups import stable_hash
from headrace.runtime.table.keying import key_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Mask = NDArray[np.bool_]

_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0x2545F4914F6CDD1D)
_BASE = 0x100000001B3
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_QUIET_NAN = np.uint64(0x7FF8000000000000)


def hash_lines(columns: Sequence[pa.Array], count: int) -> Hashes:
    """A hash for every line over some columns; over one column of numbers no two are equal."""
    if len(columns) == 1:
        return _hash_column(columns[0])
    hashed = np.full(count, _STEP)
    for column in columns:
        hashed = _mixed(hashed * _STEP + _hash_column(column))
    return hashed


def tells_apart(types: Sequence[pa.DataType]) -> bool:
    """Whether equal hashes of lines without NULL mean that the lines are equal."""
    return len(types) == 1 and _in_64_bits(types[0])


def combined(first: Hashes, second: Hashes) -> Hashes:
    """One hash of two."""
    return _mixed(first * _STEP + second)


def equal_lines(left: Sequence[pa.Array], right: Sequence[pa.Array]) -> Mask:
    """For each line whether it equals the other side's in all columns; NULL equals NULL."""
    found: Mask | None = None
    for one, other in zip(left, right, strict=True):
        same = _equal_column(one, other)
        found = same if found is None else found & same
    return np.ones(len(left[0]) if left else 0, np.bool_) if found is None else found


def has_null(columns: Sequence[pa.Array]) -> Mask | None:
    """For each line whether one of the columns is NULL; None if none is."""
    found: Mask | None = None
    for column in columns:
        if column.null_count:
            nulls = _nulls(column)
            found = nulls if found is None else found | nulls
    return found


# --- one column ----------------------------------------------------------------------------------


def _in_64_bits(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_temporal(kind)
    )


def _hash_column(column: pa.Array) -> Hashes:
    kind = column.type
    if _in_64_bits(kind):
        hashed = _mixed(_bits(column))
    elif pa.types.is_decimal128(kind):
        words = _words(column)
        hashed = combined(_mixed(words[0::2]), words[1::2])
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        hashed = _mixed(_polynomial(column))
    else:
        values = key_values(column)
        return np.array([stable_hash(value) for value in values], dtype=np.uint64)
    if column.null_count:
        hashed[_nulls(column)] = _NULL
    return hashed


def _mixed(bits: Hashes) -> Hashes:
    """Spreads 64 bits over 64 bits, one to one (splitmix64)."""
    bits = (bits ^ (bits >> _30)) * _FIRST
    bits = (bits ^ (bits >> _27)) * _SECOND
    return bits ^ (bits >> _31)


def _bits(column: pa.Array) -> Hashes:
    """Values as 64 bits, equal if and only if they are equal as keys."""
    kind = column.type
    if pa.types.is_floating(kind):
        wide = column.cast(pa.float64()) if kind != pa.float64() else column
        filled = wide.fill_null(0.0) if wide.null_count else wide
        numbers = filled.to_numpy(zero_copy_only=False)
        nans = np.isnan(numbers)
        exact: Hashes = numbers.view(np.uint64)
        return np.where(nans, _QUIET_NAN, exact) if nans.any() else exact
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(kind):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    filled = column.fill_null(0) if column.null_count else column
    bits: Hashes = filled.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
    return bits


def _words(column: pa.Array) -> Hashes:
    buffer = column.buffers()[1]
    start = 2 * column.offset
    return np.frombuffer(buffer, dtype=np.uint64)[start : start + 2 * len(column)]


_powers = np.ones(1, dtype=np.uint64)


def _polynomial(column: pa.Array) -> Hashes:
    """The bytes of each value as a polynomial, and its length."""
    _, offsets_buffer, data_buffer = column.buffers()
    if len(column) == 0 or offsets_buffer is None:
        return np.zeros(len(column), dtype=np.uint64)
    offsets = np.frombuffer(offsets_buffer, dtype=np.int32)
    offsets = offsets[column.offset : column.offset + len(column) + 1].astype(np.int64)
    first, lengths = offsets[0], np.diff(offsets)
    size = int(offsets[-1] - first)
    if size == 0:
        return np.zeros(len(column), dtype=np.uint64)
    data = np.frombuffer(data_buffer, dtype=np.uint8)[first : first + size]
    starts = offsets[:-1] - first
    places = np.arange(size) - np.repeat(starts, lengths)
    totals = np.empty(size + 1, dtype=np.uint64)
    totals[0] = 0
    np.cumsum((data.astype(np.uint64) + np.uint64(1)) * _powers_to(lengths.max())[places],
              out=totals[1:])  # fmt: skip
    found: Hashes = totals[starts + lengths] - totals[starts] + lengths.astype(np.uint64)
    return found


def _powers_to(length: int) -> Hashes:
    global _powers
    if len(_powers) < length:
        steps = np.full(2 * int(length), _BASE, dtype=np.uint64)
        steps[0] = 1
        _powers = np.cumprod(steps, dtype=np.uint64)
    return _powers


def _nulls(column: pa.Array) -> Mask:
    found: Mask = column.is_null().to_numpy(zero_copy_only=False)
    return found


def _equal_column(left: pa.Array, right: pa.Array) -> Mask:
    if _in_64_bits(left.type) and _in_64_bits(right.type):
        same: Any = _bits(left) == _bits(right)
    elif pa.types.is_nested(left.type):
        pairs = zip(key_values(left), key_values(right), strict=True)
        return np.array([one == other for one, other in pairs], dtype=np.bool_)
    else:
        same = pc.equal(left, right).to_numpy(zero_copy_only=False) == True  # noqa: E712
    if left.null_count or right.null_count:
        one, other = _nulls(left), _nulls(right)
        same = (same & ~one & ~other) | (one & other)  # the values below NULL may be any
    found: Mask = same
    return found
