"""Types of spans of time: in months, or in milliseconds.

In: ``DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3))`` and SQL's ``INTERVAL DAY TO
SECOND``.  Out: `YearMonthIntervalType` and `DayTimeIntervalType`.  Next: common/data_types.py
"""

from __future__ import annotations

import datetime
from enum import Enum
from typing import TYPE_CHECKING

from headrace.common.atomic_types import AtomicType
from headrace.common.typeinfo import TypeInformation, Types
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import Record


class Resolution:
    """A unit of an interval, with its number of digits."""

    class IntervalUnit(Enum):
        """The units."""

        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: Resolution.IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> Resolution.IntervalUnit:
        """Which unit."""
        return self._unit

    @property
    def precision(self) -> int:
        """Digits of years, of days, or behind the second."""
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


def _refuse(what: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"there is no interval with {what}", fix=fix)


class YearMonthIntervalType(AtomicType):
    """Spans of months, as their number."""

    class YearMonthResolution:
        """What such an interval is made of."""

        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

    DEFAULT_PRECISION = 2

    def __init__(
        self, resolution: int, precision: int = DEFAULT_PRECISION, nullable: bool = True
    ) -> None:
        super().__init__(nullable)
        if resolution not in (1, 2, 3):
            raise _refuse(f"the resolution {resolution!r}", "use a YearMonthResolution")
        months = resolution == YearMonthIntervalType.YearMonthResolution.MONTH
        if not 1 <= precision <= 4 or (months and precision != self.DEFAULT_PRECISION):
            raise _refuse(f"years of {precision} digits", "years have 1 to 4 digits, months none")
        self._resolution = resolution
        self._precision = precision

    @property
    def resolution(self) -> int:
        """A constant of YearMonthResolution."""
        return self._resolution

    @property
    def precision(self) -> int:
        """Digits of the years."""
        return self._precision

    def _parts(self) -> tuple[object, ...]:
        return (self._resolution, self._precision)

    def _sql(self) -> str:
        year = f"YEAR({self._precision})"
        return f"INTERVAL {('', year, 'MONTH', f'{year} TO MONTH')[self._resolution]}"

    def to_type_info(self) -> TypeInformation:
        """The number of months."""
        return Types.INT()


class DayTimeIntervalType(AtomicType):
    """Spans of time, as their number of milliseconds."""

    class DayTimeResolution(Enum):
        """What such an interval is made of."""

        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6

    def __init__(
        self,
        resolution: DayTimeIntervalType.DayTimeResolution,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        if not isinstance(resolution, DayTimeIntervalType.DayTimeResolution):
            raise _refuse(f"the resolution {resolution!r}", "use a DayTimeResolution")
        if not 1 <= day_precision <= 6 or (
            self._needs_default_day_precision(resolution)
            and day_precision != self.DEFAULT_DAY_PRECISION
        ):
            raise _refuse(f"days of {day_precision} digits", "days have 1 to 6 digits")
        if not 0 <= fractional_precision <= 9 or (
            self._needs_default_fractional_precision(resolution)
            and fractional_precision != self.DEFAULT_FRACTIONAL_PRECISION
        ):
            raise _refuse(f"seconds of {fractional_precision} digits", "seconds have 0 to 9 digits")
        self._resolution = resolution
        self._day_precision = day_precision
        self._fractional_precision = fractional_precision

    @property
    def resolution(self) -> DayTimeIntervalType.DayTimeResolution:
        """What it is made of."""
        return self._resolution

    @property
    def day_precision(self) -> int:
        """Digits of the days."""
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        """Digits behind the second."""
        return self._fractional_precision

    @staticmethod
    def _needs_default_day_precision(resolution: DayTimeIntervalType.DayTimeResolution) -> bool:
        return "DAY" not in resolution.name

    @staticmethod
    def _needs_default_fractional_precision(
        resolution: DayTimeIntervalType.DayTimeResolution,
    ) -> bool:
        return "SECOND" not in resolution.name

    def _parts(self) -> tuple[object, ...]:
        return (self._resolution, self._day_precision, self._fractional_precision)

    def _sql(self) -> str:
        text = self._resolution.name.replace("_", " ")
        text = text.replace("DAY", f"DAY({self._day_precision})")
        return f"INTERVAL {text.replace('SECOND', f'SECOND({self._fractional_precision})')}"

    def need_conversion(self) -> bool:
        """See DataType."""
        return True

    def to_sql_type(self, obj: Record) -> Record:
        """A timedelta as its number of microseconds."""
        return None if obj is None else obj // datetime.timedelta(microseconds=1)

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        return None if obj is None else datetime.timedelta(microseconds=obj)

    def to_type_info(self) -> TypeInformation:
        """The number of milliseconds."""
        return Types.LONG()


_Interval = YearMonthIntervalType | DayTimeIntervalType
_Unit = Resolution.IntervalUnit
_Months = YearMonthIntervalType.YearMonthResolution
_Spans = DayTimeIntervalType.DayTimeResolution
_DAYS = DayTimeIntervalType.DEFAULT_DAY_PRECISION
_INTERVALS: dict[
    tuple[Resolution.IntervalUnit, Resolution.IntervalUnit | None], Callable[[int, int], _Interval]
]
_INTERVALS = {
    (_Unit.YEAR, None): lambda upper, _: YearMonthIntervalType(_Months.YEAR, upper),
    (_Unit.MONTH, None): lambda *_: YearMonthIntervalType(_Months.MONTH),
    (_Unit.YEAR, _Unit.MONTH): lambda upper, _: YearMonthIntervalType(_Months.YEAR_TO_MONTH, upper),
    (_Unit.DAY, None): lambda upper, _: DayTimeIntervalType(_Spans.DAY, upper),
    (_Unit.DAY, _Unit.HOUR): lambda upper, _: DayTimeIntervalType(_Spans.DAY_TO_HOUR, upper),
    (_Unit.DAY, _Unit.MINUTE): lambda upper, _: DayTimeIntervalType(_Spans.DAY_TO_MINUTE, upper),
    (_Unit.DAY, _Unit.SECOND): lambda upper, lower: DayTimeIntervalType(
        _Spans.DAY_TO_SECOND, upper, lower
    ),
    (_Unit.HOUR, None): lambda *_: DayTimeIntervalType(_Spans.HOUR),
    (_Unit.HOUR, _Unit.MINUTE): lambda *_: DayTimeIntervalType(_Spans.HOUR_TO_MINUTE),
    (_Unit.HOUR, _Unit.SECOND): lambda _, lower: DayTimeIntervalType(
        _Spans.HOUR_TO_SECOND, _DAYS, lower
    ),
    (_Unit.MINUTE, None): lambda *_: DayTimeIntervalType(_Spans.MINUTE),
    (_Unit.MINUTE, _Unit.SECOND): lambda _, lower: DayTimeIntervalType(
        _Spans.MINUTE_TO_SECOND, _DAYS, lower
    ),
    (_Unit.SECOND, None): lambda upper, _: DayTimeIntervalType(_Spans.SECOND, _DAYS, upper),
}


def interval_of(upper: Resolution, lower: Resolution | None = None) -> _Interval:
    """The interval type from one unit to another."""
    found = _INTERVALS.get((upper.unit, None if lower is None else lower.unit))
    if found is None:
        msg = f"there is no interval of {upper} to {lower}"
        raise InvalidArgumentError(msg, fix="years to months, or days to hours, minutes, seconds")
    return found(upper.precision, -1 if lower is None else lower.precision)
