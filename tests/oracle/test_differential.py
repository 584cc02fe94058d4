"""Every program of the catalogue on headrace, against PyFlink's stored results and PyFlink itself.

In: programs/, golden/.  Next: README.md says how to add a program.

    HEADRACE_ORACLE=smoke    one stored input of every seventh program (the default)
    HEADRACE_ORACLE=stored   all stored inputs of all programs
    HEADRACE_ORACLE=full     also runs PyFlink again on every stored input, and on more fresh ones
    HEADRACE_ORACLE_BATCH=8  cases per Spark query (1 otherwise)
    HEADRACE_ORACLE_SEED=7   the seed of the fresh inputs; it is printed with a failure
"""

from __future__ import annotations

import os
import random
import zlib

import pytest

from oracle import golden, run_headrace, session
from oracle.catalogue import Case, load
from oracle.compare import Outcome, differences
from oracle.gaps import GAPS
from oracle.gaps import reason as gap
from oracle.strategies import fresh_case
from skips import give_up

pytestmark = pytest.mark.spark

PROGRAMS = load()
LEVEL = os.environ.get("HEADRACE_ORACLE", "smoke")
SEED = int(os.environ["HEADRACE_ORACLE_SEED"])
# How many programs meet PyFlink with new inputs in an ordinary run.
FRESH = 12 if LEVEL != "full" else len(PROGRAMS)

BATCH = int(os.environ.get("HEADRACE_ORACLE_BATCH", "1"))


def stored_cases() -> list[tuple[Case, Outcome]]:
    """The cases in golden files, as many as the level asks for."""
    cases = [entry for name in PROGRAMS for entry in golden.read(name)]
    if LEVEL != "smoke":
        return cases
    first: dict[str, tuple[Case, Outcome]] = {}
    for entry in cases:
        first.setdefault(entry[0].program, entry)
    return [entry for name, entry in first.items() if in_smoke(name)]


def in_smoke(program: str) -> bool:
    """Every seventh program, and those that only Spark can run; test_locally.py runs them all."""
    from_files = "file" in program
    return from_files or zlib.crc32(program.encode()) % 7 == 0


def fresh_cases() -> list[Case]:
    """New inputs for some programs; which ones depends on the seed as well."""
    chosen = [
        program
        for program in PROGRAMS.values()
        if program.generated and not program.fails and program.name not in GAPS
    ]
    random.Random(SEED).shuffle(chosen)
    return [fresh_case(program, SEED) for program in chosen[:FRESH]]


STORED = stored_cases()
FRESH_CASES = fresh_cases()


# One job may hold stored and fresh cases of many programs, in the order of the tests.
HEADRACE = run_headrace.Shared(
    PROGRAMS,
    [c for c in [*(case for case, _ in STORED), *FRESH_CASES] if gap(c.program, c.id) is None],
    BATCH,
)


def check(case: Case, expected: Outcome) -> None:
    """Runs the case on headrace and compares; the message holds all that is needed to repeat it."""
    found = differences(expected, HEADRACE.run(case))
    if found:
        listed = "\n  ".join(found)
        where = f"{case.id} differs (parallelism {case.parallelism})"
        pytest.fail(f"{where}:\n  {listed}\n input: {case.data!r}")


def mark(case: Case) -> list[pytest.MarkDecorator]:
    """The strict xfail of a program that is a known gap."""
    why = gap(case.program, case.id)
    return [] if why is None else [pytest.mark.xfail(reason=why, strict=True)]


def parameters(cases: list[Case]) -> list[object]:
    """Pytest parameters with readable ids and marks."""
    return [pytest.param(case, id=case.id, marks=mark(case)) for case in cases]


@pytest.fixture(scope="module")
def expected_of() -> dict[str, Outcome]:
    """PyFlink's stored outcomes by case id."""
    return {case.id: outcome for case, outcome in STORED}


@pytest.fixture(scope="module")
def live() -> dict[str, Outcome]:
    """Outcomes of the real PyFlink on the fresh inputs, and at level full on the stored ones."""
    reason = session.missing_reason()
    if reason is not None:
        give_up(reason)
    cases = list(FRESH_CASES)
    if LEVEL == "full":
        cases += [case for case, _ in STORED]
    print(f"fresh inputs are made with HEADRACE_ORACLE_SEED={SEED}")
    return session.PyFlinkSession().run(cases)


def test_every_program_has_a_golden_file() -> None:
    missing = [name for name in PROGRAMS if not golden.path_of(name).exists()]
    assert not missing, f"run `python -m oracle.golden` in tests/ for: {', '.join(missing)}"


def test_no_golden_file_without_a_program() -> None:
    stray = [path.stem for path in golden.DIRECTORY.glob("*.json") if path.stem not in PROGRAMS]
    assert not stray


def test_golden_outcomes_are_the_declared_ones() -> None:
    wrong = [
        case.id
        for case, outcome in STORED
        if ("failure" in outcome) != PROGRAMS[case.program].fails
    ]
    assert not wrong


@pytest.mark.parametrize("case", parameters([case for case, _ in STORED]))
def test_headrace_gives_what_pyflink_gave(case: Case, expected_of: dict[str, Outcome]) -> None:
    check(case, expected_of[case.id])


@pytest.mark.parametrize("case", parameters(FRESH_CASES))
def test_headrace_gives_what_pyflink_gives(case: Case, live: dict[str, Outcome]) -> None:
    check(case, live[case.id])


@pytest.mark.skipif(LEVEL != "full", reason="runs PyFlink on all stored inputs: make oracle")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case, _ in STORED])
def test_pyflink_still_gives_its_golden_results(
    case: Case, live: dict[str, Outcome], expected_of: dict[str, Outcome]
) -> None:
    found = differences(expected_of[case.id], live[case.id])
    assert not found, "\n".join(found)
