"""What a job's tasks reported, added up over epochs: by operator and subtask, and by task.

In: reports of committed epochs (control/attempt.py); in continuous mode also of the running one.
Out: totals and rates under Flink's names.  Next: control/history.py writes them
"""

from __future__ import annotations

import copy
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.common.constants import MIN_LONG_VALUE
from headrace.control.accumulators import AccumulatorTotals
from headrace.control.checkpoint_history import CheckpointHistory
from headrace.control.rates import RateWindow
from headrace.control.split_times import SplitTimes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.common.opaque import JsonObject, StateValue
    from headrace.plan.vertices import Vertex
    from headrace.spi.host import TaskReport

__all__ = ["JobMetrics", "OperatorTotals", "SubtaskTotals", "TaskTotals"]

# tasks first tell of themselves after so long
_SHORTEST_MS = 1_000
# (level, uid of the source or "", subtask)
TaskKey = tuple[int, str, int]
_Report = tuple[int, "dict[str, JsonObject]"]


@dataclass(slots=True)
class SubtaskTotals:
    """One operator in one subtask, over the life of the job."""

    records_in: int = 0
    records_out: int = 0
    late_records_dropped: int = 0
    watermark: int | None = None
    busy_ms: float = 0.0
    state_bytes: int | None = None
    written_bytes: int = 0  # in the newest epoch
    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, StateValue] = field(default_factory=dict)
    meters: dict[str, int] = field(default_factory=dict)
    distributions: dict[str, tuple[int, float, float, float]] = field(default_factory=dict)

    def add(self, content: JsonObject) -> None:
        """Take in what an epoch contributed (runtime/metrics.py)."""
        self.records_in += content["records_in"]
        self.records_out += content["records_out"]
        self.late_records_dropped += content["late_records_dropped"]
        self.busy_ms += content.get("busy_ms", 0.0)
        if content["watermark"] is not None:
            self.watermark = content["watermark"]
        if content.get("state_bytes") is not None:
            self.state_bytes = content["state_bytes"]
            self.written_bytes = content["written_bytes"]
        self.gauges.update(content["gauges"])
        self.meters.update(content.get("meters", {}))
        for name, count in content["counters"].items():
            self.counters[name] = self.counters.get(name, 0) + count
        for name, (count, total, low, high) in content.get("distributions", {}).items():
            n, summed, least, most = self.distributions.get(name, (0, 0, low, high))
            self.distributions[name] = (n + count, summed + total, min(least, low), max(most, high))


@dataclass(slots=True)
class OperatorTotals:
    """One operator over all its subtasks."""

    subtasks: dict[int, SubtaskTotals] = field(default_factory=dict)
    # the newest of any subtask
    gauges: dict[str, StateValue] = field(default_factory=dict)

    def add(self, subtask: int, content: JsonObject) -> None:
        """Take in what a subtask contributed."""
        self.subtasks.setdefault(subtask, SubtaskTotals()).add(content)
        self.gauges.update(content["gauges"])

    @property
    def records_in(self) -> int:
        """Of all subtasks."""
        return sum(each.records_in for each in self.subtasks.values())

    @property
    def records_out(self) -> int:
        """Of all subtasks."""
        return sum(each.records_out for each in self.subtasks.values())

    @property
    def late_records_dropped(self) -> int:
        """Of all subtasks."""
        return sum(each.late_records_dropped for each in self.subtasks.values())

    @property
    def watermark(self) -> int:
        """The lowest of the subtasks that have one."""
        found = [each.watermark for each in self.subtasks.values() if each.watermark is not None]
        return min(found, default=MIN_LONG_VALUE)

    @property
    def counters(self) -> dict[str, float]:
        """Of all subtasks."""
        found: dict[str, float] = {}
        for each in self.subtasks.values():
            for name, count in each.counters.items():
                found[name] = found.get(name, 0) + count
        return found


