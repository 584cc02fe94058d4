"""State that leaves a subtask entry by entry and comes back: nothing changes for the operator.

A harness that goes through a savepoint between two records gives the same results as one that does
not; and the entries of all subtasks are the same in any number of them.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.datastream.functions import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
)
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.runtime.operators.join import IntervalJoinOperator
from headrace.runtime.pages.cells import PROCESS_MEMORY
from headrace.runtime.pages.store import DictStore
from headrace.runtime.savepoint.entries import SavedEntry, export, load
from headrace.runtime.savepoint.files import (
    Claim,
    SavepointLoader,
    to_batches,
    to_entries,
    write_rows,
)
from headrace.runtime.savepoint.portable import encode
from headrace.runtime.savepoint.spooled import SpooledStore
from headrace.runtime.state.declared import DeclaredStates
from headrace.testing import KeyedHarness, TwoInputHarness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WIDTH = 16


class Sum(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return (accumulator[0] + 1, accumulator[1] + value[1])

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


class Everything(KeyedProcessFunction):
    """All kinds of state, timers of event time, and lists and maps that are stored in parts."""

    def open(self, runtime_context: Any) -> None:
        pair = Types.TUPLE([Types.STRING(), Types.LONG()])
        get = runtime_context
        self.value = get.get_state(ValueStateDescriptor("value", pair))
        self.items = get.get_list_state(ListStateDescriptor("items", Types.LONG()))
        self.map = get.get_map_state(MapStateDescriptor("map", Types.LONG(), pair))
        self.least = get.get_reducing_state(ReducingStateDescriptor("least", min, Types.LONG()))
        self.sum = get.get_aggregating_state(
            AggregatingStateDescriptor("sum", Sum(), Types.TUPLE([Types.LONG(), Types.LONG()]))
        )

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.value.update(value)
        self.items.add_all([value[1]] * (400 if value[1] % 5 == 0 else 1))
        if value[1] % 7 == 0:
            self.map.put_all(dict.fromkeys(range(300), value))
        self.map.put(value[1], value)
        self.least.add(value[1])
        self.sum.add(value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        yield value, len(list(self.items)), len(list(self.map.keys())), self.least.get()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp, self.value.value(), Counter(self.items), self.sum.get()
        if timestamp % 3 == 0:
            self.items.clear()


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        seen = context.global_state().get_state(ValueStateDescriptor("n", Types.LONG()))
        seen.update((seen.value() or 0) + 1)
        yield key, context.window().start, sorted(elements), seen.value()


class Rules(KeyedBroadcastProcessFunction):
    RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())

    def process_element(self, value: Any, ctx: Any) -> Any:
        # in order: which the rules come in depends on what is in memory, as with any map state
        yield value, sorted(ctx.get_broadcast_state(self.RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(self.RULES).put(*value)
        return ()


def key_of(value: Any) -> Any:
    return value[0]


def windows(assigner: Any, **options: Any) -> Callable[[], KeyedHarness]:
    return lambda: KeyedHarness.for_windows(assigner, key_of, **options)


HARNESSES: dict[str, Callable[[], KeyedHarness]] = {
    "process": lambda: KeyedHarness.for_process_function(Everything(), key_of),
    "reduce": lambda: KeyedHarness.for_reduce(lambda a, b: (a[0], a[1] + b[1]), key_of),
    "contents": windows(TumblingEventTimeWindows.of(10), function=Contents()),
    "tumbling": windows(TumblingEventTimeWindows.of(10), aggregate=Sum()),
    "panes": windows(SlidingEventTimeWindows.of(20, 5), aggregate=Sum()),
    "sessions": windows(EventTimeSessionWindows.with_gap(7), aggregate=Sum()),
    "trigger": windows(
        SlidingEventTimeWindows.of(20, 10), aggregate=Sum(), trigger=CountTrigger.of(3)
    ),
    "join": lambda: TwoInputHarness(IntervalJoinOperator(Pairs(), -8, 8), (key_of, key_of)),
    "broadcast": lambda: TwoInputHarness.for_keyed_broadcast_process_function(
        Rules(), key_of, Rules.RULES
    ),
}


class Pairs:
    """A ProcessJoinFunction."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right


def feed(harness: KeyedHarness, step: tuple[str, int, int, bool]) -> None:
    key, number, time, second = step
    if isinstance(harness, TwoInputHarness):
        (harness.process_element2 if second else harness.process_element1)((key, number), time)
    else:
        harness.process_element((key, number), time)


def advance(harness: KeyedHarness, time: int) -> None:
    harness.process_watermark(time)


def stored(harness: KeyedHarness, *, declared: bool) -> dict[bytes, bytes]:
    """What a task would have stored; `declared`: as since states are declared."""
    store = DictStore(harness.snapshot())
    if declared:
        states = DeclaredStates()
        states.declare("harness", harness.operator.state_specs())
        states.write(store)
    return store.snapshot()


