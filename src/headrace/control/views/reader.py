"""Makes read models of the files that drivers write; what has not changed is not read again.

In: the registry's folder.  Out: control/views/models.py.  Every method may be called from any
thread, and costs a `stat` a file where nothing has changed.  Next: control/history.py writes
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.control.history import ABOUT, CHECKPOINTS, FAILURES, NOW, OLD_SERIES, SERIES
from headrace.control.registry import ALL_JOBS, LOST, JobRecord, as_it_is
from headrace.control.views.checkpoints import checkpoints_view
from headrace.control.views.executors import executor_on, executor_views
from headrace.control.views.files import GrowingFiles, JsonFiles, version_of
from headrace.control.views.job_metrics import job_metrics
from headrace.control.views.models import (
    ExceptionsView,
    FailureView,
    JobConfigView,
    JobOverview,
    JobView,
)
from headrace.control.views.pressure import back_pressure, diagnose, long_epochs
from headrace.control.views.series import metric_series
from headrace.control.views.vertices import (
    accumulator_views,
    metric_scope,
    plan_view,
    task_status,
    vertex_views,
)
from headrace.errors import JobNotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.common.opaque import JsonObject, JsonValue
    from headrace.control.registry import JobRegistry
    from headrace.control.views.files import Version
    from headrace.control.views.models import (
        AccumulatorView,
        BackPressureView,
        CheckpointsView,
        CheckpointView,
        Diagnosis,
        ExecutorView,
        MetricSeries,
        PlanView,
        VertexView,
    )

__all__ = ["JobViews"]

# of how many jobs details stay parsed; a running job has four files
_KEPT_FILES, _KEPT_SERIES, _KEPT_VIEWS = 64, 16, 32
# Flink's order of states, of which a job has not seen all
_STATES = (
    "INITIALIZING", "CREATED", "RUNNING", "FAILING", "FAILED", "CANCELLING", "CANCELED",
    "FINISHED", "RESTARTING", "SUSPENDED", "RECONCILING",
)  # fmt: skip
_TASK_STATES = (
    "created", "scheduled", "deploying", "running", "finished", "canceling", "canceled",
    "failed", "reconciling", "initializing",
)  # fmt: skip


class JobViews:
    """Read models of all jobs of a registry.

    Args:
        registry: where their drivers write.
    """

    def __init__(self, registry: JobRegistry) -> None:
        self.registry = registry
        self._files = JsonFiles(_KEPT_FILES)
        self._lines = GrowingFiles(_KEPT_SERIES)
        self._lock = threading.Lock()
        self._records: dict[str, tuple[Version, JobRecord]] = {}
        self._vertices: dict[str, tuple[object, tuple[VertexView, ...]]] = {}

    # --- records -----------------------------------------------------------------------------

    def records(self) -> list[JobRecord]:
        """The records of all jobs, the newest first."""
        found: dict[str, tuple[Version, JobRecord]] = {}
        with self._lock:
            try:
                with os.scandir(self.registry.folder) as entries:
                    for entry in entries:
                        if entry.name.endswith(".json") and not entry.name.startswith("."):
                            self._note(entry, found)
            except OSError:
                pass  # no job has been started yet
            self._records = found
        newest = sorted(found.values(), key=lambda known: known[1].started, reverse=True)
        return [as_it_is(record) for _, record in newest]

    def _note(self, entry: os.DirEntry[str], found: dict[str, tuple[Version, JobRecord]]) -> None:
        try:
            version = version_of(entry.stat())
        except OSError:
            return  # just removed
        known = self._records.get(entry.name)
        if known is None or known[0] != version:
            record = _record(Path(entry.path))
            if record is None:
                return
            known = (version, record)
        found[entry.name] = known

    def record(self, job_id: str) -> JobRecord:
        """The record of one job.

        Raises:
            JobNotFoundError: there is none with this id.
        """
        name = f"{job_id}.json"
        path = self.registry.folder / name
        record: JobRecord | None = None
        if _is_id(job_id):
            try:
                version = version_of(path.stat())
            except OSError:
                version = None
            with self._lock:
                known = self._records.get(name)
            if version is not None and known is not None and known[0] == version:
                record = known[1]
            elif version is not None:
                record = _record(path)
        if record is None:
            raise JobNotFoundError(f"there is no job {job_id[:64]!r}", fix=ALL_JOBS)
        return as_it_is(record)

    def _file(self, job_id: str, name: str) -> JsonObject:
        return self._files.get(self.registry.history_of(job_id) / name)[1]

    # --- jobs --------------------------------------------------------------------------------

    def overview(self) -> tuple[JobOverview, ...]:
        """All jobs, the newest first; previews are left out."""
        now = wall_clock()
        return tuple(
            _overview(record, now) for record in self.records() if record.kind != "preview"
        )

    def find(self, job_id: str) -> JobOverview | None:
        """One job by its whole id."""
        try:
            return _overview(self.record(job_id), wall_clock())
        except JobNotFoundError:
            return None

    def job(self, job_id: str) -> JobView:
        """One job in detail.

        Raises:
            JobNotFoundError: there is none with this id.
        """
        record = self.record(job_id)
        about, now = self._file(job_id, ABOUT), self._file(job_id, NOW)
        overview = _overview(record, wall_clock())
        times = now.get("state_times", {})
        return JobView(
            overview=overview,
            now=wall_clock(),
            mode=record.mode,
            type=about.get("type", "STREAMING"),
            max_parallelism=about.get("max_parallelism", -1),
            state_times={state: times.get(state, 0) for state in _STATES},
            vertices=self.vertices(job_id),
            plan=plan_view(record, about),
            checkpoint=record.checkpoint,
            restarts=record.restarts,
            restart_strategy=record.restart_strategy,
            program=record.program,
            driver=str(record.driver) if record.has_driver else None,
            log=record.log,
            web=record.web,
            epochs=record.batches,
            last_epoch=record.last_batch,
            error=record.error,
            metrics=self.job_metrics(job_id),
        )

    def vertices(self, job_id: str) -> tuple[VertexView, ...]:
        """The vertices of a job as they are now."""
        record = self.record(job_id)
        folder = self.registry.history_of(job_id)
        first, about = self._files.get(folder / ABOUT)
        second, now = self._files.get(folder / NOW)
        version = (first, second, record.state, record.ended, record.restarts)
        with self._lock:
            known = self._vertices.get(job_id)
        if known is not None and known[0] == version:
            return known[1]
        views = vertex_views(record, _flink_state(record), about, now)
        with self._lock:
            self._vertices.pop(job_id, None)
            self._vertices[job_id] = (version, views)
            while len(self._vertices) > _KEPT_VIEWS:
                del self._vertices[next(iter(self._vertices))]
        return views

    def plan(self, job_id: str) -> PlanView:
        """The graph of a job."""
        return plan_view(self.record(job_id), self._file(job_id, ABOUT))

    def configuration(self, job_id: str) -> JobConfigView:
        """How a job was configured; secrets are masked."""
        record, about = self.record(job_id), self._file(job_id, ABOUT)
        return JobConfigView(
            job_id=record.job_id,
            name=record.name,
            execution_mode=record.mode,
            restart_strategy=record.restart_strategy,
            parallelism=record.parallelism,
            object_reuse=about.get("object_reuse", False),
            job_parameters=about.get("job_parameters", {}),
            options=about.get("options", {}),
            checkpoint_interval_ms=about.get("interval_ms", 0),
            checkpoint_timeout_ms=about.get("timeout_ms", 0),
        )

    def accumulators(self, job_id: str) -> tuple[AccumulatorView, ...]:
        """The users' accumulators of a job."""
        self.record(job_id)
        return accumulator_views(self._file(job_id, NOW).get("accumulators", {}))

    def exceptions(self, job_id: str, limit: int = 20) -> ExceptionsView:
        """What went wrong in a job, the newest first."""
        executors = self.executors(job_id)
        found = self._file(job_id, FAILURES).get("failures", [])
        newest = [_failure(each, executors) for each in reversed(found)]
        return ExceptionsView(tuple(newest[:limit]), truncated=len(newest) > limit)

    def executors(self, job_id: str | None = None) -> tuple[ExecutorView, ...]:
        """The processes that run tasks, of one job or of all running ones."""
        if job_id is not None:
            found = [self.record(job_id)]
        else:
            found = [each for each in self.records() if each.is_running and each.kind != "preview"]
        return tuple(
            executor
            for record in found
            for executor in executor_views(record, self._file(record.job_id, NOW))
        )

    # --- checkpoints -------------------------------------------------------------------------

    def checkpoints(self, job_id: str) -> CheckpointsView:
        """Counts, statistics and history of a job's checkpoints."""
        return checkpoints_view(
            self.record(job_id),
            self._file(job_id, ABOUT),
            self._file(job_id, CHECKPOINTS),
            self._file(job_id, NOW),
        )

    def checkpoint(self, job_id: str, number: int) -> CheckpointView | None:
        """One checkpoint of the history or of the newest ones; None if it is not there any more."""
        found = self.checkpoints(job_id)
        kept = (*found.history, *found.newest)
        return next((each for each in kept if each.id == number), None)

    # --- what limits a job -------------------------------------------------------------------

    def back_pressure(self, job_id: str, vertex: str) -> BackPressureView:
        """Where the time of a vertex goes.

        Raises:
            JobNotFoundError: there is no such job or vertex.
        """
        found = self._vertex(job_id, vertex)
        return back_pressure(found, self._file(job_id, NOW).get("at", 0))

    def diagnosis(self, job_id: str) -> Diagnosis:
        """Which step is slow, which subtasks have too much, which sources lag; long epochs."""
        inputs = {node.id: [each.id for each in node.inputs] for node in self.plan(job_id).nodes}
        took_ms = [
            each["duration"]
            for each in reversed(self._file(job_id, CHECKPOINTS).get("history", ()))
            if each["status"] == "COMPLETED" and not each["savepoint"]
        ]
        epochs = long_epochs(
            took_ms,
            self._file(job_id, ABOUT).get("interval_ms", 0),
            continuous=self.record(job_id).mode == "continuous",
        )
        return diagnose(self.vertices(job_id), inputs, epochs)

    def _vertex(self, job_id: str, vertex: str) -> VertexView:
        for found in self.vertices(job_id):
            if found.id == vertex:
                return found
        raise JobNotFoundError(
            f"job {job_id[:12]} has no vertex {vertex[:64]!r}",
            fix="the job's plan lists its vertices",
        )

    # --- metrics under Flink's names ---------------------------------------------------------

    def job_metrics(self, job_id: str) -> Mapping[str, JsonValue]:
        """Metrics of the job: numRestarts, lastCheckpointDuration, ..."""
        return job_metrics(
            self.record(job_id), self.checkpoints(job_id), self._file(job_id, NOW), wall_clock()
        )

    def vertex_metrics(self, job_id: str, vertex: str) -> Mapping[str, JsonValue]:
        """Metrics of a vertex: ``0.numRecordsIn`` for a task, ``0.name.numRecordsIn`` for a step.

        The first part is the subtask, as in Flink's /jobs/:jobid/vertices/:vertexid/metrics.
        """
        view = self._vertex(job_id, vertex)
        return {
            f"{number}.{name}": value
            for number in range(view.parallelism)
            for name, value in _subtask_metrics(view, number).items()
        }

    def subtask_metrics(self, job_id: str, vertex: str, subtask: int) -> Mapping[str, JsonValue]:
        """The same for one subtask, without its number."""
        return _subtask_metrics(self._vertex(job_id, vertex), subtask)

    def series(self, job_id: str, names: Sequence[str] | None = None) -> tuple[MetricSeries, ...]:
        """Metrics of a job over time: ``job.<metric>`` or ``<vertex>.<metric>``.

        Args:
            job_id: which job.
            names: those that are wanted; None for all.
        """
        self.record(job_id)
        folder = self.registry.history_of(job_id)
        lines = [*self._lines.get(folder / OLD_SERIES), *self._lines.get(folder / SERIES)]
        wanted = None if names is None else frozenset(names)
        return metric_series(lines, self._file(job_id, ABOUT), wanted)


