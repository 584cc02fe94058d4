"""Continuous mode in this process: every task a thread, packets in queues, no Spark.

In: a JobSpec, then plans whose sources can be read in Python.  Out: runs and checkpoints, the same
as hosts/spark/continuous/ has: epochs, barriers, state and recovery are those of hosts/continuous/.
For small jobs, and for tests of all of it without a JVM.  Next: hosts/continuous/coordinator.py
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, ClassVar

from headrace.hosts.continuous.checkpoints import SegmentCheckpoints
from headrace.hosts.continuous.coordinator import ContinuousRun
from headrace.hosts.continuous.epochs import FOLDER
from headrace.hosts.continuous.feeding import task_count
from headrace.hosts.continuous.settings import (
    loop_settings,
    read_in_python,
    refuse_batch,
    run_settings,
)
from headrace.hosts.continuous.tasks import TaskCode, run_source_task, run_stage_task
from headrace.hosts.local.process import InThisProcess
from headrace.runtime.collector import seldom_looking
from headrace.spi.host import Carriage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.hosts.continuous.loops import Row
    from headrace.hosts.continuous.wire import Address
    from headrace.plan.physical import PhysicalPlan
    from headrace.runtime.exchange.outbox import Packet
    from headrace.spi.host import OnDelivery, OnEpoch, Place
    from headrace.spi.job_spec import JobSpec

# packets on their way to a subtask: beyond them its senders wait
_ON_THE_WAY = 32
_LOOPBACK = "127.0.0.1"


class LocalContinuousHost(InThisProcess):
    """Runs plans in threads of this process."""

    carriage: ClassVar[Carriage] = Carriage(
        whole="One job in this process (continuous mode)",
        engine="python",
        source="a source is read by a thread of this process",
        first="threads that run until the job ends",
        later="threads that run until the job ends, one per subtask",
        later_in_batch="",
    )

    def __init__(self, spec: JobSpec) -> None:
        super().__init__(spec)
        refuse_batch(spec)

    @property
    def folder(self) -> str:
        """Where its checkpoints are."""
        return FOLDER

    @property
    def epochs_overlap(self) -> bool:
        """Tasks go on while sinks commit."""
        return True

    def prepare(self, plan: PhysicalPlan, place: Place) -> None:
        """Refuse what only Spark can read."""
        self._sources = [read_in_python(each) for each in plan.sources]
        self.check_directory(place)

    def open(
        self, plan: PhysicalPlan, place: Place, on_epoch: OnEpoch, on_delivery: OnDelivery
    ) -> ContinuousRun:
        """A new run from the newest epoch."""
        spec = self._spec
        counts = [task_count(source, spec.parallelism) for source in self._sources]
        code = TaskCode.maker(plan, self._sources, counts, place, loop_settings(spec))
        carrier = ThreadCarrier(code, len(plan.stages), plan.slots)
        return ContinuousRun(
            plan,
            self._sources,
            directory=place.directory,
            carrier=carrier,
            settings=run_settings(spec, _LOOPBACK, _LOOPBACK),
            counts=counts,
            on_epoch=on_epoch,
            on_delivery=on_delivery,
        )

    def checkpoints(self, plan: PhysicalPlan, place: Place) -> SegmentCheckpoints:
        """What is stored of the job."""
        return SegmentCheckpoints(plan, place.directory)


class ThreadCarrier:
    """Runs every task in a thread.

    Args:
        code: of the tasks, given where the driver listens.
        stages: how many stages stand behind an exchange.
        slots: how many subtasks each of them has.
    """

    def __init__(self, code: Callable[[Address], TaskCode], stages: int, slots: int) -> None:
        self._code = code
        self._stopped = False
        self._threads: list[threading.Thread] = []
        # for every stage behind an exchange, what travels to each of its subtasks
        self._ways: list[list[queue.Queue[Row | None]]] = [
            [queue.Queue(_ON_THE_WAY) for _ in range(slots)] for _ in range(stages)
        ]

    def slots(self) -> None:
        """Threads need none."""

    def start(self, address: Address) -> None:
        """Start all threads."""
        code = self._code(address)
        for channel in range(len(code.seats)):
            self._begin(run_source_task(code, channel), channel, 0)
        for number, stage in enumerate(code.later):
            for subtask in range(code.slots):
                rows = self._rows(self._ways[number][subtask])
                self._begin(run_stage_task(code, stage, subtask, rows), subtask, number + 1)

    def _begin(self, bursts: Iterator[list[Packet]], channel: int, following: int) -> None:
        thread = threading.Thread(
            target=self._send, args=(bursts, channel, following), name="headrace-task", daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def _send(self, bursts: Iterator[list[Packet]], channel: int, following: int) -> None:
        """Drain a task; its packets go to the stage behind it, or nowhere."""
        with seldom_looking():
            for burst in bursts:
                for packet in burst if following < len(self._ways) else ():
                    row = (channel, packet.seq, packet.content)
                    if not self._put(self._ways[following][packet.slot], row):
                        return

    def _put(self, way: queue.Queue[Row | None], row: Row) -> bool:
        while not self._stopped:
            try:
                way.put(row, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def _rows(self, way: queue.Queue[Row | None]) -> Iterator[Row]:
        while not self._stopped:
            row = way.get()
            if row is None:
                return
            yield row

    def failure(self) -> BaseException | None:
        """Tasks tell their errors over their lines."""
        return None

    def expect_end(self) -> None:
        """Nobody complains about threads that end."""

    def stop(self) -> None:
        """End all threads, those that run a user's function when it returns."""
        self._stopped = True
        for ways in self._ways:
            for way in ways:
                while True:
                    try:
                        way.put_nowait(None)
                        break
                    except queue.Full:
                        way.get_nowait()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(1.0)

    @property
    def can_run_again(self) -> bool:
        """Always: this process is the host."""
        return True
