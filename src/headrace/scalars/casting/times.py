"""Dates and times: from one type to another, as text, and what texts mean.

In: Python values.  Out: Python values; ValueError for a text that is none of the type.
Next: scalars/moments.py
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.scalars import moments as m
from headrace.scalars import types as kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.session import ScalarSession

    Body = Callable[[Any], Any]
    # to nanoseconds on the wall clock, and from them
    Reader = Callable[[Any], int]

_DATE = re.compile(r"(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2})(?: .*)?)?)?")
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?")
_TIMESTAMP = re.compile(
    r"(\d{1,9})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?)?"
)


def wall_reader(source: DataType, session: ScalarSession) -> Reader:
    """What makes nanoseconds on the wall clock of the session of a value."""
    if isinstance(source, t.DateType):
        return m.day_nanos
    if isinstance(source, t.TimeType):
        return m.time_nanos
    if isinstance(source, t.TimestampType):
        return m.wall_nanos
    assert isinstance(source, t.LocalZonedTimestampType)
    zone = session.zone
    return lambda value: m.wall_from_instant(m.instant_nanos(value), zone)


def wall_writer(target: DataType, session: ScalarSession) -> Body:
    """What makes a value of nanoseconds on the wall clock of the session."""
    if isinstance(target, t.DateType):
        return m.day_of
    assert isinstance(target, t.TimeType | t.TimestampType | t.LocalZonedTimestampType)
    precision = target.precision
    if isinstance(target, t.TimeType):
        return lambda nanos: m.time_of(nanos, precision)
    if isinstance(target, t.TimestampType):
        return lambda nanos: m.wall_of(nanos, precision)
    zone = session.zone
    return lambda nanos: m.instant_of(m.instant_from_wall(nanos, zone), precision)


def moment_to_moment(source: DataType, target: DataType, session: ScalarSession) -> Body:
    """One type of time to another, by the wall clock of the session."""
    if kinds.is_local_timestamp(source) and isinstance(target, t.LocalZonedTimestampType):
        precision = target.precision
        return lambda value: m.instant_of(m.instant_nanos(value), precision)
    read, write = wall_reader(source, session), wall_writer(target, session)
    return lambda value: write(read(value))


def moment_text(source: DataType, session: ScalarSession) -> Body:
    """How a date or time reads."""
    if isinstance(source, t.DateType):
        return date.isoformat
    assert isinstance(source, t.TimeType | t.TimestampType | t.LocalZonedTimestampType)
    precision, read = source.precision, wall_reader(source, session)
    show = m.time_text if isinstance(source, t.TimeType) else m.wall_text
    return lambda value: show(read(value), precision)


def read_date(text: str) -> date:
    """A text as a DATE: a year, a month, a day; what follows a space is ignored."""
    found = _DATE.fullmatch(text.strip(" "))
    if found is None:
        message = "it is no date, such as 2020-02-29"
        raise ValueError(message)
    year, month, day = (int(part or 1) for part in found.groups())
    return date(year, month, day)


def time_reader(target: DataType) -> Body:
    """What reads a TIME: an hour, a minute, a second with its fraction."""
    assert isinstance(target, t.TimeType)
    precision = target.precision

    def read(text: str) -> time:
        found = _TIME.fullmatch(text.strip(" "))
        if found is None:
            message = "it is no time, such as 12:34:56"
            raise ValueError(message)
        hour, minute, second = (int(part or 0) for part in found.groups()[:3])
        whole = m.time_nanos(time(hour, minute, second))
        return m.time_of(whole + fraction_nanos(found.group(4)), precision)

    return read


def timestamp_reader(target: DataType, session: ScalarSession) -> Body:
    """What reads a TIMESTAMP or TIMESTAMP_LTZ, on the wall clock of the session."""
    write = wall_writer(target, session)
    return lambda text: write(read_wall(text))


def read_wall(text: str) -> int:
    """A text as nanoseconds on the wall clock.

    ``24:00:00`` is the next day, and a day behind the end of its month is the last, as in Java.
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        message = "it is no timestamp, such as 2020-02-29 12:34:56"
        raise ValueError(message)
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    fraction = fraction_nanos(found.group(7))
    return smart_nanos(year, month, day, hour, minute, second, fraction)


def smart_nanos(
    year: int, month: int, day: int, hour: int, minute: int, second: int, fraction: int
) -> int:
    """The parts of a time as nanoseconds, as lenient as Java's smart resolving."""
    if 1 <= month <= 12 and 28 < day <= 31:
        day = min(day, m.days_in_month(year, month))
    if hour == 24 and minute == second == fraction == 0:
        return m.day_nanos(date(year, month, day)) + m.DAY
    return m.wall_nanos(datetime(year, month, day, hour, minute, second)) + fraction


def fraction_nanos(digits: str | None) -> int:
    """The digits behind a second as nanoseconds."""
    return int((digits or "0")[:9].ljust(9, "0"))
