"""All metrics of jobs, one by one, under Flink's names: the list that every way out goes by.

    flink.jobmanager.job.<metric>                    {job_id, job_name}
    flink.taskmanager.job.task.<metric>              {..., task_id, task_name, subtask_index, host}
    flink.taskmanager.job.task.operator.<metric>     {..., operator_id, operator_name}
    headrace.job.<...>: what Flink has no name for: the slow step, skew, lag, long epochs

In: read models.  Out: numbers with a name, labels and a kind; what is no number is left out.
Next: control/views/prometheus.py, control/views/opentelemetry.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.control.views.models import MetricKind
from headrace.control.views.vertices import COUNTS
from headrace.errors import JobNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headrace.common.opaque import JsonValue
    from headrace.control.views.models import Diagnosis, JobOverview, VertexView
    from headrace.control.views.reader import JobViews

__all__ = ["Sample", "job_samples", "samples_of_running_jobs"]

_JOB = "flink.jobmanager.job"
_TASK = "flink.taskmanager.job.task"
_OPERATOR = "flink.taskmanager.job.task.operator"
_OURS = "headrace.job"


class Sample(NamedTuple):
    """One number."""

    name: str
    labels: dict[str, str]
    value: float
    kind: MetricKind = MetricKind.GAUGE


def samples_of_running_jobs(views: JobViews) -> Iterator[Sample]:
    """The metrics of all running jobs."""
    for job in views.overview():
        if job.state in ("RUNNING", "RESTARTING"):
            yield from _samples_of(views, job)


def job_samples(views: JobViews, job_id: str) -> Iterator[Sample]:
    """The metrics of one job in whatever state: the last ones are read when it has ended."""
    job = views.find(job_id)
    if job is not None:
        yield from _samples_of(views, job)


def _samples_of(views: JobViews, job: JobOverview) -> Iterator[Sample]:
    labels = {"job_id": job.job_id, "job_name": job.name}
    try:
        yield from _samples(_JOB, labels, views.job_metrics(job.job_id), {})
        for vertex in views.vertices(job.job_id):
            yield from _vertex_samples(vertex, labels)
        yield from _our_samples(views.diagnosis(job.job_id), labels)
    except JobNotFoundError:
        return  # forgotten meanwhile


def _vertex_samples(vertex: VertexView, job: dict[str, str]) -> Iterator[Sample]:
    task = {**job, "task_id": vertex.id, "task_name": vertex.name}
    for subtask in vertex.subtasks:
        labels = {**task, "subtask_index": str(subtask.number), "host": subtask.host}
        yield from _samples(_TASK, labels, subtask.metrics, COUNTS)
        for operator in vertex.operators:
            own = operator.metrics_by_subtask.get(subtask.number, {})
            named = {**labels, "operator_id": operator.id, "operator_name": operator.name}
            yield from _samples(_OPERATOR, named, own, operator.kinds)


def _our_samples(found: Diagnosis, job: dict[str, str]) -> Iterator[Sample]:
    slow = found.slow
    if slow is not None:
        labels = {**job, "task_id": slow.vertex, "operator_name": slow.name, "where": slow.where}
        yield Sample(f"{_OURS}.slow_operator_busy_ratio", labels, slow.busy)
    for skew in found.skews:
        labels = {
            **job,
            "task_id": skew.vertex,
            "task_name": skew.name,
            "what": skew.what,
            "subtask_index": str(skew.subtask),
        }
        yield Sample(f"{_OURS}.skew_ratio", labels, skew.ratio)
    for lag in found.lags:
        if lag.seconds is not None:
            labels = {**job, "task_id": lag.vertex, "operator_name": lag.name}
            yield Sample(f"{_OURS}.source_lag_seconds", labels, lag.seconds)
    for held in found.held:
        labels = {
            **job,
            "task_id": held.vertex,
            "operator_name": held.name,
            "split": held.split,
        }
        yield Sample(f"{_OURS}.held_event_time_seconds", labels, held.silent_s)
    if found.epochs is not None:
        yield Sample(f"{_OURS}.long_epochs_ratio", job, found.epochs.ratio)


def _samples(
    scope: str,
    labels: dict[str, str],
    metrics: Mapping[str, JsonValue],
    kinds: Mapping[str, MetricKind],
) -> Iterator[Sample]:
    for name, value in metrics.items():
        if isinstance(value, (bool, int, float)):
            kind = kinds.get(name, MetricKind.GAUGE)
            yield Sample(f"{scope}.{name}", labels, value, kind)
