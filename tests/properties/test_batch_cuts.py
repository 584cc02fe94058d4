"""The same program over the same input gives the same result, however the input is cut.

Cuts: into batches, into source tasks, into subtasks, with restarts between batches.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import (
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.testing import LocalRunner

TYPE = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])  # key, number, time
Record = tuple[str, int, int]


@dataclass(frozen=True)
class Cut:
    """How one run of the program is cut."""

    sizes: list[int] = field(default_factory=lambda: [10**6])
    restarts: frozenset[int] = frozenset()
    source_tasks: int = 1
    parallelism: int = 1

    def batches(self, records: list[Record]) -> list[list[Record]]:
        found, start = [], 0
        for size in self.sizes:
            found.append(records[start : start + size])
            start += size
        found.append(records[start:])
        return found


_cuts = st.builds(
    Cut,
    sizes=st.lists(st.integers(0, 6), max_size=5),
    restarts=st.frozensets(st.integers(0, 5), max_size=4),
    source_tasks=st.integers(1, 3),
    parallelism=st.integers(1, 4),
)
# keys of few letters, so that batches share them; times in any order
_records = st.lists(
    st.tuples(st.sampled_from("abcde"), st.integers(-20, 20), st.integers(0, 60)), max_size=25
)
_numbered = _records.map(
    lambda records: [(key, place, time) for place, (key, _, time) in enumerate(records)]
)


def _stream(*, timed: bool = False, typed: bool = True) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([], TYPE if typed else None)
    if timed:
        # no watermark before the end: otherwise what is late depends on the cut, as in Flink
        strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda r, _: r[2])
        stream = stream.assign_timestamps_and_watermarks(strategy)
    return stream


def _key(record: Any) -> Any:
    return record[0]


def run(stream: Any, records: list[Record], cut: Cut) -> list[Any]:
    results = []
    with LocalRunner(stream, parallelism=cut.parallelism, source_tasks=cut.source_tasks) as runner:
        for number, batch in enumerate(cut.batches(records)):
            results += runner.run_batch(batch)
            if number in cut.restarts:
                runner.restart()
        results += runner.end_of_input()
    return results


# --- programs ------------------------------------------------------------------------------------


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield key, window.start, window.end, tuple(sorted(elements))


class Numbers(AggregateFunction):
    """All numbers, in lists that are changed in place."""

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return tuple(sorted(accumulator))

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        acc_a.extend(acc_b)
        return acc_a


class Told(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, *elements


SEEN = MapStateDescriptor("seen", Types.INT(), Types.INT())
LAST = ValueStateDescriptor("last", Types.LONG())


class Remembering(KeyedProcessFunction):
    """Counts in state, sets event-time timers, reports at the timers what it has seen."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_map_state(SEEN)
        self.last = runtime_context.get_state(LAST)

    def process_element(self, value: Any, ctx: Any) -> Any:
        key, number, time = value
        self.seen[number % 3] = (self.seen[number % 3] or 0) + 1
        self.last.update(max(time, self.last.value() or 0))
        ctx.timer_service().register_event_time_timer(time // 10 * 10)
        yield key, "record", sum(self.seen.values())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        if timestamp == 30:
            ctx.timer_service().delete_event_time_timer(40)
            ctx.timer_service().register_event_time_timer(35)
        yield (
            ctx.get_current_key(),
            "timer",
            timestamp,
            tuple(sorted(self.seen.items())),
            self.last.value(),
        )


def _windowed(assigner: Any) -> Any:
    return lambda: _stream(timed=True).key_by(_key).window(assigner).process(Contents())


# name -> (program, whether results of a key come in a promised order)
PROGRAMS: dict[str, tuple[Any, bool]] = {
    "reduce": (
        lambda: _stream().key_by(_key).reduce(lambda a, b: (a[0], a[1] + b[1], max(a[2], b[2]))),
        True,
    ),
    "reduce of pickled records": (
        lambda: _stream(typed=False).key_by(_key).reduce(lambda a, b: (a[0], a[1] - b[1], b[2])),
        True,
    ),
    "sum": (lambda: _stream().key_by(_key).sum(1), True),
    "min_by": (lambda: _stream().key_by(_key).min_by(1), True),
    "two keyed stages": (
        lambda: (
            _stream()
            .key_by(_key)
            .sum(1)
            .map(lambda r: (r[0], r[1]))
            .key_by(_key)
            .reduce(lambda a, b: (a[0], a[1] * 3 + b[1]))
        ),
        True,
    ),
    "process with state and timers": (
        lambda: _stream(timed=True).key_by(_key).process(Remembering()),
        True,
    ),
    "tumbling": (_windowed(TumblingEventTimeWindows.of(10)), True),
    "sliding": (_windowed(SlidingEventTimeWindows.of(15, 5)), True),
    "sliding aggregate": (
        lambda: (
            _stream(timed=True)
            .key_by(_key)
            .window(SlidingEventTimeWindows.of(15, 4))
            .aggregate(Numbers(), Told())
        ),
        True,
    ),
    # the third field is that of the record that came first
    "sliding sum": (
        lambda: _stream(timed=True).key_by(_key).window(SlidingEventTimeWindows.of(15, 5)).sum(1),
        True,
    ),
    "sliding max_by": (
        lambda: (
            _stream(timed=True).key_by(_key).window(SlidingEventTimeWindows.of(15, 5)).max_by(1)
        ),
        True,
    ),
    "session": (_windowed(EventTimeSessionWindows.with_gap(4)), True),
    "session reduce": (
        lambda: (
            _stream(timed=True)
            .key_by(_key)
            .window(EventTimeSessionWindows.with_gap(4))
            .reduce(lambda a, b: (a[0], a[1] + b[1], min(a[2], b[2])))
        ),
        True,
    ),
    "windows behind windows": (
        lambda: (
            _stream(timed=True)
            .key_by(_key)
            .window(TumblingEventTimeWindows.of(5))
            .reduce(lambda a, b: (a[0], a[1] + b[1], min(a[2], b[2])))
            .key_by(lambda r: "all")
            .window(TumblingEventTimeWindows.of(20))
            .reduce(lambda a, b: ("all", a[1] + b[1], min(a[2], b[2])))
        ),
        False,
    ),
    "window_all": (
        lambda: (
            _stream(timed=True)
            .window_all(TumblingEventTimeWindows.of(10))
            .reduce(lambda a, b: ("all", a[1] + b[1], 0))
        ),
        False,
    ),
    "rebalance, then flat_map": (
        lambda: _stream().rebalance().flat_map(lambda r: [r, r] if r[1] > 0 else []),
        False,
    ),
    "union with itself": (lambda: _union(), False),
}


def _union() -> Any:
    stream = _stream()
    positive = stream.filter(lambda r: r[1] > 0)
    return (
        positive.union(stream.map(lambda r: r, output_type=TYPE))
        .key_by(_key)
        .map(lambda r: ("seen", *r))
    )


def _by_key(results: list[Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for result in results:
        found.setdefault(result[0], []).append(result)
    return found


@pytest.mark.parametrize("name", list(PROGRAMS))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(records=_records, cut=_cuts)
def test_a_program_gives_the_same_results_however_its_input_is_cut(
    name: str, records: list[Record], cut: Cut
) -> None:
    program, ordered = PROGRAMS[name]
    expected = run(program(), records, Cut())
    found = run(program(), records, cut)
    assert Counter(found) == Counter(expected)
    if ordered:
        assert _by_key(found) == _by_key(expected)


@settings(max_examples=25, deadline=None)
@given(records=_numbered, cut=_cuts)
def test_records_of_a_key_keep_their_order(records: list[Record], cut: Cut) -> None:
    found = run(_stream().key_by(_key).map(lambda r: r), records, cut)
    assert _by_key(found) == _by_key(records)


@settings(max_examples=25, deadline=None)
@given(records=_numbered, cut=_cuts)
def test_count_windows_hold_the_records_of_a_key_in_order(records: list[Record], cut: Cut) -> None:
    class Numbers(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            yield key, tuple(number for _, number, _ in elements)

    stream = _stream().key_by(_key).window(CountTumblingWindowAssigner.of(2)).process(Numbers())
    expected = {}
    for key, own in _by_key(records).items():
        numbers = [number for _, number, _ in own]
        pairs = list(zip(numbers[::2], numbers[1::2], strict=False))
        if pairs:
            expected[key] = [(key, pair) for pair in pairs]
    assert _by_key(run(stream, records, cut)) == expected


@settings(max_examples=40, deadline=None)
@given(records=_records, cut=_cuts)
def test_windows_never_lose_or_double_a_record_that_is_not_late(
    records: list[Record], cut: Cut
) -> None:
    """With real watermarks what is late depends on the cut, but the sum is always complete."""
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(5).with_timestamp_assigner(
        lambda r, _: r[2]
    )
    stream = (
        env.from_collection([], TYPE)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(_key)
        .window(TumblingEventTimeWindows.of(10))
        .process(Contents())
    )
    results: list[Any] = []
    with LocalRunner(stream, parallelism=cut.parallelism, source_tasks=cut.source_tasks) as runner:
        for number, batch in enumerate(cut.batches(records)):
            results += runner.run_batch(batch)
            if number in cut.restarts:
                runner.restart()
        results += runner.end_of_input()
        dropped = sum(o.late_records_dropped for o in runner.metrics.operators.values())
    windows = [(key, start) for key, start, _, _ in results]
    assert len(windows) == len(set(windows))  # without lateness a window fires once
    kept = Counter(record for *_, contents in results for record in contents)
    assert kept <= Counter(records)
    assert kept.total() + dropped == len(records)
