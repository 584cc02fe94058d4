"""GROUP BY windows: slices, whole windows, sessions; event and processing time."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from headrace.common.data_types import DataTypes
from headrace.runtime.table.rank import RankSpec
from headrace.runtime.table.times import HOUR_MS
from headrace.runtime.table.windows.aggregate import (
    SqlWindowShape,
    window_aggregate_operator,
    window_tvf_operator,
)  # fmt: skip
from headrace.runtime.table.windows.deduplicate import WindowDeduplicateOperator
from headrace.runtime.table.windows.rank import WindowRankOperator
from headrace.runtime.table.windows.whole import WindowPlaces
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.session import ScalarSession
from table_operators import (
    BIGINT,
    END,
    INT,
    LTZ3,
    STRING,
    T3,
    OperatorRun,
    T,
    W,
    at,
    every_way,
    instant,
    lines_of,
    whole_input,
)  # fmt: skip

COUNT = AggregateCall("COUNT", (), DataTypes.BIGINT())
SUM = AggregateCall("SUM", (2,), INT)
DISTINCT = AggregateCall("COUNT", (2,), DataTypes.BIGINT(), distinct=True)


def window(
    kind: str, size: int, slide: int = 0, *, offset: int = 0, time: int | None = 1,
    calls: tuple[Any, ...] = (COUNT, SUM), zone: str | None = None, changes: bool = False,
    attached: Any = None, stamp: Any = T3,
) -> Any:  # fmt: skip
    shape = SqlWindowShape(kind, size, slide, offset, time, zone)
    source = (STRING, stamp, INT, *((T3, T3) if attached else ()))
    results = tuple(call.type for call in calls)
    return window_aggregate_operator(
        shape, calls, ("start", "end", "time"), lines_of(*source, changes=changes),
        lines_of(STRING, *results, T3, T3, stamp), attached=attached, session=ScalarSession()
    )  # fmt: skip


def plus(*lines: tuple[Any, ...]) -> list[Any]:
    return [("+I", key, at(time), value) for key, time, value in lines]


def results(found: list[Any]) -> list[tuple[Any, ...]]:
    """(key, results, start, end) in milliseconds."""
    assert all(line[0] == "+I" for line in found)
    return [(*line[1:-3], ms(line[-3]), ms(line[-2])) for line in found]


def ms(time: dt.datetime) -> int:
    return (time.replace(tzinfo=None) - at(0)) // dt.timedelta(milliseconds=1)


LINES = plus(("a", 1, 1), ("b", 2, 2), ("a", 9, 3), ("a", 12, 4))


def test_a_window_fires_when_its_last_moment_has_passed() -> None:
    script = [*LINES, W(8), W(9), *plus(("a", 5, 9), ("a", 13, 5)), END]
    assert results(every_way(window("tumble", 10), script, (0,), entries=0)) == [
        ("a", 2, 4, 0, 10), ("b", 1, 2, 0, 10), ("a", 2, 9, 10, 20),
    ]  # fmt: skip


def test_late_lines_are_counted() -> None:
    run = OperatorRun(window("tumble", 10), (0,))
    run.watermark(20)
    run.lines(LINES)
    assert run.metrics.late_records_dropped == 4
    assert run.entries() == 0


def test_hopping_windows_share_slices_and_a_line_counts_where_it_is_not_late() -> None:
    script = [*LINES, W(9), *plus(("a", 8, 5)), END]
    assert results(every_way(window("hop", 10, 5), script, (0,), entries=0)) == [
        ("a", 1, 1, -5, 5), ("b", 1, 2, -5, 5), ("a", 2, 4, 0, 10), ("b", 1, 2, 0, 10),
        ("a", 3, 12, 5, 15), ("a", 1, 4, 10, 20),
    ]  # fmt: skip


def test_cumulating_windows_grow() -> None:
    assert results(every_way(window("cumulate", 10, 5), [*LINES, END], (0,), entries=0)) == [
        ("a", 1, 1, 0, 5), ("b", 1, 2, 0, 5), ("a", 2, 4, 0, 10), ("b", 1, 2, 0, 10),
        ("a", 1, 4, 10, 15), ("a", 1, 4, 10, 20),
    ]  # fmt: skip


def test_states_that_can_change_are_not_shared_by_windows() -> None:
    lines = plus(("a", 1, 7), ("a", 6, 7), ("a", 6, 8), ("a", 11, 9))
    found = every_way(window("hop", 15, 5, calls=(DISTINCT,)), [*lines, END], (0,), entries=0)
    assert [line[1] for line in results(found)] == [1, 2, 3, 3, 1]


def test_lines_may_be_taken_back() -> None:
    script = [*LINES, ("-D", "b", at(2), 2), ("-U", "a", at(9), 3), ("+U", "a", at(9), 5), END]
    assert results(every_way(window("tumble", 10, changes=True), script, (0,), entries=0)) == [
        ("a", 2, 6, 0, 10), ("a", 1, 4, 10, 20),
    ]  # fmt: skip


def test_days_begin_at_midnight_of_the_zone_and_end_with_its_clock() -> None:
    day = 24 * HOUR_MS
    begin = 1636182000000  # 2021-11-06 00:00 in Los Angeles
    lines = [("+I", "a", instant(begin + day + hour * HOUR_MS), hour) for hour in range(25)]
    operator = window("tumble", day, zone="America/Los_Angeles", stamp=LTZ3)
    fired = every_way(operator, [*lines, W(begin + 2 * day + HOUR_MS - 2)], (0,))
    assert fired == []
    found = every_way(operator, [*lines, W(begin + 2 * day + HOUR_MS - 1)], (0,), entries=0)
    assert found == [
        ("+I", "a", 25, 300, dt.datetime(2021, 11, 7), dt.datetime(2021, 11, 8),
         instant(begin + 2 * day + HOUR_MS - 1))
    ]  # fmt: skip


def test_processing_time_windows_fire_by_the_clock() -> None:
    operator = window("hop", 10, 5, time=None)
    script = [T(7), *LINES[:2], T(9), T(12), *LINES[2:3], T(14), T(100)]
    assert results(every_way(operator, script, (0,), entries=0)) == [
        ("a", 1, 1, 0, 10), ("b", 1, 2, 0, 10), ("a", 2, 4, 5, 15), ("b", 1, 2, 5, 15),
        ("a", 1, 3, 10, 20),
    ]  # fmt: skip
    run = OperatorRun(operator, (0,))
    run.clock(7)
    run.lines(LINES)
    assert run.operator.next_processing_timer() == 9
    run.watermark(END.time)
    run.clock(1000)
    assert run.taken() == []  # as in Flink: the end of input is not the end of the day


def test_windows_that_lines_bring_along() -> None:
    def line(key: str, value: int, start: int, end: int) -> Any:
        return ("+I", key, at(0), value, at(start), at(end))

    operator = window("session", 5, attached=(3, 4))
    script = [
        line("a", 1, 0, 10), line("a", 2, 5, 10), line("a", 3, 0, 10), line("b", 4, 0, 20), W(9),
        line("a", 5, 0, 10), END,
    ]  # fmt: skip
    assert results(every_way(operator, script, (0,), entries=0)) == [
        ("a", 2, 4, 0, 10), ("a", 1, 2, 5, 10), ("b", 1, 4, 0, 20),
    ]  # fmt: skip


def test_sessions_grow_merge_and_end() -> None:
    lines = plus(("a", 0, 1), ("a", 10, 2), ("b", 3, 9), ("a", 20, 3), ("a", 5, 4))
    script = [*lines, W(14), *plus(("a", 14, 5), ("a", 9, 6), ("b", 1, 7)), W(18), END]
    # 5 connects [0, 5) and [10, 15); 9 comes late, but joins [14, 19)
    assert results(every_way(window("session", 5), script, (0,), entries=0)) == [
        ("b", 1, 9, 3, 8), ("a", 3, 7, 0, 15), ("a", 2, 11, 9, 19), ("a", 1, 3, 20, 25),
    ]  # fmt: skip


def test_sessions_by_hand() -> None:
    lines = plus(("a", 0, 1), ("a", 10, 2), ("a", 5, 4), ("a", 30, 3))
    script = [*lines, W(13), *plus(("a", 7, 5)), W(14), *plus(("a", 9, 6)), END]
    assert results(every_way(window("session", 5), script, (0,), entries=0)) == [
        ("a", 4, 12, 0, 15), ("a", 1, 3, 30, 35),
    ]  # fmt: skip


def test_sessions_of_processing_time_end_by_the_clock() -> None:
    operator = window("session", 5, time=None)
    script = [T(10), *LINES[:1], T(13), *LINES[2:3], T(16), T(17), T(30), *LINES[3:], T(40)]
    assert results(every_way(operator, script, (0,), entries=0)) == [
        ("a", 2, 4, 10, 18), ("a", 1, 4, 30, 35),
    ]  # fmt: skip


def test_the_session_function_hands_lines_on_when_their_session_has_ended() -> None:
    operator = window_tvf_operator(
        SqlWindowShape("session", 5, time=1), lines_of(STRING, T3, INT, changes=True),
        lines_of(STRING, T3, INT, T3, T3, T3, changes=True),
    )  # fmt: skip
    script = [*LINES, ("-D", "a", at(9), 3), W(13), END]
    found = every_way(operator, script, (0,), entries=0)
    assert [(line[0], line[1], line[3], ms(line[4]), ms(line[5])) for line in found] == [
        ("+I", "a", 1, 1, 6), ("+I", "b", 2, 2, 7),
        ("+I", "a", 3, 9, 17), ("+I", "a", 4, 9, 17), ("-D", "a", 3, 9, 17),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["tumble", "hop", "cumulate", "session"])
@pytest.mark.parametrize("event", [True, False])
def test_batch_mode_has_no_late_lines(kind: str, event: bool) -> None:
    operator = window(kind, 10, 5 if kind in ("hop", "cumulate") else 0, time=1 if event else None)
    found = whole_input(operator, [*LINES[2:], *LINES[:2]], (0,))
    assert sum(line[2] for line in found if line[1] == "b") == {"hop": 2, "cumulate": 2}.get(
        kind, 1
    )


def test_the_first_lines_of_windows() -> None:
    kinds = (STRING, INT, T3, T3)
    operator = WindowRankOperator(
        WindowPlaces(attached=(2, 3)), RankSpec(((1, True, False),), 1, 2, with_number=True),
        lines_of(*kinds), lines_of(*kinds, BIGINT),
    )  # fmt: skip

    def line(value: int, end: int) -> Any:
        return ("+I", "a", value, at(end - 10), at(end))

    script = [line(1, 10), line(3, 10), line(2, 10), line(5, 20), W(9), line(9, 10), END]
    assert every_way(operator, script, (0,), entries=0) == [
        (*line(3, 10), 1), (*line(2, 10), 2), (*line(5, 20), 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("last", "value"), [(True, 3), (False, 2)])
def test_one_line_a_window(last: bool, value: int) -> None:
    operator = WindowDeduplicateOperator(
        WindowPlaces(attached=(3, 4)), 1, lines_of(STRING, T3, INT, T3, T3), keep_last=last
    )
    lines = [(*line, at(0), at(10)) for line in plus(("a", 5, 1), ("a", 1, 2), ("a", 5, 3))]
    found = every_way(operator, [*lines, END], (0,), entries=0)
    assert [line[3] for line in found] == [value]
