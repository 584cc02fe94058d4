"""The window operator against Flink's vectors: docs/semantics.md, sections 2, 3 and 4.

A script is a list of steps: a number is a record at that time, W(n) a watermark.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import pytest

from headrace.common.typeinfo import Types
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.datastream.functions import (
    AggregateFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import InvalidArgumentError, RecordError, StateError, UserFunctionError
from headrace.runtime.windows.general import GeneralWindows
from headrace.testing import KeyedHarness

LATE = OutputTag("late", Types.LONG())
TUMBLING = TumblingEventTimeWindows.of(10)


class W(NamedTuple):
    time: int


class Contents(ProcessWindowFunction):
    """(start, end, contents) of every evaluated window."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield window.start, window.end, list(elements)


class Plain(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield list(elements)


def one_key(record: Any) -> str:
    return "key"


def windows(assigner: Any, function: Any = None, **options: Any) -> KeyedHarness:
    if function is None and not {"reduce", "aggregate"} & set(options):
        function = Contents()
    key_by = options.pop("key_by", one_key)
    return KeyedHarness.for_windows(assigner, key_by, function=function, **options)


def play(harness: KeyedHarness, *script: Any) -> list[Any]:
    for step in script:
        if isinstance(step, W):
            harness.process_watermark(step.time)
        else:
            harness.process_element(step, timestamp=step)
    return harness.take_output()


def assert_nothing_left(harness: KeyedHarness) -> None:
    harness.end_of_input()
    assert harness.num_keyed_state_entries() == 0
    assert harness.num_event_time_timers() == 0
    assert harness.num_processing_time_timers() == 0
    stored = harness.snapshot()
    assert all(name.endswith((b"/buckets", b"\0d", b"\0s")) for name in stored)


# --- section 2: assigners ------------------------------------------------------------------------


def test_sliding_windows_count_each_record_in_all_its_windows() -> None:
    harness = windows(SlidingEventTimeWindows.of(5, 2))  # V2.2
    play(harness, 1, 2, 3, 4, 5, 8, 9, 15)
    harness.end_of_input()
    counts = [(start, end, len(contents)) for start, end, contents in harness.take_output()]
    assert counts == [
        (-2, 3, 2), (0, 5, 4), (2, 7, 4), (4, 9, 3), (6, 11, 2), (8, 13, 2), (12, 17, 1),
        (14, 19, 1),
    ]  # fmt: skip
    assert_nothing_left(harness)


def test_a_record_late_for_one_of_its_windows_counts_in_the_other() -> None:
    harness = windows(SlidingEventTimeWindows.of(10, 5))  # V2.3
    assert play(harness, 7, W(9)) == [(0, 10, [7])]
    assert play(harness, 8, W(14)) == [(5, 15, [7, 8])]
    assert harness.metrics.late_records_dropped == 0
    assert play(harness, 9) == []
    assert harness.metrics.late_records_dropped == 1
    assert_nothing_left(harness)


def test_a_record_in_the_gap_between_windows_vanishes_and_is_not_late() -> None:
    harness = windows(SlidingEventTimeWindows.of(5, 10), late_tag=LATE)  # V2.4
    play(harness, 7, 3)
    harness.end_of_input()
    assert harness.take_output() == [(0, 5, [3])]
    assert harness.side_output(LATE) == []
    assert harness.metrics.late_records_dropped == 0
    assert_nothing_left(harness)


def test_sessions_exactly_a_gap_apart_are_one() -> None:
    harness = windows(EventTimeSessionWindows.with_gap(10))  # V2.5
    assert play(harness, 0, 10, W(100)) == [(0, 20, [0, 10])]
    assert play(windows(EventTimeSessionWindows.with_gap(10)), 0, 11, W(100)) == [
        (0, 10, [0]), (11, 21, [11])
    ]  # fmt: skip
    assert_nothing_left(harness)


def test_a_late_record_that_joins_a_live_session_is_kept() -> None:
    harness = windows(EventTimeSessionWindows.with_gap(5))  # V2.6
    assert play(harness, 8, W(8), 4, W(12)) == [(4, 13, [8, 4])]
    assert harness.metrics.late_records_dropped == 0
    assert_nothing_left(harness)
    alone = windows(EventTimeSessionWindows.with_gap(5))
    assert play(alone, W(8), 4, W(12)) == []
    assert alone.metrics.late_records_dropped == 1
    assert_nothing_left(alone)


def test_a_session_that_is_gone_is_not_joined_and_one_kept_by_lateness_is() -> None:
    script = (0, W(4), 8, 4, W(12))  # V2.7
    harness = windows(EventTimeSessionWindows.with_gap(5))
    assert play(harness, *script) == [(0, 5, [0]), (4, 13, [8, 4])]
    assert_nothing_left(harness)
    kept = windows(EventTimeSessionWindows.with_gap(5), allowed_lateness_ms=10)
    found = play(kept, *script)
    assert found[0] == (0, 5, [0])
    assert [(start, end, sorted(c)) for start, end, c in found[1:]] == [(0, 13, [0, 4, 8])]
    assert_nothing_left(kept)


def test_a_dynamic_gap_may_swallow_later_sessions() -> None:
    harness = windows(EventTimeSessionWindows.with_dynamic_gap(lambda record: record))  # V2.8
    play(harness, 1, 2, 3, 4, 9, 9, 15)
    harness.end_of_input()
    found = harness.take_output()
    assert [(start, end, len(c)) for start, end, c in found] == [(1, 8, 4), (9, 30, 3)]
    assert_nothing_left(harness)


def test_a_dynamic_gap_must_be_positive() -> None:
    harness = windows(EventTimeSessionWindows.with_dynamic_gap(lambda record: 0))
    with pytest.raises(InvalidArgumentError, match="session gap of 5 is 0 ms"):
        play(harness, 5)


@pytest.mark.parametrize(
    ("assigner", "count", "expected"),
    [
        (CountSlidingWindowAssigner(4, 2), 8, [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8]]),  # V2.9
        (CountSlidingWindowAssigner(2, 3), 7, [[1, 2], [4, 5]]),
        (CountTumblingWindowAssigner(3), 7, [[1, 2, 3], [4, 5, 6]]),  # V2.10
    ],
)
def test_count_windows_fire_when_full_as_in_pyflink(
    assigner: Any, count: int, expected: list[list[int]]
) -> None:
    harness = windows(assigner, Plain())
    found = play(harness, *range(1, count + 1))
    harness.end_of_input()
    assert found + harness.take_output() == expected  # incomplete windows are never emitted
    assert harness.num_processing_time_timers() == harness.num_event_time_timers() == 0


