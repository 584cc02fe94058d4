"""The shorter ways of windows: which way a step goes, what it costs, what a restart may change.

That results are the same either way is shown in tests/properties/test_window_ways.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.data.records import MAX_TIMESTAMP, Records
from headrace.datastream.functions import AggregateFunction, ProcessWindowFunction
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import RecordError, StateError, UserFunctionError
from headrace.runtime.operators.window import WindowOperator
from headrace.runtime.windows.aligned import AlignedWindows
from headrace.runtime.windows.description import WindowDescription
from headrace.runtime.windows.general import GeneralWindows
from headrace.runtime.windows.rolling import RollingAggregate
from headrace.runtime.windows.sessions import SessionWindows
from headrace.testing import KeyedHarness

if TYPE_CHECKING:
    from headrace.runtime.windows.strategy import WindowStrategy

TUMBLING = TumblingEventTimeWindows.of(10)
SLIDING = SlidingEventTimeWindows.of(60, 1)
SESSIONS = EventTimeSessionWindows.with_gap(5)


class Sum(AggregateFunction):
    merges = 0

    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        Sum.merges += 1
        return acc_a + acc_b


class WithoutMerge(Sum):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise NotImplementedError


class WithEmptyMerge(Sum):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        pass


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield context.window().start, list(elements)


def _add(first: int, second: int) -> int:
    return first + second


def _one_key(record: Any) -> int:
    return 0


def windows(assigner: Any, **options: Any) -> KeyedHarness:
    return KeyedHarness.for_windows(assigner, _one_key, **options)


def way_of(harness: KeyedHarness) -> type[WindowStrategy]:
    assert isinstance(harness.operator, WindowOperator)
    return type(harness.operator.strategy)


@pytest.mark.parametrize(
    ("assigner", "options", "way"),
    [
        (TUMBLING, {"reduce": _add}, AlignedWindows),
        (TUMBLING, {"aggregate": WithoutMerge()}, AlignedWindows),
        (TUMBLING, {"function": Contents()}, AlignedWindows),
        (TUMBLING, {"reduce": _add, "trigger": CountTrigger.of(2)}, GeneralWindows),
        (TUMBLING, {"reduce": _add, "evictor": CountEvictor.of(2)}, GeneralWindows),
        (SLIDING, {"reduce": _add}, AlignedWindows),
        (SLIDING, {"aggregate": Sum()}, AlignedWindows),
        (SLIDING, {"aggregate": Sum(), "function": Contents()}, AlignedWindows),
        (SLIDING, {"aggregate": RollingAggregate("sum", 0)}, AlignedWindows),
        (SLIDING, {"aggregate": WithoutMerge()}, GeneralWindows),
        (SLIDING, {"aggregate": WithEmptyMerge()}, GeneralWindows),
        (SLIDING, {"function": Contents()}, GeneralWindows),
        (SlidingEventTimeWindows.of(5, 10), {"function": Contents()}, AlignedWindows),
        (SESSIONS, {"reduce": _add}, SessionWindows),
        (SESSIONS, {"function": Contents()}, SessionWindows),
        (SESSIONS, {"reduce": _add, "trigger": CountTrigger.of(2)}, GeneralWindows),
        (SESSIONS, {"reduce": _add, "evictor": CountEvictor.of(2)}, GeneralWindows),
        (ProcessingTimeSessionWindows.with_gap(5), {"reduce": _add}, GeneralWindows),
        (TumblingProcessingTimeWindows.of(5), {"reduce": _add}, GeneralWindows),
    ],
)
def test_windows_with_nothing_special_about_them_take_a_shorter_way(
    assigner: Any, options: dict[str, Any], way: type[WindowStrategy]
) -> None:
    assert way_of(windows(assigner, **options)) is way


def test_a_purging_trigger_goes_the_general_way() -> None:
    trigger = PurgingTrigger.of(TUMBLING.get_default_trigger())
    assert way_of(windows(TUMBLING, reduce=_add, trigger=trigger)) is GeneralWindows


def test_sharing_can_be_switched_off() -> None:
    described = WindowDescription(SLIDING).reducing(_add, None)
    described.share_panes = False
    harness = KeyedHarness(WindowOperator(described), (_one_key,))
    assert way_of(harness) is GeneralWindows


def test_a_sliding_window_costs_about_three_merges_a_slide() -> None:
    harness = windows(SLIDING, aggregate=Sum())
    for time in range(600):
        harness.process_element(1, timestamp=time)
        harness.process_watermark(time - 1)
    Sum.merges = 0
    for time in range(600, 1200):
        harness.process_element(1, timestamp=time)
        harness.process_watermark(time - 1)
    assert Sum.merges < 3.1 * 600
    assert harness.take_output()[-1] == 60


def test_what_comes_and_goes_within_a_batch_is_not_stored() -> None:
    harness = windows(TUMBLING, aggregate=Sum())
    for start in range(0, 100, 10):
        harness.process_element(1, timestamp=start)
    harness.process_watermark(89)
    assert harness.take_output() == [1] * 9
    stored = [name for name in harness.snapshot() if b"/panes/" in name]
    assert sorted(stored) == [b"harness/panes/90/0", b"harness/panes/index"]


def test_windows_far_away_and_before_1970() -> None:
    harness = windows(TUMBLING, function=Contents())
    far = MAX_TIMESTAMP - 20
    for time in (-1, -11, far, -10):
        harness.process_element(time, timestamp=time)
    harness.process_watermark(0)
    assert harness.take_output() == [(-20, [-11]), (-10, [-1, -10])]
    harness.end_of_input()
    assert harness.take_output() == [(far - far % 10, [far])]
    assert harness.num_keyed_state_entries() == 0


def test_a_record_without_a_timestamp_is_an_error_that_names_the_step() -> None:
    for options in ({"reduce": _add}, {"function": Contents()}):
        harness = windows(TUMBLING, **options)
        with pytest.raises(RecordError, match="without a timestamp") as caught:
            harness.process_element(1)
        assert "harness" in str(caught.value.where)


def test_an_error_names_the_record() -> None:
    harness = windows(TUMBLING, reduce=_add)
    records = Records([1, 2, "three", 4], [1, 2, 3, 4])
    with pytest.raises(UserFunctionError, match="given: 'three'"):
        harness.operator.process(records, 0)


def test_late_records_fire_all_their_windows_again() -> None:
    harness = windows(
        SlidingEventTimeWindows.of(10, 5), aggregate=Sum(), function=Contents(),
        allowed_lateness_ms=5,
    )  # fmt: skip
    harness.process_element(1, timestamp=7)
    harness.process_watermark(14)
    assert harness.take_output() == [(0, [1]), (5, [1])]
    harness.process_element(10, timestamp=8)  # [0,10) is over, [5,15) is not
    assert harness.take_output() == [(5, [11])]
    harness.process_element(100, timestamp=12)  # [10,20) is still to come
    assert harness.take_output() == [(5, [111])]
    harness.process_watermark(19)
    assert harness.take_output() == [(10, [100])]
    harness.process_element(1000, timestamp=9)
    assert harness.metrics.late_records_dropped == 1
    harness.end_of_input()
    assert harness.num_keyed_state_entries() == 0


def test_a_record_late_for_some_windows_counts_in_those_to_come() -> None:
    harness = windows(SlidingEventTimeWindows.of(6, 2), aggregate=Sum())
    harness.process_element(1, timestamp=0)
    harness.process_element(2, timestamp=3)
    harness.process_watermark(5)  # [-4,2) [-2,4) [0,6)
    assert harness.take_output() == [1, 3, 3]
    harness.process_element(10, timestamp=2)  # late for [0,6), in time for [2,8)
    harness.process_element(20, timestamp=4)
    harness.process_watermark(9)  # [2,8) [4,10)
    assert harness.take_output() == [32, 20]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ((TUMBLING, None), (TUMBLING, CountTrigger.of(2)), "kept in panes"),
        ((TUMBLING, CountTrigger.of(2)), (TUMBLING, None), "kept by window"),
        ((TUMBLING, None), (SESSIONS, None), "kept in panes"),
        ((SESSIONS, None), (SESSIONS, CountTrigger.of(2)), "kept as sessions"),
        ((SESSIONS, CountTrigger.of(2)), (SESSIONS, None), "kept by window"),
    ],
)
def test_stored_windows_of_another_kind_are_not_lost_silently(
    before: tuple[Any, Any], after: tuple[Any, Any], message: str
) -> None:
    old, new = (windows(a, reduce=_add, trigger=trigger) for a, trigger in (before, after))
    old.process_element(1, timestamp=1)
    with pytest.raises(StateError, match=message):
        new.restore(old.snapshot())
    old.end_of_input()
    new.restore(old.snapshot())  # nothing is left to lose


def test_stored_windows_of_another_size_are_not_lost_silently() -> None:
    old, new = windows(TUMBLING, reduce=_add), windows(SLIDING, reduce=_add)
    old.process_element(1, timestamp=1)
    with pytest.raises(StateError, match="10 ms, 10 ms, 0 ms, those of the program 60 ms, 1 ms"):
        new.restore(old.snapshot())


def test_a_key_has_one_timer_for_all_its_sessions() -> None:
    harness = windows(SESSIONS, function=Contents(), allowed_lateness_ms=100)
    for time in (0, 3, 6, 20, 40, 1, 9):
        harness.process_element(time, timestamp=time)
    assert harness.num_event_time_timers() == 1
    assert harness.num_keyed_state_entries() == 1
    harness.restore(harness.snapshot())
    harness.process_element(12, timestamp=12)
    harness.process_watermark(16)
    assert harness.take_output() == [(0, [0, 3, 6, 1, 9, 12])]
    harness.process_element(18, timestamp=18)  # too far from the one that fired
    harness.process_watermark(43)
    assert harness.take_output() == [(18, [20, 18])]
    harness.process_watermark(44)
    assert harness.take_output() == [(40, [40])]
    assert harness.num_keyed_state_entries() == 1
    harness.end_of_input()
    assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0
