"""Every stored case of every program, without Spark: the same plan and operators in this process.

A program that is refused fails as one whose answer differs.  Next: test_differential.py, which runs
some of the cases on Spark.
"""

from __future__ import annotations

import pytest

from headrace.errors import HeadraceError
from headrace.testing import collect_locally
from oracle import golden, run_headrace
from oracle.catalogue import Case, load
from oracle.compare import Outcome, differences
from oracle.gaps import CASE_GAPS, GAPS, reason

PROGRAMS = load()
STORED = [entry for name in PROGRAMS for entry in golden.read(name)]


def names(case: Case) -> tuple[str, str]:
    """The names under which gaps.py may have a case."""
    return case.program, case.id


def found(case: Case, expected: Outcome) -> list[str]:
    """What differs from PyFlink; an error that PyFlink does not have is a difference."""
    return differences(expected, run_headrace.run(PROGRAMS[case.program], case, collect_locally))


@pytest.mark.parametrize(
    ("case", "expected"),
    [pytest.param(*entry, id=entry[0].id) for entry in STORED if not reason(*names(entry[0]))],
)
def test_headrace_without_spark_gives_what_pyflink_gave(case: Case, expected: Outcome) -> None:
    differing = found(case, expected)
    assert not differing, f"input: {case.data!r}\n" + "\n".join(differing)


@pytest.mark.parametrize("name", [*GAPS, *CASE_GAPS])
def test_a_known_gap_is_still_one(name: str) -> None:
    differing = []
    for case, expected in STORED:
        if name in names(case):
            try:
                differing += found(case, expected)
            except HeadraceError as error:
                differing.append(str(error))
    assert differing, f"{name} gives PyFlink's results now: take it out of gaps.py"
