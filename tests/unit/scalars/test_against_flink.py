"""What scalars give is what Flink gives: its answers are in tests/golden/scalars.

tests/oracle/scalars/ask_pyflink.py asks it again.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from flink_answers import close, comparable, decoded, type_text
from headrace.errors import HeadraceError
from headrace.scalars.session import ScalarSession
from scalar_texts import evaluated, resolved

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
    "floats",
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
        # Flink folds constants in decimal digits, which have no -0.0
        if "RAND()" in answer["sql"] and isinstance(wanted, float) and wanted == 0:
            assert math.copysign(1, found) == math.copysign(1, wanted), (found, wanted)


def test_sessions_of_other_zones_are_asked() -> None:
    assert ScalarSession("America/New_York").zone != ScalarSession().zone
    assert any(case.values[0]["zone"] != "UTC" for case in ALL)
