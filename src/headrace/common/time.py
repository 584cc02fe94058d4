"""Amounts of time and points in time, and the one way to turn any of them into milliseconds.

In: ``Time``, ``Duration``, ``timedelta``, ``"1h 30m"`` or a number.  Out: int milliseconds, the
only form the runtime uses.  Next: common/watermark_strategy.py, api/window/
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TypeAlias

from headrace.errors import InvalidArgumentError

__all__ = ["Duration", "DurationLike", "Instant", "Time", "to_millis"]

_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000

# Nanoseconds a unit lasts; the spellings are those of Flink's configuration plus plain English.
_UNITS: dict[str, int] = {
    spelling: nanos
    for nanos, spellings in (
        (1, "ns nano nanos nanosecond nanoseconds"),
        (1_000, "us µs micro micros microsecond microseconds"),
        (_NANOS_PER_MILLI, "ms milli millis millisecond milliseconds"),
        (_NANOS_PER_SECOND, "s sec secs second seconds"),
        (60 * _NANOS_PER_SECOND, "m min mins minute minutes"),
        (3600 * _NANOS_PER_SECOND, "h hour hours"),
        (86400 * _NANOS_PER_SECOND, "d day days"),
        (7 * 86400 * _NANOS_PER_SECOND, "w week weeks"),
    )
    for spelling in spellings.split()
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)\s*,?", re.IGNORECASE)


class Duration:
    """An exact amount of time, kept in nanoseconds."""

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int) -> None:
        self._nanos = nanos

    @staticmethod
    def of_days(days: int) -> Duration:
        """That many days of 24 hours."""
        return Duration(days * 86400 * _NANOS_PER_SECOND)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """That many hours."""
        return Duration(hours * 3600 * _NANOS_PER_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """That many minutes."""
        return Duration(minutes * 60 * _NANOS_PER_SECOND)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """That many seconds."""
        return Duration(seconds * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """That many milliseconds."""
        return Duration(millis * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """That many nanoseconds."""
        return Duration(nanos)

    @staticmethod
    def parse(text: str) -> Duration:
        """The amount that a text such as ``"5 minutes"``, ``"10s"`` or ``"1h 30m"`` describes."""
        return Duration(_parse_nanos(text))

    def to_millis(self) -> int:
        """Whole milliseconds, rounded down."""
        return self._nanos // _NANOS_PER_MILLI

    def to_nanos(self) -> int:
        """Nanoseconds, exactly."""
        return self._nanos

    def to_timedelta(self) -> timedelta:
        """The same amount as a timedelta, rounded down to microseconds."""
        return timedelta(microseconds=self._nanos // 1_000)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self._nanos == other._nanos

    def __hash__(self) -> int:
        return hash((Duration, self._nanos))

    def __repr__(self) -> str:
        millis, rest = divmod(self._nanos, _NANOS_PER_MILLI)
        return f"Duration.of_nanos({self._nanos})" if rest else f"Duration.of_millis({millis})"

    def __str__(self) -> str:
        millis, rest = divmod(self._nanos, _NANOS_PER_MILLI)
        return f"{self._nanos} ns" if rest else f"{millis} ms"


class Time:
    """An amount of time in milliseconds, as the window API takes it."""

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def to_milliseconds(self) -> int:
        """The amount in milliseconds."""
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """That many milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """That many seconds."""
        return Time(seconds * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """That many minutes."""
        return Time(minutes * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """That many hours."""
        return Time(hours * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """That many days of 24 hours."""
        return Time(days * 86_400_000)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash((Time, self._milliseconds))

    def __repr__(self) -> str:
        return f"Time.milliseconds({self._milliseconds})"

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"


class Instant:
    """A point in time: seconds since the epoch and the nanoseconds within that second."""

    __slots__ = ("nanos", "seconds")

    def __init__(self, seconds: int, nanos: int) -> None:
        self.seconds = seconds
        self.nanos = nanos

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The point ``epoch_milli`` milliseconds after the epoch."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def to_epoch_milli(self) -> int:
        """Milliseconds since the epoch, rounded down, also before 1970."""
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Instant)
            and self.seconds == other.seconds
            and self.nanos == other.nanos
        )

    def __hash__(self) -> int:
        return hash((Instant, self.seconds, self.nanos))

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


DurationLike: TypeAlias = "Time | Duration | timedelta | str | int"


def to_millis(value: DurationLike) -> int:
    """Any amount of time as whole milliseconds.

    Args:
        value: a ``Time``, a ``Duration``, a ``timedelta``, a text such as ``"1h 30m"``, or an int
            that already counts milliseconds.

    Raises:
        InvalidArgumentError: if the value is none of these, or its text cannot be read.
    """
    if isinstance(value, Time):
        return value.to_milliseconds()
    if isinstance(value, Duration):
        return value.to_millis()
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, str):
        return _parse_nanos(value) // _NANOS_PER_MILLI
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    msg = f"an amount of time is expected, not {value!r} of type {type(value).__name__}"
    raise InvalidArgumentError(
        msg, fix="pass Time.seconds(5), Duration.of_seconds(5), timedelta(seconds=5) or '5 s'"
    )


def _parse_nanos(text: str) -> int:
    """Nanoseconds of ``"1h 30m"``, ``"-5 s"`` or ``"250"`` (milliseconds, as in Flink)."""
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    body = body.lstrip("+-")
    if re.fullmatch(r"\s*\d+\s*", body):
        return sign * int(body) * _NANOS_PER_MILLI
    total, end = 0, 0
    while end < len(body):
        part = _PART.match(body, end)
        unit = _UNITS.get(part[2]) or _UNITS.get(part[2].lower()) if part else None
        if part is None or unit is None:
            break
        whole, _, fraction = part[1].partition(".")
        # Integer arithmetic: 0.1 s must be exactly 100 ms.
        total += int(whole) * unit
        if fraction:
            total += int(fraction) * unit // 10 ** len(fraction)
        end = part.end()
    if not body or end < len(body):
        msg = f"{text!r} is not an amount of time"
        raise InvalidArgumentError(
            msg, fix="write a number and a unit, such as '500 ms', '10s', '5 minutes' or '1h 30m'"
        )
    return sign * total
