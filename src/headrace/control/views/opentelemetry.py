"""All metrics of a job as OpenTelemetry's data, under the names that Flink's reporter gives them.

    flink.taskmanager.job.task.numRecordsIn   Sum     {job_id, task_name, subtask_index, ...}
    flink.taskmanager.job.task.operator.orders.sizes.max   Gauge

In: control/views/samples.py.  Out: MetricsData, for an exporter (control/otel_reporter.py).
They are put together without OpenTelemetry's instruments, as Flink's reporter does: nothing is
measured here, the numbers are there already.  Needs opentelemetry-sdk.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from headrace.control.views.models import MetricKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.sdk.resources import Resource

    from headrace.control.views.samples import Sample

__all__ = ["OtelData"]

_SCOPE = InstrumentationScope("headrace")
_INT64 = range(-(1 << 63), 1 << 63)


class OtelData:
    """Makes OpenTelemetry's data of samples.

    Sums are cumulative, from the time that this was made on: what a collector misses, the next
    sending has.

    Args:
        resource: who tells them.
    """

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._began_ns = time.time_ns()
        # A failure undoes what an unfinished epoch had counted; to a collector a count that falls
        # has begun anew.  So the highest is told until it is reached again.
        self._highest: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}

    def of(self, samples: Iterable[Sample]) -> MetricsData:
        """The samples as they are now."""
        now_ns = time.time_ns()
        points: dict[tuple[str, MetricKind], list[NumberDataPoint]] = {}
        for sample in samples:
            value = self._value(sample)
            point = NumberDataPoint(sample.labels, self._began_ns, now_ns, value)
            points.setdefault((sample.name, sample.kind), []).append(point)
        metrics = [
            Metric(name, None, None, _data(kind, found)) for (name, kind), found in points.items()
        ]
        return MetricsData(
            [ResourceMetrics(self._resource, [ScopeMetrics(_SCOPE, metrics, "")], "")]
        )

    def _value(self, sample: Sample) -> float:
        value = int(sample.value) if isinstance(sample.value, bool) else sample.value
        if isinstance(value, int) and value not in _INT64:
            value = float(value)
        if sample.kind is MetricKind.COUNT:
            key = (sample.name, frozenset(sample.labels.items()))
            value = self._highest[key] = max(value, self._highest.get(key, value))
        return value


def _data(kind: MetricKind, points: list[NumberDataPoint]) -> Gauge | Sum:
    if kind is MetricKind.GAUGE:
        return Gauge(points)
    return Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=kind is MetricKind.COUNT)
