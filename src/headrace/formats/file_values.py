"""Texts in CSV and JSON files as values, by the rules of Spark's readers.

In: a column of texts and the Arrow type that it is to have.  Out: the column, and the places of
texts that are none of its values.  Next: csv_file.py, json_file.py

Spark's rules are not Flink's (java_parsing.py): dates may be short, a plus may stand before a
number, and moments without a zone are in UTC.  Compared with Spark in
tests/spark/test_files_in_python.py.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
import zoneinfo
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.formats import java_parsing as parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Converter = Callable[[str], Any]

__all__ = ["column_of", "converter_of", "decimal_texts", "single_precision"]


def column_of(texts: pa.StringArray, kind: pa.DataType) -> tuple[pa.Array, Sequence[int]]:
    """The texts as values of a type, and where one of them is none; that one is null."""
    if pa.types.is_string(kind):
        return texts, ()
    fast = _at_once(texts, kind)
    if fast is not None:
        return fast, ()
    return _one_by_one(texts.to_pylist(), kind, converter_of(kind))


def _one_by_one(
    texts: list[str | None], kind: pa.DataType, convert: Converter
) -> tuple[pa.Array, list[int]]:
    values: list[Any] = []
    bad = []
    for place, text in enumerate(texts):
        try:
            values.append(None if text is None else convert(text))
        except (ValueError, ArithmeticError):
            values.append(None)
            bad.append(place)
    return pa.array(values, kind), bad


# --- all at once ----------------------------------------------------------------------------------

_WHOLE = r"^-?[0-9]{1,19}\z"
_POINT = r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?\z"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
# Python knows no year before the first.
_FIRST_DAY = pa.scalar(dt.date(1, 1, 1))
_FIRST_MOMENT = pa.scalar(dt.datetime(1, 1, 1), pa.timestamp("us"))


def _at_once(texts: pa.StringArray, kind: pa.DataType) -> pa.Array | None:
    """The column; None if the texts have to be looked at one by one."""
    try:
        if pa.types.is_signed_integer(kind):
            return texts.cast(kind) if _all(texts, _WHOLE) else None
        if pa.types.is_floating(kind):
            return texts.cast(kind) if _all(texts, _POINT) else None
        if pa.types.is_boolean(kind):
            lower = pc.ascii_lower(texts)
            return pc.equal(lower, "true") if _all(lower, r"^(?:true|false)\z") else None
        if pa.types.is_date(kind):
            return _from(_FIRST_DAY, texts.cast(kind)) if _all(texts, _DAY) else None
        return _moments_at_once(texts, kind)
    except pa.ArrowInvalid:
        return None


def _moments_at_once(texts: pa.StringArray, kind: pa.DataType) -> pa.Array | None:
    plain = pa.timestamp("us")
    if kind.tz is not None and _all(texts, _MOMENT + r"Z\z"):
        moments = texts.cast(pa.timestamp("us", "UTC")).cast(plain)
    elif _all(texts, _MOMENT + r"\z"):
        moments = texts.cast(plain)
    else:
        return None
    found = _from(_FIRST_MOMENT, moments)
    return None if found is None else found.cast(kind)


def _all(texts: pa.StringArray, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _from(first: pa.Scalar, array: pa.Array) -> pa.Array | None:
    lowest = pc.min(array)
    return None if lowest.is_valid and pc.less(lowest, first).as_py() else array


# --- one by one -----------------------------------------------------------------------------------


def converter_of(kind: pa.DataType) -> Converter:
    """What makes a value of one text; raises ValueError if the text is none."""
    if pa.types.is_signed_integer(kind):
        return _whole_number(kind.bit_width)
    if pa.types.is_float32(kind):
        return single_precision
    for is_kind, convert in _CONVERTERS:
        if is_kind(kind):
            return convert
    return _zoned_moment if kind.tz is not None else _moment


def _whole_number(bits: int) -> Converter:
    limit = 1 << (bits - 1)

    def convert(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d+", text):
            raise ValueError(text)
        number = int(text)
        if not -limit <= number < limit:
            raise ValueError(text)
        return number

    return convert


def _double(text: str) -> float:
    named = _NAMED.get(text)
    return parse.double(text) if named is None else named


_NAMED = {"Inf": float("inf"), "-Inf": float("-inf")}


def single_precision(text: str) -> float:
    """A number with the digits of a FLOAT, rounded once."""
    if re.fullmatch(_POINT.replace(r"\z", ""), text):
        return float(pa.scalar(text).cast(pa.float32()).as_py())
    return parse.single(_double(text))


def _boolean(text: str) -> bool:
    lower = text.lower()
    if lower not in ("true", "false"):
        raise ValueError(text)
    return lower == "true"


# A year may stand alone, behind a day may stand anything.
_ANY_DAY = re.compile(r"[+]?([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_ANY_MOMENT = re.compile(
    r"[+]?([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?(.*))?)?)?)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?")


def _day(text: str) -> dt.date:
    found = _ANY_DAY.fullmatch(parse.trimmed(text))
    if found is None:
        raise ValueError(text)
    year, month, day = found.groups(default="1")
    return dt.date(int(year), int(month), int(day))


def _moment(text: str) -> dt.datetime:
    moment, zone = _parts(text)
    if zone:
        raise ValueError(text)
    return moment


def _zoned_moment(text: str) -> dt.datetime:
    moment, zone = _parts(text)
    return moment.replace(tzinfo=_zone(zone)).astimezone(dt.UTC)


def _parts(text: str) -> tuple[dt.datetime, str]:
    found = _ANY_MOMENT.fullmatch(parse.trimmed(text))
    if found is None:
        raise ValueError(text)
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    micros = int(f"{fraction or '':0<6.6}")
    moment = dt.datetime(
        int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0),
        int(second or 0), micros,
    )  # fmt: skip
    return moment, (zone or "").strip()


def _zone(text: str) -> dt.tzinfo:
    if text in ("", "Z", "UTC", "GMT", "UT"):
        return dt.UTC
    offset = _OFFSET.fullmatch(text)
    if offset is not None:
        sign, hours, minutes = offset.groups(default="0")
        span = dt.timedelta(hours=int(hours), minutes=int(minutes))
        return dt.timezone(-span if sign == "-" else span)
    try:
        return zoneinfo.ZoneInfo(text)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(text) from None


def _as_it_is(text: str) -> str:
    return text


_CONVERTERS: tuple[tuple[Callable[[pa.DataType], bool], Converter], ...] = (
    (pa.types.is_string, _as_it_is),
    (pa.types.is_float64, _double),
    (pa.types.is_boolean, _boolean),
    (pa.types.is_date, _day),
)


def decimal_texts(
    texts: pa.StringArray, digits: int, behind_point: int
) -> tuple[pa.Array, list[int]]:
    """Decimals of declared digits as texts, rounded half up; and where a text is none of them."""
    unit = decimal.Decimal(1).scaleb(-behind_point)
    wide = decimal.Context(prec=200)

    def convert(text: str) -> str:
        if not re.fullmatch(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", text):
            raise ValueError(text)
        number = decimal.Decimal(text).quantize(unit, decimal.ROUND_HALF_UP, wide)
        if len(number.as_tuple().digits) > digits:
            raise ValueError(text)
        return f"{number:f}"

    return _one_by_one(texts.to_pylist(), pa.string(), convert)
