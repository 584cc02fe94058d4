"""What patterns refuse, at the line that says it, and how they describe themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.cep import AfterMatchSkipStrategy, Pattern, SimpleCondition, WithinType
from headrace.cep.compiler import compile_pattern
from headrace.cep.pattern_stream import state_kind
from headrace.common.time import Duration
from headrace.datastream.expressions import col, count
from headrace.errors import HeadraceError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable


def begin(name: str = "a") -> Pattern:
    return Pattern.begin(name)


def always(event: Any) -> bool:
    return True


REFUSED_WHERE_IT_IS_SAID: dict[str, Callable[[], Any]] = {
    "cannot be named 'a:b'": lambda: begin("a:b"),
    "cannot be named ''": lambda: begin(""),
    "expects a name or a pattern, not int": lambda: Pattern.begin(5),  # type: ignore[arg-type]
    "expects an AfterMatchSkipStrategy": lambda: Pattern.begin("a", "skip"),  # type: ignore[arg-type]
    "where expects a condition, not int": lambda: begin().where(5),
    "where expects a condition, not the class": lambda: begin().where(SimpleCondition),
    "where expects a condition, not Expression": lambda: begin().where(count() > 5),
    "subtype expects a class": lambda: begin().subtype("Login"),  # type: ignore[arg-type]
    "until ends a loop, and pattern 'a' has none": lambda: begin().until(always),
    "until ends a loop": lambda: begin().times(3).until(always),
    "has an until condition already": lambda: begin().one_or_more().until(always).until(always),
    "has a quantifier already: 2 times": lambda: begin().times(2).one_or_more(),
    "has a quantifier already: 1 times or more": lambda: begin().one_or_more().times(2),
    "expects a positive number": lambda: begin().times(0),
    "the second not below the first: 3, 2": lambda: begin().times(3, 2),
    "expects a whole number, not 1.5": lambda: begin().times(1.5),  # type: ignore[arg-type]
    "times_or_more of pattern 'a' expects a positive": lambda: begin().times_or_more(0),
    "takes one event, so it cannot be greedy": lambda: begin().greedy(),
    "cannot be greedy and allow combinations": lambda: (
        begin().one_or_more().allow_combinations().greedy()
    ),
    "a group of patterns cannot be greedy": lambda: Pattern.begin(begin()).one_or_more().greedy(),
    "'b' cannot be optional: 'a' before it is greedy": lambda: (
        begin().one_or_more().greedy().followed_by("b").optional()
    ),
    "is optional already": lambda: begin().optional().optional(),
    "was called on pattern 'a' after optional": lambda: begin().optional().one_or_more(),
    "consecutive is about the events of one stage": lambda: begin().consecutive(),
    "allow_combinations is about the events": lambda: begin().allow_combinations(),
    "consecutive was called on pattern 'a' already": lambda: (
        begin().one_or_more().consecutive().consecutive()
    ),
    "cannot be consecutive and allow combinations": lambda: (
        begin().one_or_more().consecutive().allow_combinations()
    ),
    "not_next follows pattern 'a', which is optional": lambda: begin().optional().not_next("b"),
    "not_followed_by follows pattern 'a', which is": lambda: (
        begin().optional().not_followed_by("b")
    ),
    "optional is not possible for pattern 'b'": lambda: begin().not_next("b").optional(),
    "times is not possible for pattern 'b'": lambda: begin().not_followed_by("b").times(2),
    "greedy is not possible for pattern 'b'": lambda: begin().not_followed_by("b").greedy(),
    "where has nothing to add to": lambda: Pattern.begin(begin()).where(always),
    "or_ has nothing to add to": lambda: Pattern.begin(begin()).or_(always),
    "subtype has nothing to add to": lambda: Pattern.begin(begin()).subtype(int),
    "within expects a time above zero": lambda: begin().within(0),
    "within expects a WithinType": lambda: begin().within(5, "first"),  # type: ignore[arg-type]
    "skips to no named pattern": lambda: (
        AfterMatchSkipStrategy.skip_to_next().throw_exception_on_miss()
    ),
}


@pytest.mark.parametrize("message", REFUSED_WHERE_IT_IS_SAID)
def test_a_call_that_cannot_work_is_refused_at_its_line(message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message.replace("(", r"\(")) as refused:
        REFUSED_WHERE_IT_IS_SAID[message]()
    assert "test_pattern.py" in str(refused.value.where)
    assert refused.value.fix


REFUSED_AS_A_WHOLE: dict[str, Callable[[], Pattern]] = {
    "the name 'a' is used twice": lambda: begin().followed_by("b").next("a"),
    "name 'b' is used twice": lambda: begin().next("b").next(Pattern.begin("b")),
    r"\$endState\$ is the name": lambda: begin("$endState$"),
    r"ends with not_followed_by\('b'\) and has no time limit": lambda: begin().not_followed_by("b"),
    "has no time limit there": lambda: begin().within(5).not_followed_by("b"),
    "skips to 'c', which is no stage": lambda: Pattern.begin(
        "a", AfterMatchSkipStrategy.skip_to_first("c")
    ).next("b"),
    "is longer than that of the whole pattern, 5 ms": lambda: (
        begin().next("b").within(9, WithinType.PREVIOUS_AND_CURRENT).next("c").within(5)
    ),
    "consists of optional stages only": lambda: (
        begin().next(Pattern.begin("b").optional()).one_or_more()
    ),
    r"a group ends with not_followed_by\('c'\)": lambda: (
        begin().next(Pattern.begin("b").not_followed_by("c")).next("d")
    ),
}


@pytest.mark.parametrize("message", REFUSED_AS_A_WHOLE)
def test_a_pattern_that_cannot_work_is_refused_with_the_line_of_its_stage(message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message) as refused:
        compile_pattern(REFUSED_AS_A_WHOLE[message]())
    assert "test_pattern.py" in str(refused.value.where)
    assert refused.value.fix


def test_times_takes_a_window_as_javas_overloads_do() -> None:
    by_position = begin().times(2, Duration.of_seconds(3)).times_range
    by_name = begin().times(2, window_time=3000).times_range
    assert by_position == by_name
    assert begin().times(0, 3).is_optional


def test_a_condition_that_raises_is_told_with_its_stage_its_line_and_the_event() -> None:
    from headrace.cep.nfa import NFA

    pattern = begin().where(lambda event: event["missing"] > 5)
    nfa = NFA(compile_pattern(pattern))
    with pytest.raises(HeadraceError, match=r"condition of pattern 'a'.*KeyError") as raised:
        nfa.process(nfa.initial_state(), {"x": 1}, 5)
    assert "test_pattern.py" in str(raised.value.where)
    assert "{'x': 1}" in str(raised.value)


def test_a_condition_that_an_event_never_meets_may_not_fit_it() -> None:
    from headrace.cep.nfa import NFA

    pattern = begin().where(lambda event: event == 1).next("b").where(lambda event: event[5] == 2)
    nfa = NFA(compile_pattern(pattern))
    assert nfa.process(nfa.initial_state(), 7, 5) == []


def test_explain_shows_states_edges_and_conditions() -> None:
    pattern = (
        begin("heat")
        .where(lambda event: event.degrees > 80)
        .followed_by("smoke")
        .where(col("kind") == "smoke")
        .within(600_000)
    )
    assert pattern.explain().splitlines() == [
        "conditions",
        "  smoke.where: (kind == 'smoke')",
        "  heat.where: event.degrees > 80",
        "states",
        "  [heat]  start",
        "    take      ─▶ [smoke]  if heat.where",
        "  [smoke]",
        "    take      ─▶ [$endState$]  if smoke.where",
        "    pass over ─▶ itself  if not smoke.where",
        "  [$endState$]  a match",
        "time limit: 600000 ms from the first event to the last",
        "after a match: no_skip()",
    ]


def test_the_kind_of_a_step_tells_patterns_with_other_states_apart() -> None:
    one = begin().followed_by("b").within(5)
    assert state_kind(one) == state_kind(begin().where(always).followed_by("b").within(9))
    assert state_kind(one) != state_kind(begin().next("b").within(5))
    assert state_kind(one).startswith("pattern [a, b] ")
