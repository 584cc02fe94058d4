"""Runs a whole program in this process, without Spark: for tests that must take milliseconds.

The same plan, stages, tasks, packets and state pages as on Spark; only the moving of packets
between stages is a loop here.  A test decides how the input is cut into batches, when a restart
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

import pickle
import uuid
from typing import TYPE_CHECKING, Any

import cloudpickle

from headrace.common.clock import wall_clock
from headrace.connectors.driver.collect import CollectSink
from headrace.control.messages import read_messages
from headrace.control.metrics import JobMetrics
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.errors import UnsupportedStepError
from headrace.plan.planner import PlanOptions, plan
from headrace.runtime.exchange.control_packets import control_packets, source_edges
from headrace.runtime.pages.store import DictStore
from headrace.runtime.task import StopTask, Task
from headrace.spi.python_source import PythonSource
from headrace.spi.sink import CommitterContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.control.messages import BatchMessages
    from headrace.datastream.data_stream import DataStream
    from headrace.plan.physical import PhysicalPlan
    from headrace.runtime.exchange.outbox import Packet
    from headrace.runtime.stage import StagePlan
    from headrace.spi.source import Source

# subtask -> (channel, seq, content)
_Mail = dict[int, list[tuple[int, int, bytes]]]


class LocalRunner:
    """A program whose batches the test feeds one by one.

    Args:
        streams: the streams to watch; their records come back from every call, main stream first.
        parallelism: subtasks of every step that does not say otherwise.
        source_tasks: into how many tasks each source's part of a batch is cut.
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
            stream._sink(CollectSink(output.extend), "Collect")._step
            for stream, output in zip(streams, self._outputs, strict=True)
        ]
        env = streams[0]._env
        graph = env._graph.reachable_from(ends)
        env._graph.steps = [step for step in env._graph.steps if step not in ends]
        mode = env._settings().get_string("execution.runtime-mode", "STREAMING")
        options = PlanOptions(
            parallelism, max_parallelism, mode=mode, job_id=uuid.uuid4().hex, native=False
        )
        self.plan: PhysicalPlan = plan(graph, options)
        self.metrics = JobMetrics()
        self._clock = clock
        self._source_tasks = source_tasks
        self._batch_id = 0
        self._stores: dict[tuple[int, int], DictStore] = {}
        self._tasks: dict[tuple[int, int], Task] = {}
        self._committers = {
            step.stable_id: step.operator.sink.create_committer(  # type: ignore[union-attr]
                CommitterContext(job_id=options.job_id, sink_uid=step.stable_id)
            )
            for step in self.plan.sinks
        }

    # --- what a test does ------------------------------------------------------------------------

    def run_batch(self, *inputs: Iterable[Any]) -> list[Any]:
        """Run one batch with records for each source, in the order of the sources.

        Returns:
            The new records of the watched stream, or a list of lists when several are watched.
        """
        if self.plan.batch and self._batch_id:
            raise UnsupportedStepError(
                "a program in BATCH mode takes its whole input in one batch",
                fix="give all records to one run_batch, or use RuntimeExecutionMode.STREAMING",
            )
        mail: _Mail = {}
        for number, (source, records) in enumerate(zip(self.plan.sources, inputs, strict=False)):
            for part, values in enumerate(_cut(list(records), self._source_tasks)):
                channel = number * 1000 + part
                task = self._new_task(source.stage, part)
                packets = task.run_source([("", Records(values))], self._batch_id, uuid.uuid4().hex)
                _deliver(mail, channel, packets)
        return self._run_stages(mail)

    def end_of_input(self) -> list[Any]:
        """Every source has ended: event time reaches its maximum.

        In BATCH mode that belongs to the one batch, and there is nothing left to do.
        """
        if self.plan.batch:
            return []
        return self._control(end=True)

    def tick(self) -> list[Any]:
        """Wake every subtask, so that processing-time timers fire."""
        return self._control(end=False)

    def _control(self, *, end: bool) -> list[Any]:
        mail: _Mail = {}
        edges = source_edges(source.stage for source in self.plan.sources)
        _deliver(mail, 0, control_packets(edges, self.plan.slots, end=end))
        return self._run_stages(mail)

    def restart(self) -> None:
        """Forget all processes; only what is stored survives."""
        self._tasks.clear()
        self._stores = {key: DictStore(store.snapshot()) for key, store in self._stores.items()}

    def state_entries(self) -> int:
        """How many pieces of state are stored, to find leaks."""
        return sum(len(store.content) for store in self._stores.values())

    def close(self) -> None:
        """Close the user's functions."""
        for task in self._tasks.values():
            task.close()
        self._tasks.clear()

    def __enter__(self) -> LocalRunner:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # --- moving packets --------------------------------------------------------------------------

    def _new_task(self, stage: StagePlan, subtask: int) -> Task:
        copied = pickle.loads(cloudpickle.dumps(stage))
        return Task(copied, subtask, DictStore(), clock=self._clock)

    def _task(self, stage: StagePlan, subtask: int) -> Task:
        key = (stage.level, subtask)
        if key not in self._tasks:
            store = self._stores.setdefault(key, DictStore())
            copied = pickle.loads(cloudpickle.dumps(stage))
            self._tasks[key] = Task(copied, subtask, store, clock=self._clock)
        return self._tasks[key]

    def _run_stages(self, mail: _Mail) -> list[Any]:
        before = {key: store.snapshot() for key, store in self._stores.items()}
        for stage in self.plan.stages:
            following: _Mail = {}
            for subtask, packets in sorted(mail.items()):
                task = self._task(stage, subtask)
                results = task.run_packets(packets, self._batch_id, uuid.uuid4().hex)
                _deliver(following, subtask, results)
            mail = following
        found = read_messages([content for box in mail.values() for _, _, content in box])
        if found.error is not None:
            # as on Spark: what stages of a failed batch stored does not count
            self._tasks.clear()
            self._stores = {key: DictStore(content) for key, content in before.items()}
            raise found.error
        return self._commit(found)

    def _commit(self, found: BatchMessages) -> list[Any]:
        for uid, committables in found.committables.items():
            self._committers[uid].commit(self._batch_id, committables)
        self.metrics.end_batch(self._batch_id, found.reports, 0.0)
        self._batch_id += 1
        results = [list(output) for output in self._outputs]
        for output in self._outputs:
            output.clear()
        return results[0] if len(results) == 1 else results


