"""All metrics in Prometheus' text format, under the names that Flink's reporter gives them.

    flink_taskmanager_job_task_numRecordsIn{job_id="...", task_name="enrich", ...} 3000.0

In: control/views/samples.py.  Out: bytes, for REST's /metrics and for a driver's own port
(control/metrics_port.py).  Flink's reporter exports everything as gauges, so do we: its dashboards
then read ours.  Needs prometheus-client.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from headrace.control.views.samples import job_samples, samples_of_running_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.control.views.reader import JobViews
    from headrace.control.views.samples import Sample

__all__ = ["CONTENT_TYPE", "exposition", "registry_of"]

CONTENT_TYPE = CONTENT_TYPE_LATEST


def exposition(views: JobViews) -> bytes:
    """The metrics of all running jobs."""
    return generate_latest(_JobFamilies(lambda: samples_of_running_jobs(views)).registry)


def registry_of(views: JobViews, job_id: str) -> CollectorRegistry:
    """What prometheus-client serves for one job."""
    return _JobFamilies(lambda: job_samples(views, job_id)).registry


class _JobFamilies:
    """What prometheus-client asks for metrics, each time that somebody wants them.

    Args:
        samples: reads them.
    """

    def __init__(self, samples: Callable[[], Iterable[Sample]]) -> None:
        self._samples = samples
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing is known before somebody asks."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All families with their samples."""
        families: dict[tuple[str, tuple[str, ...]], GaugeMetricFamily] = {}
        for sample in self._samples():
            name, labels = _allowed(sample.name), sample.labels
            key = (name, tuple(labels))
            if key not in families:
                families[key] = GaugeMetricFamily(name, name, labels=list(labels))
            families[key].add_metric(list(labels.values()), float(sample.value))
        # a family may be told once only, whatever labels its samples have
        merged: dict[str, GaugeMetricFamily] = {}
        for (name, _), family in families.items():
            if name in merged:
                merged[name].samples += family.samples
            else:
                merged[name] = family
        yield from merged.values()


def _allowed(name: str) -> str:
    """As Flink's reporter does: what Prometheus does not allow becomes an underscore."""
    return re.sub(r"[^a-zA-Z0-9_:]", "_", name)
