"""Functions of numbers: ABS, ROUND, FLOOR, POWER, logarithms, angles, BIN, HEX.

What Java's Math gives for numbers without a result is given here: NaN and infinity, no errors.

In: numbers.  Out: numbers and texts.  Next: scalars/functions/rounding.py
"""

from __future__ import annotations

import math
import string
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.casting.numbers import EXACT, wrapped
from headrace.scalars.functions.entry import BoundCall, FunctionEntry
from headrace.scalars.functions.rules import (
    BIGINT,
    DOUBLE,
    NUMERIC,
    STRING,
    VARBINARY,
    VARCHAR,
    either,
    first_argument,
    nothing,
    one_of,
    takes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.scalars.functions.entry import ArrowBody, RowBody

_NUMBER = t.DoubleType()


def java(body: Callable[..., float], infinite: float = math.nan) -> RowBody:
    """A function of Python's math that gives what Java's gives where Python raises."""

    def run(*values: float) -> float:
        try:
            return body(*values)
        except OverflowError:
            return math.copysign(math.inf, infinite) if infinite == infinite else math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    return run


def _log(value: float) -> float:
    return -math.inf if value == 0 else math.log(value)


def _log10(value: float) -> float:
    return -math.inf if value == 0 else math.log10(value)


def _log2(value: float) -> float:
    return -math.inf if value == 0 else math.log(value) / math.log(2)


def _log_of(base: float, value: float) -> float:
    return divided(java(_log)(value), java(_log)(base))


def divided(one: float, other: float) -> float:
    """A quotient as Java has it."""
    if other != 0:
        return one / other
    return math.nan if one == 0 or math.isnan(one) else math.copysign(math.inf, one)


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = exponent % 2 == 1
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def _sinh(value: float) -> float:
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _cot(value: float) -> float:
    return divided(1.0, math.tan(value)) if math.isfinite(value) else math.nan


def _entry(
    name: str,
    doc: str,
    row: RowBody,
    arrow: ArrowBody | None = None,
    *,
    count: int = 1,
    aliases: tuple[str, ...] = (),
) -> FunctionEntry:
    """A function of floating-point numbers."""
    return FunctionEntry(
        name=name,
        category="arithmetic",
        doc=doc,
        forms=(f"{name}({', '.join(['numeric'] * count)})",),
        rule=takes(*[DOUBLE] * count, gives=_NUMBER),
        row=row,
        arrow=arrow,
        aliases=aliases,
    )


# --- ABS, SIGN: in the type of their argument ------------------------------------------------


def _abs(call: BoundCall) -> RowBody:
    if isinstance(call.result, t.IntegralType):
        bits = call.result.bits
        return lambda value: wrapped(abs(value), bits)
    return EXACT.abs if kinds.is_decimal(call.result) else abs


def _sign(call: BoundCall) -> RowBody:
    if isinstance(call.result, t.DecimalType):
        scale = Decimal((0, (1,), -call.result.scale))
        return lambda value: EXACT.quantize(Decimal((value > 0) - (value < 0)), scale)
    if kinds.is_integral(call.result):
        return lambda value: (value > 0) - (value < 0)
    return lambda value: value if value == 0 or math.isnan(value) else math.copysign(1.0, value)


# --- BIN, HEX --------------------------------------------------------------------------------


def _bin(value: int) -> str:
    return format(value % (1 << 64), "b")


def _hex(call: BoundCall) -> RowBody:
    if kinds.is_character(call.arguments[0]):
        return lambda text: text.encode().hex().upper()
    return lambda value: format(value % (1 << 64), "X")


def _unhex(text: str) -> bytes | None:
    """The first of an odd number of digits is lost, and a zero byte stands for it, as in Flink."""
    if not all(char in string.hexdigits for char in text):
        return None
    return b"\0" + bytes.fromhex(text[1:]) if len(text) % 2 else bytes.fromhex(text)


def _root(column: pa.Array) -> pa.Array:
    return pc.add(pc.sqrt(column), 0.0)


_PLAIN = (
    # Flink has SQRT as a power of 0.5, which is 0.0 of -0.0
    _entry("SQRT", "The square root.", java(lambda x: math.sqrt(x) + 0.0), _root),
    _entry("LN", "The natural logarithm.", java(_log)),
    _entry("LOG10", "The logarithm to base 10.", java(_log10)),
    _entry("LOG2", "The logarithm to base 2.", java(_log2)),
    _entry("EXP", "e to the power of a number.", java(math.exp, math.inf)),
    _entry("SIN", "The sine.", java(math.sin)),
    _entry("SINH", "The hyperbolic sine.", _sinh),
    _entry("COS", "The cosine.", java(math.cos)),
    _entry("COSH", "The hyperbolic cosine.", java(math.cosh, math.inf)),
    _entry("TAN", "The tangent.", java(math.tan)),
    _entry("TANH", "The hyperbolic tangent.", math.tanh),
    _entry("COT", "The cotangent.", _cot),
    _entry("ASIN", "The arc sine.", java(math.asin)),
    _entry("ACOS", "The arc cosine.", java(math.acos)),
    _entry("ATAN", "The arc tangent.", math.atan),
    _entry("ATAN2", "The angle of a point (y, x).", math.atan2, count=2),
    _entry("DEGREES", "An angle in degrees.", lambda value: value * (180.0 / math.pi)),
    _entry("RADIANS", "An angle in radians.", lambda value: value / 180.0 * math.pi),
    _entry("POWER", "A number to the power of another.", _power, count=2),
)

ENTRIES = (
    *_PLAIN,
    FunctionEntry(
        name="LOG",
        category="arithmetic",
        doc="The natural logarithm, or the one to a base.",
        forms=("LOG(numeric)", "LOG(base, numeric)"),
        rule=takes(DOUBLE, DOUBLE, needs=1, gives=_NUMBER),
        row=lambda *values: java(_log)(*values) if len(values) == 1 else _log_of(*values),
    ),
    FunctionEntry(
        name="ABS",
        category="arithmetic",
        doc="The number without its sign.",
        forms=("ABS(numeric)",),
        rule=takes(NUMERIC, gives=first_argument),
        row_of=_abs,
        arrow=pc.abs,
    ),
    FunctionEntry(
        name="SIGN",
        category="arithmetic",
        doc="1, 0 or -1.",
        forms=("SIGN(numeric)",),
        rule=takes(NUMERIC, gives=first_argument),
        row_of=_sign,
    ),
    FunctionEntry(
        name="PI",
        category="arithmetic",
        doc="The circle's ratio.",
        forms=("PI()",),
        rule=nothing(_NUMBER),
        row=lambda: math.pi,
    ),
    FunctionEntry(
        name="E",
        category="arithmetic",
        doc="The base of natural logarithms.",
        forms=("E()",),
        rule=nothing(_NUMBER),
        row=lambda: math.e,
    ),
    FunctionEntry(
        name="BIN",
        category="arithmetic",
        doc="A whole number in binary digits.",
        forms=("BIN(integer)",),
        rule=takes(BIGINT, gives=VARCHAR),
        row=_bin,
    ),
    FunctionEntry(
        name="HEX",
        category="arithmetic",
        doc="A whole number, or the bytes of a text, in hexadecimal digits.",
        forms=("HEX(integer)", "HEX(string)"),
        rule=one_of(takes(BIGINT, gives=VARCHAR), takes(STRING, gives=VARCHAR)),
        row_of=_hex,
    ),
    FunctionEntry(
        name="UNHEX",
        category="arithmetic",
        doc="The bytes of hexadecimal digits; NULL if there are others.",
        forms=("UNHEX(string)",),
        rule=takes(either(STRING), gives=VARBINARY, nullable=True),
        row=_unhex,
    ),
)
