"""Days and times as the texts that Flink's formats of tables write and read.

    SQL          2020-01-02 03:04:05.12      with a zone: 2020-01-02 03:04:05.12Z
    ISO-8601     2020-01-02T03:04:05.12      with a zone: 2020-01-02T03:04:05.12Z

In: texts or values of lines.  Out: the other.  Next: formats/tables/json.py, formats/tables/csv.py
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_DAY = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_CLOCK = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{0,9}))?"
_SHORT_CLOCK = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
_TIME = re.compile(_CLOCK)
_ISO_TIME = re.compile(_SHORT_CLOCK)
_FORMS = {
    ("SQL", False): re.compile(f"{_DAY} {_CLOCK}"),
    ("SQL", True): re.compile(f"{_DAY} {_CLOCK}Z"),
    ("ISO-8601", False): re.compile(f"{_DAY}T{_SHORT_CLOCK}"),
    ("ISO-8601", True): re.compile(f"{_DAY}T{_SHORT_CLOCK}Z"),
}


def read_time(text: str) -> dt.time:
    """``12:30:00.5``."""
    return _time(_TIME.fullmatch(text), text)


def read_iso_time(text: str) -> dt.time:
    """``12:30`` as well."""
    return _time(_ISO_TIME.fullmatch(text), text)


def _time(found: re.Match[str] | None, text: str) -> dt.time:
    if found is None:
        msg = f"{text!r:.60} is not a time like 12:30:00"
        raise ValueError(msg)
    hour, minute, second, fraction = found.groups()
    return dt.time(int(hour), int(minute), int(second or 0), _micros(fraction))


def timestamp_reader(standard: str, *, zoned: bool) -> Callable[[str], dt.datetime]:
    """What reads timestamps of a standard; with a zone they end with Z, and are in UTC."""
    form, zone = _FORMS[standard, zoned], dt.UTC if zoned else None

    def read(text: str) -> dt.datetime:
        found = form.fullmatch(text)
        if found is None:
            like = timestamp_writer(standard, zoned=zoned)(dt.datetime(2020, 1, 31, 12, 30))
            msg = f"{text!r:.60} is not a timestamp like {like} (timestamp-format.standard)"
            raise ValueError(msg)
        year, month, day, hour, minute, second, fraction = found.groups()
        return dt.datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0),
            _micros(fraction), zone,
        )  # fmt: skip

    return read


def _micros(fraction: str | None) -> int:
    return int((fraction or "")[:6].ljust(6, "0"))


def write_time(value: dt.time) -> str:
    """``12:30:00``, and milliseconds where there are any: Flink's times have no more."""
    return f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}" + _fraction(
        value.microsecond // 1000 * 1000
    )


def timestamp_writer(standard: str, *, zoned: bool) -> Callable[[dt.datetime], str]:
    """What writes timestamps of a standard; those with a zone are in UTC."""
    between, end = " " if standard == "SQL" else "T", "Z" if zoned else ""

    def write(value: dt.datetime) -> str:
        day = f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
        clock = f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}"
        return f"{day}{between}{clock}{_fraction(value.microsecond)}{end}"

    return write


def _fraction(micros: int) -> str:
    return f".{micros:06d}".rstrip("0") if micros else ""
