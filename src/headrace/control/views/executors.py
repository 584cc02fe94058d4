"""The executors of a job, and how many of their slots the job takes.

A job takes as many slots as its parallelism, as the dispatcher counts them (docs/cluster.md): Spark
places tasks anew with every batch, so that between two of them no core is at work.

In: a JobRecord, now.json (control/history.py).  Out: ExecutorViews.  Pure.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from headrace.control.views.models import ExecutorView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.opaque import JsonObject
    from headrace.control.registry import JobRecord

__all__ = ["executor_views"]

# written by drivers of earlier versions: how many tasks Spark was running at that moment
_GONE = "busy_slots"


def executor_views(record: JobRecord, now: JsonObject) -> tuple[ExecutorView, ...]:
    """The executors of a job."""
    found = [
        {key: value for key, value in facts.items() if key != _GONE}
        for facts in now.get("executors", ())
    ]
    taken = slots_taken([facts["slots"] for facts in found], record.parallelism)
    return tuple(
        ExecutorView(job_id=record.job_id, busy_slots=busy, tasks=tasks, **facts)
        for facts, busy, tasks in zip(found, taken, _tasks(taken, record.tasks), strict=True)
    )


def executor_on(machine: str, executors: Sequence[ExecutorView]) -> ExecutorView | None:
    """The executor that a task ran on; None if it may have been any of several.

    Args:
        machine: of the task, as ``host:pid``.
        executors: of its job.
    """
    if len(executors) == 1:
        return executors[0]
    host = machine.rpartition(":")[0]
    there = [each for each in executors if each.address.rpartition(":")[0] == host]
    return there[0] if len(there) == 1 else None


def slots_taken(slots: Sequence[int], parallelism: int) -> list[int]:
    """How many slots of each executor a job takes: evenly, and never more than there are.

    >>> slots_taken([4, 4], 3), slots_taken([2], 8)
    ([2, 1], [2])
    """
    taken = [0] * len(slots)
    for _ in range(min(parallelism, sum(slots))):
        freest = max(range(len(slots)), key=lambda number: slots[number] - taken[number])
        taken[freest] += 1
    return taken


def _tasks(taken: Sequence[int], tasks: int) -> list[int]:
    """How many tasks each executor has, if every slot has the same share."""
    ends = [0, *accumulate(taken)]
    parts = max(1, ends[-1])
    return [tasks * end // parts - tasks * begin // parts for begin, end in pairwise(ends)]
