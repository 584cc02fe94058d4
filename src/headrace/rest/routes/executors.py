"""Paths of TaskManagers, which are Spark's executors."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from headrace.control.views.models import ExecutorView
from headrace.rest.answers import JsonAnswer, Refusal, not_found
from headrace.rest.backend import Backend, Here, JobId
from headrace.rest.flink import executors as flink
from headrace.rest.flink.metrics import aggregated_metrics, metrics
from headrace.rest.routes.jobs import Agg, Get

router = APIRouter(tags=["taskmanagers"])

ExecutorId = Annotated[str, Path(alias="taskmanagerid", max_length=200)]


@router.get("/taskmanagers")
def executors(here: Here) -> Response:
    """All executors of running jobs."""
    return JsonAnswer({"taskmanagers": [flink.executor(each) for each in here.views.executors()]})


@router.get("/taskmanagers/metrics")
def executors_metrics(
    here: Here,
    get: Get = None,
    agg: Agg = None,
    taskmanagers: Annotated[str | None, Query(description="Ids, by commas; else all.")] = None,
) -> Response:
    """Metrics over several executors."""
    wanted = None if taskmanagers is None else set(taskmanagers.split(","))
    found = [
        flink.executor_metrics(each)
        for each in here.views.executors()
        if wanted is None or flink.executor_id(each) in wanted
    ]
    return JsonAnswer(aggregated_metrics(found, get, agg))


@router.get("/taskmanagers/{taskmanagerid}")
def executor(here: Here, executor_id: ExecutorId) -> Response:
    """One executor."""
    return JsonAnswer(flink.executor_detail(_executor(here, executor_id)))


@router.get("/taskmanagers/{taskmanagerid}/metrics")
def executor_metrics(here: Here, executor_id: ExecutorId, get: Get = None) -> Response:
    """Metrics of one executor."""
    return JsonAnswer(metrics(flink.executor_metrics(_executor(here, executor_id)), get))


@router.get("/taskmanagers/{taskmanagerid}/logs")
def executor_logs(here: Here, executor_id: ExecutorId) -> Response:
    """The logs of an executor: Spark serves them, at ``url``."""
    logs = _executor(here, executor_id).logs
    return JsonAnswer(
        {"logs": [{"name": n, "size": 0, "mtime": 0, "url": url} for n, url in logs.items()]}
    )


@router.get("/taskmanagers/{taskmanagerid}/logs/{name}")
def executor_log(here: Here, executor_id: ExecutorId, name: str) -> Response:
    """Where Spark serves a log."""
    url = _executor(here, executor_id).logs.get(name)
    if url is None or not url.startswith(("http://", "https://")):
        raise not_found(f"the executor has no log {name[:100]!r}")
    return JsonAnswer({"url": url}, 303, headers={"Location": url})


@router.get("/taskmanagers/{taskmanagerid}/thread-dump")
def executor_threads(here: Here, executor_id: ExecutorId) -> Response:
    """Not served here, but by Spark."""
    _executor(here, executor_id)
    raise Refusal(
        501,
        "threads of executors are shown by Spark's own pages",
        fix="open the job's Spark UI, Executors, Thread Dump",
        kind="NOT_IMPLEMENTED",
    )


@router.get("/jobs/{jobid}/taskmanagers/{taskmanagerid}/log-url")
def executor_log_url(here: Here, job_id: JobId, executor_id: ExecutorId) -> Response:
    """Where Spark serves the log of an executor of a job."""
    found = _executor(here, executor_id)
    if found.job_id != job_id.lower() or not found.logs:
        raise not_found(f"executor {executor_id[:100]} of job {job_id[:12]} has no log")
    return JsonAnswer({"url": next(iter(found.logs.values()))})


def _executor(here: Backend, executor_id: str) -> ExecutorView:
    for each in here.views.executors():
        if flink.executor_id(each) == executor_id:
            return each
    raise not_found(f"there is no executor {executor_id[:100]!r}", "GET /taskmanagers lists all")
