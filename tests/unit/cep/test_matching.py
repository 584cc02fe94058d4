"""The operator of MATCH_RECOGNIZE: order, late lines, what it keeps and for how long."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.cep.matching.operator import MatchOperator, MatchSpec
from headrace.errors import HeadraceError
from headrace.rel.functions import call, cast
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.matches import (
    AggregateLook,
    EventLook,
    MatchExpression,
    MatchSkip,
    MatchStage,
    TimeLook,
)
from headrace.scalars.nodes import Literal, Ref, Scalar
from headrace.scalars.session import ScalarSession
from table_operators import (
    BIGINT,
    END,
    INT,
    STRING,
    T3,
    OperatorRun,
    T,
    W,
    at,
    every_way,
    lines_of,
    whole_input,
)

# lines are (key, time, value)
LINES = lines_of(STRING, T3, INT)
VALUE = Ref(2, INT)


def number(value: int) -> Scalar:
    return Literal(value, INT.not_null())


def stage(
    variable: str,
    compared: str = "",
    value: int = 0,
    least: int = 1,
    most: int | None = 1,
    *,
    greedy: bool = True,
) -> MatchStage:
    """A variable whose lines compare with a number."""  # fmt: skip
    if not compared:
        return MatchStage(variable, None, None, least, most, greedy)
    scalar = call(compared, (VALUE, number(value)))
    return MatchStage(variable, MatchExpression(scalar), scalar, least, most, greedy)


def looking(variable: str, compared: str, *looks: Any) -> MatchStage:
    """A variable whose lines compare with what they see of the match."""
    scalar = call(compared, (VALUE, Ref(3, INT)))
    return MatchStage(variable, MatchExpression(scalar, looks))


FIRST = MatchExpression(Ref(3, INT), (EventLook(None, 2, first=True),))
LAST = MatchExpression(Ref(3, INT), (EventLook(None, 2),))
COUNT = MatchExpression(
    Ref(3, BIGINT), (AggregateLook(None, AggregateCall("COUNT", (), BIGINT.not_null()), ()),)
)


def matched(
    *stages: MatchStage,
    time: int | None = 1,
    measures: Any = (FIRST, LAST, COUNT),
    within: int | None = None,
    skip: MatchSkip | None = None,
    order: Any = (),
) -> MatchOperator:
    """The operator over the lines of each key."""  # fmt: skip
    spec = MatchSpec(
        (0,), time, order, stages, measures, skip or MatchSkip("PAST LAST ROW"), within
    )
    kinds = [measure.scalar.type for measure in measures]
    return MatchOperator(spec, LINES, lines_of(STRING, *kinds), session=ScalarSession())


def plus(*lines: tuple[str, int, int | None]) -> list[Any]:
    return [("+I", key, at(time), value) for key, time, value in lines]


UP = (stage("A", "=", 1), stage("B", ">", 1, 1, None), stage("C", "=", 0))


def test_lines_are_matched_in_the_order_of_their_time() -> None:
    script = [*plus(("a", 30, 0), ("a", 10, 1), ("b", 10, 1), ("a", 20, 5)), W(30), END]
    found = every_way(matched(*UP), script, (0,), entries=1)
    assert found == [("+I", "a", 1, 0, 3)]


def test_a_match_comes_when_event_time_has_passed_its_last_line() -> None:
    run = OperatorRun(matched(*UP), (0,))
    run.lines(plus(("a", 10, 1), ("a", 20, 5), ("a", 30, 0)))
    run.watermark(29)
    assert run.taken() == []
    run.watermark(30)
    assert run.taken() == [("+I", "a", 1, 0, 3)]
    assert run.entries() == 0


def test_late_lines_are_dropped_and_counted() -> None:
    run = OperatorRun(matched(*UP), (0,))
    run.lines(plus(("a", 10, 1), ("a", 30, 0)))
    run.watermark(20)
    run.lines(plus(("a", 20, 5)))
    run.watermark(40)
    assert run.taken() == []
    assert run.metrics.late_records_dropped == 1


def test_lines_of_one_time_come_by_the_other_columns() -> None:
    lines = plus(("a", 10, 0), ("a", 10, 1), ("a", 10, 5))
    descending = matched(*UP, order=((2, True, False),))
    assert every_way(matched(*UP), [*lines, END], (0,)) == []
    assert every_way(descending, [*lines, END], (0,)) == []
    ascending = matched(stage("A", "=", 0), stage("B", "=", 5), order=((2, False, False),))
    assert every_way(ascending, [*lines, END], (0,)) == []
    both = matched(stage("A", "=", 5), stage("B", "=", 1), order=((2, True, False),))
    assert every_way(both, [*lines, END], (0,)) == [("+I", "a", 5, 1, 2)]


def test_partial_matches_that_are_over_leave_nothing_although_their_key_is_silent() -> None:
    run = OperatorRun(matched(*UP, within=100), (0,))
    run.lines(plus(("a", 10, 1), ("a", 20, 5), ("b", 15, 1)))
    run.watermark(20)
    assert run.entries() == 4  # two keys, and a timer for each
    run.watermark(200)
    assert run.entries() == 0


def test_a_match_may_take_less_than_its_time() -> None:
    lines = plus(("a", 10, 1), ("a", 20, 5), ("a", 110, 0))
    assert every_way(matched(*UP, within=100), [*lines, END], (0,), entries=0) == []
    found = every_way(matched(*UP, within=101), [*lines, END], (0,), entries=0)
    assert found == [("+I", "a", 1, 0, 3)]


def test_lines_that_begin_nothing_are_not_kept() -> None:
    run = OperatorRun(matched(*UP), (0,))
    run.lines(plus(*[("a", time, 7) for time in range(50)]))
    run.watermark(100)
    assert run.entries() == 0


def test_processing_time_takes_lines_as_they_come() -> None:
    script: list[Any] = []
    for time, value in ((5, 1), (6, 5), (7, 0), (8, 1)):
        script += [T(time), *plus(("a", 1000 - time, value))]
    found = every_way(matched(*UP, time=None), script, (0,), entries=1)
    assert found == [("+I", "a", 1, 0, 3)]


def test_processing_time_ends_partial_matches_too() -> None:
    run = OperatorRun(matched(*UP, time=None, within=50), (0,))
    run.clock(5)
    run.lines(plus(("a", 0, 1)))
    assert run.entries() == 2
    run.clock(55)
    assert run.entries() == 0


def test_batch_mode_takes_all_lines_of_a_key() -> None:
    lines = plus(("a", 30, 0), ("b", 10, 1), ("a", 10, 1), ("a", 20, 5), ("b", 12, 2), ("b", 20, 0))
    found = whole_input(matched(*UP), lines, (0,))
    assert sorted(found) == [("+I", "a", 1, 0, 3), ("+I", "b", 1, 0, 3)]


def test_conditions_see_the_match_so_far() -> None:
    rising = looking("B", ">", EventLook("B", 2, offset=1))
    first = looking("B", ">", EventLook(None, 2, offset=1))
    lines = plus(("a", 1, 3), ("a", 2, 5), ("a", 3, 4), ("a", 4, 6))
    operator = matched(stage("A"), first, skip=MatchSkip("NEXT ROW"))
    assert every_way(operator, [*lines, END], (0,)) == [("+I", "a", 3, 5, 2), ("+I", "a", 4, 6, 2)]
    # there is no line of B before the first one, and NULL is not true
    assert every_way(matched(stage("A"), rising), [*lines, END], (0,)) == []


def test_aggregates_of_conditions_have_the_current_line() -> None:
    total = AggregateLook("A", AggregateCall("SUM", (0,), INT), (VALUE,))
    scalar = call("<", (Ref(3, INT), number(10)))
    many = MatchStage("A", MatchExpression(scalar, (total,)), None, 1, None)
    lines = plus(*[("a", time, 4) for time in range(1, 6)])
    found = every_way(matched(many, stage("B")), [*lines, END], (0,))
    assert found == [("+I", "a", 4, 4, 3)]


def test_the_time_of_a_match() -> None:
    when = MatchExpression(Ref(3, T3), (TimeLook(),))
    operator = matched(stage("A", "=", 1), stage("B"), measures=(when,))
    found = every_way(operator, [*plus(("a", 10, 1), ("a", 25, 9)), END], (0,))
    assert found == [("+I", "a", at(25))]


@pytest.mark.parametrize("count", [3, 40])
def test_an_expression_that_fails_for_a_line_that_nobody_asks(count: int) -> None:
    """A whole batch is asked at once, which must not fail where line by line would not."""
    text = Ref(0, STRING)
    fails = call("=", (cast(text, INT, always=True), number(7)))
    second = MatchStage("B", MatchExpression(fails), fails)
    lines = plus(*[("seven", time, 2) for time in range(count)])
    operator = matched(stage("A", "=", 1), second)
    assert every_way(operator, [*lines, END], (0,)) == []
    run = OperatorRun(operator, (0,))
    run.lines([*lines, *plus(("seven", count, 1), ("seven", count + 1, 1))])
    with pytest.raises(HeadraceError, match="condition of B in DEFINE"):
        run.watermark(1000)


def test_many_lines_at_once_give_what_single_ones_give() -> None:
    values = [1, 5, 6, 0, None, 1, 0, 1, 9, 0, 3, 1, 2, 2, 2, 0] * 6
    lines = plus(*[("ab"[place % 2], place, value) for place, value in enumerate(values)])
    found = every_way(matched(*UP), [*lines, END], (0,))
    assert len(found) > 5


def test_skipping_to_a_line_that_is_not_there_is_an_error() -> None:
    stages = (stage("A", "=", 1), stage("B", "=", 2, 0, 1), stage("C", "=", 3))
    run = OperatorRun(matched(*stages, skip=MatchSkip("FIRST", "B")), (0,))
    run.lines(plus(("a", 1, 1), ("a", 2, 2), ("a", 3, 3), ("a", 4, 1), ("a", 5, 3)))
    run.watermark(3)
    assert run.taken() == [("+I", "a", 1, 3, 3)]
    with pytest.raises(HeadraceError, match="could not skip to 'B'"):
        run.watermark(10)


def test_a_line_that_begins_a_match_may_come_before_one_that_arrived_first() -> None:
    lines = plus(("a", 10, 5), ("a", 10, 1), ("b", 10, 5), ("b", 11, 1))
    pair = matched(stage("A", "=", 1), stage("B", "=", 5), order=((2, False, False),))
    assert every_way(pair, [*lines, END], (0,)) == [("+I", "a", 1, 5, 2)]
    assert whole_input(pair, lines, (0,)) == [("+I", "a", 1, 5, 2)]


def test_more_variables_than_a_number_has_bits() -> None:
    stages = [stage(f"V{number}", "=", number) for number in range(40)]
    lines = plus(*[("a", number, number) for number in range(40)])
    assert every_way(matched(*stages), [*lines, END], (0,)) == [("+I", "a", 0, 39, 40)]
