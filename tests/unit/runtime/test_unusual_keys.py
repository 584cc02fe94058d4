"""None and lists as keys, as PyFlink takes them: everything behind key_by works with them."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Row, Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    KeyedProcessFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.runtime.pages.store import DictStore
from headrace.runtime.savepoint.entries import export, load
from headrace.runtime.savepoint.files import to_batches, to_entries
from headrace.runtime.savepoint.spooled import SpooledStore
from headrace.testing import LocalRunner

EVENT = Types.ROW_NAMED(["user", "time"], [Types.STRING(), Types.LONG()])
EVENTS = [("a", 1), (None, 2), (None, 3), ("b", 4), (None, 12), ("a", 13)]


def events() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[1]
    )
    return env.from_collection([]).assign_timestamps_and_watermarks(strategy)


def key(record: Any) -> Any:
    return record[0]


def add(first: Any, second: Any) -> Any:
    return (first[0], first[1] + second[1])


def run(stream: Any, *inputs: list[Any], parallelism: int = 3, restart: bool = False) -> list[Any]:
    """All results, the inputs cut into batches of two records."""
    with LocalRunner(stream, parallelism=parallelism) as job:
        found = []
        for start in range(0, max(map(len, inputs)), 2):
            found += job.run_batch(*(records[start : start + 2] for records in inputs))
            if restart:
                job.restart()
        return sorted(map(repr, [*found, *job.end_of_input()]))


@pytest.mark.parametrize("parallelism", [1, 2, 5])
@pytest.mark.parametrize("type_info", [None, Types.TUPLE([Types.STRING(), Types.LONG()])])
def test_none_is_a_key_of_its_own(parallelism: int, type_info: Any) -> None:
    keyed = events().map(lambda record: record, type_info).key_by(key).reduce(add)
    found = run(keyed, EVENTS, parallelism=parallelism, restart=True)
    expected = [("a", 1), ("a", 14), ("b", 4), (None, 2), (None, 5), (None, 17)]
    assert found == sorted(map(repr, expected))


def test_none_from_a_typed_column_is_a_key() -> None:
    rows = events().map(lambda record: Row(*record), EVENT)
    keyed = rows.key_by(lambda record: record[0]).map(lambda record: record[0], Types.STRING())
    assert run(keyed, EVENTS) == sorted(["'a'", "'a'", "'b'", "None", "None", "None"])


class Memory(KeyedProcessFunction):
    """Counts a key's records and the times seen; tells both at the key's timers."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.times = runtime_context.get_map_state(
            MapStateDescriptor("times", Types.LONG(), Types.BOOLEAN())
        )

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.times.put(value[1], True)
        ctx.timer_service().register_event_time_timer(20)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.count.value(), sorted(self.times.keys())


def test_state_and_timers_of_none_survive_a_restart() -> None:
    found = run(events().key_by(key).process(Memory()), EVENTS, restart=True)
    expected = [("a", 2, [1, 13]), ("b", 1, [4]), (None, 3, [2, 3, 12])]
    assert found == sorted(map(repr, expected))


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        (TumblingEventTimeWindows.of(10), [("a", 1), (None, 5), ("b", 4), (None, 12), ("a", 13)]),
        (
            EventTimeSessionWindows.with_gap(5),
            [("a", 1), (None, 5), ("b", 4), (None, 12), ("a", 13)],
        ),
        (
            SlidingEventTimeWindows.of(20, 10),
            [("a", 1), (None, 5), ("b", 4), ("a", 14), (None, 17), ("b", 4), ("a", 13), (None, 12)],
        ),
    ],
)
def test_none_has_windows(windows: Any, expected: list[Any]) -> None:
    summed = events().key_by(key).window(windows).reduce(add)
    assert run(summed, EVENTS, restart=True) == sorted(map(repr, expected))


def test_none_has_windows_with_a_trigger_of_their_own() -> None:
    counted = events().key_by(key).window(GlobalWindows.create()).trigger(CountTrigger.of(3))
    assert run(counted.reduce(add), EVENTS, restart=True) == [repr((None, 17))]


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left[0], left[1], right[1]


def test_none_joins_none() -> None:
    left, right = events(), None
    right = (
        left.get_execution_environment()
        .from_collection([])
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1])
        )
    )
    by_time = left.key_by(key).interval_join(right.key_by(key)).between(-1, 1).process(Pairs())
    found = run(by_time, EVENTS, [("b", 4), (None, 3)], restart=True)
    assert found == sorted(map(repr, [("b", 4, 4), (None, 2, 3), (None, 3, 3)]))
    by_window = left.join(right).where(key).equal_to(key).window(TumblingEventTimeWindows.of(10))
    joined = by_window.apply(lambda one, two: (one[0], one[1], two[1]))
    found = run(joined, EVENTS, [("b", 4), (None, 3)], restart=True)
    assert found == sorted(map(repr, [("b", 4, 4), (None, 2, 3), (None, 3, 3)]))


def test_a_list_as_key_counts_as_a_tuple() -> None:
    class Keys(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield ctx.get_current_key()

    keyed = events().key_by(lambda record: [record[0], [1, 2]])
    assert run(keyed.process(Keys()), EVENTS[:2]) == sorted(
        map(repr, [("a", (1, 2)), (None, (1, 2))])
    )
    summed = events().key_by(lambda record: [record[0]]).reduce(add)
    assert run(summed, EVENTS[1:3], restart=True) == [repr((None, 2)), repr((None, 5))]


def test_savepoints_hold_the_state_and_the_timers_of_none() -> None:
    with LocalRunner(events().key_by(key).process(Memory()).uid("memory"), parallelism=1) as job:
        job.run_batch(EVENTS)
        ((_, store),) = ((place, s) for place, s in job.stores.items() if s.content)
    with SpooledStore(store.content.items()) as pages:
        entries = list(export(pages, {"memory": 128}))
    moved = DictStore()
    load(moved, (e for batch in to_batches(entries) for e in to_entries(batch)))
    with SpooledStore(moved.content.items()) as pages:
        again = list(export(pages, {"memory": 128}))
    assert sorted(map(repr, again)) == sorted(map(repr, entries))
    of_none = {entry.state for entry in again if entry.key_group >= 0 and entry.key is None}
    assert of_none == {"user/count", "user/times", "timers/event"}
