"""Every window strategy that fits gives the same answers: one list of cases for all of them.

A new strategy joins by being in STRATEGIES (runtime/windows/strategies.py); the cases below then
run against it wherever it says that it fits.  Random ones: tests/properties/test_window_ways.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.data.records import MAX_TIMESTAMP, Records
from headrace.datastream.functions import (
    AggregateFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.errors import RecordError, UserFunctionError
from headrace.runtime.operators.window import WindowOperator
from headrace.runtime.windows.aligned import AlignedWindows
from headrace.runtime.windows.general import GeneralWindows
from headrace.runtime.windows.sessions import SessionWindows
from headrace.runtime.windows.strategies import STRATEGIES
from headrace.testing import KeyedHarness

LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
SEEN = ValueStateDescriptor("seen", Types.LONG())
TOTAL = ReducingStateDescriptor("total", lambda one, other: one + other, Types.LONG())
Record = tuple[str, int]  # key, time


class Times(AggregateFunction):
    """The times of the records, in order."""

    def create_accumulator(self) -> Any:
        return ()

    def add(self, value: Any, accumulator: Any) -> Any:
        return tuple(sorted((*accumulator, value[1])))

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return tuple(sorted(acc_a + acc_b))


class Bounds(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield key, window.start, window.end, sorted(elements)


class Applied(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        return [(key, window.start, sorted(inputs))]


class Latest(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return max(value1, value2)


class KeepsCount(ProcessWindowFunction):
    """Counts evaluations of a key in a state of its own; takes note of it when a window is over."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_reducing_state(TOTAL)

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        self.total.add(1)
        yield key, self.total.get()

    def clear(self, context: Any) -> None:
        self.total.add(100)


@dataclass(frozen=True)
class Case:
    """A script of records (key, time), watermarks (int), restarts (None); what must come of it."""

    name: str
    assigner: Any
    script: list[Record | int | None]
    results: list[Any]
    options: dict[str, Any] = field(default_factory=lambda: {"function": Bounds()})
    late: list[Record] = field(default_factory=list)

    def harness(self, strategy: Any) -> KeyedHarness:
        """Windows that the strategy runs, if it fits; else the general one does."""
        return KeyedHarness.for_windows(
            self.assigner, lambda record: record[0], strategies=(strategy, GeneralWindows),
            late_tag=LATE, **self.options,
        )  # fmt: skip

    def play(self, harness: KeyedHarness) -> None:
        for step in self.script:
            if step is None:
                harness.restore(harness.snapshot())
            elif isinstance(step, int):
                harness.process_watermark(step)
            else:
                harness.process_element(step, timestamp=step[1])


TUMBLING, SLIDING = TumblingEventTimeWindows.of(10), SlidingEventTimeWindows.of(10, 5)
SESSIONS = EventTimeSessionWindows.with_gap(5)
VARYING = EventTimeSessionWindows.with_dynamic_gap(lambda record: 2 if record[0] == "b" else 5)
A1, A7, A12, B3 = ("a", 1), ("a", 7), ("a", 12), ("b", 3)

