"""What the threads of this process are doing, in the words of Flink's thread dump.

Out: the name and the stack of every thread; stacks have lines of code, never values.
Next: runtime/task_threads.py (which of them runs a task)
"""

from __future__ import annotations

import sys
import threading
import traceback
from typing import TYPE_CHECKING

from headrace.runtime.task_threads import tasks_at_work

if TYPE_CHECKING:
    from types import FrameType

    from headrace.common.opaque import JsonObject
    from headrace.runtime.task_threads import TaskAtWork


def thread_infos() -> list[JsonObject]:
    """All threads that Python knows, with their stacks: the innermost call comes last."""
    frames = sys._current_frames()
    # those that libraries start in C have no name of their own
    known = {thread.ident: thread.name for thread in threading.enumerate()}
    tasks = {thread.ident: task for thread, task in tasks_at_work()}
    return [
        _info(known.get(ident, f"thread-{ident}"), ident, frame, tasks.get(ident))
        for ident, frame in frames.items()
    ]


def _info(name: str, ident: int, frame: FrameType, task: TaskAtWork | None) -> JsonObject:
    head = f'"{name}" Id={ident}'
    if task is not None:
        head += f" runs subtask {task.subtask} of {', '.join(sorted(task.uids))}"
    return {
        "threadName": name,
        # ends with an empty line, as a JVM's does: who shows a dump puts nothing in between
        "stringifiedThreadInfo": f"{head}\n{''.join(traceback.format_stack(frame))}\n",
    }
