"""The checkpoints of a job, from the history that its driver keeps.

In: checkpoints.json, about.json (control/history.py).  Out: CheckpointsView.  Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.control.views.models import (
    CheckpointCounts,
    CheckpointsView,
    CheckpointView,
    StateCheckpoint,
    StatisticsView,
    SubtaskCheckpoint,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.opaque import JsonObject
    from headrace.control.registry import JobRecord

__all__ = ["checkpoints_view"]


def checkpoints_view(
    record: JobRecord, about: JsonObject, kept: JsonObject, now: JsonObject
) -> CheckpointsView:
    """Counts, statistics and history; the newest first."""
    place = record.checkpoint
    history = [_checkpoint(each, about, place) for each in kept.get("history", ())]
    running = kept.get("running")
    if running is not None and record.is_running:
        history.append(_running(running, kept, about, record))
    latest = kept.get("latest", {})
    done = [each for each in history if each.status == "COMPLETED"]
    completed, failed = kept.get("completed", 0), kept.get("failed", 0)
    in_progress = sum(each.status == "IN_PROGRESS" for each in history)
    began_with = about.get("restored")
    restored = record.restarts + (began_with is not None)
    return CheckpointsView(
        counts=CheckpointCounts(
            restored=restored,
            total=completed + failed + in_progress,
            in_progress=in_progress,
            completed=completed,
            failed=failed,
        ),
        size_bytes=_statistics([each.size_bytes for each in done]),
        state_bytes=_statistics([each.state_bytes for each in done]),
        duration_ms=_statistics([each.duration_ms for each in done]),
        history=tuple(reversed(history)),
        latest_completed=_latest(latest, "completed", about, place),
        latest_failed=_latest(latest, "failed", about, place),
        latest_savepoint=_latest(latest, "savepoint", about, place),
        restored_id=max(0, history[0].id - 1) if restored and history else None,
        restored_at=now.get("state_times", {}).get("RUNNING") if restored else None,
        restored_path=(place if record.restarts else began_with) if restored else None,
    )


def _latest(
    latest: JsonObject, kind: str, about: JsonObject, place: str | None
) -> CheckpointView | None:
    found = latest.get(kind)
    return None if found is None else _checkpoint(found, about, place)


def _checkpoint(entry: JsonObject, about: JsonObject, place: str | None) -> CheckpointView:
    vertices = tuple(_vertex(vertex, entry) for vertex in about.get("vertices", ()))
    return CheckpointView(
        id=entry["id"],
        status=entry["status"],
        is_savepoint=entry["savepoint"],
        triggered=entry["triggered"],
        acknowledged=entry["ended"] if entry["status"] == "COMPLETED" else None,
        duration_ms=entry["duration"],
        size_bytes=entry["size"],
        state_bytes=entry["state"],
        subtasks=sum(len(vertex.subtasks) for vertex in vertices),
        records=entry["records"],
        path=entry["path"] or place,
        failure=entry["failure"],
        vertices=vertices,
    )


def _running(
    running: JsonObject, kept: JsonObject, about: JsonObject, record: JobRecord
) -> CheckpointView:
    following = kept.get("next_id")
    nothing = {**running, "ended": record.updated, "operators": {}, "tasks": ()}
    vertices = tuple(_vertex(vertex, nothing) for vertex in about.get("vertices", ()))
    return CheckpointView(
        id=running["epoch"] + 1 if following is None else following,
        status="IN_PROGRESS",
        is_savepoint=False,
        triggered=running["triggered"],
        acknowledged=None,
        duration_ms=max(0, record.updated - running["triggered"]),
        size_bytes=0,
        state_bytes=0,
        subtasks=sum(vertex["parallelism"] for vertex in about.get("vertices", ())),
        path=record.checkpoint,
        vertices=vertices,
    )


def _vertex(vertex: JsonObject, entry: JsonObject) -> StateCheckpoint:
    """What each subtask of a vertex stored, and when it was done."""
    uids = [step["uid"] for step in vertex["steps"]]
    heads = {step["uid"] for step in vertex["steps"]}
    width = max(1, vertex["parallelism"])
    sizes: dict[int, tuple[int, int]] = dict.fromkeys(range(width), (0, 0))
    for uid in uids:
        for text, part in entry["operators"].get(uid, {}).items():
            written, kept = sizes[int(text) % width]
            sizes[int(text) % width] = (written + part["size"], kept + part["state"])
    ends: dict[int, int] = {}
    last: int = entry["ended"]
    for level, source, subtask, ended in entry["tasks"]:
        if (source in heads) if source else level == vertex["level"]:
            ends[subtask % width] = max(ended, ends.get(subtask % width, 0))
    subtasks = tuple(
        SubtaskCheckpoint(
            number=number,
            acknowledged=ends.get(number, last),
            duration_ms=max(0, ends.get(number, last) - entry["triggered"]),
            size_bytes=written,
            state_bytes=kept,
        )
        for number, (written, kept) in sorted(sizes.items())
    )
    return StateCheckpoint(
        id=vertex["id"],
        size_bytes=sum(each.size_bytes for each in subtasks),
        state_bytes=sum(each.state_bytes for each in subtasks),
        duration_ms=max(each.duration_ms for each in subtasks),
        acknowledged=max(each.acknowledged for each in subtasks),
        subtasks=subtasks,
    )


def _statistics(values: Sequence[int]) -> StatisticsView:
    if not values:
        return StatisticsView()
    ordered = sorted(values)
    return StatisticsView(
        min=ordered[0],
        max=ordered[-1],
        avg=round(sum(ordered) / len(ordered)),
        p50=_quantile(ordered, 0.5),
        p90=_quantile(ordered, 0.9),
        p95=_quantile(ordered, 0.95),
        p99=_quantile(ordered, 0.99),
        p999=_quantile(ordered, 0.999),
    )


def _quantile(ordered: Sequence[int], share: float) -> float:
    """Between the two values that are nearest to the share."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
