"""Months added to whole columns, on the calendar.

    31 January and a month ──▶ 29 February

In: columns of dates or timestamps, and of months.  Out: the same dates and timestamps, moved.
Next: scalars/moments.py does it value by value
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.scalars.functions.entry import NoKernelError

_DAY = {"us": 86_400_000_000, "ns": 86_400_000_000_000}
# months since 1970 of the years 1 and 9999
_FIRST, _LAST = -23_628, 96_359


def add_months_kernel(column: Any, months: Any) -> Any:
    """A column some months later; both may be scalars, but not both at once."""
    if isinstance(column, pa.Scalar):
        if isinstance(months, pa.Scalar):
            raise NoKernelError
        column = pa.repeat(column, len(months))
    if isinstance(months, pa.Scalar):
        months = pa.repeat(months, len(column))
    valid = pc.and_(column.is_valid(), months.is_valid())
    days, rest = _days_and_rest(column)
    moved = _moved(days, _numbers(months))
    return _column(moved, rest, column.type, valid)


def _numbers(column: pa.Array) -> Any:
    plain = column if pa.types.is_integer(column.type) else column.cast(_integers(column.type))
    return pc.fill_null(plain, 0).to_numpy(zero_copy_only=False).astype(np.int64)


def _integers(type_: pa.DataType) -> pa.DataType:
    return pa.int32() if pa.types.is_date32(type_) else pa.int64()


def _days_and_rest(column: pa.Array) -> tuple[Any, Any]:
    numbers = _numbers(column)
    if pa.types.is_date32(column.type):
        return numbers, None
    size = _DAY[column.type.unit]
    return np.floor_divide(numbers, size), np.mod(numbers, size)


def _moved(days: Any, months: Any) -> Any:
    """Days since 1970, some months later."""
    dates = days.astype("datetime64[D]")
    begins = dates.astype("datetime64[M]")
    place = (dates - begins.astype("datetime64[D]")).astype(np.int64)
    target = begins.astype(np.int64) + months
    if target.size and (target.min() < _FIRST or target.max() > _LAST):
        raise NoKernelError
    first = target.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    following = (target + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return np.minimum(first + place, following - 1)


def _column(days: Any, rest: Any, type_: pa.DataType, valid: pa.Array) -> pa.Array:
    if rest is None:
        found = pa.array(days.astype(np.int32)).cast(type_)
    else:
        found = pa.array(days * _DAY[type_.unit] + rest).cast(type_)
    return pc.if_else(valid, found, pa.scalar(None, type_))
