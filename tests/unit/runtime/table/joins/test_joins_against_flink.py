"""Joins against the changelogs that Flink gave: tests/golden/joins.json.

The scripts and queries are in tests/oracle/join_cases.py; `ask_joins.py` beside it asks them.
In which order the partners of one line come is up to Flink's hash maps, so changes are compared
line by line of the result.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.common.data_types import DataTypes
from headrace.runtime.table.joins.interval import IntervalJoinOfLines
from headrace.runtime.table.joins.regular import RegularJoinOperator
from headrace.runtime.table.joins.temporal import EventTimeTemporalJoin
from headrace.runtime.table.joins.window_join import WindowJoinOperator
from headrace.scalars.nodes import Call, Ref
from headrace.scalars.session import ScalarSession
from join_reference import by_line
from oracle.join_cases import CASES, SCRIPTS
from table_operators import END, INT, STRING, T3, OperatorRun, at, lines_of

TESTS = Path(__file__).resolve().parents[4]
GOLDEN: dict[str, Any] = json.loads((TESTS / "golden" / "joins.json").read_text())
KEYS: dict[str, Any] = {"left_keys": (0,), "right_keys": (0,)}
SIDE, TIMED, WINDOWED = (STRING, INT), (STRING, INT, T3), (STRING, INT, T3, T3)
SECOND = 1000


def told(name: str) -> list[tuple[Any, ...]]:
    return [tuple(change) for change in GOLDEN[name]["changes"]]


def names(family: str) -> list[str]:
    return [name for name in CASES if name.startswith(family)]


def both(kind: str, columns: tuple[Any, ...]) -> tuple[Any, ...]:
    return columns if kind in ("semi", "anti") else (*columns, *columns)


def shown(changes: list[tuple[Any, ...]], width: int) -> list[tuple[Any, ...]]:
    """Only k and v of each side."""
    return [
        (change[0], *(v for n, v in enumerate(change[1:]) if n % width < 2)) for change in changes
    ]


def test_flink_refuses_none() -> None:
    assert [name for name in CASES if "changes" not in GOLDEN[name]] == []


@pytest.mark.parametrize("name", names("regular_"))
@pytest.mark.parametrize("restart", [False, True])
def test_regular_joins(name: str, restart: bool) -> None:
    kind = name.split("_")[1]
    less = Call("<", (Ref(1, INT), Ref(3, INT)), DataTypes.BOOLEAN())
    given = lines_of(*SIDE, changes=True)
    out = lines_of(*both(kind, SIDE), changes=True)
    condition = less if name.endswith("less") else None
    operator = RegularJoinOperator(
        given, given, out, kind=kind, condition=condition, **KEYS, session=ScalarSession()
    )
    run = OperatorRun(operator, (0,), (0,))
    for side, change, key, value, _ in SCRIPTS["changes"]:
        run.lines([(change, key, value)], "lr".index(side))
        if restart:
            run.restart()
    assert by_line(run.taken()) == by_line(told(name))


def play_times(run: OperatorRun, lines: list[tuple[int, tuple[Any, ...] | None, int]]) -> list[Any]:
    """Lines (side, line, seconds), with a watermark behind each that raises it."""
    highest = -1
    for side, line, second in lines:
        if line is not None:
            run.lines([line], side)
        if second > highest:
            highest = second
            run.watermark(second * SECOND)
            run.restart()
    run.watermark(END.time)
    return run.taken()


@pytest.mark.parametrize("name", names("interval_"))
def test_interval_joins(name: str) -> None:
    kind, given = name.split("_")[1], lines_of(*TIMED)
    operator = IntervalJoinOfLines(
        given, given, lines_of(*TIMED, *TIMED), kind=kind, times=(2, 2), lower_ms=-5 * SECOND,
        upper_ms=3 * SECOND, **KEYS, session=ScalarSession()
    )  # fmt: skip
    lines: list[Any] = [
        ("lr".index(side), ("+I", key, value, at(second * SECOND)), second)
        for side, _, key, value, second in SCRIPTS["times"]
    ]
    found = play_times(OperatorRun(operator, (0,), (0,)), lines)
    assert by_line(shown(found, 3)) == by_line(told(name))


@pytest.mark.parametrize("name", names("window_"))
def test_window_joins(name: str) -> None:
    kind, given = name.split("_")[1], lines_of(*WINDOWED)
    operator = WindowJoinOperator(
        given,
        given,
        lines_of(*both(kind, WINDOWED)),
        kind=kind,
        window_ends=(3, 3),
        **KEYS,
        session=ScalarSession(),
    )
    lines: list[Any] = []
    for side, _, key, value, second in SCRIPTS["times"]:
        start = second // 10 * 10 * SECOND
        line = ("+I", key, value, at(start), at(start + 10 * SECOND))
        lines.append(("lr".index(side), line, second))
    found = play_times(OperatorRun(operator, (0,), (0,)), lines)
    assert by_line(shown(found, 4)) == by_line(told(name))


@pytest.mark.parametrize("name", names("temporal_"))
def test_temporal_joins(name: str) -> None:
    kind, given = name.split("_")[1], lines_of(*TIMED)
    operator = EventTimeTemporalJoin(
        given, lines_of(*TIMED, changes=True), lines_of(*TIMED, *TIMED), kind=kind, times=(2, 2),
        **KEYS, session=ScalarSession()
    )  # fmt: skip
    lines: list[Any] = []
    latest: dict[str | None, int] = {}
    for side, _, key, value, second in SCRIPTS["times"]:
        change = "+I"
        if side == "r":  # the view keeps the latest of each key
            change = "+U" if key in latest else "+I"
            if second < latest.get(key, -1):
                lines.append((1, None, second))
                continue
            latest[key] = second
        lines.append(("lr".index(side), (change, key, value, at(second * SECOND)), second))
    found = play_times(OperatorRun(operator, (0,), (0,)), lines)
    assert by_line(shown(found, 3)) == by_line(told(name))
