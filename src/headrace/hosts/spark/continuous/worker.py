"""Runs inside Spark's Python workers: a task of a continuous run, for as long as the run lasts.

In: nothing for a source task, else rows with packets of the stage in front.  Out: rows of ENVELOPE.

Spark hands a row to Python when it knows the next one: it looks whether there is one before it
sees that its batch of one row is full.  So a last, empty row follows what has to arrive now, and is
itself what waits.  Next: hosts/continuous/tasks.py
"""

from __future__ import annotations

import gc
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext

from headrace.hosts.continuous.tasks import run_source_task, run_stage_task
from headrace.hosts.spark import user_files
from headrace.hosts.spark.inspection import let_inspect
from headrace.hosts.spark.microbatch.worker import ENVELOPE, envelope_rows
from headrace.runtime.collector import look_seldom

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from headrace.data.pickling import UserCode
    from headrace.hosts.continuous.loops import Row
    from headrace.hosts.continuous.tasks import StageTasks, TaskCode
    from headrace.runtime.exchange.outbox import Packet

    Rows = Iterator[pa.RecordBatch]

__all__ = ["ENVELOPE", "WorkerCode", "source_function", "stage_function"]

# the number of the row that only lets Spark see that there is one more
_PUSH = -1


@dataclass(frozen=True, slots=True)
class WorkerCode:
    """What Spark's workers need beside the code of tasks.

    Attributes:
        tasks: of the run.
        slot_ids: what Spark's hash puts into partition 0, 1, ...
        user_code: where the user's modules are.
        shipped: what came along for the workers (user_files.py).
        inspector: who may ask what workers are doing (inspection.py).
    """

    tasks: TaskCode
    slot_ids: tuple[int, ...]
    user_code: UserCode
    shipped: str
    inspector: bytes


def source_function(code: WorkerCode) -> Callable[[Rows], Rows]:
    """What mapInArrow runs for stage 0 of all sources: a partition is a channel."""

    def run(_: Rows) -> Rows:
        channel = _enter(code)
        return _sent(code, channel, run_source_task(code.tasks, channel))

    return run


def stage_function(code: WorkerCode, stage: StageTasks) -> Callable[[Rows], Rows]:
    """What mapInArrow runs for a later stage: a partition is a subtask."""

    def run(batches: Rows) -> Rows:
        subtask = _enter(code)
        bursts = run_stage_task(code.tasks, stage, subtask, _received(batches))
        return _sent(code, subtask, bursts)

    return run


def _enter(code: WorkerCode) -> int:
    """Let this process find the user's code; the number of its partition."""
    code.user_code.adopt()
    user_files.enter(code.shipped)
    look_seldom()
    let_inspect(code.inspector)
    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _received(batches: Rows) -> Iterator[Row]:
    """Packets as they lie in Arrow's memory."""
    for batch in batches:
        channels, numbers, packets = (batch.column(n) for n in ("channel", "seq", "packet"))
        for row in range(batch.num_rows):
            number = numbers[row].as_py()
            if number != _PUSH:
                yield channels[row].as_py(), number, memoryview(packets[row].as_buffer())


def _sent(code: WorkerCode, channel: int, bursts: Iterator[list[Packet]]) -> Rows:
    frozen = False
    try:
        for burst in bursts:
            if not frozen:  # functions are open, modules are there: not to be looked at again
                gc.freeze()
                frozen = True
            rows = [(code.slot_ids[p.slot], channel, p.seq, p.content) for p in burst]
            rows += [(slot, channel, _PUSH, b"") for slot in dict.fromkeys(row[0] for row in rows)]
            yield envelope_rows(rows)
    finally:
        _leave()


def _leave() -> None:
    """End this process: Spark stops a run by closing the pipes of its tasks.

    A worker that went on would only complain about that, and nobody needs it again: the next run
    has functions of its own.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
