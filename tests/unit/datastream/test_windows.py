"""Assigners, triggers and evictors against docs/semantics.md, sections 2 and 3."""

from __future__ import annotations

import io
import itertools
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from headrace.common.time import Time
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    DeltaEvictor,
    DeltaTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
    TimeWindowSerializer,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import InvalidArgumentError, RecordError
from unit.datastream.window_fakes import WindowHost


def windows_of(assigner: Any, timestamp: int, element: Any = None) -> list[tuple[int, int]]:
    host = WindowHost(assigner)
    return [(w.start, w.end) for w in assigner.assign_windows(element, timestamp, host)]


# --- assigners ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "timestamps", "starts"),
    [
        (0, [0, 9, 10, -1, -11], [0, 0, 10, -10, -20]),
        (3, [0, 2, 3, 12, 13], [-7, -7, 3, 3, 13]),
        (-3, [6, 7], [-3, 7]),
    ],
)
def test_v2_1_tumbling_starts(offset: int, timestamps: list[int], starts: list[int]) -> None:
    assigner = TumblingEventTimeWindows.of(10, offset)
    assert [windows_of(assigner, t)[0][0] for t in timestamps] == starts


def test_v2_2_sliding_counts() -> None:
    host = WindowHost(SlidingEventTimeWindows.of(5, 2))
    for value in (1, 2, 3, 4, 5, 8, 9, 15):
        host.element(value)
    host.advance(100)
    assert [(w.start, w.end, len(values)) for w, values in host.fired] == [
        (-2, 3, 2), (0, 5, 4), (2, 7, 4), (4, 9, 3), (6, 11, 2), (8, 13, 2), (12, 17, 1),
        (14, 19, 1),
    ]  # fmt: skip


def test_v2_3_a_record_late_for_one_of_its_windows_joins_the_others() -> None:
    host = WindowHost(SlidingEventTimeWindows.of(10, 5))
    host.element(7)
    host.advance(9)
    host.element(8)
    host.advance(14)
    host.element(9)
    assert host.results() == [[7], [7, 8]]


def test_v2_4_slide_beyond_size_leaves_gaps() -> None:
    assigner = SlidingEventTimeWindows.of(5, 10)
    assert windows_of(assigner, 7) == []
    assert windows_of(assigner, 3) == [(0, 5)]


def test_v2_5_sessions_merge_when_they_touch() -> None:
    host = WindowHost(EventTimeSessionWindows.with_gap(10))
    host.element(0)
    host.element(10)
    host.advance(100)
    assert host.fired == [(TimeWindow(0, 20), [0, 10])]
    host = WindowHost(EventTimeSessionWindows.with_gap(10))
    host.element(0)
    host.element(11)
    host.advance(100)
    assert [w for w, _ in host.fired] == [TimeWindow(0, 10), TimeWindow(11, 21)]


def test_v2_6_lateness_of_a_session_is_that_of_the_merged_one() -> None:
    host = WindowHost(EventTimeSessionWindows.with_gap(5))
    host.element(8)
    host.advance(8)
    host.element(4)
    host.advance(12)
    assert [(w, sorted(v)) for w, v in host.fired] == [(TimeWindow(4, 13), [4, 8])]
    assert host.timers == set()
    assert host.contents == {}


def test_v2_8_dynamic_gaps() -> None:
    class Gap(SessionWindowTimeGapExtractor):
        def extract(self, element: int) -> int:
            return element

    host = WindowHost(EventTimeSessionWindows.with_dynamic_gap(Gap()))
    for value in (1, 2, 3, 4, 9, 9, 15):
        host.element(value)
    host.advance(1000)
    assert [(w, len(v)) for w, v in host.fired] == [(TimeWindow(1, 8), 4), (TimeWindow(9, 30), 3)]
    with pytest.raises(InvalidArgumentError, match="session gap"):
        windows_of(DynamicEventTimeSessionWindows(lambda _: 0), 5, "x")


@pytest.mark.parametrize(
    ("assigner", "count", "expected"),
    [
        (CountSlidingWindowAssigner.of(4, 2), 8, [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8]]),
        (CountSlidingWindowAssigner.of(2, 3), 7, [[1, 2], [4, 5]]),
        (CountTumblingWindowAssigner.of(3), 7, [[1, 2, 3], [4, 5, 6]]),
    ],
)
def test_v2_9_and_10_count_windows(assigner: Any, count: int, expected: list[list[int]]) -> None:
    host = WindowHost(assigner)
    for value in range(1, count + 1):
        host.element(value)
    assert host.results() == expected


