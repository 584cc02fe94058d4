"""Columns of text to columns of dates and times, all at once.

In: texts that java_parsing.py would read one by one.  Out: the same values as a column, or
`ColumnsDiffer`.  Next: json_columns.py, csv_columns.py
"""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc

__all__ = [
    "ColumnsDiffer",
    "dates",
    "iso_times",
    "iso_timestamps",
    "joined",
    "sql_times",
    "sql_timestamps",
]


class ColumnsDiffer(Exception):
    """A column may hold something else than the records would: they must be read one by one."""


def joined(texts: pa.StringArray) -> pa.Buffer:
    """All texts with line feeds between them."""
    ends = pa.array([0, len(texts)], pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(ends, texts), "\n").buffers()[2]


# Arrow knows the year 0 and negative ones, Python does not.
_FIRST_DAY = pa.scalar(dt.date(1, 1, 1))
_FIRST_MOMENT = pa.scalar(dt.datetime(1, 1, 1), pa.timestamp("us"))


def dates(texts: pa.Array) -> pa.Array:
    """``2020-01-31``, with all its digits."""
    _check(texts, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z")
    return _not_before(texts.cast(pa.date32()), _FIRST_DAY)


def iso_times(texts: pa.Array) -> pa.Array:
    """``12:30:00Z``."""
    _check(texts, r"^[0-9]{2}:[0-9]{2}:[0-9]{2}Z\z")
    return _times(pc.utf8_slice_codeunits(texts, 0, 8))


def iso_timestamps(texts: pa.Array) -> pa.Array:
    """``2020-01-31T12:30:00.5Z``, to the microsecond."""
    _check(texts, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z\z")
    moments = texts.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
    return _not_before(moments, _FIRST_MOMENT)


def sql_times(texts: pa.Array) -> pa.Array:
    """``12:30:00``, with all its digits."""
    _check(texts, r"^[0-9]{2}:[0-9]{2}:[0-9]{2}\z")
    return _times(texts)


def sql_timestamps(texts: pa.Array) -> pa.Array:
    """``2020-01-31 12:30:00.5``, with all its digits, to the microsecond."""
    _check(texts, r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?\z")
    return _not_before(texts.cast(pa.timestamp("us")), _FIRST_MOMENT)


def _times(texts: pa.Array) -> pa.Array:
    # Arrow reads timestamps only.
    moments = pc.binary_join_element_wise("1970-01-01T", texts, "").cast(pa.timestamp("s"))
    return moments.cast(pa.time32("s")).cast(pa.time64("ns"))


def _check(texts: pa.Array, pattern: str) -> None:
    if pc.all(pc.match_substring_regex(texts, pattern)).as_py() is False:
        raise ColumnsDiffer


def _not_before(array: pa.Array, first: pa.Scalar) -> pa.Array:
    lowest = pc.min(array)
    if lowest.is_valid and pc.less(lowest, first).as_py():
        raise ColumnsDiffer
    return array
