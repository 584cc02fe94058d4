"""Times and intervals with ``+ - * /``.

    DATE + INTERVAL DAY is DATE            TIMESTAMP - INTERVAL MONTH is TIMESTAMP
    INTERVAL + INTERVAL, INTERVAL * number, -INTERVAL

Months are added on the calendar: 31 January and a month is the last of February.

In: the types and values of a call.  Out: rules, bodies and kernels for functions/arithmetic.py.
Next: scalars/moments.py
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars import moments as m
from headrace.scalars import types as kinds
from headrace.scalars.casting.time_kernels import within_years
from headrace.scalars.functions.entry import BoundCall, CallTypes, Operand
from headrace.scalars.functions.month_kernels import add_months_kernel
from headrace.scalars.functions.rules import one_of
from headrace.scalars.interval_types import common_interval

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import ArrowBody, RowBody


def _result(operands: tuple[Operand, ...], result: DataType) -> CallTypes:
    types = tuple(operand.type for operand in operands)
    return CallTypes(types, kinds.with_nullability(result, kinds.any_nullable(types)))


def _moved(operands: tuple[Operand, ...]) -> CallTypes | None:
    """The form ``time + interval``, and ``time - interval``."""
    if len(operands) != 2:
        return None
    time, interval = operands[0].type, operands[1].type
    if not kinds.is_datetime(time) or not kinds.is_interval(interval):
        return None
    return _result(operands, time)


def _swapped(operands: tuple[Operand, ...]) -> CallTypes | None:
    """The form ``interval + time``."""
    found = _moved(operands[::-1])
    return None if found is None else CallTypes(found.arguments[::-1], found.result)


def _intervals(operands: tuple[Operand, ...]) -> CallTypes | None:
    """The form ``interval + interval``, of one kind."""
    if len(operands) != 2 or not all(kinds.is_interval(operand.type) for operand in operands):
        return None
    common = common_interval(operands[0].type, operands[1].type)
    return None if common is None else _result(operands, common)


def _signed(operands: tuple[Operand, ...]) -> CallTypes | None:
    if len(operands) != 1 or not kinds.is_interval(operands[0].type):
        return None
    return _result(operands, operands[0].type)


def _times(operands: tuple[Operand, ...]) -> CallTypes | None:
    """The form ``interval * number``."""
    if len(operands) != 2:
        return None
    interval, number = operands[0].type, operands[1].type
    if not kinds.is_interval(interval) or not kinds.is_numeric(number):
        return None
    return _result(operands, interval)


def _times_swapped(operands: tuple[Operand, ...]) -> CallTypes | None:
    found = _times(operands[::-1])
    return None if found is None else CallTypes(found.arguments[::-1], found.result)


SUM = one_of(_signed, _moved, _swapped, _intervals)
DIFFERENCE = one_of(_signed, _moved, _intervals)
PRODUCT = one_of(_times, _times_swapped)
QUOTIENT = _times


# --- bodies ----------------------------------------------------------------------------------


def row_of(sign: str, call: BoundCall) -> RowBody:
    """The body of an operator for times and intervals."""
    types = call.arguments
    if len(types) == 1:
        return (lambda value: -value) if sign == "-" else (lambda value: value)
    if kinds.is_interval(types[0]) and kinds.is_interval(types[1]):
        return (lambda a, b: a + b) if sign == "+" else (lambda a, b: a - b)
    if sign in ("*", "/"):
        return _scaled(sign, swapped=kinds.is_numeric(types[0]))
    if kinds.is_interval(types[0]):
        move = mover(types[1], types[0])
        return lambda interval, time: move(time, interval)
    move = mover(types[0], types[1])
    return move if sign == "+" else lambda time, interval: move(time, -interval)


def _scaled(sign: str, *, swapped: bool) -> RowBody:
    if sign == "/":
        return lambda interval, number: _whole(Decimal(interval) / Decimal(number))
    if swapped:
        return lambda number, interval: _whole(Decimal(number) * interval)
    return lambda interval, number: _whole(interval * Decimal(number))


def _whole(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_DOWN))


def mover(time: DataType, interval: DataType) -> RowBody:
    """What moves a time by months or milliseconds."""
    if kinds.is_months(interval):
        return _by_months(time)
    return _by_millis(time)


def _by_months(time: DataType) -> RowBody:
    match time:
        case t.DateType():
            return m.add_months
        case t.TimeType():
            return lambda value, _: value
        case t.TimestampType():
            digits = time.precision
            return lambda v, n: m.wall_of(m.add_months_nanos(m.wall_nanos(v), n), digits)
        case _:
            assert isinstance(time, t.LocalZonedTimestampType)
            digits = time.precision
            return lambda v, n: m.instant_of(m.add_months_nanos(m.instant_nanos(v), n), digits)


def _by_millis(time: DataType) -> RowBody:
    match time:
        case t.DateType():
            return lambda value, ms: m.day_of(m.day_nanos(value) + _days(ms) * m.DAY)
        case t.TimeType():
            digits = time.precision
            return lambda value, ms: m.time_of(m.time_nanos(value) + ms * m.MILLI, digits)
        case t.TimestampType():
            digits = time.precision
            return lambda value, ms: m.wall_of(m.wall_nanos(value) + ms * m.MILLI, digits)
        case _:
            assert isinstance(time, t.LocalZonedTimestampType)
            digits = time.precision
            return lambda value, ms: m.instant_of(m.instant_nanos(value) + ms * m.MILLI, digits)


def _days(millis: int) -> int:
    """Whole days of milliseconds, without the rest."""
    days = abs(millis) // 86_400_000
    return -days if millis < 0 else days


# --- kernels ---------------------------------------------------------------------------------


def kernel_of(sign: str, call: BoundCall) -> ArrowBody | None:
    """The kernel of an operator for times and intervals; None if there is none."""
    types = call.arguments
    if len(types) == 1:
        return pc.negate if sign == "-" else lambda column: column
    if kinds.is_interval(types[0]) and kinds.is_interval(types[1]):
        combine: ArrowBody = pc.add if sign == "+" else pc.subtract
        return combine
    if sign not in ("+", "-"):
        return None
    if any(kinds.is_months(type_) for type_ in types):
        return _month_kernel(sign, call)
    if not kinds.is_any_timestamp(call.result):
        return None
    if kinds.is_duration(types[0]):
        return lambda interval, time: within_years(pc.add(time, _duration(interval, time)))
    if not kinds.is_duration(types[1]) or call.result.precision < 3:  # type: ignore[attr-defined]
        return None
    move = pc.add if sign == "+" else pc.subtract
    return lambda time, interval: within_years(move(time, _duration(interval, time)))


def _month_kernel(sign: str, call: BoundCall) -> ArrowBody | None:
    if kinds.is_time(call.result):
        return None
    if kinds.is_months(call.arguments[0]):
        return lambda months, time: add_months_kernel(time, months)
    if sign == "+":
        return add_months_kernel
    return lambda time, months: add_months_kernel(time, pc.negate(months))


def _duration(interval: Any, time: Any) -> Any:
    unit = time.type.unit
    return interval.cast(pa.duration("ms")).cast(pa.duration(unit))
