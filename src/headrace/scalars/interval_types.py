"""Intervals: their units, the type that two have in common, and how they read as text.

In: types of intervals, numbers of months or milliseconds.  Out: types and texts.
Next: scalars/common_types.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t

if TYPE_CHECKING:
    from headrace.common.data_types import DataType

MILLIS = {
    "MILLISECOND": 1,
    "SECOND": 1_000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": 86_400_000,
    "WEEK": 604_800_000,
}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12000}
_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")


def day_time(unit: str, *, nullable: bool = True) -> t.DayTimeIntervalType:
    """The type of an interval of one unit, such as DAY."""
    return t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution[unit], nullable=nullable)


def months(*, nullable: bool = True) -> t.YearMonthIntervalType:
    """INTERVAL YEAR TO MONTH."""
    return t.YearMonthIntervalType(
        t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH, nullable=nullable
    )


def common_interval(one: DataType, other: DataType) -> DataType | None:
    """The interval that holds both; None if one counts months and the other time."""
    if isinstance(one, t.YearMonthIntervalType) and isinstance(other, t.YearMonthIntervalType):
        same = one.resolution == other.resolution
        resolution = (
            one.resolution if same else t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH
        )
        return t.YearMonthIntervalType(resolution, max(one.precision, other.precision))
    if isinstance(one, t.DayTimeIntervalType) and isinstance(other, t.DayTimeIntervalType):
        return _common_day_time(one, other)
    return None


def _common_day_time(one: t.DayTimeIntervalType, other: t.DayTimeIntervalType) -> DataType:
    bounds = [unit for type_ in (one, other) for unit in type_.resolution.name.split("_TO_")]
    places = [_UNITS.index(unit) for unit in bounds]
    first, last = _UNITS[min(places)], _UNITS[max(places)]
    resolution = t.DayTimeIntervalType.DayTimeResolution[
        first if first == last else f"{first}_TO_{last}"
    ]
    days = max(one.day_precision, other.day_precision) if first == "DAY" else 2
    fraction = max(one.fractional_precision, other.fractional_precision) if last == "SECOND" else 6
    return t.DayTimeIntervalType(resolution, days, fraction)


def months_text(value: int) -> str:
    """Months as Flink writes them: ``+1-02``."""
    years, rest = divmod(abs(value), 12)
    return f"{'-' if value < 0 else '+'}{years}-{rest:02}"


def millis_text(value: int) -> str:
    """Milliseconds as Flink writes them: ``+1 02:03:04.567``."""
    seconds, millis = divmod(abs(value), 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{'-' if value < 0 else '+'}{days} {hour:02}:{minute:02}:{second:02}.{millis:03}"
