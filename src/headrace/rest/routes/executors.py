"""Paths of TaskManagers, which are Spark's executors; their logs: rest/routes/executor_logs.py."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from headrace.control.views.models import ExecutorView
from headrace.rest.answers import JsonAnswer, not_found
from headrace.rest.backend import Backend, Here
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
    return JsonAnswer(flink.executor_detail(executor_of(here, executor_id)))


@router.get("/taskmanagers/{taskmanagerid}/metrics")
def executor_metrics(here: Here, executor_id: ExecutorId, get: Get = None) -> Response:
    """Metrics of one executor."""
    return JsonAnswer(metrics(flink.executor_metrics(executor_of(here, executor_id)), get))


def executor_of(here: Backend, executor_id: str) -> ExecutorView:
    """An executor by the id that clients see.

    Raises:
        Refusal: 404, there is none.
    """
    for each in here.views.executors():
        if flink.executor_id(each) == executor_id:
            return each
    raise not_found(f"there is no executor {executor_id[:100]!r}", "GET /taskmanagers lists all")
