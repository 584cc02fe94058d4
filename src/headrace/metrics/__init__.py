"""Metrics under PyFlink's path; defined in common/metrics.py."""

from __future__ import annotations

from headrace.common.metrics import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
