"""Jobs in Flink's JSON: lists, details, plans, settings, failures, results."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from headrace.common.sensitive import masked_text
from headrace.rest.flink.counts import (
    EXECUTION_STATES,
    JOB_STATES,
    duration,
    end_time,
    io_metrics,
    state_counts,
)
from headrace.rest.flink.executors import executor_id
from headrace.rest.flink.failures import failure_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.common.opaque import JsonObject
    from headrace.control.views.models import (
        AccumulatorView,
        ExceptionsView,
        FailureView,
        JobConfigView,
        JobOverview,
        JobView,
        PlanNode,
        PlanView,
        VertexView,
    )

_TERMINAL = {"FINISHED": "SUCCEEDED", "CANCELED": "CANCELED", "FAILED": "FAILED"}
# one group for all: Spark places the tasks of a job where there is room
_SLOT_SHARING_GROUP = "0" * 32


def job_ids(jobs: Iterable[JobOverview]) -> JsonObject:
    """`/jobs`."""
    return {"jobs": [{"id": job.job_id, "status": job.state} for job in jobs]}


def job_line(job: JobOverview, job_type: str = "STREAMING") -> JsonObject:
    """A job of `/jobs/overview`."""
    tasks = {state.lower(): job.tasks.get(state.lower(), 0) for state in EXECUTION_STATES}
    return {
        "jid": job.job_id,
        "name": job.name,
        "jobType": job_type,
        "schedulerType": "Default",
        "start-time": job.started,
        "end-time": end_time(job.ended),
        "duration": job.duration_ms,
        "state": job.state,
        "last-modification": job.updated,
        "tasks": {**tasks, "total": job.tasks.get("total", sum(tasks.values()))},
        "pending-operators": 0,
        "lost": job.lost,
        "parallelism": job.parallelism,
        "restarts": job.restarts,
        **_wait(job),
    }


def _wait(job: JobOverview) -> JsonObject:
    """What a job waits for, and since when; of others nothing."""
    return (
        {}
        if job.waits_for is None
        else {"waits-for": job.waits_for, "waits-since": job.waits_since}
    )


def job_detail(job: JobView) -> JsonObject:
    """`/jobs/:jobid`."""
    overview = job.overview
    return {
        "jid": overview.job_id,
        "application-id": overview.job_id,
        "name": overview.name,
        "isStoppable": False,  # Flink's, of a kind of source that is gone: stop works
        "state": overview.state,
        "job-type": job.type,
        "schedulerType": "Default",
        "start-time": overview.started,
        "end-time": end_time(overview.ended),
        "duration": overview.duration_ms,
        "maxParallelism": job.max_parallelism,
        "now": job.now,
        "timestamps": {state: job.state_times.get(state, 0) for state in JOB_STATES},
        "vertices": [_vertex(vertex, job.now) for vertex in job.vertices],
        "status-counts": state_counts(vertex.status for vertex in job.vertices),
        "plan": plan(job.plan),
        "pending-operators": 0,
        "mode": job.mode,
        "restarts": job.restarts,
        "restart-strategy": job.restart_strategy,
        "parallelism": overview.parallelism,
        "lost": overview.lost,
        **_wait(overview),
        "program": job.program,
        "checkpoint": job.checkpoint,
        "driver": job.driver,
        "web": dict(job.web),
        "error": None if job.error is None else masked_text(job.error),
    }


def _vertex(vertex: VertexView, now: int) -> JsonObject:
    return {
        "id": vertex.id,
        "slotSharingGroupId": _SLOT_SHARING_GROUP,
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": vertex.status,
        "start-time": vertex.started,
        "end-time": end_time(vertex.ended),
        "duration": duration(vertex.started, vertex.ended, now),
        "tasks": state_counts(subtask.status for subtask in vertex.subtasks),
        "metrics": io_metrics(vertex.counts),
        "level": vertex.level,
        "runs": vertex.runs,
        "kind": vertex.kind,
    }


def plan(view: PlanView) -> JsonObject:
    """The inner part of `/jobs/:jobid/plan`."""
    return {
        "jid": view.job_id,
        "name": view.name,
        "type": view.type,
        "nodes": [_node(node) for node in view.nodes],
    }


def _node(node: PlanNode) -> JsonObject:
    told: JsonObject = {
        "id": node.id,
        "operator": "",
        "parallelism": node.parallelism,
        "operator_strategy": "",
        # Flink's descriptions are HTML
        "description": html.escape(node.name, quote=False),
        "optimizer_properties": {
            "level": node.level,
            "runs": node.runs,
            "kind": node.kind,
            "call_site": node.call_site,
            "uids": list(node.uids),
        },
    }
    if node.inputs:
        told["inputs"] = [
            {
                "id": each.id,
                "num": number,
                "exchange": each.exchange,
                "ship_strategy": each.ship_strategy,
            }
            for number, each in enumerate(node.inputs)
        ]
    return told


def job_config(view: JobConfigView) -> JsonObject:
    """`/jobs/:jobid/config`."""
    return {
        "jid": view.job_id,
        "name": view.name,
        "execution-config": {
            "execution-mode": view.execution_mode,
            "restart-strategy": view.restart_strategy,
            "job-parallelism": view.parallelism,
            "object-reuse-mode": view.object_reuse,
            "user-config": dict(view.job_parameters),
        },
    }


def options(view: JobConfigView) -> list[JsonObject]:
    """`/jobs/:jobid/jobmanager/config`."""
    return [{"key": key, "value": value} for key, value in sorted(view.options.items())]


def accumulators(found: Iterable[AccumulatorView]) -> JsonObject:
    """`/jobs/:jobid/accumulators`; serialized ones would be Java objects."""
    return {
        "job-accumulators": [],
        "user-task-accumulators": user_accumulators(found),
        "serialized-user-task-accumulators": {},
    }


def user_accumulators(found: Iterable[AccumulatorView]) -> list[JsonObject]:
    """Accumulators of a job, a vertex or a subtask."""
    return [{"name": each.name, "type": each.type, "value": each.value} for each in found]


# --- failures and results ------------------------------------------------------------------------


def exceptions(view: ExceptionsView) -> JsonObject:
    """`/jobs/:jobid/exceptions`."""
    return {
        "exceptionHistory": {
            "entries": [_exception(entry) for entry in view.entries],
            "truncated": view.truncated,
        }
    }


def _exception(entry: FailureView) -> JsonObject:
    executor = entry.executor
    return {
        "exceptionName": entry.type,
        "stacktrace": entry.stacktrace,
        "timestamp": entry.when,
        "taskName": entry.task,
        "endpoint": entry.machine if executor is None else executor.address,
        "taskManagerId": None if executor is None else executor_id(executor),
        "failureLabels": {} if entry.condition is None else {"CONDITION": entry.condition},
        "concurrentExceptions": [],
        "condition": entry.condition,
        "message": entry.message,
        "where": entry.where,
        "fix": entry.fix,
        "code": entry.code,
        "raised-at": entry.raised_at,
        "delay-ms": entry.delay_ms,
    }


def execution_result(job: JobOverview, error: str | None = None) -> JsonObject:
    """`/jobs/:jobid/execution-result`; a job that failed says why."""
    status = _TERMINAL.get(job.state)
    if status is None:
        return {"status": {"id": "IN_PROGRESS"}}
    failed = (
        {"failure-cause": failure_text(error or "the job failed")} if status == "FAILED" else {}
    )
    return {
        "status": {"id": "COMPLETED"},
        "job-execution-result": {
            **failed,
            "id": job.job_id,
            "name": job.name,
            "application-id": job.job_id,
            "application-status": status,
            "accumulator-results": {},
            "net-runtime": job.duration_ms,
            "start-time": job.started,
            "end-time": end_time(job.ended),
        },
    }
