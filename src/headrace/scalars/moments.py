"""Points in time as numbers: nanoseconds since 1970, on a wall clock or in UTC.

Python's datetime ends at microseconds, so bodies compute with whole numbers and make values at the
end: a datetime, or a pandas.Timestamp where a type has more than six digits.

In: values of DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ.  Out: the same.  Next: scalars/casting/times.py
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Any

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MILLI = 1_000_000
MICRO = 1_000
EPOCH = datetime(1970, 1, 1)
EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)


def wall_nanos(value: datetime) -> int:
    """A TIMESTAMP as nanoseconds since 1970 on the wall clock."""
    micros = (value.replace(tzinfo=None) - EPOCH) // _MICROSECOND
    return micros * MICRO + getattr(value, "nanosecond", 0)


def instant_nanos(value: datetime) -> int:
    """A TIMESTAMP_LTZ as nanoseconds since 1970 in UTC."""
    return (value - EPOCH_UTC) // _MICROSECOND * MICRO + getattr(value, "nanosecond", 0)


def wall_of(nanos: int, precision: int = 6) -> datetime:
    """A TIMESTAMP of nanoseconds on the wall clock; digits behind the precision are left out."""
    if precision > 6:
        return _with_nanos(nanos, precision, None)
    return EPOCH + timedelta(microseconds=truncated(nanos, precision) // MICRO)


def instant_of(nanos: int, precision: int = 6) -> datetime:
    """A TIMESTAMP_LTZ of nanoseconds in UTC; digits behind the precision are left out."""
    if precision > 6:
        return _with_nanos(nanos, precision, UTC)
    return EPOCH_UTC + timedelta(microseconds=truncated(nanos, precision) // MICRO)


def _with_nanos(nanos: int, precision: int, zone: tzinfo | None) -> datetime:
    import pandas as pd

    found: Any = pd.Timestamp(truncated(nanos, precision), unit="ns", tz=zone)
    return found  # type: ignore[no-any-return]


def truncated(nanos: int, precision: int) -> int:
    """Nanoseconds without the digits behind a precision."""
    return nanos - nanos % int(_STEPS[precision])


_STEPS = tuple(10 ** (9 - digits) for digits in range(10))


def wall_from_instant(nanos: int, zone: tzinfo) -> int:
    """What the clock of a zone shows at a time in UTC."""
    return nanos + _offset_at(nanos // SECOND, zone)


def instant_from_wall(nanos: int, zone: tzinfo) -> int:
    """The time in UTC at which the clock of a zone shows something.

    Where clocks went back the earlier time is meant; a time that clocks left out is as much later
    as they left out, as in Java.
    """
    return nanos - _offset_on(nanos // SECOND, zone)


def instant_from_wall_later(nanos: int, zone: tzinfo) -> int:
    """The same, but where clocks went back the later time is meant: Java's older calendar."""
    return nanos - _later_offset_on(nanos // SECOND, zone)


@lru_cache(maxsize=8192)
def _offset_at(second: int, zone: tzinfo) -> int:
    moment = (EPOCH_UTC + timedelta(seconds=second)).astimezone(zone)
    return _in_nanos(moment.utcoffset())


@lru_cache(maxsize=8192)
def _offset_on(second: int, zone: tzinfo) -> int:
    return _in_nanos((EPOCH + timedelta(seconds=second)).replace(tzinfo=zone).utcoffset())


@lru_cache(maxsize=8192)
def _later_offset_on(second: int, zone: tzinfo) -> int:
    shown = (EPOCH + timedelta(seconds=second)).replace(tzinfo=zone)
    earlier, later = _in_nanos(shown.utcoffset()), _in_nanos(shown.replace(fold=1).utcoffset())
    # where clocks went back the offset of the later time is smaller; in a gap it is larger
    return min(earlier, later)


def _in_nanos(offset: timedelta | None) -> int:
    assert offset is not None, "zones of sessions have offsets"
    return offset // _MICROSECOND * MICRO


def day_nanos(value: date) -> int:
    """The beginning of a day on the wall clock."""
    return (value.toordinal() - EPOCH_DAY) * DAY


def day_of(nanos: int) -> date:
    """The day of a time on the wall clock."""
    return date.fromordinal(nanos // DAY + EPOCH_DAY)


def time_nanos(value: time) -> int:
    """A TIME as nanoseconds since midnight."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * SECOND + value.microsecond * MICRO


def time_of(nanos: int, precision: int = 6) -> time:
    """The TIME of a time on the wall clock; digits behind the precision are left out."""
    micros = truncated(nanos % DAY, min(precision, 6)) // MICRO
    seconds, micro = divmod(micros, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return time(hour, minute, second, micro)


def fraction_text(nanos: int, precision: int) -> str:
    """The digits of a second with their point; nothing for precision 0."""
    return f".{nanos % SECOND:09}"[: precision + 1] if precision else ""


def wall_text(nanos: int, precision: int) -> str:
    """A time on the wall clock as CAST writes it: ``2020-02-29 12:34:56.789``."""
    shown = EPOCH + timedelta(seconds=nanos // SECOND)
    return f"{shown.isoformat(' ')}{fraction_text(nanos, precision)}"


def time_text(nanos: int, precision: int) -> str:
    """A time of a day as CAST writes it."""
    return f"{time_of(nanos).replace(microsecond=0).isoformat()}{fraction_text(nanos, precision)}"


def add_months(day: date, months: int) -> date:
    """The same day of another month, or its last if it is shorter."""
    total = day.year * 12 + day.month - 1 + months
    year, month = divmod(total, 12)
    return date(year, month + 1, min(day.day, days_in_month(year, month + 1)))


def add_months_nanos(nanos: int, months: int) -> int:
    """The same time of the day, some months later."""
    return day_nanos(add_months(day_of(nanos), months)) + nanos % DAY


def days_in_month(year: int, month: int) -> int:
    """How many days a month has."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31