def _is_id(text: str) -> bool:
    """Whether a text can be a job's id: it becomes a part of a path."""
    return bool(text) and len(text) <= 64 and text.replace("-", "").isalnum() and text.isascii()


def _record(path: Path) -> JobRecord | None:
    import json

    try:
        return JobRecord.from_json(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None  # just removed, or not ours


def _flink_state(record: JobRecord) -> str:
    return "FAILED" if record.state == LOST else record.state


def _overview(record: JobRecord, now: int) -> JobOverview:
    state = _flink_state(record)
    tasks = dict.fromkeys(_TASK_STATES, 0)
    tasks[task_status(record, state).lower()] = record.tasks
    ended = record.ended if record.ended is not None or record.is_running else record.updated
    return JobOverview(
        job_id=record.job_id,
        name=record.name,
        state=state,
        started=record.started,
        ended=ended,
        duration_ms=max(0, (now if ended is None else ended) - record.started),
        updated=record.updated,
        tasks={"total": record.tasks, **tasks},
        lost=record.state == LOST,
        kind=record.kind,
        restarts=record.restarts,
        parallelism=record.parallelism,
        waits_for=record.waits_for if record.is_running else None,
        waits_since=record.waits_since if record.is_running else None,
    )


def _failure(content: JsonObject, executors: Sequence[ExecutorView]) -> FailureView:
    machine = content.get("machine")
    return FailureView(
        when=content["when"],
        type=content["type"],
        condition=content["condition"],
        message=content["message"],
        where=content["where"],
        fix=content["fix"],
        stacktrace=content["stacktrace"],
        task=content["task"],
        code=content["code"],
        epochs=content["epochs"],
        delay_ms=content["delay_ms"],
        raised_at=content.get("raised_at"),
        machine=machine,
        executor=None if machine is None else executor_on(machine, executors),
    )


def _subtask_metrics(vertex: VertexView, number: int) -> dict[str, JsonValue]:
    if not 0 <= number < len(vertex.subtasks):
        return {}
    found = dict(vertex.subtasks[number].metrics)
    for operator in vertex.operators:
        scope = metric_scope(operator.name)
        own = operator.metrics_by_subtask.get(number, {})
        found |= {f"{scope}.{name}": value for name, value in own.items()}
    return found
