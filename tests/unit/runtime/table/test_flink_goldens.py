"""Single operators against the changelogs that Flink gave: tests/golden/operators.json.

The queries are in tests/oracle/operator_cases.py, `make`'s oracle part asks them.  An operator here
is what the planner makes of the query; what stands in front of it and behind it is done by hand.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.common.data_types import DataTypes
from headrace.runtime.table.correlate import UNNEST, UNNEST_WITH_ORDINALITY, CorrelateOperator
from headrace.runtime.table.deduplicate import DeduplicateSpec, deduplicate_operator
from headrace.runtime.table.over import OverSpec, over_operator
from headrace.runtime.table.rank import RankSpec, RankStrategy, rank_operator
from headrace.runtime.table.sort import RowtimeSortOperator
from headrace.runtime.table.windows.aggregate import (
    SqlWindowShape,
    window_aggregate_operator,
    window_tvf_operator,
)
from headrace.runtime.table.windows.deduplicate import WindowDeduplicateOperator
from headrace.runtime.table.windows.rank import WindowRankOperator
from headrace.runtime.table.windows.whole import WindowPlaces
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.nodes import Ref
from headrace.scalars.session import ScalarSession
from oracle.operator_cases import LINES
from table_operators import BIGINT, END, INT, STRING, T3, OperatorRun, W, at, every_way, lines_of

TESTS = Path(__file__).resolve().parents[3]
GOLDEN: dict[str, Any] = json.loads((TESTS / "golden" / "operators.json").read_text())

K, V, TS, RT = range(4)  # the columns of the table
TABLE = (STRING, INT, BIGINT, T3)
SUMS = (STRING, INT, BIGINT)
COUNT = AggregateCall("COUNT", (), DataTypes.BIGINT())
SUM, MAX = AggregateCall("SUM", (V,), INT), AggregateCall("MAX", (V,), INT)
CALLS = (COUNT, SUM, MAX)
SECOND = 1000


def lines() -> list[Any]:
    """The table, with a watermark behind each line that raises it."""
    script: list[Any] = []
    highest = None
    for key, value, second in LINES:
        script.append(("+I", key, value, second, at(second * SECOND)))
        if highest is None or second > highest:
            highest = second
            script.append(W((second - 1) * SECOND))
    return [*script, END]


def told(name: str) -> list[tuple[Any, ...]]:
    """What Flink gave; times are texts."""
    return [tuple(change) for change in GOLDEN[name]["changes"]]


def found(
    operator: Any, script: list[Any], keys: tuple[int, ...] | None, columns: tuple[int, ...]
) -> list[tuple[Any, ...]]:
    """What the operator gives, however it is cut; the kind and some columns, times as texts."""
    given = every_way(operator, script, *(() if keys is None else (keys,)))
    return [(line[0], *(as_text(line[1 + place]) for place in columns)) for line in given]


def as_text(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    return value


def by_key(changes: list[tuple[Any, ...]], key: int = 1) -> dict[Any, list[Any]]:
    """The changes of each key, in order; of different keys the order is free."""
    result: dict[Any, list[Any]] = {}
    for change in changes:
        result.setdefault(change[key], []).append(change)
    return result


# --- Top-N ---------------------------------------------------------------------------------------


def rank(order: Any, first: int, last: int, strategy: str, *, number: bool = False) -> Any:
    columns = TABLE if strategy in ("append", "first") else SUMS
    changes = strategy in ("retract", "update")
    spec = RankSpec(order, first, last, number, strategy=RankStrategy(strategy), row_key=(0, 1))
    out = (*columns, *([BIGINT] if number else []))
    return rank_operator(
        spec,
        lines_of(*columns, changes=changes),
        lines_of(*out, changes=True),
    )


def up(place: int) -> Any:
    return (place, False, False)


def down(place: int) -> Any:
    return (place, True, True)  # in Flink NULL is lowest, so it is last when descending


TOP = {
    "top_append": (rank((down(V), up(TS)), 1, 2, "append"), (K, V, TS)),
    "top_append_number": (rank((up(V), down(TS)), 1, 2, "append", number=True), (K, V, TS, 4)),
    "top_append_offset": (rank((down(V), up(TS)), 2, 3, "append"), (K, V, TS)),
    "top_append_one": (rank((down(V),), 1, 1, "append"), (K, V, TS)),
    "top_append_nulls_last": (
        rank(((V, False, True),), 1, 2, "append", number=True),
        (K, V, TS, 4),
    ),
    "top_retract": (rank((down(2), up(1)), 1, 2, "retract"), (0, 1, 2)),
    "top_retract_number": (rank((up(2), up(1)), 1, 2, "retract", number=True), (0, 1, 2, 3)),
    "top_update": (rank((down(2),), 1, 2, "update"), (0, 1, 2)),
    "top_update_number": (rank((down(2),), 1, 2, "update", number=True), (0, 1, 2, 3)),
    "first_two_proctime": (rank((), 1, 2, "first"), (K, V, TS)),
}
GLOBAL = {
    "sort_limit": (rank((down(2), up(0), up(1)), 1, 3, "retract"), (0, 1, 2)),
    "limit": (rank((), 1, 4, "first"), (K, V, TS)),
    "limit_retract": (rank((), 1, 3, "retract"), (0, 1, 2)),
}


def script_of(name: str) -> list[Any]:
    given = GOLDEN[name].get("input")
    return lines() if given is None else [tuple(change) for change in given]


@pytest.mark.parametrize("name", TOP)
def test_top_n(name: str) -> None:
    operator, columns = TOP[name]
    assert by_key(found(operator, script_of(name), (0,), columns)) == by_key(told(name))


@pytest.mark.parametrize("name", GLOBAL)
def test_top_n_of_everything(name: str) -> None:
    operator, columns = GLOBAL[name]
    assert found(operator, script_of(name), (), columns) == told(name)


def test_an_offset_without_numbers_is_right_where_flink_is_not() -> None:
    """Flink marks the lines it keeps as updates, and then does not find them to take them back."""
    operator = rank((up(2), up(0), up(1)), 2, 3, "retract")
    mine = found(operator, script_of("sort_limit_offset"), (), (0, 1, 2))
    its = told("sort_limit_offset")
    assert mine[: len(its)] == its
    assert table_of(script_of("sort_limit_offset"))[1:3] == table_of(mine)
    assert table_of(its) != table_of(mine)


def table_of(changes: list[Any]) -> list[Any]:
    """The lines that are left, by their last column."""
    left: list[Any] = []
    for kind, *line in changes:
        if kind in ("+I", "+U"):
            left.append(line)
        else:
            left.remove(line)
    return sorted(left, key=lambda line: (line[2], line[0]))


# --- deduplication -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "last", "event"),
    [
        ("first_proctime", False, False),
        ("last_proctime", True, False),
        ("first_rowtime", False, True),
        ("last_rowtime", True, True),
    ],
)
def test_deduplication(name: str, last: bool, event: bool) -> None:
    spec = DeduplicateSpec(last, RT if event else None, insert_only=not last)
    operator = deduplicate_operator(spec, lines_of(*TABLE), lines_of(*TABLE, changes=last))
    columns = (K, V, TS, RT) if event else (K, V, TS)
    assert by_key(found(operator, lines(), (K,), columns)) == by_key(told(name))


# --- windows -------------------------------------------------------------------------------------

SHAPES = {
    "tumble": SqlWindowShape("tumble", 5 * SECOND, time=RT),
    "hop": SqlWindowShape("hop", 6 * SECOND, 2 * SECOND, time=RT),
    "cumulate": SqlWindowShape("cumulate", 6 * SECOND, 2 * SECOND, time=RT),
    "session": SqlWindowShape("session", 3 * SECOND, time=RT),
    "group_tumble": SqlWindowShape("tumble", 5 * SECOND, time=RT),
    "group_hop": SqlWindowShape("hop", 5 * SECOND, 2 * SECOND, time=RT),
    "group_session": SqlWindowShape("session", 3 * SECOND, time=RT),
}


@pytest.mark.parametrize("name", SHAPES)
def test_window_aggregates(name: str) -> None:
    operator = window_aggregate_operator(
        SHAPES[name],
        CALLS,
        ("start", "end"),
        lines_of(*TABLE),
        lines_of(STRING, *(call.type for call in CALLS), T3, T3),
        session=ScalarSession(),
    )
    assert by_key(found(operator, lines(), (K,), (0, 1, 2, 3, 4, 5))) == by_key(told(name))


def tvf(name: str) -> Any:
    return window_tvf_operator(SHAPES[name], lines_of(*TABLE), lines_of(*TABLE, T3, T3, T3))


@pytest.mark.parametrize("name", ["hop", "cumulate", "session"])
def test_window_functions(name: str) -> None:
    keys = (K,) if name == "session" else None
    operator = tvf(name)
    script = lines() if keys else [line for line in lines() if not isinstance(line, W)]
    assert by_key(found(operator, script, keys, (K, V, 4, 5, 6))) == by_key(told(f"tvf_{name}"))


def windowed() -> list[Any]:
    """The table behind TUMBLE."""
    script: list[Any] = []
    for step in lines():
        if isinstance(step, W):
            script.append(step)
            continue
        run = OperatorRun(tvf("tumble"))
        run.lines([step])
        script += run.taken()
    return script


def test_top_n_of_windows() -> None:
    columns = (*TABLE, T3, T3, T3)
    operator = WindowRankOperator(
        WindowPlaces(attached=(4, 5)),
        RankSpec((down(V), up(TS)), 1, 2, with_number=True),
        lines_of(*columns),
        lines_of(*columns, BIGINT),
    )
    assert found(operator, windowed(), (), (K, V, 4, 5, 7)) == told("window_top")


def test_the_last_line_of_windows() -> None:
    operator = WindowDeduplicateOperator(
        WindowPlaces(attached=(4, 5)), RT, lines_of(*TABLE, T3, T3, T3), keep_last=True
    )
    assert by_key(found(operator, windowed(), (K,), (K, V, 4, 5))) == by_key(told("window_last"))


# --- OVER ----------------------------------------------------------------------------------------

TIME = ((RT, False, False),)
FRAMES: dict[str, dict[str, Any]] = {
    "over_range": {},
    "over_rows": {"rows": True},
    "over_range_bounded": {"preceding": 4 * SECOND},
    "over_rows_bounded": {"rows": True, "preceding": 1},
    "over_proctime": {"rows": True, "domain": "processing"},
    "over_proctime_bounded": {"rows": True, "preceding": 1, "domain": "processing"},
}


@pytest.mark.parametrize("name", FRAMES)
def test_over(name: str) -> None:
    spec = OverSpec(CALLS, TIME, **FRAMES[name])
    out = lines_of(*TABLE, *(call.type for call in CALLS))
    operator = over_operator(spec, lines_of(*TABLE), out, session=ScalarSession())
    given = found(operator, lines(), (K,), (K, V, TS, 4, 5, 6))
    assert by_key(given) == by_key(told(name))


def test_over_functions() -> None:
    rank_call = AggregateCall("RANK", (), BIGINT)
    operator = over_operator(
        OverSpec((rank_call,), TIME),
        lines_of(*TABLE),
        lines_of(*TABLE, BIGINT),
        session=ScalarSession(),
    )
    given = found(operator, lines(), (K,), (K, V, TS, 4))
    assert by_key(given) == by_key(told("over_rank"))
    lag = AggregateCall("LAG", (V, 4, 5), INT)
    columns = (*TABLE, INT, INT)
    operator = over_operator(
        OverSpec((lag,), TIME), lines_of(*columns), lines_of(*columns, INT), session=ScalarSession()
    )
    script = [line if isinstance(line, W) else (*line, 2, -1) for line in lines()]
    given = found(operator, script, (K,), (K, V, TS, 6))
    assert by_key(given) == by_key(told("over_lag"))


@pytest.mark.parametrize(("name", "place"), [("over_other", 1), ("over_other_range", 2)])
def test_over_another_column(name: str, place: int) -> None:
    call = AggregateCall("SUM", (2,), BIGINT)
    spec = OverSpec((call,), (up(place),), domain="other", rows=name == "over_other")
    operator = over_operator(
        spec,
        lines_of(*SUMS, changes=True),
        lines_of(*SUMS, BIGINT, changes=True),
        session=ScalarSession(),
    )
    assert by_key(found(operator, script_of(name), (0,), (0, 1, 2, 3))) == by_key(told(name))


# --- the rest ------------------------------------------------------------------------------------


def test_sort_by_event_time() -> None:
    operator = RowtimeSortOperator(RT, (down(V),), lines_of(*TABLE))
    assert found(operator, lines(), (), (K, V, TS)) == told("sort_rowtime")


def test_unnest() -> None:
    array = DataTypes.ARRAY(BIGINT)

    def run(function: str, made: tuple[Any, ...], given: list[Any], *, left: bool) -> list[Any]:
        operator = CorrelateOperator(
            function, [Ref(2, array)], lines_of(STRING, INT, array),
            lines_of(STRING, INT, array, *made), left=left, session=ScalarSession()
        )  # fmt: skip
        job = OperatorRun(operator)
        job.lines(given)
        return job.taken()

    given: list[Any] = [
        ("+I", k, v, [v, ts] if v is not None and v > 3 else None) for k, v, ts in LINES
    ]
    made = run(UNNEST, (BIGINT,), given, left=True)
    assert [(line[0], line[1], line[2], line[4]) for line in made] == told("unnest")
    given = [("+I", k, v, [v, ts]) for k, v, ts in LINES]
    made = run(UNNEST_WITH_ORDINALITY, (BIGINT, INT), given, left=False)
    assert [(line[0], line[1], *line[4:]) for line in made] == told("unnest_ordinality")
