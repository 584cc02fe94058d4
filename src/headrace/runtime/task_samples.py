"""Samples of what the tasks of a job in this process are doing: for flame graphs.

In: uids of steps.  Out: stacks from the outermost call inwards, each with how often it was seen on
and off the CPU.  Nothing runs while nobody asks.  Next: runtime/task_threads.py
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.runtime.task_threads import tasks_at_work

if TYPE_CHECKING:
    import threading
    from types import FrameType

    from headrace.common.opaque import JsonObject

Stack = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is sampled, and how.

    Attributes:
        uids: of the steps whose tasks are looked at.
        subtask: only this one; None for all.
        count: how many times.
        delay_s: between two times.
        depth: of a stack, at most; what lies further out is left out.
    """

    uids: frozenset[str]
    subtask: int | None
    count: int
    delay_s: float
    depth: int


def sampled(job_id: str, asked: Sampling) -> list[JsonObject]:
    """Look at the tasks of a job for a while."""
    seen: dict[bool, Counter[Stack]] = {True: Counter(), False: Counter()}
    before: dict[int, tuple[float, float]] = {}
    for _ in range(asked.count + 1):  # the first look only tells where the clocks stand
        for thread, frame in _frames(job_id, asked):
            now, used = time.monotonic(), _cpu_seconds(thread.native_id)
            ident = thread.ident or 0
            if ident in before:
                then, used_then = before[ident]
                on_cpu = (used - used_then) * 2 >= now - then
                seen[on_cpu][_stack(frame, asked.depth)] += 1
            before[ident] = (now, used)
        time.sleep(asked.delay_s)
    return [
        {"stack": list(stack), "on": seen[True][stack], "off": seen[False][stack]}
        for stack in seen[True] | seen[False]
    ]


def _frames(job_id: str, asked: Sampling) -> list[tuple[threading.Thread, FrameType]]:
    frames = sys._current_frames()
    return [
        (thread, frames[thread.ident])
        for thread, task in tasks_at_work()
        if task.job_id == job_id
        and task.uids & asked.uids
        and asked.subtask in (None, task.subtask)
        and thread.ident in frames
    ]


def _cpu_seconds(native_id: int | None) -> float:
    """CPU time of a thread; 0 where the system does not tell, or the thread is gone."""
    try:
        told = Path(f"/proc/self/task/{native_id}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    user, system = told.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _stack(frame: FrameType | None, depth: int) -> Stack:
    calls: list[str] = []
    while frame is not None and len(calls) < depth:
        module = frame.f_globals.get("__name__", "?")
        calls.append(f"{module}.{frame.f_code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return tuple(reversed(calls))
