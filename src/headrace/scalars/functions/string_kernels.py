"""Arrow kernels for strings that give what the row bodies give, or say that they cannot.

Arrow changes the case of one code point into one code point, and finds places in bytes: both agree
with Flink for ASCII, so those kernels look first.  Constants come as pa.Scalar.

In: functions/strings.py, functions/splitting.py.  Out: kernels.  Next: scalars/functions/entry.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.scalars.functions.entry import NoKernelError

if TYPE_CHECKING:
    from collections.abc import Callable

Column = Any  # pa.Array or pa.Scalar


def ascii_only(kernel: Callable[..., Column]) -> Callable[..., Column]:
    """The kernel for batches whose first column is ASCII; others go row by row."""

    def guarded(column: Column, *rest: Column) -> Column:
        if pc.all(pc.string_is_ascii(column), skip_nulls=True).as_py() is False:
            raise NoKernelError
        return kernel(column, *rest)

    return guarded


def constant(column: Column) -> Any:
    """The value of an argument that has to be one constant, not NULL, for a kernel."""
    if not isinstance(column, pa.Scalar) or not column.is_valid:
        raise NoKernelError
    return column.as_py()


def column_of(column: Column) -> Column:
    """An argument that has to be a column for a kernel."""
    if not isinstance(column, pa.Array):
        raise NoKernelError
    return column


def concat(*columns: Column) -> Column:
    """All of them behind each other; NULL if one is."""
    return pc.binary_join_element_wise(*columns, "", null_handling="emit_null")


def trimmed(trim: Callable[..., Column]) -> Callable[..., Column]:
    """A kernel that cuts constant characters off; spaces if none are given."""

    def kernel(column: Column, cut: Column | None = None) -> Column:
        return trim(column, characters=" " if cut is None else constant(cut))

    return kernel


def trim_side(side: Column, cut: Column, column: Column) -> Column:
    """TRIM(side cut FROM column)."""
    kernels = {"BOTH": pc.utf8_trim, "LEADING": pc.utf8_ltrim, "TRAILING": pc.utf8_rtrim}
    return kernels[constant(side)](column, characters=constant(cut))


def substring(column: Column, start: Column, size: Column | None = None) -> Column:
    """From a constant place that counts from the beginning."""
    first = constant(start)
    wanted = None if size is None else constant(size)
    if first < 0 or (wanted is not None and wanted < 0):
        raise NoKernelError
    first = max(first - 1, 0)
    return pc.utf8_slice_codeunits(column, first, None if wanted is None else first + wanted)


def left(column: Column, size: Column) -> Column:
    """The first characters."""
    return pc.utf8_slice_codeunits(column, 0, max(constant(size), 0))


def right(column: Column, size: Column) -> Column:
    """The last characters."""
    wanted = constant(size)
    if wanted <= 0:
        return pc.utf8_slice_codeunits(column, 0, 0)
    return pc.utf8_slice_codeunits(column, -wanted)


def _find(column: Column, seek: Column) -> Column:
    wanted = constant(seek)
    return pc.add(pc.find_substring(column, wanted), pa.scalar(1, pa.int32()))


_find_ascii = ascii_only(_find)


def position(seek: Column, column: Column) -> Column:
    """Where a constant is found, from 1."""
    return _find_ascii(column, seek)


def instr(column: Column, seek: Column, *rest: Column) -> Column:
    """The same with the arguments turned round, from the beginning only."""
    if rest:
        raise NoKernelError
    return _find_ascii(column, seek)


def replace(column: Column, old: Column, new: Column) -> Column:
    """A constant for a constant."""
    if not constant(old):
        raise NoKernelError
    return pc.replace_substring(column, pattern=constant(old), replacement=constant(new))


def repeat(column: Column, times: Column) -> Column:
    """The same several times; a negative number is none."""
    if isinstance(column, pa.Scalar) and isinstance(times, pa.Scalar):
        raise NoKernelError
    return pc.binary_repeat(column, pc.max_element_wise(times, 0, skip_nulls=False))


def starts_with(column: Column, part: Column) -> Column:
    """Whether it begins with a constant."""
    return pc.starts_with(column, pattern=constant(part))


def ends_with(column: Column, part: Column) -> Column:
    """Whether it ends with a constant."""
    return pc.ends_with(column, pattern=constant(part))


def split_index(column: Column, separator: Column, index: Column) -> Column:
    """One part of each text: the parts of all stand in one array, from which one is taken."""
    cut, place = constant(separator), constant(index)
    if not isinstance(cut, str) or not cut or place < 0:
        raise NoKernelError
    parts = pc.split_pattern(column_of(column), pattern=cut)
    there = pc.and_(pc.greater(pc.list_value_length(parts), place), pc.not_equal(column, ""))
    places = pc.add(parts.offsets[:-1], pa.scalar(place, pa.int32()))
    return parts.values.take(pc.if_else(there, places, pa.scalar(None, pa.int32())))