def test_processing_time_windows_go_by_the_clock() -> None:
    host = WindowHost(TumblingProcessingTimeWindows.of(10))
    host.clock = 12
    host.element("a", timestamp=99)
    host.tick(19)
    assert host.fired == [(TimeWindow(10, 20), ["a"])]
    host = WindowHost(SlidingProcessingTimeWindows.of(10, 5))
    host.clock = 12
    assert [w.start for w in host.assigner.assign_windows("a", 0, host)] == [10, 5]
    host = WindowHost(ProcessingTimeSessionWindows.with_gap("10 ms"))
    for clock, value in ((0, "a"), (8, "b"), (30, "c")):
        host.tick(clock)
        host.element(value, timestamp=0)
    host.tick(100)
    assert host.results() == [["a", "b"], ["c"]]


def test_records_without_timestamps_are_refused_by_event_time_windows() -> None:
    for assigner in (TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(5)):
        with pytest.raises(RecordError, match="assign_timestamps_and_watermarks"):
            windows_of(assigner, MIN_LONG_VALUE)


def test_global_windows_never_fire_by_themselves() -> None:
    host = WindowHost(GlobalWindows.create())
    host.element(1)
    host.advance(MAX_LONG_VALUE)
    assert host.fired == []
    assert isinstance(host.trigger, NeverTrigger)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TumblingEventTimeWindows.of(0),
        lambda: TumblingEventTimeWindows.of(10, 10),
        lambda: TumblingEventTimeWindows.of(10, -10),
        lambda: SlidingEventTimeWindows.of(10, 0),
        lambda: SlidingEventTimeWindows.of(10, 5, 5),
        lambda: EventTimeSessionWindows.with_gap(0),
        lambda: CountTumblingWindowAssigner.of(0),
        lambda: CountSlidingWindowAssigner.of(3, 0),
        lambda: CountTrigger.of(0),
        lambda: ContinuousEventTimeTrigger.of(0),
        lambda: ProcessingTimeoutTrigger.of(CountTrigger.of(1), 0),
        lambda: CountEvictor.of(-1),
        lambda: DynamicEventTimeSessionWindows(5),  # type: ignore[arg-type]
        lambda: TumblingEventTimeWindows.of("soon"),
    ],
)
def test_impossible_windows_are_refused(make: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        make()


@given(st.integers(-(10**15), 10**15), st.integers(1, 10**6), st.integers(1, 10**4), st.data())
def test_sliding_windows_are_those_that_contain_the_timestamp(
    timestamp: int, slide: int, factor: int, data: Any
) -> None:
    size = max(1, slide * factor // 1000)
    offset = data.draw(st.integers(-slide + 1, slide - 1))
    found = windows_of(SlidingEventTimeWindows.of(size, slide, offset), timestamp)
    assert all(start <= timestamp < end and end - start == size for start, end in found)
    assert all((start - offset) % slide == 0 for start, _ in found)
    starts = sorted(start for start, _ in found)
    assert all(b - a == slide for a, b in itertools.pairwise(starts))
    assert len(found) in (size // slide, -(-size // slide))


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 10)), max_size=15), st.randoms())
def test_session_merging_does_not_depend_on_order(
    spans: list[tuple[int, int]], random: Any
) -> None:
    class Collect(MergingWindowAssigner.MergeCallback[TimeWindow]):
        def __init__(self) -> None:
            self.merged: dict[TimeWindow, frozenset[TimeWindow]] = {}

        def merge(self, to_be_merged: Any, merge_result: TimeWindow) -> None:
            self.merged[merge_result] = frozenset(to_be_merged)

    windows = [TimeWindow(start, start + length) for start, length in spans]
    one, other = Collect(), Collect()
    TimeWindow.merge_windows(windows, one)
    random.shuffle(windows)
    TimeWindow.merge_windows(windows, other)
    assert one.merged == other.merged
    for result, parts in one.merged.items():
        assert (min(w.start for w in parts), max(w.end for w in parts)) == (
            result.start,
            result.end,
        )
    left = [w for w in set(windows) if not any(w in parts for parts in one.merged.values())]
    final = [*one.merged, *left]
    assert not any(a.intersects(b) for a in final for b in final if a is not b)


