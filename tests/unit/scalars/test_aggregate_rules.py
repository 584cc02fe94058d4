"""Aggregates have the types that the real Flink gives them (tests/oracle/ask_scalars.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import InvalidArgumentError
from headrace.scalars.aggregate_rules import aggregate_names, aggregate_rule, is_aggregate
from scalar_types import type_of

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "scalars"
# Flink types them, and fails when the query runs: they have no order.
NO_ORDER = ("BYTES", "ARRAY<INT>", "ROW<a INT>", "MAP<STRING, INT>")


def refused_by_plan(case: dict[str, Any]) -> bool:
    """Whether only the query could tell: a separator has to be a constant."""
    return bool(case["function"] == "LISTAGG" and case["arguments"][1:] == [["STRING", ","]])


def problem_of(case: dict[str, Any]) -> str | None:
    """What is wrong with a rule's answer; None if nothing is."""
    types = [type_of(text) for text, _ in case["arguments"]]
    try:
        _, result = aggregate_rule(case["function"], types)
    except InvalidArgumentError:
        fails_later = case["function"] in ("MIN", "MAX") and case["arguments"][0][0] in NO_ORDER
        return None if "error" in case or fails_later else "is refused"
    if "error" in case:
        return f"gives {result}, Flink refuses it"
    wanted = type_of(case["type"])
    return None if str(result) == str(wanted) else f"gives {result}, Flink {wanted}"


@pytest.mark.parametrize("family", ["aggregates", "over_functions"])
def test_types_are_those_of_flink(family: str) -> None:
    cases = json.loads((GOLDEN / f"{family}.json").read_text(encoding="utf-8"))
    problems = {}
    for case in cases:
        # a bare NULL fits every parameter; functions over rows have FIRST_VALUE's type, too
        if ["NULL", None] in case["arguments"] or refused_by_plan(case):
            continue
        problem = problem_of(case)
        if problem:
            problems[f"{case['function']}({case['arguments']})"] = problem
    assert not problems, problems


def test_names_are_known() -> None:
    assert is_aggregate("SUM")
    assert not is_aggregate("UPPER")
    assert "LISTAGG" in aggregate_names()


def test_a_refused_call_names_the_forms() -> None:
    with pytest.raises(InvalidArgumentError, match=r"SUM does not take \(STRING\)") as raised:
        aggregate_rule("SUM", [type_of("STRING")])
    assert "SUM(number)" in str(raised.value)
