"""Units of time: EXTRACT, YEAR and its kin, and FLOOR and CEIL of times.

    EXTRACT(HOUR FROM ts)   FLOOR(ts TO MONTH)   weeks begin on Sunday for FLOOR, on Monday for WEEK

A TIMESTAMP_LTZ is looked at on the clock of the session.  For times before 1970 Flink counts some
units backwards; here they are what a calendar and a clock show.

In: a unit, as a text, and a time.  Out: numbers and times.  Next: scalars/functions/unit_kernels.py
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.scalars import moments as m
from headrace.scalars import types as kinds
from headrace.scalars.casting.times import wall_reader, wall_writer
from headrace.scalars.functions.entry import (
    NO_LITERAL,
    BoundCall,
    CallTypes,
    FunctionEntry,
    Operand,
)
from headrace.scalars.functions.unit_kernels import (
    OF_AN_HOUR,
    extract_kernel,
    rounding_kernel,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import ArrowBody, RowBody

__all__ = ["ENTRIES", "ROUNDING", "rounding_kernel", "rounding_row"]

CLOCK_UNITS = {
    "DAY": m.DAY,
    "HOUR": m.HOUR,
    "MINUTE": m.MINUTE,
    "SECOND": m.SECOND,
    "MILLISECOND": m.MILLI,
}
_DATE_UNITS = ("WEEK", "MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY", "MILLENNIUM")
_OF_DATE: dict[str, Callable[[date], int]] = {
    "YEAR": lambda day: day.year,
    "QUARTER": lambda day: (day.month + 2) // 3,
    "MONTH": lambda day: day.month,
    "WEEK": lambda day: day.isocalendar()[1],
    "DAY": lambda day: day.day,
    "DOW": lambda day: day.isoweekday() % 7 + 1,
    "DOY": lambda day: day.timetuple().tm_yday,
    "ISODOW": date.isoweekday,
    "ISOYEAR": lambda day: day.isocalendar()[0],
    "DECADE": lambda day: day.year // 10,
    "CENTURY": lambda day: (day.year + 99) // 100,
    "MILLENNIUM": lambda day: (day.year + 999) // 1000,
}
_OF_TIME: dict[str, Callable[[int], int]] = {
    "HOUR": lambda nanos: nanos // m.HOUR % 24,
    "MINUTE": lambda nanos: nanos // m.MINUTE % 60,
    "SECOND": lambda nanos: nanos // m.SECOND % 60,
    "MILLISECOND": lambda nanos: nanos % m.SECOND // m.MILLI,
    "MICROSECOND": lambda nanos: nanos % m.SECOND // m.MICRO,
    "NANOSECOND": lambda nanos: nanos % m.SECOND,
    "EPOCH": lambda nanos: nanos // m.SECOND,
}
_OF_MILLIS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}
_WRAPS = {"DAY": None, "HOUR": 24, "MINUTE": 60, "SECOND": 60}


def unit_of(operand: Operand) -> str | None:
    """The unit that a constant argument names; None if it names none."""
    if operand.literal is NO_LITERAL or not isinstance(operand.literal, str):
        return None
    return operand.literal.upper()


# --- EXTRACT ---------------------------------------------------------------------------------


def _has_unit(type_: DataType, unit: str) -> bool:
    if kinds.is_months(type_):
        return unit in ("YEAR", "QUARTER", "MONTH", "DECADE", "CENTURY", "MILLENNIUM")
    if kinds.is_duration(type_):
        return unit in _OF_MILLIS or unit in ("MILLISECOND", "EPOCH")
    if kinds.is_time(type_):
        return unit in _OF_TIME
    return kinds.is_datetime(type_) and (unit in _OF_DATE or unit in _OF_TIME)


def _extract_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    unit = unit_of(operands[0]) if len(operands) == 2 else None
    if unit is None or not _has_unit(operands[1].type, unit):
        return None
    types = tuple(operand.type for operand in operands)
    return CallTypes(types, t.BigIntType(kinds.is_nullable(types[1])))


def _extract_row(call: BoundCall) -> RowBody:
    body = extractor(call.literals[0].upper(), call.arguments[1], call)
    return lambda _, value: body(value)


def extractor(unit: str, source: DataType, call: BoundCall) -> Callable[[Any], int]:
    """What takes a unit out of a time or an interval."""
    if kinds.is_months(source):
        return _of_months(unit)
    if kinds.is_duration(source):
        return _of_duration(unit)
    read = wall_reader(source, call.session)
    if unit in _OF_DATE:
        of_date = _OF_DATE[unit]
        return lambda value: of_date(m.day_of(read(value)))
    of_time = _OF_TIME[unit]
    return lambda value: of_time(read(value))


def _of_months(unit: str) -> Callable[[int], int]:
    if unit == "MONTH":
        return lambda value: _rest(value, 12)
    if unit == "QUARTER":
        return lambda value: _rest(value, 12) // 3 + 1
    size = {"YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12000}[unit]
    return lambda value: _quotient(value, size)


def _of_duration(unit: str) -> Callable[[int], int]:
    if unit == "MILLISECOND":
        return lambda value: _rest(value, 1000)
    if unit == "EPOCH":
        return lambda value: _quotient(value, 1000)
    size, wraps = _OF_MILLIS[unit], _WRAPS[unit]
    if wraps is None:
        return lambda value: _quotient(value, size)
    return lambda value: _rest(_quotient(value, size), wraps)


def _quotient(value: int, size: int) -> int:
    return -(-value // size) if value < 0 else value // size


def _rest(value: int, size: int) -> int:
    return -(-value % size) if value < 0 else value % size


# --- FLOOR, CEIL -----------------------------------------------------------------------------


def ROUNDING(operands: tuple[Operand, ...]) -> CallTypes | None:
    """The rule of ``FLOOR(time TO unit)``."""
    unit = unit_of(operands[1]) if len(operands) == 2 else None
    if unit is None or not kinds.is_datetime(operands[0].type):
        return None
    known = unit in CLOCK_UNITS or (unit in _DATE_UNITS and not kinds.is_time(operands[0].type))
    if not known:
        return None
    types = tuple(operand.type for operand in operands)
    return CallTypes(types, types[0])


def rounding_row(call: BoundCall, *, up: bool) -> RowBody:
    """The body of FLOOR and CEIL of a time."""
    unit, source = call.literals[1].upper(), call.arguments[0]
    read, write = wall_reader(source, call.session), wall_writer(source, call.session)
    change = _by_clock(CLOCK_UNITS[unit], up=up) if unit in CLOCK_UNITS else _by_date(unit, up=up)
    if kinds.is_time(source):
        return lambda value, _: write(_within_day(change(read(value))))
    if kinds.is_local_timestamp(source) and unit in OF_AN_HOUR:
        return _rounded_instant(source.precision, read, change)  # type: ignore[attr-defined]
    return lambda value, _: write(change(read(value)))


def _rounded_instant(
    precision: int, read: Callable[[Any], int], change: Callable[[int], int]
) -> RowBody:
    """A point in time moved as far as what the clock shows: also where it shows an hour twice."""

    def rounded(value: Any, _: str) -> Any:
        wall = read(value)
        return m.instant_of(m.instant_nanos(value) + change(wall) - wall, precision)

    return rounded


def _within_day(nanos: int) -> int:
    if nanos >= m.DAY:
        message = "the next unit begins on the next day"
        raise ValueError(message)
    return nanos


def _by_clock(size: int, *, up: bool) -> Callable[[int], int]:
    if up:
        return lambda nanos: -(-nanos // size) * size
    return lambda nanos: nanos // size * size


def _by_date(unit: str, *, up: bool) -> Callable[[int], int]:
    """By the day alone: CEIL of a time on the first day of a unit is that day, as in Flink."""

    def change(nanos: int) -> int:
        day = m.day_of(nanos)
        first = unit_start(day, unit)
        return m.day_nanos(first if not up or _stays(day, first, unit) else next_start(first, unit))

    return change


def _stays(day: date, first: date, unit: str) -> bool:
    """Whether CEIL of a day is the day: as in Flink, of quarters on 1 January alone."""
    if unit == "QUARTER":
        return day.month == day.day == 1
    return day == first and unit in ("WEEK", "MONTH", "YEAR")


def unit_start(day: date, unit: str) -> date:
    """The first day of the unit that a day is in."""
    match unit:
        case "WEEK":
            return day - timedelta(days=day.isoweekday() % 7)
        case "MONTH":
            return day.replace(day=1)
        case "QUARTER":
            return date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
        case "YEAR":
            return date(day.year, 1, 1)
        case "DECADE":
            return date(max(day.year // 10 * 10, 1), 1, 1)
        case "CENTURY":
            return date((day.year - 1) // 100 * 100 + 1, 1, 1)
        case _:
            return date((day.year - 1) // 1000 * 1000 + 1, 1, 1)


def next_start(first: date, unit: str) -> date:
    """The first day of the unit that follows."""
    if unit == "WEEK":
        return first + timedelta(days=7)
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200}
    return m.add_months(first, months.get(unit, 12000))


# --- entries ---------------------------------------------------------------------------------


def _unit_entry(name: str, unit: str, doc: str) -> FunctionEntry:
    def rule(operands: tuple[Operand, ...]) -> CallTypes | None:
        if len(operands) != 1 or not _has_unit(operands[0].type, unit):
            return None
        source = operands[0].type
        return CallTypes((source,), t.BigIntType(kinds.is_nullable(source)))

    def kernel(call: BoundCall) -> ArrowBody | None:
        return extract_kernel(unit, call.arguments[0], call.session)

    return FunctionEntry(
        name=name,
        category="temporal",
        doc=doc,
        forms=(f"{name}(time)",),
        rule=rule,
        row_of=lambda call: extractor(unit, call.arguments[0], call),
        arrow_of=kernel,
    )


def _extract_arrow(call: BoundCall) -> ArrowBody | None:
    inner = extract_kernel(call.literals[0].upper(), call.arguments[1], call.session)
    return None if inner is None else lambda _, column: inner(column)


ENTRIES = (
    FunctionEntry(
        name="EXTRACT",
        category="temporal",
        doc="A part of a time or an interval, such as its hour.",
        forms=("EXTRACT(unit FROM time)", "EXTRACT(unit FROM interval)"),
        rule=_extract_rule,
        row_of=_extract_row,
        arrow_of=_extract_arrow,
    ),
    _unit_entry("YEAR", "YEAR", "The year."),
    _unit_entry("QUARTER", "QUARTER", "The quarter of the year, 1 to 4."),
    _unit_entry("MONTH", "MONTH", "The month, 1 to 12."),
    _unit_entry("WEEK", "WEEK", "The week of the year by ISO 8601, 1 to 53."),
    _unit_entry("DAYOFYEAR", "DOY", "The day of the year, 1 to 366."),
    _unit_entry("DAYOFMONTH", "DAY", "The day of the month, 1 to 31."),
    _unit_entry("DAYOFWEEK", "DOW", "The day of the week, 1 for Sunday."),
    _unit_entry("HOUR", "HOUR", "The hour, 0 to 23."),
    _unit_entry("MINUTE", "MINUTE", "The minute, 0 to 59."),
    _unit_entry("SECOND", "SECOND", "The second, 0 to 59."),
)
