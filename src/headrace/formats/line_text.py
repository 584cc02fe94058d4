"""How a line of SQL looks in print(): as Flink's print connector writes it.

    +I[1, a, 1.50, 2020-01-02T03:04, 1970-01-01T00:00:01.500Z, [1, null], {k=1.0E10}]

In: a `RowType`.  Out: a function of a line's values and its kind.  Checked against PyFlink 2.3:
values have Java's ``toString``.  Next: formats/text_form.py (the same for DataStreams)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.common import data_types as d
from headrace.formats.text_form import java_text

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence

    Text = Callable[[Any], str]

KIND_SIGNS = ("+I", "-U", "+U", "-D")


def line_text(row_type: d.RowType) -> Callable[[Sequence[Any], int], str]:
    """Makes the text of a line, from its values and its kind."""
    texts = [value_text(kind) for kind in row_type.field_types()]

    def text(values: Sequence[Any], kind: int = 0) -> str:
        cells = (
            "null" if value is None else form(value)
            for form, value in zip(texts, values, strict=False)
        )
        return f"{KIND_SIGNS[kind]}[{', '.join(cells)}]"

    return text


def value_text(data_type: d.DataType) -> Text:
    """Makes the text of a value that is not NULL."""
    if isinstance(data_type, d.UserDefinedType):
        return value_text(data_type.sql_type())
    make = _TEXTS.get(type(data_type))
    return java_text if make is None else make(data_type)


def java_time(value: dt.time) -> str:
    """``LocalTime.toString``: seconds and fractions only where there are any."""
    text = f"{value.hour:02d}:{value.minute:02d}"
    if value.second or value.microsecond:
        text += f":{value.second:02d}{_fraction(value.microsecond)}"
    return text


def _fraction(micros: int) -> str:
    if not micros:
        return ""
    return f".{micros // 1000:03d}" if micros % 1000 == 0 else f".{micros:06d}"


def java_datetime(value: dt.datetime) -> str:
    """``LocalDateTime.toString``."""
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d}T{java_time(value.time())}"


def java_instant(value: dt.datetime) -> str:
    """``Instant.toString``, of a datetime in UTC."""
    day = f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    second = f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}"
    return f"{day}T{second}{_fraction(value.microsecond)}Z"


def _period(months: int) -> str:
    years, rest = int(months / 12), months - int(months / 12) * 12
    text = (f"{years}Y" if years else "") + (f"{rest}M" if rest else "")
    return f"P{text or '0D'}"


def _duration(millis: int) -> str:
    """``Duration.toString``: the sign stands at every part."""
    sign, rest = ("-", -millis) if millis < 0 else ("", millis)
    seconds, fraction = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    text = (f"{sign}{hours}H" if hours else "") + (f"{sign}{minute}M" if minute else "")
    if second or fraction or not text:
        tail = f".{fraction:03d}".rstrip("0") if fraction else ""
        text += f"{sign}{second}{tail}S"
    return f"PT{text}"


def _bytes(value: bytes) -> str:
    return f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"


def _float(value: float) -> str:
    with np.errstate(over="ignore"):
        return java_text(float(str(np.float32(value))))


def _list(kind: d.ArrayType) -> Text:
    inner = _nullable(value_text(kind.element_type))
    return lambda values: f"[{', '.join(map(inner, values))}]"


def _map(key: Text, item: Text) -> Text:
    return lambda found: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in found.items()) + "}"


def _nullable(text: Text) -> Text:
    return lambda value: "null" if value is None else text(value)


def _row(kind: d.RowType) -> Text:
    text = line_text(kind)
    return lambda values: text(values, 0)


_TEXTS: dict[type[d.DataType], Callable[[Any], Text]] = {
    d.FloatType: lambda _: _float,
    d.DecimalType: lambda _: str,
    d.BinaryType: lambda _: _bytes,
    d.VarBinaryType: lambda _: _bytes,
    d.DateType: lambda _: str,
    d.TimeType: lambda _: java_time,
    d.TimestampType: lambda _: java_datetime,
    d.LocalZonedTimestampType: lambda _: java_instant,
    d.YearMonthIntervalType: lambda _: _period,
    d.DayTimeIntervalType: lambda _: _duration,
    d.ArrayType: _list,
    d.MapType: lambda k: _map(
        _nullable(value_text(k.key_type)), _nullable(value_text(k.value_type))
    ),
    d.MultisetType: lambda k: _map(_nullable(value_text(k.element_type)), str),
    d.RowType: _row,
}
