"""Runs inside Spark's Python workers: hands a stage's rows to a Task and its packets back as rows.

In: source batches (mapInArrow), read as their layout says (hosts/spark/sources/layouts.py), or
packets (transformWithState).  Out: rows of ENVELOPE.
Tasks are kept between batches, because Spark reuses worker processes: functions stay open and state
stays cached.  Next: runtime/task.py
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import itertools
import json
import pickle
import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row

from headrace.common.clock import hold_processing_time
from headrace.data.codec import codec_for
from headrace.hosts.spark import user_files
from headrace.hosts.spark.inspection import let_inspect
from headrace.hosts.spark.microbatch.state_store import MapStateStore
from headrace.runtime.collector import look_seldom
from headrace.runtime.exchange.buffers import MESSAGE, TO_DRIVER, message_frame
from headrace.runtime.exchange.control_packets import ACTIVE, control_packets
from headrace.runtime.exchange.outbox import Outbox
from headrace.runtime.pages.store import DictStore
from headrace.runtime.task import StopTask, Task, pickle_error
from headrace.runtime.task_threads import TaskAtWork, note_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.hosts.spark.microbatch.processor import StageCode
    from headrace.hosts.spark.sources.layouts import SourceLayout
    from headrace.runtime.exchange.control_packets import SourceEdge
    from headrace.runtime.exchange.outbox import Packet

ENVELOPE = "slot int, channel int, seq int, packet binary"
_ENVELOPE_ARROW = pa.schema(
    [("slot", pa.int32()), ("channel", pa.int32()), ("seq", pa.int32()), ("packet", pa.binary())]
)
# A property of Spark's jobs, set by the driver: when their batch was planned.
PLANNED_MS = "headrace.batch.planned-ms"
# Channels of stage-0 tasks are numbered per source; Spark never makes that many partitions.
CHANNELS_PER_SOURCE = 1_000_000


_tasks: dict[tuple[str, int], Task] = {}


def _task(code: StageCode, subtask: int, store: Any) -> Task:
    task = _tasks.get((code.key, subtask))
    if task is None or task.stage.bounded:  # what another attempt at the one batch left is no use
        _prepare_process(code)
        task = Task(pickle.loads(code.stage), subtask, store)
        _tasks[code.key, subtask] = task
    return task


def _prepare_process(code: StageCode) -> None:
    code.user_code.adopt()
    user_files.enter(code.shipped)
    look_seldom()
    let_inspect(code.inspector)
    if not _tasks:
        atexit.register(_close_all)
    for key in [key for key in _tasks if key[0].split("/")[0] != code.key.split("/")[0]]:
        _close(_tasks.pop(key))  # of a job or an attempt that has ended


def _rest_collector() -> None:
    """Spark collects garbage in full after every task: do not let it look at all that stays.

    That costs 35 ms for the modules alone, and 0.3 s with a large state, four times a batch. What
    is there now is set aside; now and then everything is looked at, for cycles that user code left.
    """
    if next(_finished) % _COLLECT_EVERY == 0:
        gc.unfreeze()
    else:
        gc.freeze()


_COLLECT_EVERY = 100
_finished = itertools.count(1)


def _close(task: Task) -> None:
    with contextlib.suppress(Exception):  # the job is over; nothing can be done about it
        task.close()


def _close_all() -> None:
    for task in _tasks.values():
        _close(task)


def _batch_id() -> int:
    return _local_property("streaming.sql.batchId") or 0


def _local_property(name: str) -> int | None:
    context = TaskContext.get()
    value = context.getLocalProperty(name) if context is not None else None
    return int(value) if value else None


def _attempt() -> str:
    return uuid.uuid4().hex[:12]


def _until_stopped(code: StageCode, subtask: int, packets: Iterator[Packet]) -> Iterator[Packet]:
    """A task that failed has reported to the driver; its caches cannot be trusted any more."""
    task = _tasks[code.key, subtask]
    ended = task.stage.bounded  # no further batch will come
    note_task(TaskAtWork.of(task.stage, subtask))
    try:
        yield from packets
    except StopTask:
        ended = True
    finally:
        note_task(None)
    if ended:
        _close(_tasks.pop((code.key, subtask)))
    _rest_collector()


def _failure(code: StageCode, error: Exception) -> list[Packet]:
    """A task that could not be made, because an open() raised or a module is missing here."""
    outbox = Outbox(len(code.slot_ids))
    outbox.add(0, message_frame(MESSAGE, TO_DRIVER, ("error", pickle_error(error))))
    return list(outbox.take_all())


def source_function(
    code: StageCode,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that mapInArrow runs for stage 0 of a source."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        def packets(task: Task) -> Iterator[Packet]:
            assert task.stage.source_type is not None
            layout: SourceLayout = pickle.loads(code.layout)
            parts = layout.parts(batches, codec_for(task.stage.source_type))
            return task.run_source(parts, _batch_id(), _attempt())

        partition = _partition()
        channel = code.source_number * CHANNELS_PER_SOURCE + partition
        yield from _run_stateless(code, partition, channel, packets)

    return run


def bounded_function(
    code: StageCode,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that mapInArrow runs for a later stage in BATCH mode: a partition is a slot."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = (
            [batch.column(name).to_pylist() for name in ("channel", "seq", "packet")]
            for batch in batches
        )
        rows = (row for lists in columns for row in zip(*lists, strict=True))
        partition = _partition()
        yield from _run_stateless(
            code,
            partition,
            partition,
            lambda task: task.run_packets(rows, _batch_id(), _attempt()),
        )

    return run


def _partition() -> int:
    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _run_stateless(
    code: StageCode, subtask: int, channel: int, run: Callable[[Task], Iterator[Packet]]
) -> Iterator[pa.RecordBatch]:
    """Run a task that keeps nothing in Spark's state store."""
    hold_processing_time(_local_property(PLANNED_MS))
    try:
        task = _task(code, subtask, DictStore())
        packets = _until_stopped(code, subtask, run(task))
    except Exception as error:
        packets = iter(_failure(code, error))
    for packet in packets:
        yield _envelope(code.slot_ids[packet.slot], channel, packet)


