"""TUMBLE, HOP and CUMULATE as table functions, and times on the wall clock."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import InvalidArgumentError
from headrace.runtime.table.times import HOUR_MS, Zone
from headrace.runtime.table.windows.grid import WindowGrid
from headrace.runtime.table.windows.tvf import WindowTvfOperator
from table_operators import INT, LTZ3, T3, OperatorRun, at, instant, lines_of

LOS_ANGELES = "America/Los_Angeles"


def tvf(grid: WindowGrid, time: int | None = 0, zone: str | None = None, kind: Any = T3) -> Any:
    return WindowTvfOperator(
        grid, time, zone, lines_of(kind, INT), lines_of(kind, INT, T3, T3, kind)
    )


def bounds(grid: WindowGrid, *times: int) -> list[tuple[int, int]]:
    run = OperatorRun(tvf(grid))
    run.lines([("+I", at(time), 1) for time in times])
    found = run.taken()
    assert all(end - line_time == dt.timedelta(milliseconds=1) for *_, end, line_time in found)
    return [
        (
            (start - at(0)) // dt.timedelta(milliseconds=1),
            (end - at(0)) // dt.timedelta(milliseconds=1),
        )
        for *_, start, end, _ in found
    ]


def test_a_line_is_in_one_tumbling_window() -> None:
    assert bounds(WindowGrid.of("tumble", 10), 0, 9, 10, -1) == [
        (0, 10), (0, 10), (10, 20), (-10, 0),
    ]  # fmt: skip
    assert bounds(WindowGrid.of("tumble", 10, offset_ms=3), 2, 3) == [(-7, 3), (3, 13)]


def test_hopping_windows_come_latest_first_and_cumulating_ones_shortest_first() -> None:
    assert bounds(WindowGrid.of("hop", 10, 5), 7) == [(5, 15), (0, 10)]
    assert bounds(WindowGrid.of("hop", 10, 4), 7) == [(4, 14), (0, 10)]
    assert bounds(WindowGrid.of("cumulate", 10, 5), 2, 7) == [(0, 5), (0, 10), (0, 10)]


def test_a_line_between_windows_is_in_none() -> None:
    assert bounds(WindowGrid.of("hop", 2, 5), 1, 2, 5) == [(0, 2), (5, 7)]


def test_lines_without_a_time_are_dropped() -> None:
    run = OperatorRun(tvf(WindowGrid.of("tumble", 10)))
    run.lines([("+I", None, 1), ("+I", at(3), 2)])
    assert [line[2] for line in run.taken()] == [2]


def test_processing_time_is_that_of_the_clock() -> None:
    run = OperatorRun(tvf(WindowGrid.of("tumble", 10), None))
    run.time = 25
    run.lines([("+I", at(3), 2)])
    assert run.taken()[0][3:] == (at(20), at(30), at(29))


def test_windows_of_instants_are_cut_on_the_wall_clock() -> None:
    run = OperatorRun(tvf(WindowGrid.of("tumble", 24 * HOUR_MS), 0, "Asia/Shanghai", LTZ3))
    run.lines([("+I", instant(17 * HOUR_MS), 1)])
    day = dt.datetime(1970, 1, 2)
    line = run.taken()[0]
    assert line[3:5] == (day, day + dt.timedelta(days=1))
    assert line[5] == instant(40 * HOUR_MS - 1)


@pytest.mark.parametrize(("size", "slide"), [(0, 5), (10, 4)])
def test_windows_that_cannot_be_are_refused(size: int, slide: int) -> None:
    with pytest.raises(InvalidArgumentError):
        WindowGrid("cumulate", size, slide)


grids = st.one_of(
    st.builds(WindowGrid.of, st.just("tumble"), st.integers(1, 9), offset_ms=st.integers(-9, 9)),
    st.builds(
        WindowGrid.of, st.just("hop"), st.integers(1, 9), st.integers(1, 9), st.integers(-9, 9)
    ),
    st.builds(
        lambda step, times, offset: WindowGrid("cumulate", step * times, step, offset),
        st.integers(1, 4), st.integers(1, 4), st.integers(-9, 9),
    ),
)  # fmt: skip


def _plain_windows(grid: WindowGrid, time: int) -> set[tuple[int, int]]:
    """By trying all."""
    found = set()
    for start in range(time - grid.size_ms, time + 1):
        if grid.kind == "cumulate":
            if (start - grid.offset_ms) % grid.size_ms == 0:
                ends = range(start + grid.slide_ms, start + grid.size_ms + 1, grid.slide_ms)
                found |= {(start, end) for end in ends if start <= time < end}
        elif (start - grid.offset_ms) % grid.slide_ms == 0 and time < start + grid.size_ms:
            found.add((start, start + grid.size_ms))
    return found


@given(grids, st.lists(st.integers(-40, 40), min_size=1, max_size=6))
def test_windows_slices_and_ends_agree(grid: WindowGrid, times: list[int]) -> None:
    array = np.array(times)
    places, starts, ends = grid.windows(array)
    found = list(zip(places.tolist(), starts.tolist(), ends.tolist(), strict=True))
    slices = grid.slices(array)
    for number, (time, begin) in enumerate(zip(times, slices.tolist(), strict=True)):
        mine = {(start, end) for place, start, end in found if place == number}
        assert mine == _plain_windows(grid, time) == _plain_windows(grid, begin)
        assert sorted(end for _, end in mine) == list(grid.ends_over([begin], -100, 100))
        assert all(grid.start_of(end) == start for start, end in mine)
        if mine:
            assert max(end for _, end in mine) == int(grid.last_ends(np.array([begin]))[0])
        else:
            assert int(grid.last_ends(np.array([begin]))[0]) <= begin


# --- the wall clock ------------------------------------------------------------------------------


def ms(text: str, zone: str | None = None) -> int:
    time = dt.datetime.fromisoformat(text).replace(
        tzinfo=dt.UTC if zone is None else ZoneInfo(zone)
    )
    return int(time.timestamp() * 1000)


def test_a_skipped_hour_is_due_when_it_is_skipped() -> None:
    zone = Zone(LOS_ANGELES)
    skipped = 1615716000000
    assert zone.due(ms("2021-03-14T01:00:00")) == 1615712400000
    assert zone.due(ms("2021-03-14T02:00:00")) == skipped
    assert zone.due(ms("2021-03-14T02:59:59")) == skipped
    assert zone.due(ms("2021-03-14T03:00:00")) == skipped


def test_an_hour_that_comes_twice_is_due_the_second_time() -> None:
    zone = Zone(LOS_ANGELES)
    assert zone.due(ms("2021-11-07T00:00:00")) == 1636268400000
    assert zone.due(ms("2021-11-07T01:00:00")) == 1636275600000
    assert zone.due(ms("2021-11-07T02:00:00")) == 1636279200000


@given(st.integers(ms("2021-11-06T00:00:00"), ms("2021-11-08T00:00:00")), st.booleans())
def test_what_has_passed_is_the_last_that_is_due(instant: int, spring: bool) -> None:
    zone = Zone(LOS_ANGELES)
    if spring:
        instant += ms("2021-03-13T00:00:00") - ms("2021-11-06T00:00:00")
    passed = zone.passed(instant)
    assert zone.due(passed) <= instant < zone.due(passed + 1)


def test_offsets_and_utc() -> None:
    assert Zone("+08:00").local(0) == Zone("GMT+08:00").local(0) == 8 * HOUR_MS
    assert Zone("UTC").local(5) == Zone(None).local(5) == 5
    times = np.array([0, 1636275600000, 1636268400000])
    zone = Zone(LOS_ANGELES)
    assert zone.locals(times).tolist() == [zone.local(time) for time in times.tolist()]