def collect_locally(stream: DataStream) -> list[Any]:
    """The records of a bounded stream, computed in this process.

    Works for programs whose sources are collections, sequences or other bounded Python sources.

    Raises:
        UnsupportedStepError: a source can be read by Spark only.
    """
    env = stream._env
    maximum = env.get_max_parallelism()
    runner = LocalRunner(
        stream,
        parallelism=env.get_parallelism(),
        max_parallelism=None if maximum < 0 else maximum,
    )
    with runner as job:
        inputs = [_all_records(plan.source) for plan in job.plan.sources]
        return [*job.run_batch(*inputs), *job.end_of_input()]


def _all_records(source: Source) -> list[Any]:
    if not isinstance(source, PythonSource) or not source.is_bounded():
        raise UnsupportedStepError(
            f"{type(source).__name__} cannot be read without Spark",
            fix="use a collection in tests that run in one process",
        )
    records: list[Any] = []
    for split in source.splits():
        start = source.initial_offset(split)
        end = source.latest_offset(split, start)
        columns = source.read_columns(split, start, end)
        if columns is None:
            records.extend(source.read(split, start, end))
        else:
            codec = codec_for(source.produced_type())
            for batch in columns:
                records.extend(codec.decode(batch))
    return records


def _deliver(mail: _Mail, channel: int, packets: Iterator[Packet]) -> None:
    try:
        for packet in packets:
            mail.setdefault(packet.slot, []).append((channel, packet.seq, packet.content))
    except StopTask:
        pass  # the error is on its way to the driver


def _cut(records: list[Any], parts: int) -> list[list[Any]]:
    size = -(-len(records) // parts) or 1
    return [records[start : start + size] for start in range(0, len(records), size)] or [[]]
