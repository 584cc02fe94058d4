"""Late records leave through their side output in lists, as all other records do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.api.output_tag import OutputTag
from headrace.common.typeinfo import Types
from headrace.data.records import Records
from headrace.datastream.functions import ProcessJoinFunction
from headrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from headrace.runtime.operators.join import IntervalJoinOperator
from headrace.testing.harness import Harness, KeyedHarness, TwoInputHarness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LATE = OutputTag("late", Types.LONG())


class Lists:
    """Takes what comes, list by list, as both the main and the late output."""

    def __init__(self) -> None:
        self.found: list[list[tuple[Any, int | None]]] = []

    def accept(self, records: Records) -> None:
        self.found.append(list(records.pairs()))

    def watermark(self, timestamp: int) -> None:
        pass

    def idle(self) -> None:
        pass


class Joined(ProcessJoinFunction):
    def process_element(self, left: int, right: int, ctx: Any) -> Iterable[tuple[int, int]]:
        yield left, right


def windows(assigner: Any, **options: Any) -> Harness:
    return KeyedHarness.for_windows(assigner, lambda value: 0, late_tag=LATE, reduce=max, **options)


def interval_join() -> Harness:
    operator = IntervalJoinOperator(Joined(), -5, 5, late_tags=("late", None))
    return TwoInputHarness(operator, (lambda value: 0, lambda value: 0))


CASES = {
    "aligned": lambda: windows(TumblingEventTimeWindows.of(10)),
    "sessions": lambda: windows(EventTimeSessionWindows.with_gap(10)),
    "general": lambda: windows(TumblingEventTimeWindows.of(10), trigger=CountTrigger.of(99)),
    "interval join": interval_join,
}


@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_the_late_records_of_a_list_leave_as_one_list_in_order(make: Callable[[], Harness]) -> None:
    with make() as harness:
        lists = Lists()
        harness.operator.output.sides["late"] = [lists]
        harness.process_watermark(99)
        harness.operator.process(Records([3, 100, 1, 2], [30, 100, 10, 20]), 0)
        assert lists.found == [[(3, 30), (1, 10), (2, 20)]]
        harness.operator.process(Records([4], [40]), 0)
        assert lists.found[1:] == [[(4, 40)]]


def test_late_records_are_ahead_of_the_results_of_their_list() -> None:
    with windows(TumblingEventTimeWindows.of(10), trigger=CountTrigger.of(1)) as harness:
        lists = Lists()
        harness.operator.output.sides["late"] = harness.operator.output.main = [lists]
        harness.process_watermark(99)
        harness.operator.process(Records([100, 1], [100, 10]), 0)
        assert lists.found == [[(1, 10)], [(100, 109)]]
