"""OVER: frames by event time, processing time and any other column."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from headrace.common.data_types import DataTypes
from headrace.errors import UnsupportedStepError
from headrace.runtime.table.over import OverSpec, over_operator
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.session import ScalarSession
from table_operators import END, INT, STRING, T3, OperatorRun, T, W, at, every_way, lines_of

BIGINT = DataTypes.BIGINT()
COUNT = AggregateCall("COUNT", (), BIGINT)
SUM = AggregateCall("SUM", (2,), INT)
MAX = AggregateCall("MAX", (2,), INT)
TIME = (1, False, False)


def over(*calls: AggregateCall, domain: str = "event", changes: bool = False, **frame: Any) -> Any:
    calls = calls or (COUNT, SUM)
    frame.setdefault("order", (TIME,))
    spec = OverSpec(calls, domain=domain, **frame)
    columns = (STRING, T3, INT)
    return over_operator(
        spec, lines_of(*columns, changes=changes),
        lines_of(*columns, *(call.type for call in calls), changes=domain == "other"),
        session=ScalarSession(),
    )  # fmt: skip


def plus(*lines: tuple[Any, ...]) -> list[Any]:
    return [("+I", key, at(time), value) for key, time, value in lines]


def values(found: list[Any], key: str = "a") -> list[tuple[Any, ...]]:
    return [line[3:] for line in found if line[1] == key]


LINES = plus(("a", 20, 1), ("b", 10, 9), ("a", 10, 2), ("a", 10, 3), ("a", 9000, 4))


def test_lines_wait_for_event_time_and_peers_share_a_range() -> None:
    script = [*LINES, W(15), *plus(("a", 15, 8), ("a", 16, 5)), W(20), END]
    found = every_way(over(), script, (0,), entries=2)
    assert values(found) == [(2, 2, 5), (3, 2, 5), (5, 3, 10), (1, 4, 11), (4, 5, 15)]
    assert values(found, "b") == [(9, 1, 9)]


def test_rows_do_not_share() -> None:
    found = every_way(over(rows=True), [*LINES, END], (0,), entries=2)
    assert values(found) == [(2, 1, 2), (3, 2, 5), (1, 3, 6), (4, 4, 10)]


def test_a_number_of_lines_before() -> None:
    found = every_way(over(SUM, MAX, rows=True, preceding=1), [*LINES, END], (0,), entries=2)
    assert values(found) == [(2, 2, 2), (3, 5, 3), (1, 4, 3), (4, 5, 4)]


def test_a_range_of_time_before() -> None:
    script = [*LINES, *plus(("a", 15, 7)), W(30), *plus(("a", 25, 6), ("a", 19, 1)), END]
    found = every_way(over(COUNT, MAX, preceding=10), script, (0,), entries=0)
    # late is what is not behind the line that left last
    assert values(found) == [(2, 2, 3), (3, 2, 3), (7, 3, 7), (1, 4, 7), (6, 3, 7), (4, 1, 4)]


def test_lines_of_a_bounded_frame_are_late_behind_the_last_of_their_key_only() -> None:
    script = [*LINES[1:4], W(1000), *plus(("b", 11, 1), ("a", 10, 7)), W(1001)]
    found = every_way(over(rows=True, preceding=5), script, (0,))
    assert values(found, "b") == [(9, 1, 9), (1, 2, 10)]
    assert len(values(found)) == 2


def test_processing_time_does_not_wait() -> None:
    found = every_way(over(domain="processing"), LINES, (0,), entries=2)
    assert values(found) == [(1, 1, 1), (2, 2, 3), (3, 3, 6), (4, 4, 10)]
    found = every_way(over(domain="processing", rows=True, preceding=1), LINES, (0,), entries=2)
    assert values(found) == [(1, 1, 1), (2, 2, 3), (3, 2, 5), (4, 2, 7)]


def test_a_range_of_processing_time_waits_a_millisecond() -> None:
    script = [T(100), *LINES[:3], T(101), *LINES[3:4], T(105), T(110), *LINES[4:], T(200)]
    found = every_way(over(domain="processing", preceding=5), script, (0,), entries=0)
    assert values(found) == [(1, 2, 3), (2, 2, 3), (3, 3, 6), (4, 1, 4)]


def test_functions_of_order() -> None:
    number = AggregateCall("ROW_NUMBER", (), BIGINT)
    rank, dense = AggregateCall("RANK", (), BIGINT), AggregateCall("DENSE_RANK", (), BIGINT)
    lag = AggregateCall("LAG", (2,), INT)
    found = every_way(over(number, rank, dense, lag, rows=True), [*LINES, END], (0,), entries=2)
    assert values(found) == [
        (2, 1, 1, 1, None), (3, 2, 1, 1, 2), (1, 3, 3, 2, 3), (4, 4, 4, 3, 1),
    ]  # fmt: skip


def test_lag_has_an_offset_and_a_default() -> None:
    lag = AggregateCall("LAG", (2, 3, 4), INT)
    spec = OverSpec((lag,), (TIME,), rows=True)
    columns = (STRING, T3, INT, INT, INT)
    operator = over_operator(
        spec, lines_of(*columns), lines_of(*columns, INT), session=ScalarSession()
    )
    given = [("a", time, value) for time, value in enumerate((1, 2, None, 4, 5), start=1)]
    found = every_way(operator, [*((*line, 2, -1) for line in plus(*given)), END], (0,))
    assert [line[-1] for line in found] == [-1, -1, 1, 2, None], "a NULL that is there stays"


def test_another_order_changes_lines_behind() -> None:
    operator = over(SUM, domain="other", order=((2, False, False),), changes=True)
    script = [
        *plus(("a", 0, 1), ("a", 0, 3), ("a", 0, 2)),
        ("-D", "a", at(0), 1),
        *plus(("a", 0, 0)),
    ]
    found = every_way(operator, script, (0,), entries=2)
    assert [(line[0], line[3], line[4]) for line in found] == [
        ("+I", 1, 1), ("+I", 3, 4), ("+I", 2, 3), ("-U", 3, 4), ("+U", 3, 6),
        ("-D", 1, 1), ("-U", 2, 3), ("+U", 2, 2), ("-U", 3, 6), ("+U", 3, 5), ("+I", 0, 0),
    ]  # fmt: skip


def test_another_order_changes_lines_once_a_batch() -> None:
    spec: Any = {"domain": "other", "order": ((2, False, False),), "changes": True, "once": True}
    run = OperatorRun(over(SUM, **spec), (0,))
    run.lines([*plus(("a", 0, 1), ("a", 0, 3), ("a", 0, 2), ("b", 0, 5)), ("-D", "b", at(0), 5)])
    assert _shown(run) == [("+I", 1, 1), ("+I", 2, 3), ("+I", 3, 6)]
    run.lines([("-D", "a", at(0), 1), *plus(("a", 0, 0)), ("-D", "a", at(0), 9)])
    assert _shown(run) == [
        ("-D", 1, 1), ("+I", 0, 0), ("-U", 2, 3), ("+U", 2, 2), ("-U", 3, 6), ("+U", 3, 5),
    ]  # fmt: skip


def _shown(run: OperatorRun) -> list[tuple[Any, ...]]:
    return [(line[0], line[3], line[4]) for line in run.taken()]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (True, [("+I", 1, 1), ("+I", 1, 2)]),
        (False, [("+I", 1, 1), ("-U", 1, 1), ("+U", 1, 2), ("+I", 1, 2)]),
    ],
)
def test_peers_of_another_order(rows: bool, expected: Any) -> None:
    operator = over(COUNT, domain="other", order=((2, False, False),), changes=True, rows=rows)
    found = every_way(operator, plus(("a", 0, 1), ("a", 5, 1)), (0,))
    assert [(line[0], line[3], line[4]) for line in found] == expected


AVG = AggregateCall("AVG", (2,), DataTypes.INT())
DISTINCT = AggregateCall("COUNT", (2,), BIGINT, distinct=True)


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("calls", [(MAX,), (SUM, MAX, AVG), (COUNT, DISTINCT)])
def test_what_is_left_of_many_changes_is_what_the_lines_that_are_left_give(
    calls: tuple[AggregateCall, ...], rows: bool
) -> None:
    dice = random.Random(len(calls) * 2 + rows)
    script: list[Any] = []
    left: list[tuple[Any, ...]] = []
    for _ in range(60):
        if left and dice.random() < 0.4:
            script.append(("-D", *left.pop(dice.randrange(len(left)))))
            continue
        left.append(("a", at(dice.randrange(8)), dice.choice([None, 1, 1, 2, 3, 4])))
        script.append(("+I", *left[-1]))
    operator = over(*calls, domain="other", changes=True, rows=rows)
    told: Counter[tuple[Any, ...]] = Counter()
    for kind, *line in every_way(operator, script, (0,), entries=2):
        told[tuple(line)] += 1 if kind in ("+I", "+U") else -1
        assert told[tuple(line)] >= 0, "nothing is taken back that was not told"
    anew = OperatorRun(over(*calls, domain="other", changes=True, rows=rows, once=True), (0,))
    anew.lines([("+I", *line) for line in in_order(script, left)])
    assert +told == Counter(tuple(line[1:]) for line in anew.taken())


def in_order(script: list[Any], left: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The lines that are left in the order in which they came: the first of equals goes first."""
    wanted, found = Counter(left), []
    for kind, *line in reversed(script):
        if kind == "+I" and wanted[tuple(line)]:
            wanted[tuple(line)] -= 1
            found.append(tuple(line))
    return found[::-1]


def test_nobody_looks_ahead_in_a_stream() -> None:
    with pytest.raises(UnsupportedStepError, match="LEAD"):
        OperatorRun(over(AggregateCall("LEAD", (2,), INT)), (0,))
    with pytest.raises(UnsupportedStepError, match="FOLLOW"):
        OperatorRun(over(following=1), (0,))
    with pytest.raises(UnsupportedStepError, match="time attribute"):
        OperatorRun(over(domain="other", preceding=3), (0,))


def test_a_key_is_forgotten_after_its_time() -> None:
    run = OperatorRun(over(domain="processing", ttl_ms=1000), (0,))
    run.time = 10_000
    run.lines(LINES[:1])
    run.end_of_batch()
    run.time = 12_000
    for _ in range(3):
        run.restart()
    assert run.entries() == 0