@dataclass(slots=True)
class TaskTotals:
    """One task over the life of the job: where its time went, what passed it.

    Attributes:
        pressed_ms: it waited for those behind it.
        began_ms: when it was first heard of.
        uids: of the operators in it.
    """

    uids: tuple[str, ...] = ()
    busy_ms: float = 0.0
    own_ms: float = 0.0
    pressed_ms: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    began_ms: int = 0
    ended_ms: int = 0
    machine: str = ""

    def add(self, report: TaskReport, behind_ms: float) -> None:
        """Take in an epoch.

        Args:
            report: of the task.
            behind_ms: how long the stages behind it worked on the epoch, while it waited.
        """
        # between micro-batches nobody takes packets but Spark, which writes them: work, not waiting
        handed_ms = report.blocked_ms if report.in_steps else 0.0
        self.busy_ms += report.busy_ms + handed_ms
        self.own_ms += report.own_ms + handed_ms
        self.pressed_ms += behind_ms if report.in_steps else report.blocked_ms
        self.bytes_in += report.bytes_in
        self.bytes_out += report.bytes_out
        self.began_ms = self.began_ms or report.began_ms
        self.ended_ms = report.ended_ms
        self.machine = report.machine
        self.uids = report.uids


def behind_ms(tasks: Iterable[TaskReport]) -> dict[int, float]:
    """For each level how long the stages behind it worked on an epoch.

    In micro-batches a stage works when the one in front of it is done, and the source cannot begin
    the next batch before the last stage has ended: what Flink calls back pressure.
    """
    began: dict[int, int] = {}
    ended: dict[int, int] = {}
    for task in tasks:
        began[task.level] = min(task.began_ms, began.get(task.level, task.began_ms))
        ended[task.level] = max(task.ended_ms, ended.get(task.level, task.ended_ms))
    return {
        level: float(sum(ended[later] - began[later] for later in began if later > level))
        for level in began
    }


