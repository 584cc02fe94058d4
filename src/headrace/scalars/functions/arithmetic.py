"""``+ - * / %`` and MOD, and the signs in front of numbers.

    INT + INT is INT and wraps around       INT / INT is INT       INT / 0 is an error
    DECIMAL has Flink's precision and scale; what has too many digits is NULL
    times and intervals: functions/time_arithmetic.py

In: numbers.  Out: numbers.  Next: scalars/functions/time_arithmetic.py
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.casting.numbers import EXACT, fitted, to_float32, wrapped
from headrace.scalars.common_types import common_type
from headrace.scalars.functions import time_arithmetic
from headrace.scalars.functions.entry import (
    BoundCall,
    CallTypes,
    FunctionEntry,
    Operand,
)
from headrace.scalars.functions.rules import EXACT as EXACT_PARAMETER
from headrace.scalars.functions.rules import NUMERIC, first_argument, one_of, takes

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import ArrowBody, RowBody, Rule

    Digits = Callable[[int, int, int, int], tuple[int, int]]

_DIVISION = Context(prec=38, rounding=ROUND_HALF_UP, Emax=10_000, Emin=-10_000)


# --- types -----------------------------------------------------------------------------------


def _sum_digits(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(s1, s2)
    return max(p1 - s1, p2 - s2) + scale + 1, scale


def _product_digits(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    return p1 + p2 + 1, s1 + s2


def _quotient_digits(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(6, s1 + p2 + 1)
    return p1 - s1 + s2 + scale, scale


def _rest_digits(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(s1, s2)
    return min(p1 - s1, p2 - s2) + scale, scale


def _numbers(digits: Digits) -> Rule:
    """The rule of an operator: in DECIMAL its own digits, else the type both have in common."""

    def result(types: tuple[DataType, ...]) -> CallTypes:
        one, other = types
        nullable = kinds.any_nullable(types)
        if kinds.is_decimal(one) != kinds.is_decimal(other) and _both_exact(types):
            one, other = kinds.decimal_like(one), kinds.decimal_like(other)
        if kinds.is_decimal(one) and kinds.is_decimal(other):
            found = digits(*kinds.digits_of(one), *kinds.digits_of(other))
            return CallTypes((one, other), kinds.fitted_decimal(*found, nullable=nullable))
        common = common_type([one, other])
        assert common is not None
        return CallTypes((common, common), kinds.with_nullability(common, nullable))

    def rule(operands: tuple[Operand, ...]) -> CallTypes | None:
        fits = takes(NUMERIC, NUMERIC, gives=first_argument)(_typed(operands))
        return None if fits is None else result(fits.arguments)

    return rule


def _both_exact(types: tuple[DataType, ...]) -> bool:
    return all(kinds.is_exact(type_) for type_ in types)


def _typed(operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """A bare NULL beside a number has the number's type."""
    typed = [operand.type for operand in operands if not kinds.is_null(operand.type)]
    if not typed or len(typed) == len(operands):
        return operands
    return tuple(
        Operand(typed[0].nullable()) if kinds.is_null(operand.type) else operand
        for operand in operands
    )


def _modulo(operands: tuple[Operand, ...]) -> CallTypes | None:
    """MOD of whole numbers has the type of the divisor."""
    fits = takes(EXACT_PARAMETER, EXACT_PARAMETER, gives=first_argument)(_typed(operands))
    if fits is None:
        return None
    one, other = fits.arguments
    if kinds.is_integral(one) and kinds.is_integral(other):
        nullable = kinds.any_nullable(fits.arguments)
        return CallTypes(fits.arguments, kinds.with_nullability(other, nullable))
    return _numbers(_rest_digits)(operands)


_SIGNED = takes(NUMERIC, gives=first_argument)


# --- bodies ----------------------------------------------------------------------------------


