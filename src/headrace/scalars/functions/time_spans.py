"""TIMESTAMPADD, TIMESTAMPDIFF and OVERLAPS.

In: a unit, as a text, numbers and times.  Out: times and numbers.
Next: scalars/functions/time_arithmetic.py moves times by intervals
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars import moments as m
from headrace.scalars import types as kinds
from headrace.scalars.casting.numbers import wrapped
from headrace.scalars.casting.time_kernels import within_years
from headrace.scalars.casting.times import wall_reader
from headrace.scalars.common_types import common_type
from headrace.scalars.functions.entry import BoundCall, CallTypes, FunctionEntry, Operand
from headrace.scalars.functions.month_kernels import add_months_kernel
from headrace.scalars.functions.time_arithmetic import mover
from headrace.scalars.functions.time_units import unit_of
from headrace.scalars.interval_types import MILLIS, MONTHS, day_time, months

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import ArrowBody, RowBody

_MONTHS = {unit: MONTHS[unit] for unit in ("MONTH", "QUARTER", "YEAR")}


def _unit(operand: Operand) -> str | None:
    unit = unit_of(operand)
    if unit is None:
        return None
    unit = unit.removeprefix("SQL_TSI_")
    return unit if unit in MILLIS or unit in _MONTHS else None


# --- TIMESTAMPADD ----------------------------------------------------------------------------


def _add_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    unit = _unit(operands[0]) if len(operands) == 3 else None
    if unit is None:
        return None
    count, time = operands[1].type, operands[2].type
    if not (kinds.is_integral(count) or kinds.is_null(count)) or not kinds.is_datetime(time):
        return None
    if kinds.is_null(count):
        count = t.IntType()
    result = time
    if kinds.is_date(time) and MILLIS.get(unit, MILLIS["DAY"]) < MILLIS["DAY"]:
        result = t.TimestampType(6, kinds.is_nullable(time))
    if unit == "MILLISECOND":
        result = _with_millis(result)
    nullable = kinds.any_nullable([count, time])
    types = (operands[0].type, count, result)
    return CallTypes(types, kinds.with_nullability(result, nullable))


def _with_millis(time: DataType) -> DataType:
    """A time that has three digits behind the second at least."""
    if isinstance(time, t.DateType) or time.precision >= 3:  # type: ignore[attr-defined]
        return time
    return type(time)(3, kinds.is_nullable(time))  # type: ignore[call-arg,arg-type]


def _add_row(call: BoundCall) -> RowBody:
    unit = call.literals[0].upper().removeprefix("SQL_TSI_")
    by_months = unit in _MONTHS
    factor = _MONTHS[unit] if by_months else MILLIS[unit]
    move = mover(call.arguments[2], months() if by_months else day_time("SECOND"))
    return lambda _, count, time: move(time, count * factor)


def _add_kernel(call: BoundCall) -> ArrowBody | None:
    unit = call.literals[0].upper().removeprefix("SQL_TSI_")
    if unit in _MONTHS and not kinds.is_time(call.result):
        size = pa.scalar(_MONTHS[unit], pa.int64())
        return lambda _, count, time: add_months_kernel(
            time, pc.multiply(count.cast(pa.int64()), size)
        )
    if unit not in MILLIS or not kinds.is_any_timestamp(call.result):
        return None
    factor = MILLIS[unit]

    def run(_: Any, count: Any, time: Any) -> Any:
        span = pc.multiply(count.cast(pa.int64()), pa.scalar(factor, pa.int64()))
        moved = pc.add(time, span.cast(pa.duration("ms")).cast(pa.duration(time.type.unit)))
        return within_years(moved)

    return run


# --- TIMESTAMPDIFF ---------------------------------------------------------------------------


def _diff_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    """DATE and TIMESTAMP mix; TIMESTAMP_LTZ is compared with itself only."""
    unit = _unit(operands[0]) if len(operands) == 3 else None
    if unit is None:
        return None
    one, other = operands[1].type, operands[2].type
    local = [kinds.is_local_timestamp(type_) for type_ in (one, other)]
    clock = [kinds.is_time(type_) for type_ in (one, other)]
    if not all(kinds.is_datetime(type_) for type_ in (one, other)):
        return None
    if local[0] != local[1] or clock[0] != clock[1]:
        return None
    types = tuple(operand.type for operand in operands)
    return CallTypes(types, t.IntType(kinds.any_nullable([one, other])))


def _diff_row(call: BoundCall) -> RowBody:
    unit = call.literals[0].upper().removeprefix("SQL_TSI_")
    one, other = (_instant_reader(type_, call) for type_ in call.arguments[1:])
    if unit in _MONTHS:
        size = _MONTHS[unit]
        return lambda _, a, b: wrapped(_cut(months_between(other(b), one(a)), size), 32)
    size = MILLIS[unit]
    return lambda _, a, b: wrapped(_cut(other(b) // m.MILLI - one(a) // m.MILLI, size), 32)


def _instant_reader(type_: DataType, call: BoundCall) -> Callable[[Any], int]:
    return m.instant_nanos if kinds.is_local_timestamp(type_) else wall_reader(type_, call.session)


def _cut(value: int, size: int) -> int:
    """A quotient without its fraction."""
    return -(-value // size) if value < 0 else value // size


def months_between(later: int, earlier: int) -> int:
    """Whole months from one time to another, as Flink counts them."""
    day, other = m.day_of(later), m.day_of(earlier)
    found = _day_months(day, other)
    if m.add_months(other, found) == day and later % m.DAY < earlier % m.DAY:
        found -= 1
    return found


def _day_months(day: date, other: date) -> int:
    if day < other:
        return -_day_months(other, day)
    count = (day.year - other.year) * 12 + day.month - other.month
    return count if m.add_months(other, count) <= day else count - 1


def _diff_kernel(call: BoundCall) -> ArrowBody | None:
    unit = call.literals[0].upper().removeprefix("SQL_TSI_")
    stamps = all(kinds.is_any_timestamp(type_) for type_ in call.arguments[1:])
    if unit not in MILLIS or not stamps:
        return None
    size = pa.scalar(MILLIS[unit], pa.int64())

    def run(_: Any, one: Any, other: Any) -> Any:
        span = pc.subtract(_millis(other), _millis(one))
        return pc.cast(pc.divide(span, size), pa.int32(), safe=False)

    return run


def _millis(column: Any) -> Any:
    floored = pc.floor_temporal(column, unit="millisecond")
    return floored.cast(pa.timestamp("ms", column.type.tz)).cast(pa.int64())


# --- OVERLAPS --------------------------------------------------------------------------------


def _overlaps_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    """Two periods: a begin, and an end or an interval."""
    if len(operands) != 4:
        return None
    begins = common_type([operands[0].type, operands[2].type])
    if begins is None or not kinds.is_datetime(begins):
        return None
    ends = [operand.type for operand in (operands[1], operands[3])]
    if not all(kinds.is_interval(end) or kinds.is_datetime(end) for end in ends):
        return None
    wanted = [begins, *(end if kinds.is_interval(end) else begins for end in ends)]
    nullable = kinds.any_nullable(operand.type for operand in operands)
    return CallTypes((wanted[0], wanted[1], wanted[0], wanted[2]), t.BooleanType(nullable))


def _overlaps_row(call: BoundCall) -> RowBody:
    one, other = (_end(call.arguments[i], call.arguments[i + 1]) for i in (0, 2))

    def run(begin: Any, end: Any, other_begin: Any, other_end: Any) -> bool:
        low, high = sorted((begin, one(begin, end)))
        other_low, other_high = sorted((other_begin, other(other_begin, other_end)))
        return bool(high >= other_low and other_high >= low)

    return run


def _end(begin: DataType, end: DataType) -> RowBody:
    return mover(begin, end) if kinds.is_interval(end) else lambda _, value: value


ENTRIES = (
    FunctionEntry(
        name="TIMESTAMPADD",
        category="temporal",
        doc="A time, some units later.",
        forms=("TIMESTAMPADD(unit, integer, time)",),
        rule=_add_rule,
        row_of=_add_row,
        arrow_of=_add_kernel,
    ),
    FunctionEntry(
        name="TIMESTAMPDIFF",
        category="temporal",
        doc="How many whole units lie between two times.",
        forms=("TIMESTAMPDIFF(unit, time, time)",),
        rule=_diff_rule,
        row_of=_diff_row,
        arrow_of=_diff_kernel,
    ),
    FunctionEntry(
        name="OVERLAPS",
        category="temporal",
        doc="Whether two periods have a time in common; their ends belong to them.",
        forms=("(time, time) OVERLAPS (time, interval)",),
        rule=_overlaps_rule,
        row_of=_overlaps_row,
    ),
)
