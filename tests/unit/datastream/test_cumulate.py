"""Cumulate windows: which ones a time belongs to, and when they fire."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.constants import MIN_LONG_VALUE
from headrace.common.time import Duration, Time
from headrace.datastream.functions import ProcessWindowFunction
from headrace.datastream.window import (
    CumulateEventTimeWindows,
    CumulateProcessingTimeWindows,
    EventTimeTrigger,
    ProcessingTimeTrigger,
)
from headrace.errors import InvalidArgumentError, RecordError
from headrace.testing import KeyedHarness


class Clock:
    def get_current_processing_time(self) -> int:
        return 12

    def get_runtime_context(self) -> Any:
        raise NotImplementedError


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield context.window().start, context.window().end, list(elements)


def windows(assigner: Any, time: int) -> list[tuple[int, int]]:
    return [(w.start, w.end) for w in assigner.assign_windows(None, time, Clock())]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (0, [(0, 10), (0, 20), (0, 30)]),
        (9, [(0, 10), (0, 20), (0, 30)]),
        (10, [(0, 20), (0, 30)]),
        (29, [(0, 30)]),
        (30, [(30, 40), (30, 50), (30, 60)]),
        (-1, [(-30, 0)]),
        (-30, [(-30, -20), (-30, -10), (-30, 0)]),
    ],
)
def test_a_time_is_in_all_windows_of_its_span_that_end_after_it(
    time: int, expected: list[tuple[int, int]]
) -> None:
    assert windows(CumulateEventTimeWindows.of(30, 10), time) == expected


def test_an_offset_moves_the_spans() -> None:
    assert windows(CumulateEventTimeWindows.of(30, 10, 5), 4) == [(-25, 5)]
    assert windows(CumulateEventTimeWindows.of(30, 10, 5), 16) == [(5, 25), (5, 35)]
    assert windows(CumulateEventTimeWindows.of(30, 10, -12), 0) == [(-12, 8), (-12, 18)]


@given(
    time=st.integers(-(10**6), 10**6),
    step=st.integers(1, 50),
    steps=st.integers(1, 12),
    data=st.data(),
)
def test_windows_are_those_of_the_definition(
    time: int, step: int, steps: int, data: st.DataObject
) -> None:
    size = step * steps
    offset = data.draw(st.integers(1 - size, size - 1))
    starts = [s for s in range(time - size + 1, time + 1) if (s - offset) % size == 0]
    expected = [
        (start, start + k * step)
        for start in starts
        for k in range(1, steps + 1)
        if start <= time < start + k * step
    ]
    assert windows(CumulateEventTimeWindows.of(size, step, offset), time) == expected


def test_processing_time_windows_follow_the_clock() -> None:
    assigner = CumulateProcessingTimeWindows.of(Duration.of_millis(30), Time.milliseconds(10))
    assert windows(assigner, MIN_LONG_VALUE) == [(0, 20), (0, 30)]
    assert not assigner.is_event_time()
    assert isinstance(assigner.get_default_trigger(), ProcessingTimeTrigger)


def test_event_time_windows_need_timestamps() -> None:
    assigner = CumulateEventTimeWindows.of(timedelta(milliseconds=30), "10 ms")
    assert assigner.is_event_time()
    assert isinstance(assigner.get_default_trigger(), EventTimeTrigger)
    with pytest.raises(RecordError, match=r"CumulateEventTimeWindows\(30, 10, 0\)"):
        windows(assigner, MIN_LONG_VALUE)


@pytest.mark.parametrize("kind", [CumulateEventTimeWindows, CumulateProcessingTimeWindows])
@pytest.mark.parametrize(
    ("max_size", "step", "offset"),
    [(0, 1, 0), (10, 0, 0), (-10, 5, 0), (10, -5, 0), (10, 5, 10), (10, 5, -10), (10, 3, 0)],
)
def test_sizes_that_make_no_sense_are_refused(
    kind: Any, max_size: int, step: int, offset: int
) -> None:
    with pytest.raises(InvalidArgumentError, match=kind.__name__):
        kind.of(max_size, step, offset)


def test_an_assigner_travels_to_workers() -> None:
    assigner = pickle.loads(pickle.dumps(CumulateEventTimeWindows.of(30, 10, 3)))
    assert repr(assigner) == "CumulateEventTimeWindows(30, 10, 3)"
    assert assigner.get_window_serializer() is not None


def test_results_grow_with_every_step_and_start_anew() -> None:
    harness = KeyedHarness.for_windows(
        CumulateEventTimeWindows.of(30, 10), lambda r: "key", function=Contents()
    )
    for time in (1, 12, 25, 31):
        harness.process_element(time, timestamp=time)
    harness.end_of_input()
    assert harness.take_output() == [
        (0, 10, [1]),
        (0, 20, [1, 12]),
        (0, 30, [1, 12, 25]),
        (30, 40, [31]),
        (30, 50, [31]),
        (30, 60, [31]),
    ]
    assert harness.num_keyed_state_entries() == 0


def test_a_record_may_be_late_for_some_of_its_windows() -> None:
    harness = KeyedHarness.for_windows(
        CumulateEventTimeWindows.of(30, 10), lambda r: "key", function=Contents()
    )
    harness.process_watermark(9)
    harness.process_element(5, timestamp=5)
    harness.process_watermark(29)
    harness.process_element(6, timestamp=6)
    assert harness.output == [(0, 20, [5]), (0, 30, [5])]
    assert harness.metrics.late_records_dropped == 1
