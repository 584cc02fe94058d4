"""Thread dumps: of the dispatcher, of executors, and of the drivers of jobs.

In: a driver, asked through its registry (control/requests.py).  Out: Flink's `threadInfos`.
Next: runtime/thread_infos.py
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from headrace.common.opaque import JsonObject
from headrace.control.requests import ask
from headrace.rest.answers import JsonAnswer
from headrace.rest.backend import Backend, Here, JobId
from headrace.rest.routes.executors import ExecutorId, executor_of
from headrace.runtime.thread_infos import thread_infos

router = APIRouter(tags=["threads"])

_PATIENCE_S = 10.0


@router.get("/jobmanager/thread-dump")
def dispatcher_threads() -> Response:
    """What the dispatcher's threads are doing."""
    return JsonAnswer({"threadInfos": thread_infos()})


@router.get("/taskmanagers/{taskmanagerid}/thread-dump")
def executor_threads(here: Here, executor_id: ExecutorId) -> Response:
    """What the threads of an executor are doing: those of its JVM and of its Python workers."""
    found = executor_of(here, executor_id)
    return _asked(here, found.job_id, {"executor": found.id})


@router.get("/jobs/{jobid}/thread-dump")
def driver_threads(here: Here, job_id: JobId) -> Response:
    """What the threads of a job's driver are doing: in Python, and in its JVM if it has one."""
    return _asked(here, here.views.job(job_id.lower()).overview.job_id, {})


def _asked(here: Backend, job_id: str, arguments: JsonObject) -> Response:
    registry = here.dispatcher.registry
    return JsonAnswer(ask(registry, job_id, "threads", arguments, timeout_s=_PATIENCE_S))