class JobMetrics:
    """Thread-safe totals of a job; only committed epochs count, each once.

    Of an epoch that runs for long, tasks tell in between how far they are; that is added when
    somebody looks, and forgotten when the epoch is committed or repeated.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.operators: dict[str, OperatorTotals] = {}
        self.tasks: dict[TaskKey, TaskTotals] = {}
        self._accumulators = AccumulatorTotals()
        self.checkpoints = CheckpointHistory()
        self.splits = SplitTimes()
        self.batches = 0
        self.restarts = 0
        self.last_batch_id = -1
        self.started = time.time()
        self.last_batch_ms = 0.0
        self.changes = 0  # grows with everything that somebody could show
        self._began_ms: int | None = None  # when the batch that runs began
        self._began_s: float | None = None  # the same by a clock that never goes back
        self._running: dict[tuple[int, TaskKey], tuple[TaskReport, dict[str, JsonObject]]] = {}
        self._rates = RateWindow()

    # --- the attempt's side ------------------------------------------------------------------

    def begin_batch(self, batch_id: int) -> None:
        """A batch is about to run; in continuous mode: an epoch is about to end."""
        with self._lock:
            self._began_ms, self._began_s = wall_clock(), time.monotonic()
        self.checkpoints.begin(batch_id)

    def fail_batch(self, batch_id: int, error: BaseException | None) -> None:
        """A batch was not committed.

        Args:
            batch_id: its number.
            error: why; None if the job was told to end.
        """
        with self._lock:
            self._began_ms = self._began_s = None
        if error is None:
            self.checkpoints.abandon()
        else:
            self.checkpoints.fail(batch_id, error)

    def end_batch(
        self,
        batch_id: int,
        reports: list[_Report],
        milliseconds: float,
        tasks: Sequence[TaskReport] = (),
    ) -> None:
        """A batch was committed: take in what its tasks counted, unless it is a repetition."""
        now_s = time.monotonic()
        with self._lock:
            self._began_ms = self._began_s = None
            if batch_id <= self.last_batch_id:
                return
            if not self._rates.has_begun:
                self._rates.begin(now_s - max(milliseconds, _ran_ms(tasks)) / 1000)
            for subtask, report in reports:
                self._add_report(self.operators, subtask, report)
                self.splits.take(report)
                for uid, content in report.items():
                    self._accumulators.add(uid, subtask, content["accumulators"])
            behind = behind_ms(tasks)
            for task in tasks:
                totals = self.tasks.setdefault(_key(task), TaskTotals())
                totals.add(task, behind[task.level])
            self._running = {key: told for key, told in self._running.items() if key[0] > batch_id}
            self.batches += 1
            self.changes += 1
            self.last_batch_id = batch_id
            self.last_batch_ms = milliseconds
            self._rates.note(now_s, self._numbers(self.operators, self.tasks))
        self.checkpoints.complete(batch_id, reports, tasks)

    def note_progress(self, epoch: int, task: TaskReport, report: dict[str, JsonObject]) -> None:
        """A task tells how far it is in a running epoch."""
        with self._lock:
            if epoch <= self.last_batch_id:
                return
            if not self._rates.has_begun:
                self._rates.begin(time.monotonic() - max(_SHORTEST_MS, _ran_ms([task])) / 1000)
            self._running[epoch, _key(task)] = (task, report)
            self.splits.take(report)
            self.changes += 1

    def forget_running(self) -> None:
        """A new attempt begins: what was not committed is done again."""
        with self._lock:
            self._running.clear()

    def _add_report(
        self, operators: dict[str, OperatorTotals], subtask: int, report: dict[str, JsonObject]
    ) -> None:
        for uid, content in report.items():
            operators.setdefault(uid, OperatorTotals()).add(subtask, content)

    # --- everybody's side --------------------------------------------------------------------

    def accumulator_values(self) -> dict[str, StateValue]:
        """The merged value of every accumulator."""
        with self._lock:
            return self._accumulators.values()

    def accumulator_texts(self) -> JsonObject:
        """The kind of every accumulator, and its value as text."""
        with self._lock:
            return self._accumulators.of_job()

    def vertex_accumulators(self, vertices: Iterable[Vertex]) -> JsonObject:
        """The same by the id of the vertices that have some: of all subtasks, and of each."""
        with self._lock:
            found = {
                vertex.id: self._accumulators.of_vertex(
                    {step.uid for step in vertex.steps}, max(1, vertex.parallelism)
                )
                for vertex in vertices
            }
        return {vertex_id: each for vertex_id, each in found.items() if each is not None}

    def totals(self) -> tuple[dict[str, OperatorTotals], dict[TaskKey, TaskTotals]]:
        """Operators and tasks with what runs now; copies."""
        with self._lock:
            return self._with_running()

    def totals_until(
        self,
    ) -> tuple[int | None, dict[str, OperatorTotals], dict[TaskKey, TaskTotals]]:
        """The same, and up to which moment they hold: None for now.

        A batch counts when it is committed: while it runs, what is known ends where it began.
        """
        with self._lock:
            return None if self._running else self._began_ms, *self._with_running()

    def _with_running(self) -> tuple[dict[str, OperatorTotals], dict[TaskKey, TaskTotals]]:
        operators = {uid: _copy(totals) for uid, totals in self.operators.items()}
        tasks = {key: copy.copy(totals) for key, totals in self.tasks.items()}
        for _, (task, report) in sorted(self._running.items(), key=lambda item: item[0]):
            self._add_report(operators, task.subtask, report)
            tasks.setdefault(_key(task), TaskTotals()).add(task, 0.0)
        return operators, tasks

    def rates(self) -> dict[tuple[str, ...], tuple[float, ...]]:
        """What every operator and task did a second, of late.

        ``("operator", uid, subtask)``: records in, records out, busy ms;
        ``("task", level, source, subtask)``: busy ms, back-pressured ms, bytes in, bytes out;
        ``("counter", uid, subtask, name)``: how much it grew, for every counter.
        """
        now_s = time.monotonic()
        with self._lock:
            if self._running:  # an epoch that is committed notes itself
                self._rates.note(now_s, self._numbers(*self._with_running()))
            return self._rates.rates(now_s, now_s if self._began_s is None else self._began_s)

    @staticmethod
    def _numbers(
        operators: dict[str, OperatorTotals], tasks: dict[TaskKey, TaskTotals]
    ) -> dict[tuple[str, ...], tuple[float, ...]]:
        found: dict[tuple[str, ...], tuple[float, ...]] = {}
        for uid, totals in operators.items():
            for number, each in totals.subtasks.items():
                place = (uid, str(number))
                found["operator", *place] = (each.records_in, each.records_out, each.busy_ms)
                for name, count in each.counters.items():
                    found["counter", *place, name] = (count,)
        for (level, source, subtask), task in tasks.items():
            found["task", str(level), source, str(subtask)] = (
                task.busy_ms, task.pressed_ms, task.bytes_in, task.bytes_out,
            )  # fmt: skip
        return found

    def snapshot(self) -> JsonObject:
        """All of it as plain data, under Flink's names."""
        operators, tasks = self.totals()
        times = _busiest_tasks(tasks, self.rates())
        return {
            "batches": self.batches,
            "numRestarts": self.restarts,
            "lastBatchId": self.last_batch_id,
            "lastBatchMs": self.last_batch_ms,
            "uptimeSeconds": time.time() - self.started,
            "operators": {
                uid: {
                    "numRecordsIn": totals.records_in,
                    "numRecordsOut": totals.records_out,
                    "numLateRecordsDropped": totals.late_records_dropped,
                    "currentInputWatermark": totals.watermark,
                    **times.get(uid, {}),
                    **totals.counters,
                    **totals.gauges,
                }
                for uid, totals in operators.items()
            },
        }