def test_count_windows_of_java_are_a_global_window_with_trigger_and_evictor() -> None:
    harness = windows(
        GlobalWindows.create(), Plain(), trigger=CountTrigger.of(2), evictor=CountEvictor.of(4)
    )
    assert play(harness, *range(1, 9)) == [[1, 2], [1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8]]


def test_count_windows_count_each_key_on_its_own() -> None:
    harness = windows(CountTumblingWindowAssigner(2), Plain(), key_by=lambda n: n % 2)
    assert play(harness, 1, 2, 3, 5, 4) == [[1, 3], [2, 4]]


def test_the_global_window_never_fires_by_itself() -> None:
    harness = windows(GlobalWindows.create(), Plain())
    play(harness, 1, 2, W(10**12))
    harness.end_of_input()
    assert harness.take_output() == []
    assert harness.num_keyed_state_entries() == 1


@pytest.mark.parametrize(
    "assigner",
    [TUMBLING, SlidingEventTimeWindows.of(10, 5), EventTimeSessionWindows.with_gap(5)],
    ids=["tumbling", "sliding", "session"],
)
def test_a_record_without_a_timestamp_is_refused(assigner: Any) -> None:
    harness = windows(assigner)
    with pytest.raises(RecordError, match="a record without a timestamp"):
        harness.process_element("x")


