"""Vertices and subtasks in Flink's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.constants import MIN_LONG_VALUE
from headrace.rest.flink.counts import (
    EXECUTION_STATES,
    aggregated,
    duration,
    end_time,
    io_metrics,
    state_counts,
    status_durations,
)
from headrace.rest.flink.jobs import user_accumulators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.opaque import JsonObject
    from headrace.control.views.models import (
        BackPressureView,
        SubtaskView,
        VertexView,
    )


def vertex_detail(vertex: VertexView, now: int) -> JsonObject:
    """`/jobs/:jobid/vertices/:vertexid`."""
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "maxParallelism": vertex.max_parallelism,
        "now": now,
        "aggregated": _aggregated(vertex.subtasks, now),
        "subtasks": [subtask_detail(subtask, now) for subtask in vertex.subtasks],
        "operators": [
            {
                "id": operator.id,
                "uid": operator.uid,
                "name": operator.name,
                "where": operator.where,
                "metrics": io_metrics(operator.counts),
                "watermark": operator.watermark,
                "splits": [
                    {
                        "split": name,
                        "watermark": split.watermark,
                        "still": split.still_ms,
                        "idle": split.idle,
                    }
                    for name, split in operator.splits.items()
                ],
            }
            for operator in vertex.operators
        ],
    }


def subtask_detail(subtask: SubtaskView, now: int) -> JsonObject:
    """`/jobs/:jobid/vertices/:vertexid/subtasks/:index`, and its attempts."""
    return {
        "subtask": subtask.number,
        "status": subtask.status,
        "attempt": subtask.attempt,
        "endpoint": subtask.host,
        "start-time": subtask.started,
        "end-time": end_time(subtask.ended),
        "duration": duration(subtask.started, subtask.ended, now),
        "metrics": io_metrics(subtask.counts),
        "taskmanager-id": subtask.host,
        "status-duration": status_durations(subtask.status, subtask.started, subtask.ended, now),
        "start_time": subtask.started,
        "state-bytes": subtask.counts.state_bytes,
    }


def _aggregated(subtasks: Sequence[SubtaskView], now: int) -> JsonObject:
    return aggregated(
        [subtask.counts for subtask in subtasks],
        [status_durations(each.status, each.started, each.ended, now) for each in subtasks],
    )


def subtask_times(vertex: VertexView, now: int) -> JsonObject:
    """`/jobs/:jobid/vertices/:vertexid/subtasktimes`."""
    return {
        "id": vertex.id,
        "name": vertex.name,
        "now": now,
        "subtasks": [
            {
                "subtask": subtask.number,
                "endpoint": subtask.host,
                "duration": duration(subtask.started, subtask.ended, now),
                "timestamps": _timestamps(subtask),
            }
            for subtask in vertex.subtasks
        ],
    }


def _timestamps(subtask: SubtaskView) -> JsonObject:
    times = dict.fromkeys(EXECUTION_STATES, 0)
    times["RUNNING"] = subtask.started
    if subtask.ended is not None and subtask.status in times:
        times[subtask.status] = subtask.ended
    return dict(times)


def vertex_taskmanagers(vertex: VertexView, now: int) -> JsonObject:
    """`/jobs/:jobid/vertices/:vertexid/taskmanagers`: the same subtasks by host."""
    hosts = sorted({subtask.host for subtask in vertex.subtasks})
    return {
        "id": vertex.id,
        "name": vertex.name,
        "now": now,
        "taskmanagers": [
            _on_host(host, [each for each in vertex.subtasks if each.host == host], now)
            for host in hosts
        ],
    }


def _on_host(host: str, subtasks: list[SubtaskView], now: int) -> JsonObject:
    started = min(subtask.started for subtask in subtasks)
    ends = [subtask.ended for subtask in subtasks]
    ended = None if None in ends else max(end for end in ends if end is not None)
    rows = [io_metrics(subtask.counts) for subtask in subtasks]
    statuses = [subtask.status for subtask in subtasks]
    return {
        "endpoint": host,
        "status": statuses[0] if len(set(statuses)) == 1 else "RUNNING",
        "start-time": started,
        "end-time": end_time(ended),
        "duration": duration(started, ended, now),
        "metrics": {
            name: True if name.endswith("-complete") else sum(row[name] for row in rows)
            for name in rows[0]
        },
        "status-counts": state_counts(statuses),
        "taskmanager-id": host,
        "aggregated": _aggregated(subtasks, now),
    }


def watermarks(vertex: VertexView) -> list[JsonObject]:
    """`/jobs/:jobid/vertices/:vertexid/watermarks`."""
    return [
        {
            "id": f"{subtask.number}.currentInputWatermark",
            "value": str(MIN_LONG_VALUE if subtask.watermark is None else subtask.watermark),
        }
        for subtask in vertex.subtasks
    ]


def back_pressure(view: BackPressureView) -> JsonObject:
    """`/jobs/:jobid/vertices/:vertexid/backpressure`; Flink has two spellings of the level."""
    return {
        "status": "ok",
        "backpressureLevel": view.level,
        "backpressure-level": view.level,
        "end-timestamp": view.measured,
        "subtasks": [
            {
                "subtask": subtask.number,
                "backpressureLevel": subtask.level,
                "backpressure-level": subtask.level,
                "ratio": subtask.back_pressured,
                "idleRatio": subtask.idle,
                "busyRatio": subtask.busy,
            }
            for subtask in view.subtasks
        ],
    }


def vertex_accumulators(vertex: VertexView) -> JsonObject:
    """`/jobs/:jobid/vertices/:vertexid/accumulators`: merged over the subtasks."""
    return {"id": vertex.id, "user-accumulators": user_accumulators(vertex.accumulators)}


def subtask_accumulators(vertex: VertexView) -> JsonObject:
    """`/jobs/:jobid/vertices/:vertexid/subtasks/accumulators`."""
    return {
        "id": vertex.id,
        "parallelism": vertex.parallelism,
        "subtasks": [
            {
                "subtask": subtask.number,
                "attempt": subtask.attempt,
                "endpoint": subtask.host,
                "user-accumulators": user_accumulators(subtask.accumulators),
            }
            for subtask in vertex.subtasks
        ],
    }


def attempt_accumulators(vertex: VertexView, subtask: SubtaskView) -> JsonObject:
    """`/jobs/:jobid/vertices/:vertexid/subtasks/:index/attempts/:attempt/accumulators`."""
    return {
        "subtask": subtask.number,
        "attempt": subtask.attempt,
        "id": f"{vertex.id}_{subtask.number}_{subtask.attempt}",
        "user-accumulators": user_accumulators(subtask.accumulators),
    }
