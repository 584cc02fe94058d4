"""Metrics of a whole job under Flink's names: checkpoints, restarts, time in states.

In: a record, its checkpoints, now.json.  Out: names and values.  Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.opaque import JsonObject, JsonValue
    from headrace.control.registry import JobRecord
    from headrace.control.views.models import CheckpointsView

__all__ = ["job_metrics"]

_TIMED = {
    "INITIALIZING": "initializing",
    "RUNNING": "running",
    "RESTARTING": "restarting",
    "CANCELLING": "cancelling",
    "FAILING": "failing",
}


def job_metrics(
    record: JobRecord, checkpoints: CheckpointsView, now: JsonObject, clock_ms: int
) -> Mapping[str, JsonValue]:
    """What Flink's JobManager would tell of the job."""
    last, counts = checkpoints.latest_completed, checkpoints.counts
    found: dict[str, JsonValue] = {
        "uptime": _since(record, now, "RUNNING", clock_ms),
        "downtime": _since(record, now, "RESTARTING", clock_ms),
        "numRestarts": record.restarts,
        "fullRestarts": record.restarts,
        "numberOfCompletedCheckpoints": counts.completed,
        "numberOfFailedCheckpoints": counts.failed,
        "numberOfInProgressCheckpoints": counts.in_progress,
        "totalNumberOfCheckpoints": counts.total,
        "lastCheckpointDuration": -1 if last is None else last.duration_ms,
        "lastCheckpointSize": -1 if last is None else last.size_bytes,
        "lastCheckpointFullSize": -1 if last is None else last.state_bytes,
        "lastCompletedCheckpointId": -1 if last is None else last.id,
        "lastCheckpointExternalPath": "n/a" if last is None else last.path or "n/a",
        "lastCheckpointRestoreTimestamp": checkpoints.restored_at or -1,
    }
    for state, name in _TIMED.items():
        present = _since(record, now, state, clock_ms)
        found[f"{name}Time"] = present
        found[f"{name}TimeTotal"] = present + now.get("state_totals", {}).get(state, 0)
    return found


def _since(record: JobRecord, now: JsonObject, state: str, clock_ms: int) -> int:
    """How long the job has been in a state that it is in; 0 if it is in another."""
    entered = now.get("state_times", {}).get(state, 0)
    return max(0, clock_ms - entered) if record.state == state and entered else 0
