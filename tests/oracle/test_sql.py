"""Whole SQL queries on headrace, against PyFlink's stored answers and PyFlink itself.

In: sql/cases/, sql/golden/.  Next: README.md says how to add a case.

    HEADRACE_ORACLE=smoke    every case at one cut of its input into batches (the default), and
                             three with new rows on PyFlink, if it is there
    HEADRACE_ORACLE=full     all cuts; new rows for all cases; PyFlink on every stored case again
    HEADRACE_ORACLE_SEED=7   the seed of new rows; it is printed with a failure
"""

from __future__ import annotations

import os
import random
import zlib
from typing import Any

import pytest

from oracle import session
from oracle.sql import goldens, run_headrace
from oracle.sql.cases import CASES, GROUPS
from oracle.sql.compare import differences
from oracle.sql.fresh import can_be_fresh, fresh_rows
from oracle.sql.gaps import GAPS
from skips import give_up

pytestmark = pytest.mark.oracle

LEVEL = os.environ.get("HEADRACE_ORACLE", "smoke")
SEED = int(os.environ["HEADRACE_ORACLE_SEED"])
STORED: dict[str, Any] = {name: a for group in GROUPS for name, a in goldens.read(group).items()}
# Rows of each source in a batch, and whether processes are forgotten between batches.
WAYS = ((None, False), (1, False), (3, True), (2, True))


def ways(name: str, mode: str) -> list[tuple[int | None, bool]]:
    """How a case's input is cut; BATCH mode takes all of it at once."""
    if mode == "batch":
        return [(None, False)]
    return list(WAYS) if LEVEL == "full" else [WAYS[zlib.crc32(name.encode()) % len(WAYS)]]


def asked() -> list[tuple[str, str]]:
    """All cases, in each of their modes."""
    return [(name, mode) for name, case in CASES.items() for mode in case.modes]


def found(name: str, mode: str, expected: Any, rows: Any = None) -> list[str]:
    """What differs from Flink's answer, at the first cut where something does."""
    for cut, restarts in ways(name, mode):
        outcome = run_headrace.run(CASES[name], mode, rows, cut=cut, restarts=restarts)
        differing = differences(CASES[name], mode, expected, outcome)
        if differing:
            return [f"batches of {cut or 'all'} rows, restarts: {restarts}", *differing]
    return []


def told(name: str, differing: list[str], rows: Any = None) -> str:
    """A failure, with all that is needed to repeat it."""
    lines = [CASES[name].sql, *differing]
    return "\n".join(lines if rows is None else [*lines, f"seed {SEED}, rows: {rows}"])


def test_every_case_has_an_answer_that_is_the_declared_one() -> None:
    missing = [each for each in asked() if each[1] not in STORED.get(each[0], {})]
    assert not missing, f"run `python -m oracle.sql.goldens` in tests/ for {missing}"
    wrong = [
        (name, mode)
        for name, mode in asked()
        if ("refused" in STORED[name][mode]) is not CASES[name].refused
    ]
    assert not wrong


def test_no_answer_is_left_over() -> None:
    assert set(STORED) <= set(CASES)
    assert set(GAPS) <= set(CASES)


@pytest.mark.parametrize(("name", "mode"), [each for each in asked() if each[0] not in GAPS])
def test_headrace_gives_what_flink_gave(name: str, mode: str) -> None:
    differing = found(name, mode, STORED[name][mode])
    assert not differing, told(name, differing)


@pytest.mark.parametrize("name", list(GAPS))
def test_a_known_gap_is_still_one(name: str) -> None:
    differing = [
        line for mode in CASES[name].modes for line in found(name, mode, STORED[name][mode])
    ]
    assert differing, f"{name} gives Flink's answer now: take it out of gaps.py"


def chosen() -> list[str]:
    """The cases that meet PyFlink with new rows."""
    names = [name for name, case in CASES.items() if can_be_fresh(case) and name not in GAPS]
    random.Random(SEED).shuffle(names)
    return names if LEVEL == "full" else names[:3]


FRESH = {name: fresh_rows(CASES[name], SEED) for name in chosen()}


@pytest.fixture(scope="module")
def live() -> dict[str, Any]:
    """The answers of the real PyFlink for new rows, and at level full for stored ones."""
    reason = session.missing_reason()
    if reason is not None:
        give_up(reason)
    questions = [
        {"id": f"{name}/fresh", "case": name, "mode": "streaming", "rows": repr(rows)}
        for name, rows in FRESH.items()
    ]
    if LEVEL == "full":
        questions += [{"id": "/".join(each), "case": each[0], "mode": each[1]} for each in asked()]
    return goldens.ask(questions)


@pytest.mark.parametrize("name", list(FRESH))
def test_headrace_gives_what_flink_gives(name: str, live: dict[str, Any]) -> None:
    differing = found(name, "streaming", live[f"{name}/fresh"], FRESH[name])
    assert not differing, told(name, differing, FRESH[name])


@pytest.mark.skipif(LEVEL != "full", reason="asks PyFlink every stored case again: make oracle")
@pytest.mark.parametrize(("name", "mode"), asked())
def test_flink_still_gives_its_stored_answers(name: str, mode: str, live: dict[str, Any]) -> None:
    differing = differences(CASES[name], mode, STORED[name][mode], live[f"{name}/{mode}"])
    assert not differing, told(name, differing)
