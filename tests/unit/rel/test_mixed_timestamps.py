"""Where a TIMESTAMP and a TIMESTAMP_LTZ become one type, it is Flink's.

tests/oracle/zones/mixed.py asks it again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flink_answers import type_text
from oracle.zones.mixed import queries
from rel_tables import resolved

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "mixed_timestamps.json"
ANSWERS = json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "answer", [pytest.param(each, id=f"{each['form']} of {each['types']}") for each in ANSWERS]
)
def test_the_type_is_flinks(answer: dict[str, Any]) -> None:
    query = queries(*answer["types"])[answer["form"]]
    assert type_text(resolved(query).schema[0].type) == answer["type"]
