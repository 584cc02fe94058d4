"""Which thread of this process runs which task: for those who look at what tasks are doing.

In: tasks that begin.  Out: `tasks_at_work`.  A note is one entry in a dictionary for every task and
epoch, and goes with its thread.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from headrace.runtime.stage import StagePlan


@dataclass(frozen=True, slots=True)
class TaskAtWork:
    """A task, and the uids of the steps that it runs."""

    job_id: str
    uids: frozenset[str]
    subtask: int

    @staticmethod
    def of(stage: StagePlan, subtask: int) -> TaskAtWork:
        """A subtask of a stage."""
        uids = {operator.uid for operator in stage.operators}
        if stage.source is not None:
            uids.add(stage.source)
        return TaskAtWork(stage.job_id, frozenset(uids), subtask)


_at_work: WeakKeyDictionary[threading.Thread, TaskAtWork] = WeakKeyDictionary()


def note_task(task: TaskAtWork | None) -> None:
    """What the thread that calls runs from now on; None for no task."""
    if task is None:
        _at_work.pop(threading.current_thread(), None)
    else:
        _at_work[threading.current_thread()] = task


def tasks_at_work() -> list[tuple[threading.Thread, TaskAtWork]]:
    """The threads that run a task right now."""
    found = [(thread, _at_work.get(thread)) for thread in threading.enumerate()]
    return [(thread, task) for thread, task in found if task is not None]
