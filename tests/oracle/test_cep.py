"""Generated patterns and streams on headrace, against what Java Flink's CepOperator gives.

In: cep/cases.py.  Stored answers: cep/golden.jsonl; ``python -m oracle.cep.golden`` asks again.

    HEADRACE_ORACLE=full     asks Flink for 5,000 fresh cases (60 otherwise), and the stored ones
    HEADRACE_ORACLE_SEED=7   which fresh cases; printed with a failure
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from headrace.cep import PatternDocument
from oracle.cep import flink, golden, ours
from oracle.cep.cases import by_key, cases, is_stricter
from oracle.cep.texts import document_of
from skips import give_up

if TYPE_CHECKING:
    from oracle.cep.cases import Case, Json

FULL = os.environ.get("HEADRACE_ORACLE") == "full"
SEED = int(os.environ["HEADRACE_ORACLE_SEED"])
FRESH = 5000 if FULL else 60
STORED = golden.read()


def differing(asked: list[Case], answers: list[Json], cuts: ours.Cuts = "none") -> list[str]:
    """The cases for which headrace gives something else, with all that is needed to repeat them."""
    found = []
    for case, expected in zip(asked, answers, strict=True):
        given = ours.answer(case, cuts)
        if by_key(case, given) == by_key(case, expected) or is_stricter(given, expected):
            continue
        shown = "\n  ".join(json.dumps(part) for part in (case, expected, given))
        found.append(f"case {case['seed']}, Flink and headrace:\n  {shown}")
    return found


def report(found: list[str], count: int) -> None:
    if found:
        listed = "\n".join(found[:5])
        pytest.fail(f"{len(found)} of {count} cases differ; the first are\n{listed}")


@pytest.fixture(scope="module")
def _flink() -> None:
    reason = flink.missing_reason()
    if reason is not None:
        give_up(reason)


@pytest.mark.parametrize("cuts", ["none", "all"])
def test_headrace_finds_what_flink_found(cuts: ours.Cuts) -> None:
    asked, answers = [case for case, _ in STORED], [found for _, found in STORED]
    report(differing(asked, answers, cuts), len(STORED))


def test_the_stored_cases_are_worth_their_room() -> None:
    kinds = [entry[0] for _, found in STORED for entry in found.get("log", ())]
    assert min(kinds.count(kind) for kind in ("match", "timeout", "late")) > 100
    assert sum("refused" in found for _, found in STORED) > 10
    assert sum("failed" in found for _, found in STORED) > 2


@pytest.mark.parametrize("cuts", ["none", "all"])
def test_patterns_that_come_as_documents_find_what_flink_found(cuts: ours.Cuts) -> None:
    played = 0
    for case, expected in STORED:
        given = ours.answer_by_document(case, cuts)
        if given is not None and "refused" not in expected:
            played += 1
            assert matches(case, given) == matches(case, expected), case
            # they also tell of limits between neighbours, for which Flink sets no timer
            assert not timeouts(expected) - timeouts(given), case
    assert played > 300


def test_documents_come_back_as_they_are_written() -> None:
    documents = [document_of(case["pattern"]) for case, found in STORED if "refused" not in found]
    for document in documents:
        if document is not None:
            read = PatternDocument.read(document)
            again = PatternDocument.read(read.to_json())
            assert again.to_json() == read.to_json()
            assert read.pattern is not None
            assert again.pattern is not None
            assert again.pattern.explain() == read.pattern.explain()


def matches(case: Case, answer: Json) -> Json:
    """The log by key without time-outs, whose order is up to the operator's timers."""
    logs = by_key(case, answer)["logs"]
    kept = {key: [entry for entry in log if entry[0] != "timeout"] for key, log in logs.items()}
    return {key: log for key, log in kept.items() if log}, "failed" in answer


def timeouts(answer: Json) -> Counter[str]:
    """When which partial match was over."""
    return Counter(json.dumps(entry[2:]) for entry in answer["log"] if entry[0] == "timeout")


@pytest.mark.usefixtures("_flink")
def test_headrace_finds_what_flink_finds() -> None:
    asked = cases(1_000_000 + SEED * 10_000, FRESH)
    print(f"fresh cases are made with HEADRACE_ORACLE_SEED={SEED}")
    answers = flink.ask(asked)
    report(differing(asked, answers), len(asked))
    report(differing(asked[: FRESH // 5], answers[: FRESH // 5], "all"), FRESH // 5)


@pytest.mark.skipif(not FULL, reason="asks Flink for all stored cases: make oracle")
@pytest.mark.usefixtures("_flink")
def test_flink_still_gives_its_stored_answers() -> None:
    answers = flink.ask([case for case, _ in STORED])
    assert answers == [found for _, found in STORED]
