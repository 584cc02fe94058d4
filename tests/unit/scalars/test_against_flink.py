"""What scalars give is what Flink gives: its answers are in tests/golden/scalars.

tests/oracle/scalars/ask_pyflink.py asks it again.
"""

from __future__ import annotations

import json
import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.common import data_types as t
from headrace.errors import HeadraceError
from headrace.scalars.moments import instant_nanos, wall_nanos
from headrace.scalars.session import ScalarSession
from scalar_texts import evaluated, resolved, same

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "scalars"
TOPICS = (
    "arithmetic",
    "math",
    "casts",
    "cast_text",
    "comparison",
    "conditional",
    "temporal",
    "columns",
)
# Where we differ, and why.  A test fails if one of them is equal after all.
DIFFERENT = json.loads((FOLDER / "different.json").read_text())
# The planner of Flink refuses them, or its run fails; here they have a result.
LENIENT = set(json.loads((FOLDER / "lenient.json").read_text()))
CLOCKS = re.compile(
    r"LOCALTIME|CURRENT_|NOW\(\)|PROCTIME|UNIX_TIMESTAMP\(\)|^RAND\(\)$|RAND_INTEGER\(10\)|UUID"
)


def answers(topic: str) -> list[Any]:
    found = json.loads((FOLDER / f"{topic}.json").read_text())
    return [pytest.param(a, id=f"{a['zone']}: {a['sql']}") for a in found]


ALL = [case for topic in TOPICS for case in answers(topic)]


@pytest.mark.parametrize("answer", ALL)
def test_is_what_flink_gives(answer: dict[str, Any]) -> None:
    sql = answer["sql"]
    name = sql if answer["zone"] == "UTC" else f"{answer['zone']}: {sql}"
    if "error" in answer:
        check_refused(sql, answer["zone"], name)
    elif name in DIFFERENT:
        with pytest.raises((AssertionError, HeadraceError)):
            check(answer)
    else:
        check(answer)


def check_refused(sql: str, zone: str, name: str) -> None:
    try:
        evaluated(resolved(sql), zone)
    except (HeadraceError, OverflowError):
        assert name not in LENIENT, "it is refused after all: take it off the list"
    else:
        assert name in LENIENT, "Flink refuses it"


def check(answer: dict[str, Any]) -> None:
    node = resolved(answer["sql"])
    assert type_text(node.type) == answer["type"]
    found = evaluated(node, answer["zone"])
    if not CLOCKS.search(answer["sql"]):
        wanted = decoded(answer["value"], node.type)
        assert close(comparable(found, node.type), wanted), (found, wanted)


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
            return rounded(float(text), type_)
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
            return nanos(text.removesuffix("Z"))
        case "row":
            return tuple(decoded(v, f.data_type) for v, f in zip(text, type_, strict=True))
        case _:
            return [(decoded(k, type_.key_type), decoded(v, type_.value_type)) for k, v in text]


def nanos(text: str) -> int:
    whole, _, fraction = text.partition(".")
    return wall_nanos(datetime.fromisoformat(whole)) + int((fraction or "0").ljust(9, "0"))


def rounded(value: float, type_: t.DataType) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value)) if isinstance(type_, t.FloatType) else value


def comparable(value: Any, type_: t.DataType) -> Any:
    if value is None:
        return None
    match type_:
        case t.TimestampType():
            return wall_nanos(value)
        case t.LocalZonedTimestampType():
            return instant_nanos(value)
        case t.MapType():
            return list(value.items())
        case t.DecimalType():
            assert -value.as_tuple().exponent == type_.scale
            return value
        case _:
            return value


def test_sessions_of_other_zones_are_asked() -> None:
    assert ScalarSession("America/New_York").zone != ScalarSession().zone
    assert any(case.values[0]["zone"] != "UTC" for case in ALL)
