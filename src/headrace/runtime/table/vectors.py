"""Columns as NumPy arrays to compute with, beside which lines have no value.

    BIGINT [1, NULL, 3]  ─▶  values [1, 0, 3], valid [True, False, True]
    DATE, TIME, TIMESTAMP, intervals ─▶ whole numbers      DECIMAL ─▶ unscaled whole numbers

In: Arrow arrays.  Out: `Vector`, and Arrow arrays again.
Next: runtime/table/accumulators.py
"""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Mask = NDArray[np.bool_]

# Sums of unscaled decimals below this cannot leave an int64.
_SAFE = 1 << 62
EXACT = decimal.Context(prec=80, rounding=decimal.ROUND_HALF_UP)
_MAX_DIGITS = 38


class Vector(NamedTuple):
    """Values, and where there are any; None for everywhere."""

    values: Array
    valid: Mask | None


def vector_of(column: pa.Array) -> Vector | None:
    """A column as numbers; None for types without."""
    kind = column.type
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_decimal(kind):
        return Vector(unscaled(column), valid)
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    if valid is not None:
        column = column.fill_null(0)
    return Vector(column.to_numpy(zero_copy_only=False), valid)


def column_of_vector(values: Array, valid: Mask | None, kind: pa.DataType) -> pa.Array:
    """The way back."""
    mask = None if valid is None or valid.all() else ~valid
    if pa.types.is_decimal(kind):
        return scaled(values, mask, kind)
    if values.dtype == object:
        return pa.array(values, kind, mask=mask)
    if pa.types.is_boolean(kind):
        return pa.array(values, pa.int8(), mask=mask).cast(kind)
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32(), mask=mask).cast(kind)
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int64(), mask=mask).cast(kind)
    return pa.array(values, kind, mask=mask)


# --- decimals ------------------------------------------------------------------------------------


def unscaled(column: pa.Array) -> Array:
    """The digits of decimals as whole numbers: of 64 bits if all fit, else Python's; NULL is 0."""
    words = np.frombuffer(column.buffers()[1], dtype=np.int64).reshape(-1, 2)
    words = words[column.offset : column.offset + len(column)]
    low, high = words[:, 0], words[:, 1]
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    fits = high == (low >> 63)
    if valid is not None:
        fits |= ~valid
    if fits.all():
        return low.copy() if valid is None else np.where(valid, low, 0)
    pairs = zip(high.tolist(), low.view(np.uint64).tolist(), strict=True)
    found = np.array([(a << 64) + b for a, b in pairs], dtype=object)
    return found if valid is None else np.where(valid, found, 0)


def scaled(values: Array, mask: Mask | None, kind: pa.DataType) -> pa.Array:
    """Decimals of whole numbers; those of too many digits are NULL, as in Flink."""
    if values.dtype != object:
        # a column of words: the higher half of each repeats the sign
        words = np.empty((len(values), 2), dtype=np.int64)
        words[:, 0] = values
        words[:, 1] = words[:, 0] >> 63
        valid = None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little"))
        return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(words)])
    bound, scale = 10**kind.precision, kind.scale
    gone = [False] * len(values) if mask is None else mask.tolist()
    found = [
        None if is_gone or not -bound < value < bound else to_decimal(value, scale)
        for value, is_gone in zip(values.tolist(), gone, strict=True)
    ]
    return pa.array(found, kind)


def to_decimal(unscaled_value: int, scale: int) -> decimal.Decimal:
    """A decimal of its digits."""
    return EXACT.scaleb(decimal.Decimal(unscaled_value), -scale)


def to_unscaled(value: decimal.Decimal, scale: int) -> int:
    """The digits of a decimal."""
    return int(EXACT.scaleb(value, scale))


def may_overflow(values: Array, initial: Array) -> bool:
    """Whether sums of whole numbers may leave 64 bits."""
    if values.dtype == object or initial.dtype == object:
        return True
    largest = _largest(values) * len(values) + _largest(initial)
    return largest >= _SAFE


def _largest(values: Array) -> int:
    return max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0


def as_true(column: pa.Array) -> Mask:
    """Where a BOOLEAN column is true, neither false nor NULL."""
    found: Mask = pc.fill_null(column, pa.scalar(value=False)).to_numpy(zero_copy_only=False)
    return found
