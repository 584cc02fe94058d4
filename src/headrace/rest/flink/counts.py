"""Counts, states and statistics as they appear in several of Flink's answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.common.opaque import JsonObject
    from headrace.control.views.models import Counts, StatisticsView

EXECUTION_STATES = (
    "CREATED", "SCHEDULED", "DEPLOYING", "RUNNING", "FINISHED",
    "CANCELING", "CANCELED", "FAILED", "RECONCILING", "INITIALIZING",
)  # fmt: skip
JOB_STATES = (
    "INITIALIZING", "CREATED", "RUNNING", "FAILING", "FAILED", "CANCELLING", "CANCELED",
    "FINISHED", "RESTARTING", "SUSPENDED", "RECONCILING",
)  # fmt: skip
_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999))


def io_metrics(counts: Counts) -> JsonObject:
    """What a task has read, written and waited for."""
    return {
        "read-bytes": counts.bytes_in,
        "read-bytes-complete": True,
        "write-bytes": counts.bytes_out,
        "write-bytes-complete": True,
        "read-records": counts.records_in,
        "read-records-complete": True,
        "write-records": counts.records_out,
        "write-records-complete": True,
        "accumulated-backpressured-time": int(counts.back_pressured_total_ms),
        "accumulated-idle-time": int(counts.idle_total_ms),
        # 0 where nothing is measured: Flink writes "NaN", and a text is no number
        "accumulated-busy-time": counts.busy_total_ms,
    }


def state_counts(states: Iterable[str]) -> JsonObject:
    """How many are in each of Flink's execution states."""
    found = list(states)
    return {state: found.count(state) for state in EXECUTION_STATES}


def status_durations(status: str, started: int, ended: int | None, now: int) -> JsonObject:
    """How long a task was in its states; before it runs, Spark does not tell."""
    spent = max(0, (now if ended is None else ended) - started) if started > 0 else 0
    return {"CREATED": 0, "SCHEDULED": 0, "DEPLOYING": 0, "INITIALIZING": 0, "RUNNING": spent}


def end_time(ended: int | None) -> int:
    """Flink's -1 for not yet."""
    return -1 if ended is None else ended


def duration(started: int, ended: int | None, now: int) -> int:
    """Since the start, or from start to end."""
    return max(0, (now if ended is None else ended) - started) if started > 0 else -1


def aggregated(rows: Sequence[Counts], durations: Sequence[JsonObject]) -> JsonObject:
    """The spread over subtasks of everything in `io_metrics`."""
    metrics = [io_metrics(row) for row in rows]
    names = [name for name in (metrics[0] if metrics else {}) if not name.endswith("-complete")]
    states = sorted({state for each in durations for state in each})
    return {
        "metrics": {name: spread([float(row[name]) for row in metrics]) for name in names},
        "status-duration": {
            state: spread([float(each.get(state, 0)) for each in durations]) for state in states
        },
    }


def spread(values: Sequence[float]) -> JsonObject:
    """Least, most, mean, sum and percentiles, as whole numbers where they are."""
    ordered = sorted(values)
    return {
        "min": round(ordered[0]) if ordered else 0,
        "max": round(ordered[-1]) if ordered else 0,
        "avg": round(sum(ordered) / len(ordered)) if ordered else 0,
        "sum": round(sum(ordered)),
        "median": round(percentile(ordered, 0.5)),
        "p25": round(percentile(ordered, 0.25)),
        "p75": round(percentile(ordered, 0.75)),
        "p95": round(percentile(ordered, 0.95)),
    }


def percentile(ordered: Sequence[float], share: float) -> float:
    """A value of sorted ones, between its neighbours where it falls between two."""
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def statistics(view: StatisticsView) -> JsonObject:
    """Statistics over checkpoints."""
    return {
        "min": view.min, "max": view.max, "avg": view.avg,
        "p50": float(view.p50), "p90": float(view.p90), "p95": float(view.p95),
        "p99": float(view.p99), "p999": float(view.p999),
    }  # fmt: skip


def statistics_of(values: Sequence[int]) -> JsonObject:
    """The same out of the values."""
    ordered = sorted(float(value) for value in values)
    return {
        "min": int(ordered[0]) if ordered else 0,
        "max": int(ordered[-1]) if ordered else 0,
        "avg": int(sum(ordered) / len(ordered)) if ordered else 0,
        **{name: percentile(ordered, share) for name, share in _PERCENTILES},
    }