CASES = [
    Case("a window fires once the watermark reaches its last moment", TUMBLING,
         [A1, B3, A7, 8, 9, 20], [("a", 0, 10, [A1, A7]), ("b", 0, 10, [B3])]),
    Case("windows fire in the order of time, whatever the order of records", TUMBLING,
         [("a", 25), A12, A1, 30],
         [("a", 0, 10, [A1]), ("a", 10, 20, [A12]), ("a", 20, 30, [("a", 25)])]),
    Case("offsets and times before 1970", TumblingEventTimeWindows.of(10, 3),
         [("a", -8), ("a", 2), 20], [("a", -17, -7, [("a", -8)]), ("a", -7, 3, [("a", 2)])]),
    Case("a record for no window is not late", SlidingEventTimeWindows.of(2, 5),
         [("a", 3), A1, 20], [("a", 0, 2, [A1])]),
    Case("a record for a gone window is late", TUMBLING,
         [A1, 9, A7, A12, 20], [("a", 0, 10, [A1]), ("a", 10, 20, [A12])], late=[A7]),
    Case("lateness: a record in between fires again, then the window is gone", TUMBLING,
         [A1, 9, A7, 14, B3, 20], [(1,), (1, 7)],
         {"aggregate": Times(), "allowed_lateness_ms": 5}, [B3]),
    Case("a restart in front of the end loses nothing", TUMBLING,
         [A1, None, B3, None, 9, None, 20], [("a", 0, [(1,)]), ("b", 0, [(3,)])],
         {"aggregate": Times(), "function": Applied()}),
    Case("a restart after the end fires nothing again", TUMBLING,
         [A1, 9, None, 12, None, 20], [A1],
         {"reduce": Latest(), "allowed_lateness_ms": 4}),
    Case("sliding windows share records", SLIDING,
         [A1, A7, 30], [(1,), (1, 7), (7,)], {"aggregate": Times()}),
    Case("sliding windows with a function", SLIDING,
         [A7, B3, 4, None, 30],
         [("b", -5, [B3]), ("a", 0, [A7]), ("b", 0, [B3]), ("a", 5, [A7])],
         {"reduce": Latest(), "function": Applied()}),
    Case("a record late for some windows counts in the others", SLIDING,
         [A7, 9, B3, ("b", 8), 30],
         [("a", 0, [A7]), ("a", 5, [A7]), ("b", 5, [("b", 8)])],
         {"reduce": Latest(), "function": Applied()}, [B3]),
    Case("sessions grow, and touch", SESSIONS,
         [A1, ("a", 6), A12, 30], [("a", 1, 11, [A1, ("a", 6)]), ("a", 12, 17, [A12])]),
    Case("a record connects sessions", SESSIONS,
         [A1, ("a", 9), None, ("a", 5), 30], [("a", 1, 14, [A1, ("a", 5), ("a", 9)])]),
    Case("sessions of different keys do not meet", VARYING,
         [A1, B3, ("b", 6), 30],
         [("b", 3, 5, [B3]), ("a", 1, 6, [A1]), ("b", 6, 8, [("b", 6)])]),
    Case("a session takes late records as long as it lives", SESSIONS,
         [A1, 5, ("a", 4), 9, None, B3, 30],
         [("a", 1, 6, [A1]), ("a", 1, 9, [A1, ("a", 4)])],
         {"function": Bounds(), "allowed_lateness_ms": 1}, [B3]),
    Case("sessions that hold one value", SESSIONS,
         [A1, ("a", 4), B3, 30], [(3,), (1, 4)], {"aggregate": Times()}),
    Case("end of input fires everything", SESSIONS,
         [A1, A12, MAX_TIMESTAMP], [A1, A12], {"reduce": Latest()}),
    Case("the function sees the state of its key, also when a window is over", TUMBLING,
         [A1, B3, 9, A12, ("b", 13), 19, ("b", 21), 30],
         [("a", 1), ("b", 1), ("a", 102), ("b", 102), ("b", 203)], {"function": KeepsCount()}),
]  # fmt: skip


def strategy_of(harness: KeyedHarness) -> Any:
    assert isinstance(harness.operator, WindowOperator)
    return type(harness.operator.strategy)


FITTING = [
    pytest.param(case, strategy, id=f"{case.name}, {strategy.kept}")
    for case in CASES
    for strategy in STRATEGIES
    if strategy_of(case.harness(strategy)) is strategy
]


def test_every_case_compares_strategies_and_every_strategy_has_cases() -> None:
    fitting = [param.values for param in FITTING]
    assert all(sum(found is case for found, _ in fitting) >= 2 for case in CASES)
    assert all(sum(found is s for _, found in fitting) >= 6 for s in STRATEGIES)


@pytest.mark.parametrize(("case", "strategy"), FITTING)
def test_every_strategy_that_fits_gives_the_same(case: Case, strategy: Any) -> None:
    harness = case.harness(strategy)
    case.play(harness)
    assert strategy_of(harness) is strategy  # also after a restart
    found = harness.output
    # keys have no order among each other
    assert sorted(found, key=repr) == sorted(case.results, key=repr)
    assert of_each_key(found) == of_each_key(case.results)
    assert harness.side_output(LATE) == case.late
    harness.end_of_input()
    assert harness.num_event_time_timers() == 0
    own_states = {"a", "b"} if isinstance(case.options.get("function"), KeepsCount) else set()
    assert harness.num_keyed_state_entries() == len(own_states)
    assert not [name for name in harness.snapshot() if b"/panes/" in name]


def of_each_key(results: list[Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for result in results:
        found.setdefault(result[0], []).append(result)
    return found


@pytest.mark.parametrize(
    ("assigner", "strategy"),
    [
        (TUMBLING, AlignedWindows),
        (SESSIONS, SessionWindows),
        (TUMBLING, GeneralWindows),
        (SESSIONS, GeneralWindows),
    ],
)
def test_every_strategy_tells_which_record_a_function_failed_on(
    assigner: Any, strategy: Any
) -> None:
    def harness(**options: Any) -> KeyedHarness:
        return KeyedHarness.for_windows(
            assigner, lambda record: 0, strategies=(strategy,), **options
        )

    adding = harness(reduce=lambda one, other: one + other)
    with pytest.raises(UserFunctionError, match="given: 'three'"):
        adding.operator.process(Records([1, 2, "three", 4], [1, 2, 3, 4]), 0)
    firing = harness(function=Bounds())
    firing.operator.process(Records([1, "two"], [1, 2]), 0)
    with pytest.raises(UserFunctionError, match="TypeError"):
        firing.process_watermark(20)
    with pytest.raises(RecordError, match="without a timestamp") as caught:
        harness(function=Bounds()).process_element(1)
    assert "harness" in str(caught.value.where)


def test_the_last_strategy_always_fits() -> None:
    assert STRATEGIES[-1] is GeneralWindows
    assert len({strategy.kept for strategy in STRATEGIES}) == len(STRATEGIES)
