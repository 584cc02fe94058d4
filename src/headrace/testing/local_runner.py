"""Runs a whole program in this process, without Spark: for tests that must take milliseconds.

The same plan, stages, tasks, packets and state pages as on Spark; only here a loop moves
the packets between stages.  A test decides how the input is split into batches, when a restart
happens and what the clock says.

Example:
    >>> env = StreamExecutionEnvironment.get_execution_environment()      # doctest: +SKIP
    >>> numbers = env.from_collection([])                                 # doctest: +SKIP
    >>> with LocalRunner(numbers.map(lambda x: x * 2)) as job:            # doctest: +SKIP
    ...     job.run_batch([1, 2, 3])
    ...     job.run_batch([4])
    ...     job.end_of_input()
    [2, 4, 6]
    [8]
    []
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from headrace.common.clock import wall_clock
from headrace.control.executor import check_gives_all_at_once
from headrace.control.metrics import JobMetrics
from headrace.data.records import Records
from headrace.datastream.collecting import collecting_end
from headrace.errors import UnsupportedStepError
from headrace.hosts.alignment import Board
from headrace.hosts.local.sources import LocalSource
from headrace.hosts.local.stages import LocalStages
from headrace.plan.alignment import aligns
from headrace.plan.planner import PlanOptions, plan
from headrace.runtime.pages.store import DictStore
from headrace.spi.sink import CommitterContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headrace.datastream.data_stream import DataStream
    from headrace.hosts.local.sources import Part
    from headrace.hosts.pending import Report
    from headrace.plan.physical import PhysicalPlan
    from headrace.runtime.task import Task
    from headrace.spi.host import EpochResults

_POLL_S = 0.01


class LocalRunner:
    """A program whose batches the test feeds one by one.

    Args:
        streams: the streams to watch; their records come back from every call, main stream first.
        parallelism: subtasks of every step that does not set its own.
        source_tasks: into how many tasks each source's part of a batch is split.
        clock: processing time in epoch milliseconds.
    """

    def __init__(
        self,
        *streams: DataStream,
        parallelism: int = 2,
        max_parallelism: int | None = None,
        source_tasks: int = 1,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._outputs: list[list[Any]] = [[] for _ in streams]
        ends = [
            collecting_end(stream, output.extend)
            for stream, output in zip(streams, self._outputs, strict=True)
        ]
        env = streams[0]._env
        graph = env._graph.cut_off(ends)
        mode = env._settings().get_string("execution.runtime-mode", "STREAMING")
        options = PlanOptions(
            parallelism, max_parallelism, mode=mode, job_id=uuid.uuid4().hex, native=False
        )
        self.plan: PhysicalPlan = plan(graph, options)
        self.metrics = JobMetrics()
        self._source_tasks = source_tasks
        self._batch_id = 0
        self._sources: list[LocalSource] | None = None  # unless the test brings the records
        self._source_reports: list[Report] = []
        self._not_idle: list[str] = []  # splits, in the next batch
        self._board = Board(clock) if aligns(self.plan) else None
        # by (stage, subtask): all that survives `restart`
        self.stores: dict[tuple[int, int], DictStore] = {}
        self._stages = LocalStages(
            self.plan, lambda *place: self.stores.setdefault(place, DictStore()), clock
        )
        self._committers = {
            step.stable_id: step.operator.sink.create_committer(  # type: ignore[union-attr]
                CommitterContext(job_id=options.job_id, sink_uid=step.stable_id)
            )
            for step in self.plan.sinks
        }
        for committer in self._committers.values():
            committer.begin()

    # --- what a test does ------------------------------------------------------------------------

    def run_batch(self, *inputs: Iterable[Any]) -> list[Any]:
        """Run one batch with records for each source, in the order of the sources.

        Returns:
            The new records of the watched stream, or a list of lists when several are watched.
        """
        return self._run_tasks(
            [[("", Records(values))] for values in _cut(list(records), self._source_tasks)]
            for records in inputs
        )

    def read_batch(self, max_records: int | None = None) -> list[Any]:
        """Run one batch with what the program's own sources have now.

        A batch that fails is read again as it was, also after `restart`.

        Args:
            max_records: the most records that each source may give; None for all it has.

        Returns:
            As `run_batch` does.

        Raises:
            UnsupportedStepError: a source can be read by Spark only.
        """
        sources = self._opened_sources()
        tasks = [_shared(source.next_parts(max_records), self._source_tasks) for source in sources]
        uids = [plan.step.stable_id for plan in self.plan.sources]
        pairs = zip(sources, uids, strict=True)
        self._source_reports = [report for source, uid in pairs for report in source.reports(uid)]
        found = self._run_tasks(tasks)
        for source in sources:
            source.commit()
        return found

    @property
    def tasks(self) -> Mapping[tuple[int, int], Task]:
        """The tasks that have run so far, by (stage, subtask); sources have negative stages."""
        return self._stages.tasks

    @property
    def positions(self) -> list[Any]:
        """Where each source of the program is, as JSON values; for `read_batch`."""
        return [source.position for source in self._opened_sources()]

    def sources_are_exhausted(self) -> bool:
        """Whether no source holds records back; there may be new ones if one never ends."""
        return all(source.is_exhausted() for source in self._opened_sources())

    def _opened_sources(self) -> list[LocalSource]:
        if self._sources is None:
            self._sources = [
                LocalSource(
                    plan.source,
                    where=plan.step.call_site,
                    source_id=plan.step.stable_id,
                    board=self._board,
                )
                for plan in self.plan.sources
            ]
        return self._sources

    def _run_tasks(self, inputs: Iterable[list[list[Part]]]) -> list[Any]:
        """One batch; for every source its tasks, for every task its parts."""
        if self.plan.batch and self._batch_id:
            raise UnsupportedStepError(
                "a program in BATCH mode takes its whole input in one batch",
                fix="give all records to one run_batch, or use RuntimeExecutionMode.STREAMING",
            )
        return self._run(list(inputs))

    def end_of_input(self) -> list[Any]:
        """Every source has ended: event time reaches its maximum.

        In BATCH mode that belongs to the one batch, and there is nothing left to do.
        """
        if self.plan.batch:
            return []
        return self._run([], "end")

    def tick(self) -> list[Any]:
        """Wake every subtask, so that processing-time timers fire."""
        return self._run([], "tick")

    def restart(self) -> None:
        """Forget all processes; only what is stored survives."""
        self._stages.forget()
        self._close_sources()
        if self._board is not None:
            self._board.clear()
            self._not_idle = []
        self.stores = {key: DictStore(store.snapshot()) for key, store in self.stores.items()}

    def state_entries(self) -> int:
        """How many pieces of state are stored, to find leaks."""
        return sum(len(store.content) for store in self.stores.values())

    def close(self) -> None:
        """Close the user's functions."""
        self._stages.close()
        self._close_sources()

    def _close_sources(self) -> None:
        for source in self._sources or ():
            source.close()

    def __enter__(self) -> LocalRunner:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _run(self, parts: list[list[Any]], *commands: str) -> list[Any]:
        before = {key: store.snapshot() for key, store in self.stores.items()}
        found = self._stages.run(self._batch_id, parts, commands=commands, active=self._not_idle)
        if found.error is not None:
            # as on Spark: what stages of a failed batch stored does not count
            self._stages.forget()
            self.stores = {key: DictStore(content) for key, content in before.items()}
            raise found.error
        if self._board is not None:
            self._board.note(found.aligned)
            self._not_idle = self._board.not_idle()
        return self._commit(found)

    def _commit(self, found: EpochResults) -> list[Any]:
        for uid, committables in found.committables.items():
            self._committers[uid].commit(self._batch_id, committables)
        reports, self._source_reports = [*found.reports, *self._source_reports], []
        self.metrics.end_batch(self._batch_id, reports, 0.0)
        self._batch_id += 1
        results = [list(output) for output in self._outputs]
        for output in self._outputs:
            output.clear()
        return results[0] if len(results) == 1 else results