def test_the_end_of_input_closes_all_windows_and_the_clock_shows_it() -> None:
    class Clock(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            yield list(elements), context.current_watermark()

    harness = windows(TUMBLING, Clock())  # V1.4
    play(harness, 1, 25)
    harness.end_of_input()
    assert harness.take_output() == [([1], MAX_TIMESTAMP), ([25], MAX_TIMESTAMP)]
    assert_nothing_left(harness)


# --- section 3: triggers and lateness --------------------------------------------------------


def test_a_window_closes_at_its_last_millisecond() -> None:
    harness = windows(TUMBLING)  # V3.1, V10.1
    assert play(harness, 1, W(8), 5) == []
    assert play(harness, W(9)) == [(0, 10, [1, 5])]
    assert play(harness, 6) == []
    assert harness.metrics.late_records_dropped == 1
    assert_nothing_left(harness)


def test_late_records_with_a_tag_are_not_counted_as_dropped() -> None:
    harness = windows(TUMBLING, late_tag=LATE)  # V10.1
    play(harness, 1, W(9), 6)
    assert harness.metrics.late_records_dropped == 0
    assert harness.side_output(LATE) == [6]


def test_allowed_lateness_evaluates_the_window_again_until_it_is_gone() -> None:
    script = (1, W(9), 2, W(13), 3, W(14), 4)  # V3.2
    harness = windows(TUMBLING, allowed_lateness_ms=5)
    assert play(harness, *script) == [(0, 10, [1]), (0, 10, [1, 2]), (0, 10, [1, 2, 3])]
    assert harness.metrics.late_records_dropped == 1
    assert_nothing_left(harness)
    purging = windows(
        TUMBLING, trigger=PurgingTrigger.of(EventTimeTrigger.create()), allowed_lateness_ms=5
    )
    assert play(purging, *script) == [(0, 10, [1]), (0, 10, [2]), (0, 10, [3])]
    assert_nothing_left(purging)


@pytest.mark.parametrize(
    ("count", "expected"),
    [(3, [(0, 10, [1, 2, 3])]), (2, [(0, 10, [1, 2]), (0, 10, [1, 2, 3, 4])])],
)
def test_a_count_trigger_replaces_the_end_of_the_window(count: int, expected: list[Any]) -> None:
    harness = windows(TUMBLING, trigger=CountTrigger.of(count))  # V3.3
    assert play(harness, 1, 2, 3, 4, W(9)) == expected
    assert_nothing_left(harness)


def test_a_continuous_trigger_fires_at_every_boundary_a_watermark_passes() -> None:
    trigger = ContinuousEventTimeTrigger.of(3)  # V3.4
    harness = windows(TUMBLING, trigger=trigger)
    assert play(harness, 1, W(9)) == [(0, 10, [1])] * 3
    assert_nothing_left(harness)
    stepwise = windows(TUMBLING, trigger=trigger)
    assert play(stepwise, 1, W(3)) == [(0, 10, [1])]
    assert play(stepwise, 4, W(6)) == [(0, 10, [1, 4])]
    assert play(stepwise, W(9)) == [(0, 10, [1, 4])]
    assert_nothing_left(stepwise)


def test_counts_of_merged_sessions_are_added() -> None:
    harness = windows(EventTimeSessionWindows.with_gap(5), trigger=CountTrigger.of(3))  # V3.5
    assert play(harness, 0, 8) == []
    ((start, end, contents),) = play(harness, 4)
    assert (start, end, sorted(contents)) == (0, 13, [0, 4, 8])
    assert_nothing_left(harness)


def test_a_session_that_grows_past_the_watermark_fires_at_its_new_end() -> None:
    session = EventTimeSessionWindows.with_gap(5)  # V3.6
    harness = windows(session, allowed_lateness_ms=10)
    assert play(harness, 0, W(4)) == [(0, 5, [0])]
    assert play(harness, 3) == []
    assert play(harness, W(7)) == [(0, 8, [0, 3])]
    assert_nothing_left(harness)
    purging = windows(
        session, trigger=PurgingTrigger.of(EventTimeTrigger.create()), allowed_lateness_ms=10
    )
    assert play(purging, 0, W(4), 3, W(7)) == [(0, 5, [0]), (0, 8, [3])]
    assert_nothing_left(purging)


def test_late_records_go_to_the_side_output() -> None:
    harness = windows(TumblingEventTimeWindows.of(5), late_tag=LATE)  # V3.7
    found = play(harness, 0, W(0), 8, W(8), 4, 6)
    harness.end_of_input()
    found += harness.take_output()
    assert [(start, end, len(c)) for start, end, c in found] == [(0, 5, 1), (5, 10, 2)]
    assert harness.side_output(LATE) == [4]
    assert_nothing_left(harness)


def test_a_late_record_keeps_its_timestamp_in_the_side_output() -> None:
    harness = windows(TUMBLING, late_tag=LATE)
    play(harness, W(50), 7)
    assert [time for _, time in harness.timestamped_side_output(LATE)] == [7]


def test_a_time_evictor_keeps_the_last_stretch() -> None:
    harness = windows(TUMBLING, evictor=TimeEvictor.of(3))  # V3.8
    assert play(harness, 1, 4, 5, 8, W(9)) == [(0, 10, [8])]
    assert_nothing_left(harness)


def test_a_delta_trigger_fires_when_the_distance_is_larger() -> None:
    trigger = DeltaTrigger.of(2, lambda old, new: new - old)  # V3.9
    harness = windows(GlobalWindows.create(), Plain(), trigger=trigger)
    fired = [value for value in (1, 2, 3, 4, 6, 7) if play(harness, value)]
    assert fired == [4, 7]


def test_a_count_evictor_deletes_for_good() -> None:
    harness = windows(
        TUMBLING, trigger=CountTrigger.of(2), evictor=CountEvictor.of(1, do_evict_after=True)
    )
    assert play(harness, 1, 2, 3, 4) == [(0, 10, [1, 2]), (0, 10, [2, 3, 4])]
    assert_nothing_left(harness)


def test_a_delta_evictor_keeps_what_is_close_to_the_last() -> None:
    harness = windows(TUMBLING, evictor=DeltaEvictor.of(3, lambda one, last: last - one))
    assert play(harness, 1, 5, 6, 7, W(9)) == [(0, 10, [5, 6, 7])]


def test_an_evictor_that_takes_everything_silences_the_function_only_for_reduce() -> None:
    everything = CountEvictor.of(0)
    assert play(windows(TUMBLING, evictor=everything), 1, W(9)) == [(0, 10, [])]
    reduced = windows(TUMBLING, reduce=lambda a, b: a + b, evictor=everything)
    assert play(reduced, 1, W(9)) == []


def test_an_evictor_with_reduce_and_aggregate_works_on_the_buffer() -> None:
    last_two = CountEvictor.of(2)
    reduced = windows(TUMBLING, reduce=lambda a, b: a + b, evictor=last_two)
    assert play(reduced, 1, 2, 3, W(9)) == [5]
    assert_nothing_left(reduced)
    averaged = windows(TUMBLING, aggregate=Average(), evictor=last_two)
    assert play(averaged, 1, 2, 3, W(9)) == [2.5]
    assert_nothing_left(averaged)


def test_a_trigger_that_cannot_merge_is_refused_for_sessions() -> None:
    for trigger in (DeltaTrigger.of(1, lambda a, b: 0), NeverMerges()):
        with pytest.raises(InvalidArgumentError, match="cannot merge"):
            windows(EventTimeSessionWindows.with_gap(5), trigger=trigger)


class NeverMerges(Trigger):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None: ...

    def clear(self, window: Any, ctx: Any) -> None: ...


SUM = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())