def time_shares(busy: float, pressed: float) -> JsonObject:
    """Where the time of a task goes, in ms of every second: the three add up to 1000."""
    busy = min(1000.0, max(0.0, busy))
    pressed = min(1000.0 - busy, max(0.0, pressed))
    return {
        "busyTimeMsPerSecond": round(busy),
        "backPressuredTimeMsPerSecond": round(pressed),
        "idleTimeMsPerSecond": 1000 - round(busy) - round(pressed),
    }


def _ran_ms(tasks: Iterable[TaskReport]) -> int:
    """How long an epoch ran.  Where epochs overlap, its end is only a moment of that."""
    return max((task.ended_ms - task.began_ms for task in tasks if not task.in_steps), default=0)


def _busiest_tasks(
    tasks: dict[TaskKey, TaskTotals], rates: dict[tuple[str, ...], tuple[float, ...]]
) -> dict[str, JsonObject]:
    """For every operator where the time of its busiest task goes."""
    found: dict[str, tuple[float, float]] = {}
    for (level, source, subtask), task in tasks.items():
        busy, pressed, *_ = rates.get(("task", str(level), source, str(subtask)), (0.0, 0.0))
        for uid in task.uids:
            found[uid] = max(found.get(uid, (0.0, 0.0)), (busy, pressed))
    return {uid: time_shares(*shares) for uid, shares in found.items()}


def _key(task: TaskReport) -> TaskKey:
    return task.level, task.source or "", task.subtask


def _copy(totals: OperatorTotals) -> OperatorTotals:
    return OperatorTotals(
        {number: _copy_subtask(each) for number, each in totals.subtasks.items()},
        dict(totals.gauges),
    )


def _copy_subtask(totals: SubtaskTotals) -> SubtaskTotals:
    found = copy.copy(totals)
    found.counters, found.gauges = dict(totals.counters), dict(totals.gauges)
    found.meters, found.distributions = dict(totals.meters), dict(totals.distributions)
    return found
