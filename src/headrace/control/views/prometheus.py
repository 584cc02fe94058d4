"""All metrics in Prometheus' text format, under the names that Flink's reporter gives them.

    flink_jobmanager_job_<metric>{job_id, job_name}
    flink_taskmanager_job_task_<metric>{..., task_id, task_name, subtask_index, host}
    flink_taskmanager_job_task_operator_<metric>{..., operator_id, operator_name}
    headrace_job_<...>: what Flink has no name for: the slow step, skew, lag

In: read models.  Out: bytes, for REST's /metrics and for a driver's own port
(control/metrics_port.py).  Flink's reporter exports everything as gauges, so do we: its dashboards
then read ours.  Needs prometheus-client.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from headrace.errors import JobNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headrace.common.opaque import JsonValue
    from headrace.control.views.models import Diagnosis, JobOverview, VertexView
    from headrace.control.views.reader import JobViews

__all__ = ["CONTENT_TYPE", "JobSamples", "exposition"]

CONTENT_TYPE = CONTENT_TYPE_LATEST
_JOB = "flink_jobmanager_job"
_TASK = "flink_taskmanager_job_task"
_OPERATOR = "flink_taskmanager_job_task_operator"
_OURS = "headrace_job"


class _Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


def exposition(views: JobViews, job_id: str | None = None) -> bytes:
    """The metrics of all running jobs, or of one."""
    return generate_latest(JobSamples(views, job_id).registry)


class JobSamples:
    """What prometheus-client asks for metrics, each time that somebody wants them.

    Args:
        views: read models.
        job_id: of one job; None for all that run.
    """

    def __init__(self, views: JobViews, job_id: str | None = None) -> None:
        self._views = views
        self._job_id = job_id
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing is known before somebody asks."""
        return []

    def _samples(self) -> Iterator[_Sample]:
        for job in self._views.overview():
            if job.state in ("RUNNING", "RESTARTING") and self._job_id in (None, job.job_id):
                yield from _job_samples(self._views, job)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All families with their samples."""
        families: dict[tuple[str, tuple[str, ...]], GaugeMetricFamily] = {}
        for name, labels, value in self._samples():
            key = (name, tuple(labels))
            if key not in families:
                families[key] = GaugeMetricFamily(name, name, labels=list(labels))
            families[key].add_metric(list(labels.values()), value)
        # a family may be told once only, whatever labels its samples have
        merged: dict[str, GaugeMetricFamily] = {}
        for (name, _), family in families.items():
            if name in merged:
                merged[name].samples += family.samples
            else:
                merged[name] = family
        yield from merged.values()


def _job_samples(views: JobViews, job: JobOverview) -> Iterator[_Sample]:
    labels = {"job_id": job.job_id, "job_name": job.name}
    try:
        yield from _samples(_JOB, labels, views.job_metrics(job.job_id))
        for vertex in views.vertices(job.job_id):
            yield from _vertex_samples(vertex, labels)
        yield from _our_samples(views.diagnosis(job.job_id), labels)
    except JobNotFoundError:
        return  # forgotten meanwhile


def _vertex_samples(vertex: VertexView, job: dict[str, str]) -> Iterator[_Sample]:
    task = {**job, "task_id": vertex.id, "task_name": vertex.name}
    for subtask in vertex.subtasks:
        labels = {**task, "subtask_index": str(subtask.number), "host": subtask.host}
        yield from _samples(_TASK, labels, subtask.metrics)
        for operator in vertex.operators:
            own = operator.metrics_by_subtask.get(subtask.number, {})
            named = {**labels, "operator_id": operator.id, "operator_name": operator.name}
            yield from _samples(_OPERATOR, named, own)


def _our_samples(found: Diagnosis, job: dict[str, str]) -> Iterator[_Sample]:
    slow = found.slow
    if slow is not None:
        labels = {**job, "task_id": slow.vertex, "operator_name": slow.name, "where": slow.where}
        yield _Sample(f"{_OURS}_slow_operator_busy_ratio", labels, slow.busy)
    for skew in found.skews:
        labels = {
            **job,
            "task_id": skew.vertex,
            "task_name": skew.name,
            "what": skew.what,
            "subtask_index": str(skew.subtask),
        }
        yield _Sample(f"{_OURS}_skew_ratio", labels, skew.ratio)
    for lag in found.lags:
        if lag.seconds is not None:
            labels = {**job, "task_id": lag.vertex, "operator_name": lag.name}
            yield _Sample(f"{_OURS}_source_lag_seconds", labels, lag.seconds)


def _samples(
    scope: str, labels: dict[str, str], metrics: Mapping[str, JsonValue]
) -> Iterator[_Sample]:
    for name, value in metrics.items():
        if isinstance(value, (bool, int, float)):
            yield _Sample(f"{scope}_{_metric_name(name)}", labels, float(value))


def _metric_name(name: str) -> str:
    """As Flink's reporter does: what Prometheus does not allow becomes an underscore."""
    return re.sub(r"[^a-zA-Z0-9_:]", "_", name)