def entries_of(snapshot: dict[bytes, bytes]) -> list[SavedEntry]:
    """What a savepoint would hold, through its file format."""
    with SpooledStore(snapshot.items()) as store:
        batches = list(to_batches(export(store, {"harness": WIDTH})))
    return [entry for batch in batches for entry in to_entries(batch)]


def through_savepoint(harness: KeyedHarness, *, declared: bool) -> None:
    store = DictStore()
    load(store, entries_of(stored(harness, declared=declared)))
    harness.restore(store.snapshot())


def results(harness: KeyedHarness) -> Counter[str]:
    return Counter(map(repr, harness.timestamped_output))


_steps = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 40), st.integers(0, 60), st.booleans()),
    min_size=1,
    max_size=25,
)


@contextmanager
def memory_of(*, roomy: bool) -> Iterator[None]:
    """With room for all entries, or for a few: then they leave memory at other moments."""
    whole = PROCESS_MEMORY.cell_bytes, PROCESS_MEMORY.page_bytes, PROCESS_MEMORY.misses
    limits = whole if roomy else (600, 5_000, 3)
    PROCESS_MEMORY.cell_bytes, PROCESS_MEMORY.page_bytes, PROCESS_MEMORY.misses = limits
    try:
        yield
    finally:
        PROCESS_MEMORY.cell_bytes, PROCESS_MEMORY.page_bytes, PROCESS_MEMORY.misses = whole


@pytest.mark.parametrize("name", HARNESSES)
@settings(max_examples=25, deadline=None)
@given(
    steps=_steps,
    cuts=st.dictionaries(st.integers(0, 25), st.booleans(), max_size=3),
    roomy=st.booleans(),
)
def test_an_operator_does_not_notice_a_savepoint(
    name: str, steps: list[Any], cuts: dict[int, bool], roomy: bool
) -> None:
    with memory_of(roomy=roomy):
        check_savepoints_go_unnoticed(name, steps, cuts)


def check_savepoints_go_unnoticed(name: str, steps: list[Any], cuts: dict[int, bool]) -> None:
    undisturbed, disturbed = HARNESSES[name](), HARNESSES[name]()
    for number, step in enumerate(steps):
        for harness in (undisturbed, disturbed):
            feed(harness, step)
            if number % 6 == 5:
                advance(harness, step[2])
        if number in cuts:
            through_savepoint(disturbed, declared=cuts[number])
    for harness in (undisturbed, disturbed):
        harness.end_of_input()
    assert results(disturbed) == results(undisturbed)


def plain(entries: list[SavedEntry]) -> list[Any]:
    """Entries without their order, and without how a list or map was cut into parts."""
    whole: dict[Any, Any] = {}
    for entry in entries:
        place = (entry.state, entry.key_group, encode(entry.key), encode(entry.namespace))
        if entry.part:
            old = whole[place]
            whole[place] = old + entry.value if isinstance(old, list) else {**old, **entry.value}
        else:
            whole[place] = entry.value
    return sorted(
        (*place, repr(sorted(value.items()) if isinstance(value, dict) else value))
        for place, value in whole.items()
    )


@pytest.mark.parametrize("name", HARNESSES)
@settings(max_examples=10, deadline=None)
@given(
    steps=_steps,
    parallelism=st.integers(1, 5),
    after=st.integers(1, 5),
    where=st.uuids(),
    declared=st.booleans(),
)
def test_the_entries_of_all_subtasks_are_the_same_in_any_number_of_them(
    name: str,
    steps: list[Any],
    parallelism: int,
    after: int,
    where: Any,
    declared: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    harness = HARNESSES[name]()
    for step in steps:
        feed(harness, step)
    original = entries_of(stored(harness, declared=declared))
    folder = tmp_path_factory.mktemp(f"{where}")
    first = rescaled(original, parallelism, folder / "one")
    second = rescaled([entry for part in first for entry in part], after, folder / "two")
    assert plain([entry for part in second for entry in part]) == plain(original)
    for subtask, part in enumerate(second):
        groups = {entry.key_group for entry in part if entry.key_group >= 0}
        assert all(group * after // WIDTH == subtask for group in groups)


def rescaled(entries: list[SavedEntry], parallelism: int, folder: Path) -> list[list[SavedEntry]]:
    """What every subtask of a job has that was started from these entries."""
    write_rows(str(folder), "part-0", entries)
    claims = ((Claim("harness", "harness", parallelism, WIDTH),),)
    loader = SavepointLoader(str(folder), ("state/part-0.parquet",), claims)
    found = []
    for subtask in range(parallelism):
        store = DictStore()
        loader(0, subtask, store)
        found.append(entries_of(store.snapshot()))
    return found
