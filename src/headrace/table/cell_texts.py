"""Values of rows as Flink's tables show them: CAST(value AS STRING).

In: a value and its type.  Out: text.  Next: table/tableau.py
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.scalars.session import zone_named

if TYPE_CHECKING:
    from headrace.common.data_types import DataType


def cell_text(value: Any, kind: DataType, zone: str = "UTC") -> str:
    """A value that is not NULL, as text."""
    if value is None:
        return "NULL"
    match kind:
        case t.BooleanType():
            return "TRUE" if value else "FALSE"
        case t.FloatType() | t.DoubleType():
            return _number(float(value))
        case t.DecimalType():
            return f"{Decimal(value):f}"
        case t.BinaryType() | t.VarBinaryType():
            return f"x'{bytes(value).hex()}'"
        case t.TimeType():
            return _time(value, kind.precision)
        case t.TimestampType():
            return _moment(value, kind.precision)
        case t.LocalZonedTimestampType():
            return _moment(_local(value, zone), kind.precision)
        case t.DayTimeIntervalType():
            return _span(value)
        case t.YearMonthIntervalType():
            months = int(value)
            return f"{'-' if months < 0 else '+'}{abs(months) // 12}-{abs(months) % 12:02d}"
        case t.ArrayType():
            return f"[{', '.join(cell_text(item, kind.element_type, zone) for item in value)}]"
        case t.MapType():
            return _entries(value, kind.key_type, kind.value_type, zone)
        case t.MultisetType():
            return _entries(value, kind.element_type, t.IntType(), zone)
        case t.RowType():
            parts = zip(value, kind.field_types(), strict=True)
            return f"({', '.join(cell_text(item, inner, zone) for item, inner in parts)})"
        case _:
            return str(value)


def _entries(value: dict[Any, Any], key: DataType, item: DataType, zone: str) -> str:
    shown = (f"{cell_text(k, key, zone)}={cell_text(v, item, zone)}" for k, v in value.items())
    return f"{{{', '.join(shown)}}}"


def _number(value: float) -> str:
    """As Java writes a double: 1.0E10 from ten million on, and below a thousandth."""
    if value != value or value in (float("inf"), float("-inf")):
        return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value, "NaN")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        shown = repr(value)
        return shown if "." in shown else f"{shown}.0"
    digits, _, exponent = f"{Decimal(repr(value)):E}".partition("E")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _time(value: datetime.time, precision: int) -> str:
    text = f"{value:%H:%M:%S}"
    return text if not precision else f"{text}.{value.microsecond:06d}"[: 9 + precision]


def _moment(value: datetime.datetime, precision: int) -> str:
    text = value.strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0")
    return text if not precision else f"{text}.{value.microsecond:06d}000"[: 20 + precision]


def _local(value: Any, zone: str) -> datetime.datetime:
    moment = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    local: datetime.datetime = moment.astimezone(zone_named(zone))
    return local


def _span(value: Any) -> str:
    """Days and a time of day with a sign, as SQL writes intervals."""
    milli = value // datetime.timedelta(milliseconds=1) if hasattr(value, "days") else int(value)
    sign, rest = "-" if milli < 0 else "+", abs(milli)
    days, rest = divmod(rest, 86_400_000)
    hours, rest = divmod(rest, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{sign}{days} {hours:02d}:{minutes:02d}:{rest // 1000:02d}.{rest % 1000:03d}"
