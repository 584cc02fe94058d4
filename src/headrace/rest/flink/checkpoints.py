"""Checkpoints in Flink's JSON.

A checkpoint of headrace is an epoch.  Nothing is aligned and nothing in flight is kept, so Flink's
figures of that are 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.rest.flink.counts import statistics, statistics_of

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject
    from headrace.control.views.models import (
        CheckpointsView,
        CheckpointView,
        JobConfigView,
        StateCheckpoint,
        SubtaskCheckpoint,
    )

_CLASSES = {"IN_PROGRESS": "in_progress", "COMPLETED": "completed", "FAILED": "failed"}


def checkpoints(view: CheckpointsView) -> JsonObject:
    """`/jobs/:jobid/checkpoints`."""
    counts, none = view.counts, statistics_of(())
    return {
        "counts": {
            "restored": counts.restored,
            "total": counts.total,
            "in_progress": counts.in_progress,
            "completed": counts.completed,
            "failed": counts.failed,
        },
        "summary": {
            "checkpointed_size": statistics(view.size_bytes),
            "state_size": statistics(view.state_bytes),
            "end_to_end_duration": statistics(view.duration_ms),
            "alignment_buffered": none,
            "processed_data": none,
            "persisted_data": none,
        },
        "latest": {
            "completed": _or_none(view.latest_completed),
            "savepoint": _or_none(view.latest_savepoint),
            "failed": _or_none(view.latest_failed),
            "restored": _restored(view),
        },
        "history": [checkpoint(each, with_tasks=False) for each in view.history],
    }


def _or_none(view: CheckpointView | None) -> JsonObject | None:
    return None if view is None else checkpoint(view, with_tasks=False)


def _restored(view: CheckpointsView) -> JsonObject | None:
    if view.restored_at is None:
        return None
    return {
        "id": view.restored_id or 0,
        "restore_timestamp": view.restored_at,
        "is_savepoint": view.restored_path is not None,
        "external_path": view.restored_path or "",
    }


def checkpoint(view: CheckpointView, *, with_tasks: bool = True) -> JsonObject:
    """`/jobs/:jobid/checkpoints/details/:id`, and the lines of the history."""
    told: JsonObject = {
        "className": _CLASSES[view.status],
        "id": view.id,
        "status": view.status,
        "is_savepoint": view.is_savepoint,
        "savepointFormat": "CANONICAL" if view.is_savepoint else None,
        "trigger_timestamp": view.triggered,
        "latest_ack_timestamp": -1 if view.acknowledged is None else view.acknowledged,
        "checkpointed_size": view.size_bytes,
        "state_size": view.state_bytes,
        "end_to_end_duration": view.duration_ms,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": view.subtasks,
        "num_acknowledged_subtasks": 0 if view.acknowledged is None else view.subtasks,
        "checkpoint_type": "SAVEPOINT" if view.is_savepoint else "CHECKPOINT",
        "tasks": {part.id: _task(view, part) for part in view.vertices} if with_tasks else {},
        "records": view.records,
    }
    if view.status == "COMPLETED":
        told |= {"external_path": view.path or "", "discarded": False}
    if view.status == "FAILED":
        told |= {
            "failure_timestamp": view.acknowledged or view.triggered + view.duration_ms,
            "failure_message": view.failure or "",
        }
    return told


def _task(view: CheckpointView, part: StateCheckpoint) -> JsonObject:
    in_progress = view.status == "IN_PROGRESS"
    return {
        "id": view.id,
        "status": view.status,
        "latest_ack_timestamp": -1 if in_progress else part.acknowledged,
        "checkpointed_size": part.size_bytes,
        "state_size": part.state_bytes,
        "end_to_end_duration": part.duration_ms,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": len(part.subtasks),
        "num_acknowledged_subtasks": 0 if in_progress else len(part.subtasks),
    }


def checkpoint_subtasks(view: CheckpointView, part: StateCheckpoint) -> JsonObject:
    """`/jobs/:jobid/checkpoints/details/:id/subtasks/:vertexid`."""
    none = statistics_of(())
    return {
        **_task(view, part),
        "summary": {
            "checkpointed_size": statistics_of([each.size_bytes for each in part.subtasks]),
            "state_size": statistics_of([each.state_bytes for each in part.subtasks]),
            "end_to_end_duration": statistics_of([each.duration_ms for each in part.subtasks]),
            "checkpoint_duration": {
                "sync": statistics_of([each.duration_ms for each in part.subtasks]),
                "async": none,
            },
            "alignment": {
                "buffered": none,
                "processed": none,
                "persisted": none,
                "duration": none,
            },
            "start_delay": none,
        },
        "subtasks": [_subtask(each) for each in part.subtasks],
    }


def _subtask(part: SubtaskCheckpoint) -> JsonObject:
    return {
        "className": "completed",
        "index": part.number,
        "status": "completed",
        "ack_timestamp": part.acknowledged,
        "end_to_end_duration": part.duration_ms,
        "checkpointed_size": part.size_bytes,
        "state_size": part.state_bytes,
        "checkpoint": {"sync": part.duration_ms, "async": 0},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 0},
        "start_delay": 0,
        "unaligned_checkpoint": False,
        "aborted": False,
    }


def checkpoint_config(view: JobConfigView) -> JsonObject:
    """`/jobs/:jobid/checkpoints/config`."""
    retention = view.options.get(
        "execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION"
    )
    return {
        "mode": "exactly_once",
        "interval": view.checkpoint_interval_ms,
        "timeout": view.checkpoint_timeout_ms,
        "min_pause": 0,
        "max_concurrent": 1,
        "externalization": {
            "enabled": True,
            "delete_on_cancellation": retention == "DELETE_ON_CANCELLATION",
        },
        "state_backend": view.options.get("state.backend.type", "rocksdb"),
        "checkpoint_storage": "FileSystemCheckpointStorage",
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": 0,
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": 0,
        "changelog_storage": "",
    }
