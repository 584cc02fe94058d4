"""Texts to values by the rules of Java's parsers, which Flink's JSON and CSV schemas use.

In: the text of a field.  Out: the value, or a `ValueError`.  Next: json_values.py, csv_values.py

Python's own parsers take more (``1_000``, ``nan``, ``20200101``) and less (``1d``, ``+1`` as JSON).
"""

from __future__ import annotations

import base64
import calendar
import datetime as dt
import decimal
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

# What Java's String.trim removes: the space and everything below it.
_BLANK = "".join(map(chr, range(33)))
_WHOLE = re.compile(r"[+-]?\d+")
_FLOATING = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)"
)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_ISO_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_ISO_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{0,9}))?Z")
_SQL_DATE = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_SQL_TIME = re.compile(r"([0-9]+):([0-9]+):([0-9]+)")
_SQL_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2}) ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})"
    r"(?:\.([0-9]{1,9}))?"
)


def trimmed(text: str) -> str:
    """The text without the blanks around it, as Java sees blanks."""
    return text.strip(_BLANK)


def whole_number(bits: int | None) -> Callable[[str], int]:
    """A parser of whole numbers of some width; None for any width."""
    limit = None if bits is None else 1 << (bits - 1)

    def parse(text: str) -> int:
        text = trimmed(text)
        if not _WHOLE.fullmatch(text):
            raise ValueError(f"{_shown(text)} is not a whole number")
        number = int(text)
        if limit is not None and not -limit <= number < limit:
            raise ValueError(f"{number} is beyond {bits} bits")
        return number

    return parse


def double(text: str) -> float:
    """A floating-point number; ``NaN``, ``Infinity`` and a final ``f`` or ``d`` are allowed."""
    text = trimmed(text)
    if not _FLOATING.fullmatch(text):
        raise ValueError(f"{_shown(text)} is not a number")
    return float(text.rstrip("fFdD") if text[-1] in "fFdD" else text)


def single(number: float) -> float:
    """The nearest number of 32 bits; infinity beyond."""
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def big_decimal(text: str) -> decimal.Decimal:
    """A decimal number of any precision."""
    text = trimmed(text)
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{_shown(text)} is not a decimal number")
    return decimal.Decimal(text)


def boolean(text: str) -> bool:
    """Whether the text says true, in any case; everything else is false."""
    return trimmed(text).lower() == "true"


def base64_bytes(text: str) -> bytes:
    """Bytes written in base64, padding included."""
    return base64.b64decode(trimmed(text), validate=True)


def iso_date(text: str) -> dt.date:
    """``2020-01-31``."""
    found = _ISO_DATE.fullmatch(text)
    if not found:
        raise ValueError(f"{_shown(text)} is not a date like 2020-01-31")
    return dt.date(*map(int, found.groups()))


def iso_time(text: str) -> dt.time:
    """``12:30:00Z``, in UTC and without a fraction."""
    found = _ISO_TIME.fullmatch(text)
    if not found or (found[4] or "").strip("0"):
        raise ValueError(f"{_shown(text)} is not a time like 12:30:00Z")
    if found.group(1, 2, 3) == ("24", "00", "00"):
        return dt.time(0)
    return dt.time(int(found[1]), int(found[2]), int(found[3]))


def iso_timestamp(text: str) -> dt.datetime:
    """``2020-01-31T12:30:00.5Z``, in UTC; kept to the microsecond.

    As in Flink, the 30th and 31st of a shorter month are its last day, and 24:00:00 is the next
    day's midnight.
    """
    day, _, time = text.partition("T")
    on, at = _ISO_DATE.fullmatch(day), _ISO_TIME.fullmatch(time)
    if not on or not at:
        raise ValueError(f"{_shown(text)} is not a timestamp like 2020-01-31T12:30:00.5Z")
    year, month, of_month = map(int, on.groups())
    if of_month <= 31 and 1 <= month <= 12 and year:
        of_month = min(of_month, calendar.monthrange(year, month)[1])
    if at.group(1, 2, 3) == ("24", "00", "00") and not (at[4] or "").strip("0"):
        return dt.datetime(year, month, of_month) + dt.timedelta(days=1)
    clock = (int(at[1]), int(at[2]), int(at[3]))
    return dt.datetime(year, month, of_month, *clock, _micros(at[4]))


def sql_date(text: str) -> dt.date:
    """``2020-1-31``; the 30th and 31st of a shorter month run over into the next one."""
    found = _SQL_DATE.fullmatch(text)
    if not found:
        raise ValueError(f"{_shown(text)} is not a date like 2020-01-31")
    return _lenient_day(*map(int, found.groups()))


def sql_time(text: str) -> dt.time:
    """``12:30:00``; what is beyond a day counts from its beginning."""
    found = _SQL_TIME.fullmatch(text)
    if not found:
        raise ValueError(f"{_shown(text)} is not a time like 12:30:00")
    hours, minutes, seconds = map(int, found.groups())
    past = dt.timedelta(seconds=(hours * 3600 + minutes * 60 + seconds) % 86400)
    return (dt.datetime(1970, 1, 1) + past).time()


def sql_timestamp(text: str) -> dt.datetime:
    """``2020-01-31 12:30:00.5``; kept to the microsecond."""
    found = _SQL_TIMESTAMP.fullmatch(trimmed(text))
    if not found:
        raise ValueError(f"{_shown(text)} is not a timestamp like 2020-01-31 12:30:00.5")
    year, month, day, hours, minutes, seconds = map(int, found.groups()[:6])
    midnight = dt.datetime.combine(_lenient_day(year, month, day), dt.time())
    past = dt.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return midnight + past + dt.timedelta(microseconds=_micros(found[7]))


def _lenient_day(year: int, month: int, day: int) -> dt.date:
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise ValueError(f"there is no day {year}-{month}-{day}")
    return dt.date(year, month, 1) + dt.timedelta(days=day - 1)


def _micros(fraction: str | None) -> int:
    return int((fraction or "")[:6].ljust(6, "0"))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
