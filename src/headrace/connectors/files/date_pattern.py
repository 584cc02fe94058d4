"""Java's date patterns and time zone ids, for bucket names such as ``2024-05-01--13``.

In: ``"yyyy-MM-dd--HH"`` and ``"America/Los_Angeles"``.  Out: a function from epoch milliseconds to
text.
"""

from __future__ import annotations

import datetime as dt
import difflib
import re
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass

from headrace.errors import InvalidArgumentError

_TOKEN = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|[^a-zA-Z']+")
_OFFSET = re.compile(r"^(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?$")

Form = Callable[[dt.datetime, int], str]


def _number(part: Callable[[dt.datetime], int]) -> Form:
    return lambda moment, width: f"{part(moment):0{width}d}"


def _year(moment: dt.datetime, width: int) -> str:
    return f"{moment.year % 100:02d}" if width == 2 else f"{moment.year:0{width}d}"


def _month(moment: dt.datetime, width: int) -> str:
    if width <= 2:
        return f"{moment.month:0{width}d}"
    return _MONTHS[moment.month - 1] if width > 3 else _MONTHS[moment.month - 1][:3]


def _weekday(moment: dt.datetime, width: int) -> str:
    name = _DAYS[moment.weekday()]
    return name if width > 3 else name[:3]


def _fraction(moment: dt.datetime, width: int) -> str:
    return f"{moment.microsecond:06d}".ljust(width, "0")[:width]


# Fixed names: the bucket of a moment must not depend on the locale of the worker.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_LETTERS: dict[str, Form] = {
    "y": _year,
    "u": _year,
    "M": _month,
    "L": _month,
    "d": _number(lambda m: m.day),
    "D": _number(lambda m: m.timetuple().tm_yday),
    "H": _number(lambda m: m.hour),
    "k": _number(lambda m: m.hour or 24),
    "h": _number(lambda m: m.hour % 12 or 12),
    "K": _number(lambda m: m.hour % 12),
    "m": _number(lambda m: m.minute),
    "s": _number(lambda m: m.second),
    "S": _fraction,
    "E": _weekday,
    "a": lambda m, _: "AM" if m.hour < 12 else "PM",
}


@dataclass(frozen=True, slots=True)
class DatePattern:
    """A checked pattern and zone; picklable.

    Attributes:
        pattern: letters as in Java's ``DateTimeFormatter``.
        timezone_id: None for the zone of the process that formats.
    """

    pattern: str
    timezone_id: str | None = None

    def __post_init__(self) -> None:
        _parse(self.pattern)
        _zone(self.timezone_id)

    def format(self, epoch_ms: int) -> str:
        """The text for a moment."""
        seconds, millis = divmod(epoch_ms, 1000)
        moment = dt.datetime.fromtimestamp(seconds, dt.UTC).replace(microsecond=millis * 1000)
        local = moment.astimezone(_zone(self.timezone_id))
        return "".join(form(local, width) for form, width in _parse(self.pattern))


def _parse(pattern: str) -> list[tuple[Form, int]]:
    parts: list[tuple[Form, int]] = []
    end = 0
    for match in _TOKEN.finditer(pattern):
        if match.start() != end:
            break
        end = match.end()
        token, quoted, letter = match.group(0), match.group(1), match.group(2)
        if letter is None:
            text = token if quoted is None else quoted.replace("''", "'") or "'"
            parts.append((_literal(text), 0))
        elif letter in _LETTERS:
            parts.append((_LETTERS[letter], len(token)))
        else:
            raise _bad_pattern(pattern, f"letter {letter!r} is not supported")
    if end != len(pattern) or not pattern:
        raise _bad_pattern(pattern, "a quote is not closed" if pattern else "it is empty")
    return parts


def _literal(text: str) -> Form:
    return lambda _moment, _width: text


def _bad_pattern(pattern: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the date pattern {pattern!r} cannot be used: {reason}",
        where="BucketAssigner.date_time_bucket_assigner",
        fix=f"use the letters {' '.join(_LETTERS)} and put other text in single quotes, for "
        "example \"'day='yyyy-MM-dd\"",
    )


def _zone(timezone_id: str | None) -> dt.tzinfo | None:
    if timezone_id is None:
        return None
    if timezone_id in ("Z", "UTC", "GMT", "UT"):
        return dt.UTC
    offset = _OFFSET.match(timezone_id)
    if offset:
        minutes = int(offset.group(2)) * 60 + int(offset.group(3) or 0)
        return dt.timezone(dt.timedelta(minutes=-minutes if offset.group(1) == "-" else minutes))
    try:
        return zoneinfo.ZoneInfo(_SHORT_IDS.get(timezone_id, timezone_id))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        close = difflib.get_close_matches(timezone_id, zoneinfo.available_timezones(), 3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise InvalidArgumentError(
            f"there is no time zone {timezone_id!r}{hint}",
            where="BucketAssigner.date_time_bucket_assigner",
            fix="use a name such as 'Europe/Berlin' or an offset such as 'GMT+02:00'",
        ) from error


_SHORT_IDS = {
    "PST": "America/Los_Angeles",
    "CST": "America/Chicago",
    "JST": "Asia/Tokyo",
    "CTT": "Asia/Shanghai",
    "IST": "Asia/Kolkata",
    "ECT": "Europe/Paris",
}
