"""Functions give the types and values that the real Flink gives (tests/oracle/ask_scalars.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError, UnsupportedStepError
from headrace.scalars import build
from headrace.scalars.evaluate import Evaluator, row_function
from headrace.scalars.nodes import Literal, Ref
from headrace.scalars.session import ScalarSession
from headrace.scalars.values import arrow_column, python_values
from oracle.ask_scalars import encoded, expression
from scalar_texts import evaluated, resolved
from scalar_types import type_of, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "scalars"
FAMILIES = ["strings", "text_misc", "hashing", "regex", "json", "collections"]
# What headrace does in another way: the call as text, and why.
DIFFERENCES: dict[str, str] = {
    "JSON_OBJECT('NULL':CHAR(4) NOT NULL, 'v':CHAR(1) NOT NULL, 'k':STRING, 1:INT)": (
        "Flink takes constants for keys only"
    ),
    "SHA2('test':STRING, 1:INT)": "SHA-1 by an accident: Flink refuses it for a constant",
    "PRINTF('%s':STRING, [1, 2]:ARRAY<INT> NOT NULL)": "an address in memory; refused here",
    "ITEM([[1.5, 2]]:MAP<DOUBLE, INT>, '1.5':DECIMAL(2, 1) NOT NULL)": "Flink fails inside",
    "ARRAY_SORT(['1.5', 'NaN', '-0.0', '0.0']:ARRAY<DOUBLE>)": "Flink leaves NaN where it falls",
}
# Patterns that headrace refuses loudly.
REFUSED = ("\\p{IsGreek}",)


def shown(case: dict[str, Any]) -> str:
    """A call, short enough to find it."""
    arguments = ", ".join(f"{value!r}:{type_}" for type_, value in case["arguments"])
    return f"{case['function']}({arguments})"


def nodes_of(case: dict[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The arguments as nodes, and the types and values of the columns they read."""
    nodes: list[Any] = []
    types: list[Any] = []
    line: list[Any] = []
    for place, (text, given) in enumerate(case["arguments"]):
        type_ = type_of(text)
        value = value_of(type_, given)
        returning = case["function"] in ("JSON_VALUE", "JSON_QUERY") and place == 2
        if returning or text.endswith("NOT NULL") or text == "NULL":
            nodes.append(Literal(value, type_))
        else:
            nodes.append(Ref(len(line), type_))
            types.append(type_)
            line.append(value)
    return nodes, types, line


def answers(case: dict[str, Any]) -> tuple[str, list[Any]]:
    """The type, and the value of a line, of a column and of a column of constants alike."""
    nodes, types, line = nodes_of(case)
    call = build.call(case["function"], nodes)
    values = [row_function(call, session=ScalarSession())(tuple(line))]
    columns = [arrow_column([value] * 2, type_) for type_, value in zip(types, line, strict=True)]
    names = [str(place) for place in range(len(columns))] or ["none"]
    columns = columns or [pa.array([1, 1])]
    batch = pa.RecordBatch.from_arrays(columns, names=names)
    evaluated = Evaluator(call, session=ScalarSession()).run(batch)
    values += python_values(evaluated, call.type)
    return str(call.type), [encoded(value) for value in values]


def answers_to_sql(case: dict[str, Any]) -> tuple[str, list[Any]]:
    """The same with the text that Flink was given: parsed, resolved, evaluated."""
    node = resolved(expression(case).replace("f = 1", "1 = 1"))
    return str(node.type), [encoded(evaluated(node))]


def check(
    case: dict[str, Any], ask: Callable[[dict[str, Any]], tuple[str, list[Any]]] = answers
) -> str | None:
    """What is wrong with headrace's answer; None if nothing is."""
    try:
        type_, values = ask(case)
    except HeadraceError as error:
        return None if "error" in case else f"raises {error}"
    if "error" in case:
        return f"gives {values[0]!r} where Flink raises"
    if type_ != str(type_of(case["type"])):
        return f"has the type {type_}, in Flink {type_of(case['type'])}"
    wrong = [value for value in values if value != case["value"]]
    return f"gives {values!r}, Flink {case['value']!r}" if wrong else None


@pytest.mark.parametrize("ask", [answers, answers_to_sql])
@pytest.mark.parametrize("family", FAMILIES)
def test_types_and_values_are_those_of_flink(
    family: str, ask: Callable[[dict[str, Any]], tuple[str, list[Any]]]
) -> None:
    cases = json.loads((GOLDEN / f"{family}.json").read_text(encoding="utf-8"))
    problems = {}
    for case in cases:
        if shown(case) in DIFFERENCES or ("error" in case and ["NULL", None] in case["arguments"]):
            continue  # a bare NULL fits every parameter
        if any(pattern in str(value) for pattern in REFUSED for _, value in case["arguments"]):
            with pytest.raises(UnsupportedStepError):
                ask(case)
            continue
        problem = check(case, ask)
        if problem:
            problems[shown(case)] = problem
    assert not problems, "\n".join(f"{call} {problem}" for call, problem in problems.items())