def _integer_quotient(left: int, right: int) -> int:
    if right == 0:
        message = "division by zero"
        raise ZeroDivisionError(message)
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _float_quotient(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.inf if (left > 0) == (math.copysign(1, right) > 0) else -math.inf


def _float_product(left: float, right: float) -> float:
    return left * right


def _decimal_quotient(left: Decimal, right: Decimal) -> Decimal:
    if right == 0:
        message = "division by zero"
        raise ZeroDivisionError(message)
    return _DIVISION.divide(left, right)


def _integer_rest(left: int, right: int) -> int:
    if right == 0:
        message = "division by zero"
        raise ZeroDivisionError(message)
    found = abs(left) % abs(right)
    return -found if left < 0 else found


def _decimal_rest(left: Decimal, right: Decimal) -> Decimal:
    if right == 0:
        message = "division by zero"
        raise ZeroDivisionError(message)
    return EXACT.remainder(left, right)


_ROWS: dict[str, tuple[RowBody, RowBody, RowBody]] = {
    "+": (lambda a, b: a + b, lambda a, b: a + b, EXACT.add),
    "-": (lambda a, b: a - b, lambda a, b: a - b, EXACT.subtract),
    "*": (lambda a, b: a * b, _float_product, EXACT.multiply),
    "/": (_integer_quotient, _float_quotient, _decimal_quotient),
    "%": (_integer_rest, math.fmod, _decimal_rest),
}


def _row(sign: str) -> Callable[[BoundCall], RowBody]:
    whole, floating, decimal = _ROWS[sign]

    def make(call: BoundCall) -> RowBody:
        result = call.result
        if isinstance(result, t.DecimalType):
            return decimal_body(decimal, result)
        if isinstance(result, t.FloatType):
            return lambda a, b: to_float32(floating(a, b))
        if isinstance(result, t.DoubleType):
            return floating
        bits = kinds.INTEGER_BITS[type(result)]
        return lambda a, b: wrapped(whole(a, b), bits)

    return make


def decimal_body(body: RowBody, result: t.DecimalType) -> RowBody:
    """A body whose result is cut to a DECIMAL: NULL, or an error where NULL cannot be."""
    precision, scale = result.precision, result.scale

    def run(*values: Any) -> Decimal | None:
        found = fitted(body(*values), precision, scale)
        if found is None and not result.is_nullable:
            message = f"the result has too many digits for {result}"
            raise ArithmeticError(message)
        return found

    return run


# --- kernels ---------------------------------------------------------------------------------


def _kernel(sign: str) -> Callable[[BoundCall], ArrowBody | None]:
    def make(call: BoundCall) -> ArrowBody | None:
        if isinstance(call.result, t.DecimalType):
            return _decimal_kernel(sign, call.result)
        if kinds.is_integral(call.result):
            return _INTEGER_KERNELS.get(sign)
        return _FLOAT_KERNELS.get(sign)

    return make


def _integer_divide(left: Any, right: Any) -> Any:
    # Arrow gives 0 for the smallest number by -1, Java the smallest number
    found = pc.divide(left, right)
    if isinstance(right, pa.Scalar):
        return pc.negate(left) if right.as_py() == -1 else found
    return pc.if_else(pc.equal(right, pa.scalar(-1, right.type)), pc.negate(left), found)


def _integer_modulo(left: Any, right: Any) -> Any:
    """In the wider type of both; what is left is smaller than the second, so it has its type."""
    narrow = right.type
    wide = left.type if left.type.bit_width >= narrow.bit_width else narrow
    left, right = left.cast(wide), right.cast(wide)
    return pc.subtract(left, pc.multiply(_integer_divide(left, right), right)).cast(narrow)


_INTEGER_KERNELS: dict[str, ArrowBody] = {
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
    "/": _integer_divide,
    "%": _integer_modulo,
}
_FLOAT_KERNELS: dict[str, ArrowBody] = {
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
    "/": pc.divide,
}


def _decimal_kernel(sign: str, result: t.DecimalType) -> ArrowBody | None:
    """Sums and products that need no rounding; Arrow raises if digits would be lost."""
    kernel = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}.get(sign)
    if kernel is None:
        return None
    wanted = pa.decimal128(result.precision, result.scale)
    return lambda left, right: kernel(left, right).cast(wanted)


def _sign_row(call: BoundCall) -> RowBody:
    if isinstance(call.result, t.IntegralType):
        bits = call.result.bits
        return lambda value: wrapped(-value, bits)
    if kinds.is_decimal(call.result):
        return EXACT.minus
    return lambda value: -value


def _plain_numbers(call: BoundCall) -> bool:
    return all(kinds.is_numeric(type_) for type_ in (*call.arguments, call.result))


def _either_row(sign: str) -> Callable[[BoundCall], RowBody]:
    """Numbers here, times and intervals in the other module; one argument is a sign."""

    def make(call: BoundCall) -> RowBody:
        if not _plain_numbers(call):
            return time_arithmetic.row_of(sign, call)
        if len(call.arguments) == 1:
            return _sign_row(call) if sign == "-" else lambda value: value
        return _row(sign)(call)

    return make


def _either_kernel(sign: str) -> Callable[[BoundCall], ArrowBody | None]:
    def make(call: BoundCall) -> ArrowBody | None:
        if not _plain_numbers(call):
            return time_arithmetic.kernel_of(sign, call)
        if len(call.arguments) == 1:
            return pc.negate if sign == "-" else lambda column: column
        return _kernel(sign)(call)

    return make


ENTRIES = (
    FunctionEntry(
        name="+",
        category="arithmetic",
        doc="The sum; a time moved by an interval.",
        forms=("numeric + numeric", "+numeric", "time + interval", "interval + interval"),
        rule=one_of(_SIGNED, _numbers(_sum_digits), time_arithmetic.SUM),
        row_of=_either_row("+"),
        arrow_of=_either_kernel("+"),
    ),
    FunctionEntry(
        name="-",
        category="arithmetic",
        doc="The difference, or the negative; a time moved back by an interval.",
        forms=("numeric - numeric", "-numeric", "time - interval", "interval - interval"),
        rule=one_of(_SIGNED, _numbers(_sum_digits), time_arithmetic.DIFFERENCE),
        row_of=_either_row("-"),
        arrow_of=_either_kernel("-"),
    ),
    FunctionEntry(
        name="*",
        category="arithmetic",
        doc="The product; an interval some times.",
        forms=("numeric * numeric", "interval * numeric", "numeric * interval"),
        rule=one_of(_numbers(_product_digits), time_arithmetic.PRODUCT),
        row_of=_either_row("*"),
        arrow_of=_either_kernel("*"),
    ),
    FunctionEntry(
        name="/",
        category="arithmetic",
        doc="The quotient; of whole numbers without its fraction.",
        forms=("numeric / numeric", "interval / numeric"),
        rule=one_of(_numbers(_quotient_digits), time_arithmetic.QUOTIENT),
        row_of=_either_row("/"),
        arrow_of=_either_kernel("/"),
    ),
    FunctionEntry(
        name="%",
        category="arithmetic",
        doc="What a division leaves, with the sign of the first number.",
        forms=("exact numeric % exact numeric", "MOD(exact numeric, exact numeric)"),
        rule=_modulo,
        row_of=_row("%"),
        arrow_of=_kernel("%"),
        aliases=("MOD",),
    ),
)