# --- triggers -------------------------------------------------------------------------------------


def test_v3_1_the_watermark_at_the_last_timestamp_closes() -> None:
    host = WindowHost(TumblingEventTimeWindows.of(10))
    host.element(1)
    host.advance(8)
    host.element(5)
    assert host.fired == []
    host.advance(9)
    host.element(6)
    assert host.fired == [(TimeWindow(0, 10), [1, 5])]
    assert (host.state, host.timers, host.contents) == ({}, set(), {})


def test_v3_3_a_count_trigger_replaces_the_end_of_the_window() -> None:
    host = WindowHost(TumblingEventTimeWindows.of(10), CountTrigger.of(3))
    for value in (1, 2, 3, 4):
        host.element(value)
    host.advance(9)
    assert host.results() == [[1, 2, 3]]
    host = WindowHost(TumblingEventTimeWindows.of(10), CountTrigger.of(2))
    for value in (1, 2, 3, 4):
        host.element(value)
    assert host.results() == [[1, 2], [1, 2, 3, 4]]


def test_v3_4_continuous_fires_at_every_boundary_and_at_the_end() -> None:
    host = WindowHost(TumblingEventTimeWindows.of(10), ContinuousEventTimeTrigger.of(3))
    host.element(1)
    host.advance(9)
    assert host.results() == [[1], [1], [1]]
    assert (host.state, host.timers) == ({}, set())
    host = WindowHost(TumblingEventTimeWindows.of(10), ContinuousEventTimeTrigger.of("3 ms"))
    host.element(1)
    host.advance(3)
    host.element(4)
    host.advance(6)
    host.advance(9)
    assert host.results() == [[1], [1, 4], [1, 4]]


def test_continuous_processing_time() -> None:
    trigger = ContinuousProcessingTimeTrigger.of(Time.milliseconds(3))
    host = WindowHost(TumblingProcessingTimeWindows.of(10), trigger)
    host.clock = 1
    host.element("a", timestamp=0)
    host.tick(4)
    assert host.results() == [["a"]]
    host.tick(9)
    assert host.results() == [["a"], ["a"], ["a"]]  # 3, 6 and the end
    assert (host.state, host.timers) == ({}, set())


def test_v3_5_counts_of_merging_sessions_add_up() -> None:
    host = WindowHost(EventTimeSessionWindows.with_gap(5), CountTrigger.of(3))
    host.element(0)
    host.element(8)
    host.element(4)
    assert [(w, sorted(values)) for w, values in host.fired] == [(TimeWindow(0, 13), [0, 4, 8])]


def test_continuous_sessions_go_on_with_the_earliest_firing() -> None:
    host = WindowHost(EventTimeSessionWindows.with_gap(10), ContinuousEventTimeTrigger.of(4))
    for value in (20, 0, 10):  # firings at 24 and 4 are planned when 10 joins the two sessions
        host.element(value)
    host.advance(4)
    assert [(w, sorted(v)) for w, v in host.fired] == [(TimeWindow(0, 30), [0, 10, 20])]


def test_v3_9_delta_trigger() -> None:
    trigger = DeltaTrigger.of(2, lambda old, new: new - old, int)
    host = WindowHost(GlobalWindows.create(), trigger)
    fired_on = []
    for value in (1, 2, 3, 4, 6, 7):
        before = len(host.fired)
        host.element(value)
        if len(host.fired) > before:
            fired_on.append(value)
    assert fired_on == [4, 7]
    assert not trigger.can_merge()


def test_purging_drops_what_was_evaluated() -> None:
    host = WindowHost(TumblingEventTimeWindows.of(10), PurgingTrigger.of(CountTrigger.of(2)))
    for value in (1, 2, 3, 4):
        host.element(value)
    assert host.results() == [[1, 2], [3, 4]]
    assert PurgingTrigger.of(EventTimeTrigger.create()).can_merge()
    assert not PurgingTrigger.of(NeverTrigger()).can_merge()


