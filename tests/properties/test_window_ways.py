"""Windows that take a shorter way (panes, plain sessions) give what windows one by one give.

Both run the same script of records, watermarks, batch ends and restarts; the second one may only
go the general way (runtime/windows/general.py).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.data.records import Records
from headrace.datastream.functions import AggregateFunction, ProcessWindowFunction
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.runtime.operators.rolling import rolling_reduce
from headrace.runtime.windows import panes
from headrace.runtime.windows.aligned import AlignedWindows
from headrace.runtime.windows.general import GeneralWindows
from headrace.runtime.windows.rolling import RollingAggregate
from headrace.runtime.windows.sessions import SessionWindows
from headrace.testing import KeyedHarness

ONE_BY_ONE = (GeneralWindows,)
LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
Record = tuple[str, int, int]  # key, number, time


class CountSumMost(AggregateFunction):
    """Accumulators that nobody can change."""

    def create_accumulator(self) -> Any:
        return (0, 0, None)

    def add(self, value: Any, accumulator: Any) -> Any:
        count, total, most = accumulator
        return count + 1, total + value[1], max(value[1], value[1] if most is None else most)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        known = [most for most in (acc_a[2], acc_b[2]) if most is not None]
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1], max(known, default=None)


class Reusing(AggregateFunction):
    """Accumulators that `add` and `merge` change in place."""

    def create_accumulator(self) -> Any:
        return {"count": 0, "numbers": []}

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator["count"] += 1
        accumulator["numbers"].append(value[1])
        accumulator["numbers"].sort()
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator["count"], tuple(accumulator["numbers"])

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        acc_b["count"] += acc_a["count"]
        acc_b["numbers"] += acc_a["numbers"]
        acc_b["numbers"].sort()
        acc_a["numbers"].clear()
        return acc_b


class Emitting(Reusing):
    """Emits what it changes later, so that an early result shows whether it was changed."""

    def get_result(self, accumulator: Any) -> Any:
        return accumulator


class ReusingLater(CountSumMost):
    """Accumulators that nobody can change at first, and that merging turns into lists."""

    def get_result(self, accumulator: Any) -> Any:
        return tuple(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        merged = super().merge(acc_a, acc_b)
        if not isinstance(acc_a, list):
            return list(merged)
        acc_a[:] = merged
        return acc_a


SEEN = ValueStateDescriptor("seen", Types.LONG())
CLEARED = ValueStateDescriptor("cleared", Types.LONG())


class Counting(ProcessWindowFunction):
    """Tells how often a window and a key were evaluated; counts the windows that were cleared."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        own = context.window_state().get_state(SEEN)
        own.update((own.value() or 0) + 1)
        all_windows = context.global_state().get_state(SEEN)
        all_windows.update((all_windows.value() or 0) + 1)
        window = context.window()
        contents = sorted(map(str, elements))
        yield key, window.start, window.end, contents, own.value(), all_windows.value()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(SEEN).clear()
        cleared = context.global_state().get_state(CLEARED)
        cleared.update((cleared.value() or 0) + 1)


