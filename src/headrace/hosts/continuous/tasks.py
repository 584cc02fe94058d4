"""A task of a continuous run, from its first word to the driver to its last packet.

In: what all tasks of a run get to know (`TaskCode`), a seat.  Out: bursts of packets, until the run
is over.  Whoever carries packets drains it: hosts/spark/continuous/worker.py in Spark's workers,
hosts/local/continuous.py in threads.  Next: hosts/continuous/loops.py
"""

from __future__ import annotations

import pickle
import tempfile
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import cloudpickle

from headrace.common.clock import hold_processing_time
from headrace.data.codec import codec_for
from headrace.hosts.continuous.epochs import state_folder
from headrace.hosts.continuous.loops import LoopSettings, SourceLoop, StageLoop
from headrace.hosts.continuous.segments import Segments, SegmentStore
from headrace.hosts.continuous.wire import Address, Line, connect
from headrace.runtime.continuous_task import ContinuousTask
from headrace.runtime.pages.store import DictStore
from headrace.runtime.task import pickle_error
from headrace.runtime.task_threads import TaskAtWork, note_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.hosts.continuous.loops import Row
    from headrace.plan.physical import PhysicalPlan
    from headrace.runtime.exchange.outbox import Packet
    from headrace.runtime.pages.store import PageStore
    from headrace.runtime.stage import StagePlan
    from headrace.spi.host import Place
    from headrace.spi.python_source import PythonSource

    Bursts = Iterator[list[Packet]]
    Rows = Iterable[Row]

__all__ = ["StageTasks", "TaskCode", "run_source_task", "run_stage_task"]


@dataclass(frozen=True, slots=True)
class StageTasks:
    """The tasks behind one exchange.

    Attributes:
        level: of the stage.
        stage: pickled.
        channels: the senders that each of them hears.
    """

    level: int
    stage: bytes
    channels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TaskCode:
    """What all tasks of a run get to know before they ask the driver.

    Attributes:
        address: of the driver.
        seats: the source tasks: (number of the source, task of it), by channel.
        sources: for each source its stage 0 and the source, pickled.
        later: the stages behind.
        slots: how many subtasks they have.
        settings: of the loops.
        directory: of the job.
        job_id: of the job.
    """

    address: Address
    seats: tuple[tuple[int, int], ...]
    sources: tuple[tuple[bytes, bytes], ...]
    later: tuple[StageTasks, ...]
    slots: int
    settings: LoopSettings
    directory: str
    job_id: str

    @staticmethod
    def maker(
        plan: PhysicalPlan,
        sources: Sequence[PythonSource],
        counts: Sequence[int],
        place: Place,
        settings: LoopSettings,
    ) -> Callable[[Address], TaskCode]:
        """Makes the tasks of a plan, once it is known where the driver listens.

        Args:
            plan: its stages.
            sources: of the plan, as they are read in Python.
            counts: how many tasks read each of them.
            place: of the job.
            settings: of the loops.
        """
        seats = tuple((n, task) for n, count in enumerate(counts) for task in range(count))
        later = []
        channels = tuple(range(len(seats)))
        for stage in plan.stages:
            later.append(StageTasks(stage.level, cloudpickle.dumps(stage), channels))
            channels = tuple(range(plan.slots))
        return partial(
            TaskCode,
            seats=seats,
            sources=tuple(
                (cloudpickle.dumps(each.stage), cloudpickle.dumps(source))
                for each, source in zip(plan.sources, sources, strict=True)
            ),
            later=tuple(later),
            slots=plan.slots,
            settings=settings,
            directory=place.directory,
            job_id=place.job_id,
        )


def run_source_task(code: TaskCode, channel: int) -> Bursts:
    """One task of stage 0."""
    source, task = code.seats[channel]

    def start(line: Line, epoch: int, attempt: str, _: list[str]) -> Bursts:
        stage, reader = map(pickle.loads, code.sources[source])
        made = _task(code, stage, task, DictStore())
        codec = codec_for(stage.source_type)
        loop = SourceLoop(
            made, line, code.settings, source=reader, codec=codec, epoch=epoch, attempt=attempt
        )
        return loop.guarded(loop.packets())

    return _run(code, (0, source, task), start)


def run_stage_task(code: TaskCode, stage: StageTasks, subtask: int, rows: Rows) -> Bursts:
    """One subtask behind an exchange; rows are (channel, number, packet)."""

    def start(line: Line, epoch: int, attempt: str, names: list[str]) -> Bursts:
        store = _store(code, (stage.level, subtask), names)
        made = _task(code, pickle.loads(stage.stage), subtask, store)
        loop = StageLoop(
            made,
            line,
            code.settings,
            channels=stage.channels,
            store=store,
            epoch=epoch,
            attempt=attempt,
        )
        return loop.guarded(loop.packets(rows))

    return _run(code, (stage.level, 0, subtask), start)


def _task(code: TaskCode, stage: StagePlan, subtask: int, store: PageStore) -> ContinuousTask:
    note_task(TaskAtWork.of(stage, subtask))  # until the task ends, and its thread with it
    emits = code.settings.watermark_interval_ms > 0
    hold_processing_time(None)  # this worker may have run batches of another job before
    return ContinuousTask(stage, subtask, store, emits_watermarks=emits)


def _store(code: TaskCode, place: tuple[int, int], names: list[str]) -> SegmentStore:
    cache = f"{tempfile.gettempdir()}/headrace-state/{code.job_id}/{place[0]}-{place[1]}"
    return SegmentStore(Segments(state_folder(code.directory, place), cache), names)


def _run(code: TaskCode, seat: tuple[int, int, int], start: Callable[..., Bursts]) -> Bursts:
    """Report to the driver, learn where to begin, and go."""
    line = connect(code.address)
    try:
        line.send("hello", seat)
        try:
            bursts = start(line, *line.receive()[1:])
        except (EOFError, ConnectionError):
            return  # the run is over before it began
        except Exception as error:  # an open() raised, or a module is missing here
            line.send("error", pickle_error(error))
            return
        line.send("ready")
        yield from bursts
    finally:
        line.close()
