"""What a stage sends follows from the batch, the producer and its input: never from its past.

A task that runs again after a lost executor may run in a process that has seen other batches, while
a consumer of the next stage has already read what the first run sent.
"""

from __future__ import annotations

import pickle
import random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.data.records import Records
from headrace.datastream import StreamExecutionEnvironment
from headrace.plan.planner import PlanOptions, plan
from headrace.runtime import stopwatch
from headrace.runtime import task as task_module
from headrace.runtime.exchange.partition import (
    Broadcast,
    Custom,
    Forward,
    Global,
    KeyGroups,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
)
from headrace.runtime.key_selectors import Keying
from headrace.runtime.pages.store import DictStore
from headrace.runtime.task import Task
from headrace.testing.programs import program_of

if TYPE_CHECKING:
    from collections.abc import Callable

BATCHES = st.lists(st.lists(st.integers(0, 50), max_size=12), max_size=5)


class Counting:
    """A partitioner with a memory."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, key: Any, parallelism: int) -> int:
        self.seen += 1
        return self.seen % parallelism


def counting_in_a_closure() -> Any:
    seen = [0]

    def choose(key: Any, parallelism: int) -> int:
        seen[0] += 1
        return seen[0] % parallelism

    return choose


def same(record: Any) -> Any:
    return record


MAKERS: dict[str, Callable[[], Partitioning]] = {
    "forward": Forward,
    "global": Global,
    "broadcast": Broadcast,
    "rebalance": Rebalance,
    "rescale": Rescale,
    "shuffle": Shuffle,
    "hash": lambda: KeyGroups(Keying(same)),
    "custom": lambda: Custom(lambda key, n: key % n, same),
    "custom that counts": lambda: Custom(Counting(), same),
    "custom that counts in a closure": lambda: Custom(counting_in_a_closure(), same),
}


def test_every_partitioner_is_here() -> None:
    def all_of(kind: type) -> set[type]:
        return {kind}.union(*map(all_of, kind.__subclasses__()))

    made = {type(make()) for make in MAKERS.values()}
    known = {kind for kind in all_of(Partitioning) if kind.__module__.startswith("headrace.")}
    assert made == known - {Partitioning}


def routes(router: Partitioning, batch_id: int, lists: list[list[int]]) -> list[Any]:
    router.begin(batch_id)
    return [
        (target, part.values)
        for values in lists
        if values
        for target, part in router.route(Records(values))
    ]


@pytest.mark.parametrize("name", MAKERS)
@given(past=BATCHES, lists=BATCHES, batch_id=st.integers(0, 1000), subtask=st.integers(0, 4))
def test_a_partitioner_with_a_past_sends_what_a_new_one_sends(
    name: str, past: list[list[int]], lists: list[list[int]], batch_id: int, subtask: int
) -> None:
    new, old = MAKERS[name](), MAKERS[name]()
    for router in (new, old):
        router.open(subtask, 3, 128)
    for number, values in enumerate(past):
        routes(old, number, [values])
    assert routes(old, batch_id, lists) == routes(new, batch_id, lists)


def test_single_records_of_many_batches_reach_all_subtasks() -> None:
    for make in (Rebalance, Rescale, Shuffle):
        router = make()
        router.open(0, 3, 128)
        reached = {t for batch in range(40) for t, _ in routes(router, batch, [[1]])}
        assert reached == {0, 1, 2}, make


# --- a whole stage -------------------------------------------------------------------------------


def stage_with_all_exchanges() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda number, _: number
    )
    numbers = env.from_collection([], Types.LONG()).assign_timestamps_and_watermarks(strategy)
    doubled = numbers.map(lambda n: n * 2, output_type=Types.LONG())
    for stream in (
        doubled.rebalance(),
        doubled.rescale(),
        doubled.shuffle(),
        doubled.broadcast(),
        doubled.global_(),
        doubled.partition_custom(Counting(), same),
        doubled.key_by(same).sum(),
    ):
        stream.map(same).print()
    physical = plan(program_of(env), PlanOptions(3))
    return cloudpickle.dumps(physical.sources[0].stage)


STAGE = stage_with_all_exchanges()


def sent(task: Task, batch_id: int, values: list[int]) -> list[Any]:
    attempt = f"{random.random()}"
    # how long it took, and when, is told to the driver, at the end of the packets, and nobody else
    # reads it
    with (
        patch.object(stopwatch, "perf_counter_ns", lambda: 0),
        patch.object(task_module, "wall_clock", lambda: 0),
    ):
        return list(task.run_source([("", Records(values))], batch_id, attempt))


@given(past=BATCHES, values=st.lists(st.integers(0, 50), max_size=12), batch_id=st.integers(5, 99))
def test_a_task_with_a_past_sends_the_packets_of_a_new_one(
    past: list[list[int]], values: list[int], batch_id: int
) -> None:
    new, old = (Task(pickle.loads(STAGE), 1, DictStore(), clock=lambda: 0) for _ in range(2))
    for number, earlier in enumerate(past):
        sent(old, number, earlier)
    assert sent(old, batch_id, values) == sent(new, batch_id, values)
