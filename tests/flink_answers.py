"""Answers of Flink that harnesses keep as JSON, in a form that can be compared with ours.

In: types and values as tests/oracle/scalars/ask_pyflink.py writes them.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

from headrace.common import data_types as t
from headrace.scalars.moments import wall_nanos
from scalar_texts import same


def close(one: Any, other: Any) -> bool:
    """Equal; functions of floating-point numbers may differ in their last bit."""
    if isinstance(one, float) and isinstance(other, float) and math.isfinite(one):
        return math.isclose(one, other, rel_tol=4e-16)
    return same(one, other)


def type_text(type_: t.DataType) -> str:
    """A type as Flink's planner writes it; it knows one interval of months and one of time."""
    text = re.sub(r"INTERVAL (YEAR|MONTH)[^,>]*?(?= NOT NULL|$|,|>)", "INTERVAL MONTH", str(type_))
    text = re.sub(
        r"INTERVAL (DAY|HOUR|MINUTE|SECOND)[^,>]*?(?= NOT NULL|$|,|>)", "INTERVAL SECOND(3)", text
    )
    text = re.sub(r"TIMESTAMP_LTZ\((\d)\)", r"TIMESTAMP(\1) WITH LOCAL TIME ZONE", text)
    return text.replace("STRING", "VARCHAR(2147483647)").replace("BYTES", "VARBINARY(2147483647)")


def decoded(value: Any, type_: Any) -> Any:
    """A value as the harness wrote it, in the form of `comparable`."""
    if isinstance(value, list):
        return [decoded(item, type_.element_type) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    match kind:
        case "float":
            return _rounded(float(text), type_)
        case "decimal":
            return Decimal(text)
        case "bytes":
            return bytes.fromhex(text)
        case "months" | "ms":
            return text
        case "LocalDate":
            return date.fromisoformat(text)
        case "LocalTime":
            return time.fromisoformat(text)
        case "LocalDateTime" | "Instant":
            return _nanos(text.removesuffix("Z"))
        case "row":
            return tuple(decoded(v, f.data_type) for v, f in zip(text, type_, strict=True))
        case _:
            return [(decoded(k, type_.key_type), decoded(v, type_.value_type)) for k, v in text]


def _nanos(text: str) -> int:
    whole, _, fraction = text.partition(".")
    return wall_nanos(datetime.fromisoformat(whole)) + int((fraction or "0").ljust(9, "0"))


def _rounded(value: float, type_: t.DataType) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value)) if isinstance(type_, t.FloatType) else value


def comparable(value: Any, type_: t.DataType) -> Any:
    """A value of ours in a form that == compares."""
    if value is None:
        return None
    match type_:
        case t.TimestampType() | t.LocalZonedTimestampType():
            return wall_nanos(value)  # both in scalars and in rows a TIMESTAMP_LTZ is in UTC
        case t.ArrayType():
            return [comparable(item, type_.element_type) for item in value]
        case t.MapType():
            return list(value.items())
        case t.DecimalType():
            assert -value.as_tuple().exponent == type_.scale
            return value
        case _:
            return value
