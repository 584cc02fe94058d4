"""Casts of whole columns with Arrow, where Arrow gives what Flink gives.

A kernel that meets a value which Arrow treats otherwise raises, and the rows are done one by one.

In: arrays or scalars of one type.  Out: of another.  Next: scalars/casting/time_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.casting.moment_readers import text_kernel
from headrace.scalars.casting.time_kernels import moment_kernel, moment_text_kernel
from headrace.scalars.functions.entry import NoKernelError
from headrace.scalars.values import arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.session import ScalarSession

    Kernel = Callable[[Any], Any]

_WHOLE = r"^[+-]?[0-9]{1,18}$"
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$"


def kernel_of(source: DataType, target: DataType, session: ScalarSession) -> Kernel | None:
    """The kernel of a cast; None if Arrow has none that fits."""
    if kinds.same_type(source, target):
        return lambda column: column
    if kinds.is_datetime(source) and kinds.is_datetime(target):
        return moment_kernel(source, target, session)
    if kinds.is_character(target):
        return _to_text(source, target, session)
    if kinds.is_character(source):
        return text_kernel(target, session) if kinds.is_datetime(target) else _from_text(target)
    if kinds.is_numeric(source) and kinds.is_numeric(target):
        return _numbers(source, target)
    if kinds.is_boolean(source) and (kinds.is_integral(target) or kinds.is_approximate(target)):
        return _arrow_cast(target)
    if kinds.is_interval(source) and kinds.is_interval(target):
        return lambda column: column
    return None


def _arrow_cast(target: DataType, *, safe: bool = True) -> Kernel:
    wanted = arrow_type(target)
    return lambda column: column.cast(wanted) if safe else _unsafe(column, wanted)


def _unsafe(column: Any, wanted: pa.DataType) -> Any:
    return pc.cast(column, wanted, safe=False)


def _numbers(source: DataType, target: DataType) -> Kernel | None:
    if isinstance(target, t.DecimalType):
        return _to_decimal(source, target)
    if kinds.is_decimal(source):
        return None  # Arrow's way to floating point is not the nearest number
    if kinds.is_approximate(source) and kinds.is_integral(target):
        wanted = arrow_type(target)
        return lambda column: pc.trunc(column).cast(wanted)
    return _arrow_cast(target, safe=False)


def _to_decimal(source: DataType, target: t.DecimalType) -> Kernel | None:
    wanted = arrow_type(target)
    if isinstance(source, t.DecimalType):
        if source.scale <= target.scale:
            return lambda column: column.cast(wanted)
        round_to = rounding_kernel(source, target.scale)
        return None if round_to is None else lambda column: round_to(column).cast(wanted)
    if kinds.is_approximate(source):
        return None
    wide = kinds.INTEGER_DIGITS[type(source)] + target.scale
    if wide > kinds.MAX_PRECISION:
        return None
    between = pa.decimal128(wide, target.scale)
    return lambda column: column.cast(between).cast(wanted)


def rounding_kernel(source: t.DecimalType, digits: int) -> Kernel | None:
    """Rounds half up; None if there is no room for the digit that this may add.

    Arrow gives 0 for 999.99 rounded to 1000 in five digits, so there is one more.
    """
    if source.precision == kinds.MAX_PRECISION:
        return None
    wide = pa.decimal128(source.precision + 1, source.scale)

    def run(column: Any) -> Any:
        return pc.round(column.cast(wide), ndigits=digits, round_mode="half_towards_infinity")

    return run


def _to_text(source: DataType, target: DataType, session: ScalarSession) -> Kernel | None:
    show = _text_kernel(source, session)
    size = _size_kernel(target)
    if show is None or size is None:
        return show
    return lambda column: size(show(column))


def _text_kernel(source: DataType, session: ScalarSession) -> Kernel | None:
    if kinds.is_character(source):
        return lambda column: column
    if kinds.is_integral(source):
        return lambda column: column.cast(pa.string())
    if kinds.is_boolean(source):
        return lambda column: pc.if_else(column, "TRUE", "FALSE")
    return moment_text_kernel(source, session) if kinds.is_datetime(source) else None


def _size_kernel(target: DataType) -> Kernel | None:
    assert isinstance(target, t.CharType | t.VarCharType)
    length = target.length
    if length == kinds.MAX_LENGTH:
        return None

    def cut(column: Any) -> Any:
        return pc.utf8_slice_codeunits(column, 0, length)

    if isinstance(target, t.CharType):
        return lambda column: pc.utf8_rpad(cut(column), length)
    return cut


def _from_text(target: DataType) -> Kernel | None:
    if kinds.is_integral(target):
        return _checked(_WHOLE, target)
    if isinstance(target, t.DoubleType):
        return _checked(_NUMBER, target)
    if isinstance(target, t.VarBinaryType) and target.length == kinds.MAX_LENGTH:
        return lambda column: column.cast(pa.binary())
    return None


def _checked(pattern: str, target: DataType) -> Kernel:
    """Arrow's reading, for texts of a form that means the same in Java."""
    wanted = arrow_type(target)

    def read(column: Any) -> Any:
        fits = pc.match_substring_regex(column, pattern)
        if isinstance(fits, pa.Scalar) or pc.all(fits, min_count=0).as_py() is False:
            raise NoKernelError
        return pc.replace_substring_regex(column, r"^\+", "").cast(wanted)

    return read
