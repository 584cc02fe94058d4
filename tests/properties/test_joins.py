"""Joins against brute force: every pair of two lists is looked at.

However the input is cut into batches, source tasks and subtasks, with restarts between batches; and
record by record, with watermarks that leave records behind.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.window import (
    CumulateEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.runtime.operators.join import IntervalJoinOperator
from headrace.runtime.watermarks import InputClocks
from headrace.testing import LocalRunner, TwoInputHarness
from properties.test_batch_cuts import Cut, _cuts

TYPE = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])  # key, number, time
Record = tuple[str, int, int]


# --- whole programs, cut in any way --------------------------------------------------------------


# times around zero and around a boundary of the buckets in which records are kept
_times = st.one_of(st.integers(-15, 40), st.integers(4085, 4105))
_records = st.lists(st.tuples(st.sampled_from("abc"), _times), max_size=14).map(
    lambda records: [(key, number, time) for number, (key, time) in enumerate(records)]
)
_bounds = st.tuples(st.integers(-12, 12), st.integers(-12, 12)).map(sorted)


def _two_streams() -> tuple[Any, Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    # no watermark before the end: otherwise what is late depends on the cut, as in Flink
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda r, _: r[2])
    first, second = (
        env.from_collection([], TYPE).assign_timestamps_and_watermarks(strategy) for _ in range(2)
    )
    return first, second


def _run(stream: Any, lefts: list[Record], rights: list[Record], cut: Cut) -> list[Any]:
    results = []
    left_batches, right_batches = cut.batches(lefts), cut.batches(rights)
    with LocalRunner(stream, parallelism=cut.parallelism, source_tasks=cut.source_tasks) as runner:
        for number, batches in enumerate(zip(left_batches, right_batches, strict=True)):
            results += runner.run_batch(*batches)
            if number in cut.restarts:
                runner.restart()
        results += runner.end_of_input()
    return results


def _numbers(left: Any, right: Any, *_: Any) -> tuple[int, int]:
    return left[1], right[1]


@settings(max_examples=60, deadline=None)
@given(lefts=_records, rights=_records, bounds=_bounds, cut=_cuts)
def test_an_interval_join_finds_all_pairs_however_its_input_is_cut(
    lefts: list[Record], rights: list[Record], bounds: list[int], cut: Cut
) -> None:
    lower, upper = bounds
    first, second = _two_streams()
    joined = (
        first.key_by(lambda r: r[0])
        .interval_join(second.key_by(lambda r: r[0]))
        .between(lower, upper)
        .process(_numbers)
    )
    expected = [
        (left[1], right[1])
        for left in lefts
        for right in rights
        if left[0] == right[0] and lower <= right[2] - left[2] <= upper
    ]
    assert Counter(_run(joined, lefts, rights, cut)) == Counter(expected)


def _tumbling(key: str, time: int, records: list[Record]) -> list[tuple[int, int]]:
    return [(time // 10 * 10, time // 10 * 10 + 10)]


def _sliding(key: str, time: int, records: list[Record]) -> list[tuple[int, int]]:
    return [(s, s + 15) for s in range(time - 14, time + 1) if s % 5 == 0]


def _cumulate(key: str, time: int, records: list[Record]) -> list[tuple[int, int]]:
    start = time // 20 * 20
    return [(start, start + size) for size in (5, 10, 15, 20) if time < start + size]


def _session(key: str, time: int, records: list[Record]) -> list[tuple[int, int]]:
    """The run of times of the key, of both sides, with no pause above the gap around `time`."""
    times = {t for k, _, t in records if k == key}
    start = end = time
    while before := [t for t in times if start - 4 <= t < start]:
        start = min(before)
    while after := [t for t in times if end < t <= end + 4]:
        end = max(after)
    return [(start, end + 4)]


ASSIGNERS = {
    "tumbling": (TumblingEventTimeWindows.of(10), _tumbling),
    "sliding": (SlidingEventTimeWindows.of(15, 5), _sliding),
    "cumulate": (CumulateEventTimeWindows.of(20, 5), _cumulate),
    "session": (EventTimeSessionWindows.with_gap(4), _session),
}


def _windows(lefts: list[Record], rights: list[Record], model: Any) -> dict[Any, Any]:
    """(key, start, end) -> the numbers of both sides."""
    found: dict[Any, Any] = {}
    for side, records in enumerate((lefts, rights)):
        for key, number, time in records:
            for start, end in model(key, time, lefts + rights):
                found.setdefault((key, start, end), ([], []))[side].append(number)
    return found


@pytest.mark.parametrize("name", list(ASSIGNERS))
@settings(max_examples=30, deadline=None)
@given(lefts=_records, rights=_records, cut=_cuts)
def test_a_window_join_finds_all_pairs_however_its_input_is_cut(
    name: str, lefts: list[Record], rights: list[Record], cut: Cut
) -> None:
    assigner, model = ASSIGNERS[name]
    first, second = _two_streams()
    joined = first.join(second).where(0).equal_to(0).window(assigner).apply(_numbers)
    expected = [
        (left, right)
        for left_numbers, right_numbers in _windows(lefts, rights, model).values()
        for left in left_numbers
        for right in right_numbers
    ]
    assert Counter(_run(joined, lefts, rights, cut)) == Counter(expected)


def _sorted_numbers(first: Any, second: Any) -> Any:
    key = (*first, *second)[0][0]
    yield key, *(tuple(sorted(number for _, number, _ in side)) for side in (first, second))


@pytest.mark.parametrize("name", list(ASSIGNERS))
@settings(max_examples=20, deadline=None)
@given(lefts=_records, rights=_records, cut=_cuts)
def test_co_group_sees_every_key_and_window_once_however_its_input_is_cut(
    name: str, lefts: list[Record], rights: list[Record], cut: Cut
) -> None:
    assigner, model = ASSIGNERS[name]
    first, second = _two_streams()
    grouped = first.co_group(second).where(0).equal_to(0).window(assigner).apply(_sorted_numbers)
    expected = [
        (key, tuple(left), tuple(right))
        for (key, _, _), (left, right) in _windows(lefts, rights, model).items()
    ]
    assert Counter(_run(grouped, lefts, rights, cut)) == Counter(expected)


# --- record by record, with watermarks -----------------------------------------------------------


class Model:
    """Flink's rules for an interval join, over plain lists."""

    def __init__(self, lower: int, upper: int) -> None:
        self.lower, self.upper = lower, upper
        self.watermarks = [-(1 << 63)] * 2
        self.kept: list[tuple[int, str, int, int]] = []  # side, key, time, number
        self.pairs: list[tuple[int, int]] = []
        self.late: list[int] = []

    @property
    def now(self) -> int:
        return min(self.watermarks)

    def record(self, side: int, key: str, time: int, number: int) -> None:
        if time < self.now:
            self.late.append(number)
            return
        matches = [
            (other_time, order, other)
            for order, (other_side, other_key, other_time, other) in enumerate(self.kept)
            if other_side != side
            and other_key == key
            and self.lower <= (other_time - time) * (1 if side == 0 else -1) <= self.upper
        ]
        for _, _, other in sorted(matches):  # by time, then by arrival
            self.pairs.append((number, other) if side == 0 else (other, number))
        self.kept.append((side, key, time, number))

    def watermark(self, side: int, time: int) -> None:
        before = self.now
        self.watermarks[side] = max(time, self.watermarks[side])
        if self.now > before:
            wait = (max(self.upper, 0), max(-self.lower, 0))
            self.kept = [entry for entry in self.kept if entry[2] + wait[entry[0]] > self.now]


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.integers(0, 1), st.sampled_from("ab"), st.integers(-5, 30)),
        st.tuples(st.just("watermark"), st.integers(0, 1), st.integers(-5, 30)),
        st.just(("restart",)),
    ),
    max_size=40,
)
LATE = (OutputTag("left"), OutputTag("right"))


