"""ROUND, TRUNCATE, FLOOR and CEIL.

FLOOR and CEIL of times (``FLOOR(ts TO HOUR)``) are in functions/time_units.py.

In: numbers.  Out: numbers of the same type; of DECIMAL with fewer digits.
Next: scalars/functions/time_units.py
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.casting.kernels import rounding_kernel
from headrace.scalars.casting.numbers import EXACT, fitted, to_float32, wrapped
from headrace.scalars.functions import time_units
from headrace.scalars.functions.entry import (
    NO_LITERAL,
    BoundCall,
    CallTypes,
    FunctionEntry,
    Operand,
)
from headrace.scalars.functions.rules import INT, NUMERIC, first_argument, one_of, takes
from headrace.scalars.java_numbers import double_text, float_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import ArrowBody, RowBody, Rule


def _digits_rule(kept: Callable[[int, int, int], tuple[int, int]]) -> Rule:
    """The type of a number with some digits behind the point; known if their number is."""
    fits = takes(NUMERIC, INT, needs=1, gives=first_argument)

    def rule(operands: tuple[Operand, ...]) -> CallTypes | None:
        found = fits(operands)
        if found is None or not isinstance(found.result, t.DecimalType):
            return found
        places = operands[1].literal if len(operands) > 1 else 0
        if not isinstance(places, int):
            return found
        digits = kept(found.result.precision, found.result.scale, places)
        return CallTypes(found.arguments, t.DecimalType(*digits, kinds.is_nullable(found.result)))

    return rule


def _rounded_digits(precision: int, scale: int, places: int) -> tuple[int, int]:
    """Rounding may make one digit more."""
    if places >= scale:
        return precision, scale
    if places < 0:
        return min(kinds.MAX_PRECISION, 1 + precision - scale), 0
    return 1 + precision - scale + places, places


def _moved(value: Decimal, places: int, rounding: str) -> Decimal:
    """A number rounded at a place before or behind the point."""
    return EXACT.scaleb(value, places).quantize(Decimal(1), rounding, EXACT).scaleb(-places, EXACT)


def _digits_row(rounding: str) -> Callable[[BoundCall], RowBody]:
    def make(call: BoundCall) -> RowBody:
        result = call.result
        if isinstance(result, t.DecimalType):
            return _decimal_row(result, rounding)
        if isinstance(result, t.IntegralType):
            bits = result.bits
            return lambda value, places=0: (
                value
                if places >= 0
                else wrapped(int(_moved(Decimal(value), places, rounding)), bits)
            )
        return _float_row(result, rounding)

    return make


def _decimal_row(result: t.DecimalType, rounding: str) -> RowBody:
    def run(value: Decimal, places: int = 0) -> Decimal | None:
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int) and places >= -exponent:
            return fitted(value, result.precision, result.scale)
        return fitted(_moved(value, places, rounding), result.precision, result.scale)

    return run


def _float_row(result: DataType, rounding: str) -> RowBody:
    single = isinstance(result, t.FloatType)
    text = float_text if single else double_text

    def run(value: float, places: int = 0) -> float:
        if not math.isfinite(value) or (places >= 0 and (abs(value) >= 2**53 or places > 400)):
            return value
        # Flink rounds decimal digits, which have no -0: so it is 0.0 of -0.4
        found = float(_moved(Decimal(text(value)), places, rounding)) + 0.0
        return to_float32(found) if single else found

    return run


# --- FLOOR, CEIL -----------------------------------------------------------------------------


def _whole_type(types: tuple[DataType, ...]) -> DataType:
    """Of DECIMAL no fraction stays."""
    type_ = types[0]
    return t.DecimalType(type_.precision, 0) if isinstance(type_, t.DecimalType) else type_


def _whole_row(rounding: str, floating: Callable[[float], Any]) -> Callable[[BoundCall], RowBody]:
    def make(call: BoundCall) -> RowBody:
        if len(call.arguments) == 2:
            return time_units.rounding_row(call, up=rounding == ROUND_CEILING)
        if isinstance(call.result, t.DecimalType):
            precision = call.result.precision
            return lambda value: fitted(value.to_integral_value(rounding, EXACT), precision, 0)
        if kinds.is_integral(call.result):
            return lambda value: value
        # a zero keeps the sign: Java's Math.ceil of -0.4 is -0.0
        return lambda value: (
            math.copysign(floating(value), value) if math.isfinite(value) else value
        )

    return make


def _whole_kernel(kernel: ArrowBody, *, up: bool) -> Callable[[BoundCall], ArrowBody | None]:
    def make(call: BoundCall) -> ArrowBody | None:
        if len(call.arguments) == 2:
            return time_units.rounding_kernel(call, up=up)
        if kinds.is_integral(call.result):
            return lambda column: column
        return _with_room(kernel, call.arguments[0])

    return make


def _with_room(kernel: ArrowBody, source: DataType) -> ArrowBody | None:
    """A kernel with one more digit for DECIMAL: Arrow's has no room for 1000 of 999.99."""
    if not isinstance(source, t.DecimalType):
        return kernel
    if source.precision == kinds.MAX_PRECISION:
        return None
    wide = pa.decimal128(source.precision + 1, source.scale)
    return lambda column: kernel(column.cast(wide))


def _round_kernel(call: BoundCall) -> ArrowBody | None:
    """DECIMAL by a constant number of places."""
    places = call.literals[1] if len(call.literals) > 1 else 0
    if not isinstance(call.result, t.DecimalType) or places is NO_LITERAL or places is None:
        return None
    source = call.arguments[0]
    assert isinstance(source, t.DecimalType)
    if places >= source.scale:
        return lambda column, *_: column
    inner = rounding_kernel(source, places)
    return None if inner is None else lambda column, *_: inner(column)


_WHOLE_FORMS = takes(NUMERIC, gives=_whole_type)
ENTRIES = (
    FunctionEntry(
        name="ROUND",
        category="arithmetic",
        doc="A number with some digits behind the point, half is rounded up.",
        forms=("ROUND(numeric)", "ROUND(numeric, digits)"),
        rule=_digits_rule(_rounded_digits),
        row_of=_digits_row(ROUND_HALF_UP),
        arrow_of=_round_kernel,
    ),
    FunctionEntry(
        name="TRUNCATE",
        category="arithmetic",
        doc="A number whose digits behind a place are cut off.",
        forms=("TRUNCATE(numeric)", "TRUNCATE(numeric, digits)"),
        rule=_digits_rule(_rounded_digits),
        row_of=_digits_row(ROUND_DOWN),
    ),
    FunctionEntry(
        name="FLOOR",
        category="arithmetic",
        doc="The next whole number below; of a time the beginning of its unit.",
        forms=("FLOOR(numeric)", "FLOOR(time TO unit)"),
        rule=one_of(_WHOLE_FORMS, time_units.ROUNDING),
        row_of=_whole_row(ROUND_FLOOR, math.floor),
        arrow_of=_whole_kernel(pc.floor, up=False),
    ),
    FunctionEntry(
        name="CEIL",
        category="arithmetic",
        doc="The next whole number above; of a time the beginning of the next unit.",
        forms=("CEIL(numeric)", "CEIL(time TO unit)"),
        rule=one_of(_WHOLE_FORMS, time_units.ROUNDING),
        row_of=_whole_row(ROUND_CEILING, math.ceil),
        arrow_of=_whole_kernel(pc.ceil, up=True),
        aliases=("CEILING",),
    ),
)