def test_timeout_trigger() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(3), "10 ms")
    host = WindowHost(GlobalWindows.create(), trigger)
    host.element(1)
    host.tick(5)
    host.element(2)
    host.tick(10)
    assert host.results() == [[1, 2]]
    assert (host.state, host.timers) == ({}, set())  # the count starts over
    host.element(3)
    host.element(4)
    host.element(5)
    assert host.results()[1:] == [[1, 2, 3, 4, 5]]
    assert host.timers == set()

    host = WindowHost(
        GlobalWindows.create(),
        ProcessingTimeoutTrigger.of(CountTrigger.of(9), 10, reset_timer_on_new_record=True),
    )
    host.element(1)
    host.tick(8)
    host.element(2)
    host.tick(17)
    assert host.fired == []
    host.tick(18)
    assert host.results() == [[1, 2]]


def test_trigger_results() -> None:
    table = {r.name: (r.is_fire(), r.is_purge()) for r in TriggerResult}
    assert table == {
        "CONTINUE": (False, False), "FIRE": (True, False), "PURGE": (False, True),
        "FIRE_AND_PURGE": (True, True),
    }  # fmt: skip


def test_default_triggers() -> None:
    assert isinstance(TumblingEventTimeWindows.of(1).get_default_trigger(None), EventTimeTrigger)
    assert isinstance(
        TumblingProcessingTimeWindows.of(1).get_default_trigger(None), ProcessingTimeTrigger
    )
    assert TumblingEventTimeWindows.of(1).is_event_time()
    assert not ProcessingTimeSessionWindows.with_gap(1).is_event_time()
    assert not CountTumblingWindowAssigner.of(1).is_event_time()


# --- evictors -------------------------------------------------------------------------------------


def evicted(
    evictor: Any, records: list[tuple[Any, int | None]], *, after: bool = False
) -> list[Any]:
    elements = [TimestampedValue(value, timestamp) for value, timestamp in records]
    call = evictor.evict_after if after else evictor.evict_before
    call(elements, len(elements), GlobalWindow.get(), None)
    return [element.value for element in elements]


def test_evictors() -> None:
    timed: list[tuple[Any, int | None]] = [(1, 1), (4, 4), (5, 5), (8, 8)]
    assert evicted(TimeEvictor.of(3), timed) == [8]  # V3.8
    assert evicted(TimeEvictor.of(3), [(1, None), (2, None)]) == [1, 2]
    assert evicted(CountEvictor.of(2), timed) == [5, 8]
    assert evicted(CountEvictor.of(9), timed) == [1, 4, 5, 8]
    assert evicted(CountEvictor.of(0), timed) == []
    assert evicted(DeltaEvictor.of(4, lambda record, last: last - record), timed) == [5, 8]
    late = CountEvictor.of(1, do_evict_after=True)
    assert evicted(late, timed) == [1, 4, 5, 8]
    assert evicted(late, timed, after=True) == [8]


# --- windows --------------------------------------------------------------------------------------


def test_windows_are_values() -> None:
    for window in (TimeWindow(1, 2), CountWindow(3), GlobalWindow.get()):
        again = pickle.loads(pickle.dumps(window))
        assert again == window
        assert hash(again) == hash(window)
    assert TimeWindow(1, 2) < TimeWindow(1, 3) < TimeWindow(2, 0)
    assert repr(TimeWindow(1, 2)) == "TimeWindow(start=1, end=2)"
    assert CountWindow(1).max_timestamp() == GlobalWindow().max_timestamp() == MAX_LONG_VALUE
    assert TimeWindow(0, 10).max_timestamp() == 9


def test_window_serializers() -> None:
    cases: list[tuple[Any, Any]] = [
        (TimeWindowSerializer(), TimeWindow(-5, 7)),
        (CountWindowSerializer(), CountWindow(3)),
        (GlobalWindowSerializer(), GlobalWindow.get()),
    ]
    for serializer, window in cases:
        stream = io.BytesIO()
        serializer.serialize(window, stream)
        serializer.serialize(window, stream)
        stream.seek(0)
        assert serializer.deserialize(stream) == serializer.deserialize(stream) == window


def test_assigners_and_triggers_can_be_pickled_and_printed() -> None:
    for thing in (
        TumblingEventTimeWindows.of(10),
        EventTimeSessionWindows.with_gap(5),
        CountSlidingWindowAssigner.of(4, 2),
        GlobalWindows.create(),
        CountTrigger.of(3),
        ContinuousEventTimeTrigger.of(3),
        ProcessingTimeoutTrigger.of(PurgingTrigger.of(CountTrigger.of(3)), 10),
    ):
        assert repr(pickle.loads(pickle.dumps(thing))) == repr(thing)