@settings(max_examples=200, deadline=None)
@given(steps=_steps, bounds=_bounds)
def test_an_interval_join_follows_flinks_rules_step_by_step(
    steps: list[Any], bounds: list[int]
) -> None:
    model = Model(*bounds)
    operator = IntervalJoinOperator(_numbers, bounds[0], bounds[1], late_tags=("left", "right"))
    harness = TwoInputHarness(operator, (lambda r: r[0], lambda r: r[0]))
    for number, step in enumerate(steps):
        if step[0] == "record":
            _, side, key, time = step
            model.record(side, key, time, number)
            (harness.process_element1, harness.process_element2)[side]((key, number), time)
        elif step[0] == "watermark":
            _, side, time = step
            time = max(time, model.watermarks[side])  # a valve in front lets only rising ones pass
            model.watermark(side, time)
            (harness.process_watermark1, harness.process_watermark2)[side](time)
        else:
            watermarks = list(model.watermarks)
            harness.restore(harness.snapshot())
            harness.operator.reload(InputClocks(watermarks))
    assert harness.output == model.pairs
    late = [number for tag in LATE for _, number in harness.side_output(tag)]
    assert sorted(late) == sorted(model.late)
    # a timer for each side, key and time that is kept, and no more
    assert harness.num_event_time_timers() == len({entry[:3] for entry in model.kept})
    harness.end_of_input()
    assert harness.num_keyed_state_entries() == 0
    assert harness.num_event_time_timers() == 0