class ByResult(NeverMerges):
    """Does what a record says, and keeps a sum of them in trigger state."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.get_partitioned_state(SUM).add(1)
        return TriggerResult[element[1]]

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(SUM).clear()


def test_each_trigger_result_does_what_it_says() -> None:
    harness = windows(TUMBLING, trigger=ByResult())

    def feed(name: str, result: str) -> list[Any]:
        harness.process_element((name, result), timestamp=1)
        return [[c[0] for c in contents] for _, _, contents in harness.take_output()]

    assert feed("a", "CONTINUE") == []
    assert feed("b", "FIRE") == [["a", "b"]]
    assert feed("c", "PURGE") == []
    assert feed("d", "FIRE") == [["d"]]
    assert feed("e", "FIRE_AND_PURGE") == [["d", "e"]]
    assert harness.num_keyed_state_entries() == 1  # PURGE keeps the trigger's state
    assert harness.num_event_time_timers() == 1  # and the cleanup timer
    assert_nothing_left(harness)


def test_firing_an_empty_window_puts_out_nothing() -> None:
    class FireAtEnd(ByResult):
        def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
            return TriggerResult.FIRE

    harness = windows(TUMBLING, trigger=FireAtEnd())
    harness.process_element(("a", "PURGE"), timestamp=1)
    assert play(harness, W(9)) == []
    assert_nothing_left(harness)


def test_a_trigger_may_not_merge_a_value_state() -> None:
    class MergesValue(CountTrigger):
        def on_merge(self, window: Any, ctx: Any) -> None:
            ctx.merge_partitioned_state(ValueStateDescriptor("v", Types.LONG()))

    harness = windows(EventTimeSessionWindows.with_gap(5), trigger=MergesValue(9))
    play(harness, 0)
    with pytest.raises(StateError, match="no way to merge two values"):
        play(harness, 3)


# --- section 4: functions --------------------------------------------------------------------


class Average(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class PairSum(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


def test_sessions_reduce_each_key_on_its_own() -> None:
    harness = windows(
        EventTimeSessionWindows.with_gap(2), reduce=PairSum(), key_by=lambda r: r[0]
    )  # V4.1
    for key, times in (("a", (1, 2, 6, 15)), ("b", (3, 8, 9))):
        for time in times:
            harness.process_element((key, time), timestamp=time)
    harness.end_of_input()
    found = harness.take_output()
    assert [v for k, v in found if k == "a"] == [3, 6, 15]
    assert [v for k, v in found if k == "b"] == [3, 17]
    assert_nothing_left(harness)


def test_a_function_behind_an_aggregate_gets_exactly_one_value() -> None:
    harness = windows(TUMBLING, Contents(), aggregate=Average())  # V4.2
    assert play(harness, 2, 4, W(9)) == [(0, 10, [3.0])]
    assert_nothing_left(harness)


class Clearing(Contents):
    # of the class: the operator holds a copy of the function, as a worker does
    cleared: ClassVar[list[Any]] = []

    def clear(self, context: Any) -> None:
        self.cleared.append(context.window())


def test_clear_is_called_once_when_the_window_is_gone_and_not_at_a_purge() -> None:
    cleared = Clearing.cleared
    cleared.clear()
    harness = windows(
        TUMBLING,
        Clearing(),
        trigger=PurgingTrigger.of(EventTimeTrigger.create()),
        allowed_lateness_ms=5,
    )
    play(harness, 1, W(9), 2, W(13), 3)  # V4.3
    assert cleared == []
    play(harness, W(14), 4)
    assert cleared == [TimeWindow(0, 10)]
    assert_nothing_left(harness)


def test_reduce_is_first_called_with_the_second_record() -> None:
    def only_two(one: Any, other: Any) -> Any:
        return (one, other)

    harness = windows(TUMBLING, reduce=only_two)
    assert play(harness, 1, W(9), 12, 13, W(19)) == [1, (12, 13)]


def test_aggregate_merge_is_called_by_sessions_only() -> None:
    class NoMerge(Average):
        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            raise NotImplementedError

    assert play(windows(SlidingEventTimeWindows.of(10, 5), aggregate=NoMerge()), 6, W(99)) == [6, 6]
    harness = windows(EventTimeSessionWindows.with_gap(5), aggregate=NoMerge())
    with pytest.raises(UserFunctionError, match="NotImplementedError"):
        play(harness, 0, 8, 4)


def test_merged_sessions_reduce_and_aggregate_all_records() -> None:
    gap = EventTimeSessionWindows.with_gap(5)
    reduced = windows(gap, reduce=lambda a, b: a + b)
    assert play(reduced, 0, 8, 4, W(12)) == [12]
    assert_nothing_left(reduced)
    averaged = windows(gap, aggregate=Average())
    assert play(averaged, 0, 8, 4, W(12)) == [4.0]
    assert_nothing_left(averaged)


def test_one_record_can_merge_many_sessions() -> None:
    harness = windows(
        EventTimeSessionWindows.with_dynamic_gap(lambda r: 50 if r == 1 else 2),
        strategies=(GeneralWindows,),
    )
    play(harness, 10, 20, 30, 40, 90)
    assert harness.num_event_time_timers() == 5
    play(harness, 1)
    assert harness.num_event_time_timers() == 2
    harness.restore(harness.snapshot())
    harness.end_of_input()
    found = [(start, end, sorted(c)) for start, end, c in harness.take_output()]
    assert found == [(1, 51, [1, 10, 20, 30, 40]), (90, 92, [90])]
    assert_nothing_left(harness)


def test_a_merge_takes_the_timers_of_the_old_windows_back() -> None:
    gap = EventTimeSessionWindows.with_gap(5)
    counting = windows(gap, trigger=CountTrigger.of(9))
    play(counting, 0, 8, 4)
    assert counting.num_event_time_timers() == 1  # the cleanup of [0,13)
    lenient = windows(gap, allowed_lateness_ms=100, strategies=(GeneralWindows,))
    play(lenient, 0, 8, 4)
    assert lenient.num_event_time_timers() == 2  # the end of [0,13) and its cleanup
    for harness in (counting, lenient):
        assert_nothing_left(harness)


def test_results_carry_the_windows_last_timestamp() -> None:
    harness = windows(TUMBLING, trigger=CountTrigger.of(1))
    harness.process_element("a", timestamp=3)
    assert harness.timestamped_output == [((0, 10, ["a"]), 9)]
    everything = windows(GlobalWindows.create(), Plain(), trigger=CountTrigger.of(1))
    everything.process_element("a", timestamp=3)
    assert everything.timestamped_output == [(["a"], MAX_TIMESTAMP)]


def test_results_go_out_before_the_watermark_so_windows_compose() -> None:
    harness = windows(TUMBLING)
    order: list[Any] = []

    class Recorder:
        def accept(self, records: Records) -> None:
            order.extend(records.timestamps or ())

        def watermark(self, timestamp: int) -> None:
            order.append(f"W({timestamp})")

        def idle(self) -> None:
            order.append("idle")

    harness.operator.output.main.append(Recorder())
    play(harness, 1, W(12))
    assert order == [9, "W(12)"]


COUNT = ValueStateDescriptor("count", Types.LONG())


class WithState(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        counts = []
        for store in (context.window_state(), context.global_state()):
            state = store.get_state(COUNT)
            state.update((state.value() or 0) + 1)
            counts.append(state.value())
        yield context.window().start, *counts

    def clear(self, context: Any) -> None:
        context.window_state().get_state(COUNT).clear()


def test_window_state_is_per_window_and_global_state_per_key() -> None:
    harness = windows(TUMBLING, WithState(), allowed_lateness_ms=5)
    found = play(harness, 1, 11, W(9), 2)
    harness.restore(harness.snapshot())
    found += play(harness, W(19))
    assert found == [(0, 1, 1), (0, 2, 2), (10, 1, 3)]
    harness.end_of_input()
    assert harness.num_keyed_state_entries() == 1  # the global state


def test_window_state_is_refused_for_sessions() -> None:
    harness = windows(EventTimeSessionWindows.with_gap(5), WithState())
    with pytest.raises(StateError, match="per-window state is not possible"):
        play(harness, 1, W(99))


def test_a_window_function_gets_key_window_and_records() -> None:
    class Apply(WindowFunction):
        def apply(self, key: Any, window: Any, inputs: Any) -> Any:
            return [(key, window.max_timestamp(), list(inputs))]

    assert play(windows(TUMBLING, Apply()), 1, 2, W(9)) == [("key", 9, [1, 2])]


def test_the_clock_in_an_early_firing_is_still_at_the_start() -> None:
    class Clock(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            yield context.current_watermark()

    harness = windows(TUMBLING, Clock(), trigger=CountTrigger.of(1))
    assert play(harness, 1, W(4), 2) == [MIN_TIMESTAMP, 4]


def test_errors_name_the_record_where_there_is_one() -> None:
    harness = windows(TUMBLING, reduce=lambda a, b: a // b)
    with pytest.raises(UserFunctionError) as caught:
        harness.operator.process(Records([4, 2, 0, 1], [1, 2, 3, 4]), 0)
    assert caught.value.record == "0"

    class Failing(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            yield 1 // 0

    harness = windows(TUMBLING, Failing())
    with pytest.raises(UserFunctionError, match="ZeroDivisionError") as caught:
        play(harness, 1, W(9))
    assert caught.value.record is None


# --- processing time -------------------------------------------------------------------------


def _at(harness: KeyedHarness, time: int, *values: Any) -> list[Any]:
    harness.set_processing_time(time)
    harness.process_elements(*values)
    return harness.take_output()


def _nothing_left_by_clock(harness: KeyedHarness) -> None:
    harness.set_processing_time(10**9)
    assert harness.num_keyed_state_entries() == 0
    assert harness.num_processing_time_timers() == 0


def test_processing_time_windows_close_by_the_clock_and_ignore_timestamps() -> None:
    harness = windows(TumblingProcessingTimeWindows.of(10))
    assert _at(harness, 3, "a", "b") == []
    harness.process_element("c", timestamp=10**12)
    harness.process_watermark(10**12)
    assert _at(harness, 8) == []
    assert _at(harness, 9) == [(0, 10, ["a", "b", "c"])]
    assert harness.metrics.late_records_dropped == 0
    _nothing_left_by_clock(harness)


def test_sliding_and_session_windows_by_the_clock() -> None:
    sliding = windows(SlidingProcessingTimeWindows.of(10, 5))
    assert _at(sliding, 7, "a") == []
    assert _at(sliding, 20) == [(0, 10, ["a"]), (5, 15, ["a"])]
    _nothing_left_by_clock(sliding)
    session = windows(ProcessingTimeSessionWindows.with_gap(5))
    assert _at(session, 0, "a") == []
    assert _at(session, 3, "b") == []
    assert _at(session, 6) == []
    assert _at(session, 7) == [(0, 8, ["a", "b"])]
    _nothing_left_by_clock(session)


def test_open_processing_time_windows_are_lost_at_the_end_of_input() -> None:
    harness = windows(TumblingProcessingTimeWindows.of(10))
    _at(harness, 3, "a")
    harness.end_of_input()
    assert _at(harness, 50) == []


def test_a_continuous_trigger_by_the_clock() -> None:
    harness = windows(
        TumblingProcessingTimeWindows.of(10), trigger=ContinuousProcessingTimeTrigger.of(4)
    )
    _at(harness, 1, "a")
    assert _at(harness, 4) == [(0, 10, ["a"])]
    assert _at(harness, 8, "b") == [(0, 10, ["a"])]
    assert _at(harness, 9) == [(0, 10, ["a", "b"])]
    _nothing_left_by_clock(harness)


def test_a_timeout_trigger_fires_when_a_window_has_waited_too_long() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(3), 5)
    harness = windows(GlobalWindows.create(), Plain(), trigger=PurgingTrigger.of(trigger))
    assert _at(harness, 0, "a") == []
    assert _at(harness, 4, "b") == []
    assert _at(harness, 5) == [["a", "b"]]
    assert _at(harness, 6, "c", "d", "e") == [["c", "d", "e"]]
    assert harness.num_processing_time_timers() == 0


# --- restarts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assigner", "options"),
    [
        (TUMBLING, {}),
        (SlidingEventTimeWindows.of(10, 5), {}),
        (EventTimeSessionWindows.with_gap(5), {}),
        (EventTimeSessionWindows.with_gap(5), {"trigger": CountTrigger.of(2)}),
        (TUMBLING, {"trigger": ContinuousEventTimeTrigger.of(3)}),
        (TUMBLING, {"allowed_lateness_ms": 5}),
        (TUMBLING, {"evictor": CountEvictor.of(2)}),
        (TUMBLING, {"reduce": lambda a, b: a + b}),
        (EventTimeSessionWindows.with_gap(5), {"aggregate": Average()}),
    ],
)
def test_a_restart_after_every_step_changes_nothing(assigner: Any, options: dict[str, Any]) -> None:
    script = (1, 3, 8, W(4), 5, 12, W(9), 7, 14, 20, W(13), 22, W(30), 26, 41)
    whole = windows(assigner, **options)
    expected = play(whole, *script)
    whole.end_of_input()
    expected += whole.take_output()
    harness = windows(assigner, **options)
    found: list[Any] = []
    for step in script:
        found += play(harness, step)
        harness.restore(harness.snapshot())
    harness.end_of_input()
    assert found + harness.take_output() == expected
    assert len(expected) > 2
    assert_nothing_left(harness)
