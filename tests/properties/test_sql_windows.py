"""Windows of SQL against windows by definition, for any lines, watermarks, cuts and restarts."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.data_types import DataTypes
from headrace.runtime.table.windows.aggregate import SqlWindowShape, window_aggregate_operator
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.session import ScalarSession
from table_operators import END, INT, STRING, T3, OperatorRun, W, at, lines_of, play

COUNT = AggregateCall("COUNT", (), DataTypes.BIGINT())
SUM = AggregateCall("SUM", (2,), INT)
MAX = AggregateCall("MAX", (2,), INT)
DISTINCT = AggregateCall("COUNT", (2,), DataTypes.BIGINT(), distinct=True)
CALLS = (COUNT, SUM, MAX, DISTINCT)

shapes = st.one_of(
    st.builds(SqlWindowShape, st.just("tumble"), st.integers(1, 9), st.just(0), st.integers(-5, 5)),
    st.builds(
        SqlWindowShape, st.just("hop"), st.integers(1, 12), st.integers(1, 6), st.integers(-5, 5)
    ),
    st.builds(
        lambda step, times, offset: SqlWindowShape("cumulate", step * times, step, offset),
        st.integers(1, 4), st.integers(1, 4), st.integers(-5, 5),
    ),
    st.builds(SqlWindowShape, st.just("session"), st.integers(1, 6)),
)  # fmt: skip
lines = st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.integers(0, 3))
scripts = st.lists(
    st.one_of(lines, lines, lines, st.builds(W, st.integers(-5, 45))), min_size=1, max_size=25
)


def windows_of(shape: SqlWindowShape, time: int) -> list[tuple[int, int]]:
    """All windows of a time, by trying."""
    slide = shape.slide_ms or shape.size_ms
    found = []
    for start in range(time - shape.size_ms, time + 1):
        if shape.kind == "cumulate":
            if (start - shape.offset_ms) % shape.size_ms == 0:
                ends = range(start + slide, start + shape.size_ms + 1, slide)
                found += [(start, end) for end in ends if time < end]
        elif (start - shape.offset_ms) % slide == 0 and time < start + shape.size_ms:
            found.append((start, start + shape.size_ms))
    return found


def by_definition(shape: SqlWindowShape, script: list[Any]) -> set[tuple[Any, ...]]:
    """Every window that fires: key, start, end, and its values."""
    open_windows: dict[Any, list[int]] = defaultdict(list)
    watermark, fired = -100, set()
    for step in [*script, END]:
        if isinstance(step, W):
            watermark = max(watermark, step.time)
            for place in [p for p in open_windows if p[2] - 1 <= watermark]:
                values = open_windows.pop(place)
                fired.add((*place, len(values), sum(values), max(values), len(set(values))))
            continue
        key, time, value = step
        if shape.kind == "session":
            _add_to_sessions(shape, open_windows, watermark, (key, time, value))
        else:
            for start, end in windows_of(shape, time):
                if end - 1 > watermark:
                    open_windows[key, start, end].append(value)
    return fired


def _add_to_sessions(shape: SqlWindowShape, open_windows: Any, watermark: int, line: Any) -> None:
    key, time, value = line
    start, end = time, time + shape.size_ms
    touched = [p for p in open_windows if p[0] == key and p[1] <= end and p[2] >= start]
    start, end = min([start, *(p[1] for p in touched)]), max([end, *(p[2] for p in touched)])
    if end - 1 > watermark:
        values = [value, *(v for p in touched for v in open_windows.pop(p))]
        open_windows[key, start, end] = values


@settings(max_examples=150)
@given(shapes, scripts, st.integers(1, 4), st.booleans())
def test_windows_hold_what_they_are_said_to(
    shape: SqlWindowShape,
    script: list[Any],
    size: int,
    restart: bool,
) -> None:
    operator = window_aggregate_operator(
        SqlWindowShape(shape.kind, shape.size_ms, shape.slide_ms, shape.offset_ms, 1),
        CALLS, ("start", "end"), lines_of(STRING, T3, INT),
        lines_of(STRING, *(call.type for call in CALLS), T3, T3), session=ScalarSession()
    )  # fmt: skip
    run = OperatorRun(operator, (0,))
    steps = [s if isinstance(s, W) else ("+I", s[0], at(s[1]), s[2]) for s in script]
    found = play(run, [*steps, END], size=size, restart=restart)
    expected = {
        ("+I", key, *values, at(start), at(end))
        for key, start, end, *values in by_definition(shape, script)
    }
    assert len(found) == len(expected)
    assert set(found) == expected
    assert run.entries() == 0
