"""The stages of a plan in one process: what Spark's shuffles and tasks do, as a loop.

In: records for every source, commands.  Out: what the tasks reported (EpochResults).
Next: runtime/task.py
"""

from __future__ import annotations

import contextlib
import pickle
import uuid
from typing import TYPE_CHECKING

import cloudpickle

from headrace.runtime.exchange.control_packets import control_packets, source_edges
from headrace.runtime.messages import read_messages
from headrace.runtime.pages.store import DictStore
from headrace.runtime.task import StopTask, Task
from headrace.runtime.task_threads import TaskAtWork, note_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.hosts.local.sources import Part
    from headrace.plan.physical import PhysicalPlan
    from headrace.runtime.exchange.outbox import Packet
    from headrace.runtime.pages.store import PageStore
    from headrace.runtime.stage import StagePlan
    from headrace.spi.host import EpochResults

# subtask -> (channel, seq, content)
Mail = dict[int, list[tuple[int, int, bytes]]]
_CHANNELS_PER_SOURCE = 1_000


class LocalStages:
    """All tasks of a plan; their functions stay open from epoch to epoch.

    Args:
        plan: what is run.
        store_of: the store of (stage, subtask).
        clock: processing time in epoch milliseconds.
        heed_stop: called while an epoch runs; raises if it is to end now.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        store_of: Callable[[int, int], PageStore],
        clock: Callable[[], int],
        heed_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self._plan = plan
        self._heed_stop = heed_stop
        self._store_of = store_of
        self._clock = clock
        self.tasks: dict[tuple[int, int], Task] = {}

    def run(
        self,
        epoch: int,
        inputs: Iterable[list[Iterable[Part]]],
        *,
        commands: Iterable[str] = (),
        active: Iterable[str] = (),
    ) -> EpochResults:
        """Run one epoch.

        Args:
            epoch: its number.
            inputs: for every source in order, what each of its tasks reads.
            commands: ``tick`` and ``end``.
            active: splits that are held back, and not idle (hosts/alignment.py).
        """
        mail: Mail = {}
        for number, (source, tasks) in enumerate(zip(self._plan.sources, inputs, strict=False)):
            for part, parts in enumerate(tasks):
                # before the first exchange nothing is kept but the user's functions
                task = self._task(source.stage, (-1 - number, part), DictStore)
                packets = task.run_source(parts, epoch, uuid.uuid4().hex)
                _deliver(mail, number * _CHANNELS_PER_SOURCE + part, packets)
        commands, active = list(commands), list(active)
        if commands or active:
            edges = source_edges(source.stage for source in self._plan.sources)
            end = "end" in commands
            sent = control_packets(edges, self._plan.slots, end=end, active=active)
            _deliver(mail, len(self._plan.sources) * _CHANNELS_PER_SOURCE, sent)
        for stage in self._plan.stages:
            mail = self._run_stage(stage, mail, epoch)
        note_task(None)
        return read_messages([content for box in mail.values() for _, _, content in box])

    def _run_stage(self, stage: StagePlan, mail: Mail, epoch: int) -> Mail:
        following: Mail = {}
        for subtask, packets in sorted(mail.items()):
            place = (stage.level, subtask)
            task = self._task(stage, place, lambda place=place: self._store_of(*place))  # type: ignore[misc]
            _deliver(following, subtask, task.run_packets(packets, epoch, uuid.uuid4().hex))
        return following

    def _task(
        self, stage: StagePlan, place: tuple[int, int], store: Callable[[], PageStore]
    ) -> Task:
        note_task(TaskAtWork.of(stage, place[1]))
        if place not in self.tasks:
            copied = pickle.loads(cloudpickle.dumps(stage))  # as a worker gets it
            self.tasks[place] = Task(
                copied, place[1], store(), clock=self._clock, heed_stop=self._heed_stop
            )
        return self.tasks[place]

    def forget(self) -> None:
        """As if all processes were gone: only what is stored survives.

        The user's functions are closed, as in a worker whose batch failed.
        """
        tasks, self.tasks = self.tasks, {}
        for task in tasks.values():
            with contextlib.suppress(Exception):  # the batch has its error already
                task.close()

    def close(self) -> None:
        """Close the user's functions."""
        for task in self.tasks.values():
            task.close()
        self.tasks.clear()


def _deliver(mail: Mail, channel: int, packets: Iterator[Packet]) -> None:
    try:
        for packet in packets:
            mail.setdefault(packet.slot, []).append((channel, packet.seq, packet.content))
    except StopTask:
        pass  # the error is on its way to the driver
