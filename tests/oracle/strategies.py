"""Hypothesis strategies behind the `inputs=` names of programs, and the cases made from them.

In: Program (catalogue.py).  Out: cases with plain Python literals as input.  Next: golden.py,
test_differential.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from oracle.catalogue import Case, Program

if TYPE_CHECKING:
    from collections.abc import Callable

# Few keys, so that records meet; with an empty, a non-ASCII and an astral one.
KEYS = st.sampled_from(["a", "b", "c", "", "ключ", "🗝"])
INT_KEYS = st.integers(-3, 4)
INTS = st.integers(-(2**20), 2**20)
SMALL = st.integers(-9, 9)
LONGS = st.one_of(SMALL, st.integers(-(2**62), 2**62))
# Surrogates cannot be encoded; NUL and control characters are left in.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# Halves are exact as float and double, so rounding never decides.
HALVES = st.integers(-1000, 1000).map(lambda n: n / 2)
TIMES = st.integers(-25, 90)

RECORDS: dict[str, st.SearchStrategy[Any]] = {
    "ints": INTS,
    "small_ints": SMALL,
    "longs": LONGS,
    "wide_ints": st.one_of(INTS, st.integers(-(2**63), 2**63 - 1)),
    "halves": HALVES,
    "texts": TEXTS,
    "bools": st.booleans(),
    "sentences": st.lists(st.sampled_from(["to", "be", "or", "not", "ça", "是"]), max_size=5).map(
        " ".join
    ),
    "pairs": st.tuples(KEYS, SMALL),
    "int_pairs": st.tuples(INT_KEYS, SMALL),
    "float_pairs": st.tuples(KEYS, HALVES),
    "text_pairs": st.tuples(KEYS, TEXTS),
    "triples": st.tuples(KEYS, SMALL, TEXTS),
    "optional_pairs": st.tuples(KEYS, st.one_of(st.none(), SMALL)),
    "int_lists": st.lists(SMALL, max_size=4),
    "text_lists": st.lists(TEXTS, max_size=3),
    "maps": st.dictionaries(KEYS, SMALL, max_size=3),
    "bytes": st.binary(max_size=8),
    # (key, value, timestamp), in any order of time
    "events": st.tuples(KEYS, SMALL, TIMES),
    "numbers": st.integers(0, 40),
    "lines": st.text(
        st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=10
    ),
    # anything pickle can carry
    "objects": st.recursive(
        st.one_of(st.none(), st.booleans(), SMALL, TEXTS),
        lambda inner: st.one_of(st.lists(inner, max_size=2), st.tuples(inner, inner)),
        max_leaves=5,
    ),
}


def strategy_for(program: Program, min_size: int, max_size: int) -> st.SearchStrategy[Any]:
    """Inputs of a program: a list of records, or a dict of lists when it has several parts."""

    def records(name: str) -> st.SearchStrategy[Any]:
        return st.lists(RECORDS[name], min_size=min_size, max_size=max_size)

    if isinstance(program.inputs, str):
        return records(program.inputs)
    return st.fixed_dictionaries({part: records(name) for part, name in program.inputs.items()})


def draw(strategy: st.SearchStrategy[Any], number: int) -> Any:
    """The richest of the first examples that Hypothesis makes with this seed: repeatable."""
    found: list[Any] = []

    @seed(number)
    @settings(
        max_examples=10,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return max(found, key=lambda value: len(repr(value)))


def golden_cases(program: Program) -> list[Case]:
    """The cases whose PyFlink results are committed."""
    make: Callable[..., Case] = lambda label, data, parallelism: Case(  # noqa: E731
        program.name, label, data, parallelism
    )
    cases = [make(label, data, program.parallelism) for label, data in program.examples]
    if not program.generated:
        return cases
    cases.append(make("many", draw(strategy_for(program, 12, 24), 1), program.parallelism))
    if program.parallelism != 1:
        cases.append(make("many-p1", draw(strategy_for(program, 8, 16), 2), 1))
    if not program.fails:
        cases.append(make("one", draw(strategy_for(program, 1, 1), 3), 1))
        cases.append(make("empty", draw(strategy_for(program, 0, 0), 4), program.parallelism))
    return cases


def fresh_case(program: Program, number: int) -> Case:
    """A new input, made from a seed that the test logs."""
    data = draw(strategy_for(program, 4, 24), number)
    if program.merges:
        data = sorted(data, key=lambda event: event[2])
    return Case(program.name, f"seed{number}", data, program.parallelism)
