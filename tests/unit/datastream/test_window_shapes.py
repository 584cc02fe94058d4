"""Assigners publish the shape of their windows, triggers the clock they wait for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headrace.api.time_domain import TimeDomain
from headrace.api.window import Grid
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CumulateEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import InvalidArgumentError
from headrace.runtime.operators.window import WindowOperator
from headrace.runtime.windows.aligned import AlignedWindows
from headrace.runtime.windows.general import GeneralWindows
from headrace.runtime.windows.sessions import SessionWindows
from headrace.testing import KeyedHarness

EVENT, PROCESSING = TimeDomain.EVENT_TIME, TimeDomain.PROCESSING_TIME


@pytest.mark.parametrize(
    ("assigner", "domain", "grid"),
    [
        (TumblingEventTimeWindows.of(10, 3), EVENT, Grid(10, 10, 3)),
        (TumblingProcessingTimeWindows.of(10), PROCESSING, Grid(10, 10)),
        (SlidingEventTimeWindows.of(10, 4, 1), EVENT, Grid(10, 4, 1)),
        (SlidingProcessingTimeWindows.of(3, 4), PROCESSING, Grid(3, 4)),
        (CumulateEventTimeWindows.of(30, 10), EVENT, None),
        (CountTumblingWindowAssigner.of(3), None, None),
        (CountSlidingWindowAssigner.of(3, 2), None, None),
        (GlobalWindows.create(), None, None),
    ],
)
def test_windows_on_a_grid_say_so(assigner: Any, domain: Any, grid: Grid | None) -> None:
    shape = assigner.window_shape()
    assert (shape.domain, shape.grid, shape.gap) == (domain, grid, None)


@pytest.mark.parametrize(
    ("assigner", "domain", "fixed_ms"),
    [
        (EventTimeSessionWindows.with_gap(5), EVENT, 5),
        (ProcessingTimeSessionWindows.with_gap(5), PROCESSING, 5),
        (EventTimeSessionWindows.with_dynamic_gap(lambda record: 5), EVENT, None),
        (ProcessingTimeSessionWindows.with_dynamic_gap(lambda record: 5), PROCESSING, None),
    ],
)
def test_sessions_tell_their_gap(assigner: Any, domain: Any, fixed_ms: int | None) -> None:
    shape = assigner.window_shape()
    assert shape.grid is None
    assert (shape.domain, shape.gap.fixed_ms, shape.gap.after("a record")) == (domain, fixed_ms, 5)


def test_a_grid_knows_overlaps() -> None:
    grids = (Grid(10, 10), Grid(10, 5), Grid(5, 10))
    assert [grid.overlapping for grid in grids] == [False, True, False]


def test_a_grid_has_windows_of_some_size() -> None:
    for size, slide in ((0, 1), (1, 0), (-1, 1)):
        with pytest.raises(InvalidArgumentError, match="size_ms > 0 and slide_ms > 0"):
            Grid(size, slide)


class Renamed(TumblingEventTimeWindows[Any]):
    """Nothing but another name."""


class Shifted(TumblingEventTimeWindows[Any]):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
        return [TimeWindow(timestamp, timestamp + 10)]


class LongSessions(EventTimeSessionWindows[Any]):
    def merge_windows(self, windows: Any, callback: Any) -> None:
        """Never."""


class ClosedByClock(TumblingEventTimeWindows[Any]):
    def is_event_time(self) -> bool:
        return False


class OnMyGrid(Shifted):
    """Starts at its own times, and says so."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
        start = timestamp - timestamp % 4
        return [TimeWindow(start, start + 4)]

    def window_shape(self) -> Any:
        return replace(super().window_shape(), grid=Grid(4, 4))


def test_a_subclass_that_finds_windows_in_its_own_way_has_no_shape_of_its_parent() -> None:
    assert Renamed(10, 0).window_shape().grid == Grid(10, 10)
    assert Shifted(10, 0).window_shape().grid is None
    assert LongSessions(5).window_shape().gap is None
    assert ClosedByClock(10, 0).window_shape().grid is None
    assert OnMyGrid(10, 0).window_shape().grid == Grid(4, 4)


class RenamedTrigger(EventTimeTrigger[Any]):
    """Nothing but another name."""


class Twice(EventTimeTrigger[Any]):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
        super().on_element(element, timestamp, window, ctx)
        return TriggerResult.FIRE


@pytest.mark.parametrize(
    ("trigger", "domain"),
    [
        (EventTimeTrigger.create(), EVENT),
        (RenamedTrigger(), EVENT),
        (ProcessingTimeTrigger.create(), PROCESSING),
        (Twice(), None),
        (PurgingTrigger.of(EventTimeTrigger.create()), None),
        (ContinuousEventTimeTrigger(5), None),
        (ProcessingTimeoutTrigger.of(EventTimeTrigger.create(), 5), None),
        (CountTrigger.of(2), None),
        (NeverTrigger(), None),
    ],
)
def test_a_trigger_tells_whether_it_only_waits_for_the_end(trigger: Any, domain: Any) -> None:
    assert trigger.fires_at_end() is domain


@pytest.mark.parametrize(
    ("assigner", "trigger", "strategy", "results"),
    [
        (Renamed(10, 0), None, AlignedWindows, [3]),
        (Renamed(10, 0), RenamedTrigger(), AlignedWindows, [3]),
        (Renamed(10, 0), Twice(), GeneralWindows, [1, 3, 3]),
        (Shifted(10, 0), None, GeneralWindows, [1, 2]),
        (OnMyGrid(10, 0), None, AlignedWindows, [1, 2]),
        (LongSessions(10), None, GeneralWindows, [1, 2]),
        (EventTimeSessionWindows(10), RenamedTrigger(), SessionWindows, [3]),
    ],
)
def test_windows_of_users_take_the_way_that_gives_their_results(
    assigner: Any, trigger: Any, strategy: type, results: list[int]
) -> None:
    harness = KeyedHarness.for_windows(
        assigner, lambda record: 0, trigger=trigger, reduce=lambda one, other: one + other
    )
    assert isinstance(harness.operator, WindowOperator)
    assert type(harness.operator.strategy) is strategy
    harness.process_element(1, timestamp=1)
    harness.process_element(2, timestamp=5)
    harness.end_of_input()
    assert harness.output == results
