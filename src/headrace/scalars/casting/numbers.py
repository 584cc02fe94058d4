"""Numbers and booleans as other numbers, with Java's rules.

Whole numbers wrap around; a fraction is cut off; floating-point numbers beyond a whole type are its
ends.  DECIMAL rounds half up, and has no value for a number that has too many digits.

In: Python values.  Out: Python values.  Next: scalars/casting/texts.py
"""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.java_numbers import double_text, float_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType

    Body = Callable[[Any], Any]

EXACT = Context(prec=120, rounding=ROUND_HALF_UP, Emax=10_000, Emin=-10_000)


def wrapped(value: int, bits: int) -> int:
    """A whole number cut to so many bits, as Java does."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def to_float32(value: float) -> float:
    """The nearest number of four bytes; infinity beyond its range."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def fitted(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """A decimal with so many digits; None if its whole part has too many."""
    try:
        rounded = value.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, EXACT)
    except InvalidOperation:  # infinite, or not a number
        return None
    return rounded if len(rounded.as_tuple().digits) <= precision else None


def saturated(value: float, bits: int) -> int:
    """A floating-point number as a whole one: what Java's narrowing gives."""
    if math.isnan(value):
        return 0
    ends = 63 if bits == 64 else 31
    largest, smallest = (1 << ends) - 1, -(1 << ends)
    if value >= largest:
        return wrapped(largest, bits)
    return wrapped(smallest if value <= smallest else int(value), bits)


def integer_to_integer(_: DataType, target: DataType) -> Body:
    """Wraps around."""
    bits = kinds.INTEGER_BITS[type(target)]
    return lambda value: wrapped(value, bits)


def approximate_to_integer(_: DataType, target: DataType) -> Body:
    """Cuts the fraction off."""
    bits = kinds.INTEGER_BITS[type(target)]
    return lambda value: saturated(value, bits)


def decimal_to_integer(_: DataType, target: DataType) -> Body:
    """Cuts the fraction off, then wraps around."""
    bits = kinds.INTEGER_BITS[type(target)]
    return lambda value: wrapped(int(value.to_integral_value(ROUND_DOWN)), bits)


def number_to_approximate(_: DataType, target: DataType) -> Body:
    """The nearest number of the type."""
    return to_float32_of if isinstance(target, t.FloatType) else float


def to_float32_of(value: Any) -> float:
    """Any number as one of four bytes."""
    return to_float32(float(value))


def number_to_decimal(source: DataType, target: DataType) -> Body:
    """Rounds half up; floating-point numbers count as they are written."""
    assert isinstance(target, t.DecimalType)
    precision, scale = target.precision, target.scale
    read = _as_decimal(source)
    return lambda value: fitted(read(value), precision, scale)


def _as_decimal(source: DataType) -> Body:
    if isinstance(source, t.FloatType | t.DoubleType):
        return lambda value: Decimal(double_text(value))
    return Decimal


def boolean_to_number(_: DataType, target: DataType) -> Body:
    """1 or 0."""
    if isinstance(target, t.DecimalType):
        scale = Decimal((0, (1,), -target.scale))
        fits = target.precision > target.scale
        return lambda value: Decimal(int(value)).quantize(scale) if fits or not value else None
    return float if kinds.is_approximate(target) else int


def number_to_boolean(_: DataType, __: DataType) -> Body:
    """Everything but 0 is true."""
    return bool


def number_to_text(source: DataType) -> Body:
    """As Java writes numbers."""
    if isinstance(source, t.FloatType):
        return float_text
    if isinstance(source, t.DoubleType):
        return double_text
    if isinstance(source, t.DecimalType):
        return lambda value: format(value, "f")
    return str