class Sorted(ProcessWindowFunction):
    """What a session holds; the order is not promised where sessions became one."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield key, window.start, window.end, sorted(elements)

    def clear(self, context: Any) -> None:
        cleared = context.global_state().get_state(CLEARED)
        cleared.update((cleared.value() or 0) + 1)


def _sum(first: Record, second: Record) -> Record:
    return first[0], first[1] + second[1], max(first[2], second[2])


FUNCTIONS: dict[str, dict[str, Any]] = {
    "aggregate": {"aggregate": CountSumMost()},
    "aggregate that reuses accumulators": {"aggregate": Reusing()},
    "aggregate that emits accumulators": {"aggregate": Emitting()},
    "aggregate whose merge makes lists": {"aggregate": ReusingLater()},
    "reduce": {"reduce": _sum},
    "reduce, then process": {"reduce": _sum, "function": Counting()},
    "aggregate, then process": {"aggregate": CountSumMost(), "function": Counting()},
    "process": {"function": Counting()},
}

_sizes = st.integers(1, 30)
_assigners = st.one_of(
    st.builds(lambda size, offset: TumblingEventTimeWindows.of(size, offset % size), _sizes,
              st.integers(0, 30)),
    st.builds(
        lambda size, slide, offset: SlidingEventTimeWindows.of(size, slide, offset % slide),
        _sizes, _sizes, st.integers(0, 30),
    ),
    st.builds(
        lambda panes, slide: SlidingEventTimeWindows.of(panes * slide, slide),
        st.integers(2, 12), st.integers(1, 4),
    ),
)  # fmt: skip
_sessions = st.one_of(
    st.builds(EventTimeSessionWindows.with_gap, st.integers(1, 12)),
    st.just(EventTimeSessionWindows.with_dynamic_gap(lambda record: 1 + abs(record[1]))),
)
# records around a clock that goes on: some far behind it, some ahead
_records = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(-9, 9), st.integers(-25, 12)),
    min_size=1, max_size=8,
)  # fmt: skip
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("records"), _records),
        st.tuples(st.just("clock"), st.integers(0, 25)),
        st.tuples(st.just("batch"), st.booleans()),  # whether a restart follows
    ),
    max_size=14,
)


class Run:
    """One harness, driven by a script."""

    def __init__(self, assigner: Any, **options: Any) -> None:
        self.harness = KeyedHarness.for_windows(
            assigner, lambda record: record[0], late_tag=LATE, **options
        )
        self.dropped = 0

    @property
    def operator(self) -> Any:
        return self.harness.operator

    def play(self, steps: list[Any], *, one_by_one: bool = False) -> None:
        now = 0
        for kind, what in steps:
            if kind == "records":
                records = [(key, number, now + ahead) for key, number, ahead in what]
                for part in [[record] for record in records] if one_by_one else [records]:
                    self.operator.process(Records(part, [time for *_, time in part]), 0)
            elif kind == "clock":
                now += what
                self.harness.process_watermark(now)
            else:
                stored = self.harness.snapshot()
                if what:
                    self.harness.restore(stored)
        self.harness.end_of_input()

    def outcome(self) -> Any:
        results = [(repr(value), time) for value, time in self.harness.timestamped_output]
        cleared = dict(self.operator.global_states.table(f"user/{CLEARED.name}").items())
        return Counter(results), Counter(map(repr, self.harness.side_output(LATE))), cleared

    def of_each_key(self) -> dict[Any, list[Any]]:
        found: dict[Any, list[Any]] = {}
        for value in self.harness.output:
            found.setdefault(value[0], []).append(value)
        return found


@pytest.mark.parametrize("name", list(FUNCTIONS))
@settings(max_examples=60, deadline=None)
@given(assigner=_assigners, lateness=st.sampled_from([0, 0, 3, 20]), steps=_steps)
def test_panes_give_what_windows_one_by_one_give(
    name: str, assigner: Any, lateness: int, steps: list[Any]
) -> None:
    functions = FUNCTIONS[name]
    if "emits" in name:  # or a late record changes what the window emitted before it
        lateness = 0
    shared = Run(assigner, allowed_lateness_ms=lateness, **functions)
    single = Run(assigner, allowed_lateness_ms=lateness, strategies=ONE_BY_ONE, **functions)
    assert type(single.operator.strategy) is GeneralWindows
    if name != "process" or not shared.operator.description.overlapping:
        assert type(shared.operator.strategy) is AlignedWindows
    shared.play(steps)
    single.play(steps)
    assert shared.outcome() == single.outcome()
    if "process" in name:  # tells the key
        assert shared.of_each_key() == single.of_each_key()
    if "function" not in functions:  # Counting keeps a state of the key
        assert shared.harness.num_keyed_state_entries() == 0
    assert not [key for key in shared.harness.snapshot() if b"/panes/" in key]


@pytest.mark.parametrize("kind", ["sum", "min", "max", "min_by", "max_by"])
@settings(max_examples=50, deadline=None)
@given(assigner=_assigners, lateness=st.sampled_from([0, 4]), steps=_steps)
def test_rolling_aggregates_know_which_record_came_first(
    kind: str, assigner: Any, lateness: int, steps: list[Any]
) -> None:
    steps = [step for step in steps if step[0] != "batch"]  # the harness has one time for all
    shared = Run(assigner, allowed_lateness_ms=lateness, aggregate=RollingAggregate(kind, 1))
    single = Run(assigner, allowed_lateness_ms=lateness, reduce=rolling_reduce(kind, 1),
                 strategies=ONE_BY_ONE)  # fmt: skip
    shared.play(steps)
    single.play(steps)
    assert shared.outcome() == single.outcome()


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "process" not in name])
@settings(max_examples=60, deadline=None)
@given(assigner=_sessions, lateness=st.sampled_from([0, 0, 3, 20]), steps=_steps)
def test_plain_sessions_give_what_merging_windows_give(
    name: str, assigner: Any, lateness: int, steps: list[Any]
) -> None:
    functions = FUNCTIONS[name]
    if "emits" in name:
        lateness = 0
    plain = Run(assigner, allowed_lateness_ms=lateness, **functions)
    merging = Run(assigner, allowed_lateness_ms=lateness, strategies=ONE_BY_ONE, **functions)
    assert type(plain.operator.strategy) is SessionWindows
    assert type(merging.operator.strategy) is GeneralWindows
    plain.play(steps)
    merging.play(steps)
    assert plain.outcome() == merging.outcome()
    assert plain.harness.num_keyed_state_entries() == 0
    assert plain.harness.num_event_time_timers() == 0


@settings(max_examples=60, deadline=None)
@given(assigner=_sessions, lateness=st.sampled_from([0, 3, 20]), steps=_steps)
def test_plain_sessions_hold_the_records_that_merging_windows_hold(
    assigner: Any, lateness: int, steps: list[Any]
) -> None:
    plain = Run(assigner, allowed_lateness_ms=lateness, function=Sorted())
    merging = Run(assigner, allowed_lateness_ms=lateness, strategies=ONE_BY_ONE, function=Sorted())
    plain.play(steps)
    merging.play(steps)
    assert plain.outcome() == merging.outcome()
    assert plain.of_each_key() == merging.of_each_key()


@settings(max_examples=50, deadline=None)
@given(assigner=_assigners, lateness=st.sampled_from([0, 4]), steps=_steps)
def test_cuts_and_chunks_do_not_matter(assigner: Any, lateness: int, steps: list[Any]) -> None:
    before = panes.CHUNK_ENTRIES, panes.SPARE_CHUNKS, panes.KEPT_ENTRIES
    whole = Run(assigner, allowed_lateness_ms=lateness, aggregate=CountSumMost())
    whole.play([step for step in steps if step[0] != "batch"])
    try:
        panes.CHUNK_ENTRIES, panes.SPARE_CHUNKS, panes.KEPT_ENTRIES = 2, 1, 3
        cut = Run(assigner, allowed_lateness_ms=lateness, aggregate=CountSumMost())
        each = [part for step in steps for part in (step, ("batch", False))]
        cut.play(each, one_by_one=True)
    finally:
        panes.CHUNK_ENTRIES, panes.SPARE_CHUNKS, panes.KEPT_ENTRIES = before
    assert cut.outcome() == whole.outcome()


@settings(max_examples=50, deadline=None)
@given(assigner=_assigners, steps=_steps)
def test_records_in_order_are_merged_in_order(assigner: Any, steps: list[Any]) -> None:
    """A function that minds the order finds it, as long as records come in the order of time."""
    steps = [
        (kind, [(key, number, 13 + place) for place, (key, number, _) in enumerate(what)])
        if kind == "records"
        else (kind, 21 if kind == "clock" else what)
        for kind, what in steps
        for kind, what in [(kind, what), ("clock", 21)][: 2 if kind == "records" else 1]
    ]

    def text(first: Any, second: Any) -> Any:
        return first[0], f"{first[1]} {second[1]}", 0

    shared = Run(assigner, reduce=text)
    single = Run(assigner, reduce=text, strategies=ONE_BY_ONE)
    shared.play(steps)
    single.play(steps)
    assert shared.outcome()[0].keys() == single.outcome()[0].keys()
    assert shared.outcome() == single.outcome()