def collect_locally(stream: DataStream) -> list[Any]:
    """The records of a bounded stream, as execute_and_collect gives them, computed in this process.

    Works for programs whose sources are collections, sequences or other bounded Python sources.

    Raises:
        UnsupportedStepError: a source can be read by Spark only.
    """
    env = stream._env
    maximum = env.get_max_parallelism()
    runner = LocalRunner(
        stream._collected(),
        parallelism=env.get_parallelism(),
        max_parallelism=None if maximum < 0 else maximum,
    )
    with runner as job:
        _check_can_be_collected(job.plan)
        found = job.read_batch()
        while not job.sources_are_exhausted():
            time.sleep(_POLL_S)  # a rate limit holds records back
            found += job.read_batch()
        return [*found, *job.end_of_input()]


def _check_can_be_collected(physical: PhysicalPlan) -> None:
    for each in physical.sources:
        if not each.source.is_bounded():
            raise UnsupportedStepError(
                f"{each.source.describe()} never ends, so its records cannot be collected",
                where=str(each.step.call_site),
                fix="use a bounded source, or feed a LocalRunner batch by batch",
            )
    if physical.batch:
        check_gives_all_at_once(physical)


def _cut(records: list[Any], parts: int) -> list[list[Any]]:
    size = -(-len(records) // parts) or 1
    return [records[start : start + size] for start in range(0, len(records), size)] or [[]]


def _shared(parts: list[Part], tasks: int) -> list[list[Part]]:
    """Parts in turn to some tasks; the parts of a split stay together, as on Spark."""
    numbers = {split: number for number, split in enumerate(dict.fromkeys(s for s, _ in parts))}
    shares: list[list[Part]] = [[] for _ in range(tasks)]
    for split, records in parts:
        shares[numbers[split] % tasks].append((split, records))
    return shares
