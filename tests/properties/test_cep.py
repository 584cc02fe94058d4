"""Patterns against a matcher that tries everything, and against themselves at every batch cut.

The reference says what a match is, not how one is found: a choice of events, one after the other,
where `next` leaves no event out, `followed_by` none that would have done, `followed_by_any` any.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.api.output_tag import OutputTag
from headrace.cep import AfterMatchSkipStrategy, Pattern, PatternProcessFunction
from headrace.cep.compiler import compile_pattern
from headrace.cep.nfa import NFA
from headrace.cep.operator import CepOperator
from headrace.testing.harness import KeyedHarness

if TYPE_CHECKING:
    from collections.abc import Iterator

LETTERS = "abc"
MOST = 5  # events of a stream, so loops need not be longer

# --- what a match is -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """Which letters it takes, how far the event may be from the one before, how often."""

    letters: str
    how: str
    least: int = 1
    most: int = 1
    inner: str = "followed_by"
    unwanted: str = ""  # letters that must not come before the event

    def takes(self, letter: str) -> bool:
        return letter in self.letters


@dataclass(frozen=True)
class Unit:
    """One event of a match: a stage, taken once."""

    stage: Stage
    how: str
    is_first: bool


def expansions(stages: tuple[Stage, ...]) -> Iterator[list[Unit]]:
    """The pattern without quantifiers, in all ways."""
    counts = [
        [0] * (stage.least == 0) + list(range(max(stage.least, 1), min(stage.most, MOST) + 1))
        for stage in stages
    ]
    for chosen in product(*counts):
        yield [
            Unit(stage, stage.how if number == 0 else stage.inner, is_first=number == 0)
            for stage, count in zip(stages, chosen, strict=True)
            for number in range(count)
        ]


def follows(unit: Unit, letters: str, before: int, place: int) -> bool:
    between = letters[before + 1 : place]
    # the event that completes a match may itself be an unwanted one, as in Flink
    if unit.is_first and any(letter in unit.stage.unwanted for letter in between):
        return False
    if unit.how == "next":
        return not between
    return unit.how == "followed_by_any" or not any(map(unit.stage.takes, between))


def choices(units: list[Unit], letters: str, chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if len(chosen) == len(units):
        yield chosen
        return
    unit = units[len(chosen)]
    for place in range(chosen[-1] + 1 if chosen else 0, len(letters)):
        if unit.stage.takes(letters[place]) and (
            not chosen or follows(unit, letters, chosen[-1], place)
        ):
            yield from choices(units, letters, (*chosen, place))


def reference(stages: tuple[Stage, ...], letters: str, within: int | None) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for units in expansions(stages):
        for places in choices(units, letters, ()) if units else ():
            if within is None or places[-1] - places[0] < within:
                names = [stages.index(unit.stage) for unit in units]
                found[tuple(zip(names, places, strict=True))] += 1
    return found


# --- the same as a pattern -----------------------------------------------------------------------


def is_one_of(letters: str) -> Any:
    return lambda event: event[1] in letters


def pattern_of(
    stages: tuple[Stage, ...],
    within: int | None,
    skip: AfterMatchSkipStrategy | None = None,
) -> Pattern:
    pattern: Pattern | None = None
    for number, stage in enumerate(stages):
        if pattern is None:
            pattern = Pattern.begin(f"s{number}", skip)
        else:
            if stage.unwanted:
                pattern = pattern.not_followed_by(f"n{number}").where(is_one_of(stage.unwanted))
            pattern = getattr(pattern, stage.how)(f"s{number}")
        pattern.where(is_one_of(stage.letters))
        quantify(pattern, stage)
    assert pattern is not None
    return pattern if within is None else pattern.within(within)


def quantify(pattern: Pattern, stage: Stage) -> None:
    if stage.most > MOST:
        pattern.times_or_more(max(stage.least, 1))
    elif stage.most > 1:
        pattern.times(max(stage.least, 1), stage.most)
    if stage.most > 1 and stage.inner == "next":
        pattern.consecutive()
    if stage.most > 1 and stage.inner == "followed_by_any":
        pattern.allow_combinations()
    if stage.least == 0:
        pattern.optional()


HOW = st.sampled_from(["next", "followed_by", "followed_by_any"])
SOME_LETTERS = st.sampled_from(["a", "b", "c", "ab", "bc"])


@st.composite
def stage(draw: st.DrawFn, *, loops: bool = True) -> Stage:
    least, most = draw(st.sampled_from([(1, 1), (2, 2), (1, 3), (1, 99), (0, 1), (0, 2), (2, 99)]))
    return Stage(draw(SOME_LETTERS), draw(HOW), *((least, most) if loops else (1, 1)), draw(HOW))


@st.composite
def stages_of(draw: st.DrawFn) -> tuple[Stage, ...]:
    found = draw(st.lists(stage(), min_size=1, max_size=3, unique=True))
    # something must not come: between two stages that are taken once, as Flink's rules have it
    if len(found) > 1 and draw(st.booleans()):
        first, second = draw(stage(loops=False)), draw(stage(loops=False))
        unwanted = Stage(second.letters, second.how, unwanted=draw(st.sampled_from(LETTERS)))
        if unwanted != first:
            return first, unwanted
    return tuple(found)


WITHIN = st.one_of(st.none(), st.integers(1, 4))
TEXTS = st.text(LETTERS, min_size=1, max_size=MOST)


@settings(max_examples=300, deadline=None)
@given(stages_of(), TEXTS, WITHIN)
def test_all_matches_are_found_and_no_other(
    stages: tuple[Stage, ...], letters: str, within: int | None
) -> None:
    nfa = NFA(compile_pattern(pattern_of(stages, within)))
    state = nfa.initial_state()
    found: Counter[Any] = Counter()
    for place, letter in enumerate(letters):
        nfa.advance_time(state, place + 1)
        for match in nfa.process(state, (place, letter), place + 1):
            found[tuple((int(name[1:]), event[0]) for name, event, _ in match.path)] += 1
    assert found == reference(stages, letters, within)


# --- batch cuts ----------------------------------------------------------------------------------

OVER = OutputTag("over")


class Paths(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Any:
        yield ctx.timestamp(), [event for _, event, _ in match.path]

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        yield OVER, (ctx.timestamp(), [event for _, event, _ in match.path])


SKIPS = st.sampled_from(
    [
        AfterMatchSkipStrategy.no_skip(),
        AfterMatchSkipStrategy.skip_to_next(),
        AfterMatchSkipStrategy.skip_past_last_event(),
    ]
)
# (key, letter, how far its time is behind the one before, whether a watermark follows)
EVENTS = st.lists(
    st.tuples(st.sampled_from("kl"), st.sampled_from(LETTERS), st.integers(-1, 3), st.booleans()),
    max_size=12,
)


def played(pattern: Pattern, events: list[Any], cuts: frozenset[int]) -> list[Any]:
    """What comes out, key by key; behind a cut the job goes on from its state."""
    harness = KeyedHarness(CepOperator(pattern, Paths()), (0,))
    time = 10
    for number, (key, letter, step, passes) in enumerate(events):
        time += step
        harness.process_element((key, letter, number), time)
        if passes:
            harness.process_watermark(time - 1)
        if number in cuts:
            harness.restore(harness.snapshot())
    harness.end_of_input()
    results = [*harness.timestamped_output, *harness.timestamped_side_output(OVER)]
    entries = harness.snapshot()
    # a pattern without limit keeps what has begun; nothing else is left
    if compile_pattern(pattern).window_ms:
        assert not [name for name in entries if b"timers" not in name]
    return [[r for r in results if r[0][1][0][0] == key] for key in "kl"]


@settings(max_examples=150, deadline=None)
@given(stages_of(), EVENTS, WITHIN, SKIPS, st.frozensets(st.integers(0, 11)))
def test_every_batch_cut_gives_the_same_in_the_same_order(
    stages: tuple[Stage, ...],
    events: list[Any],
    within: int | None,
    skip: AfterMatchSkipStrategy,
    cuts: frozenset[int],
) -> None:
    pattern = pattern_of(stages, within, skip)
    assert played(pattern, events, cuts) == played(pattern, events, frozenset())