def control_function(
    edges: list[SourceEdge], ids: tuple[int, ...], number: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that mapInArrow runs for the control source: ticks and the end of input."""
    channel = number * CHANNELS_PER_SOURCE

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        commands = [c for batch in batches for c in batch.column("value").to_pylist()]
        if commands:
            active = {json.loads(c[len(ACTIVE) :]) for c in commands if c.startswith(ACTIVE)}
            end = "end" in commands
            for packet in control_packets(edges, len(ids), end=end, active=sorted(active)):
                yield _envelope(ids[packet.slot], channel, packet)

    return run


def _envelope(slot: int, channel: int, packet: Packet) -> pa.RecordBatch:
    return envelope_rows([(slot, channel, packet.seq, packet.content)])


def envelope_rows(rows: list[tuple[int, int, int, bytes]]) -> pa.RecordBatch:
    """Rows of ENVELOPE as a batch."""
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), _ENVELOPE_ARROW, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_ENVELOPE_ARROW)


def run_stage(code: StageCode, slot: int, rows: Iterable[Row], pages: Any) -> Iterator[Row]:
    """Run one batch of a subtask after an exchange; `pages` is Spark's map state."""
    hold_processing_time(_local_property(PLANNED_MS))
    subtask = code.slot_ids.index(slot)
    task = _tasks.get((code.key, subtask))
    store: Any = MapStateStore() if task is None else task.store
    store.use(pages)
    try:
        task = task or _task(code, subtask, store)
    except Exception as error:
        store.settle()
        yield from (_row(code, packet, subtask) for packet in _failure(code, error))
        return
    packets = ((row["channel"], row["seq"], bytes(row["packet"])) for row in rows)
    results = task.run_packets(packets, _batch_id(), _attempt())
    for packet in _until_stopped(code, subtask, results):
        yield _row(code, packet, subtask)
    store.settle()


def _row(code: StageCode, packet: Packet, subtask: int) -> Row:
    slot = code.slot_ids[packet.slot]
    return Row(slot=slot, channel=subtask, seq=packet.seq, packet=packet.content)
