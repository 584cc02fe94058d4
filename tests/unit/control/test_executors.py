"""Slots of a job's executors, and which executor a failure was on."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.control.registry import JobRecord
from headrace.control.views.executors import executor_on, executor_views, slots_taken
from headrace.rest.flink.executors import executor_detail


def _record(parallelism: int, tasks: int) -> JobRecord:
    record = JobRecord("ab" * 16, "orders", "RUNNING", "vm", 1, "0", 0, 0)
    record.parallelism, record.tasks = parallelism, tasks
    return record


def _facts(number: int, slots: int, address: str = "", **more: Any) -> dict[str, Any]:
    return {"id": str(number), "address": address or f"host{number}:700{number}", "slots": slots,
            "memory_bytes": 64, "memory_used_bytes": 1, "seen": 5, "logs": {}, **more}  # fmt: skip


@pytest.mark.parametrize(
    ("slots", "parallelism", "taken"),
    [([2], 2, [2]), ([4], 2, [2]), ([2], 8, [2]), ([4, 4], 3, [2, 1]), ([1, 4], 3, [0, 3]),
     ([], 2, []), ([4, 4], 0, [0, 0])],
)  # fmt: skip
def test_a_job_takes_as_many_slots_as_its_parallelism(
    slots: list[int], parallelism: int, taken: list[int]
) -> None:
    assert slots_taken(slots, parallelism) == taken


def test_slots_are_taken_between_two_batches_too() -> None:
    # what drivers of earlier versions tell is left out: how many tasks Spark was running then
    now = {"executors": [_facts(0, 4, busy_slots=0), _facts(1, 4, busy_slots=0)]}
    views = executor_views(_record(parallelism=3, tasks=6), now)
    assert [(view.busy_slots, view.tasks) for view in views] == [(2, 4), (1, 2)]
    told = [executor_detail(view) for view in views]
    assert [(each["slotsNumber"], each["freeSlots"]) for each in told] == [(4, 2), (4, 3)]
    assert [[slot["assignedTasks"] for slot in each["allocatedSlots"]] for each in told] == [
        [2, 2],
        [2],
    ]
    assert [each["assignedTasks"] for each in told] == [4, 2]


def test_a_failure_was_on_the_executor_of_its_machine_if_that_is_certain() -> None:
    now = {"executors": [_facts(0, 1), _facts(1, 1), _facts(2, 1, "host1:7002")]}
    views = executor_views(_record(3, 3), now)
    assert executor_on("host0:4711", views) is views[0]
    assert executor_on("host1:4711", views) is None  # two are there
    assert executor_on("elsewhere:1", views) is None
    assert executor_on("any:1", views[1:2]) is views[1]
