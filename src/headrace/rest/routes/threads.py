"""Thread dumps: of the dispatcher, and of executors whose tasks a job's driver runs.

In: a driver, asked through its registry (control/requests.py).  Out: Flink's `threadInfos`.
Next: control/threads.py
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from headrace.control.requests import ask
from headrace.control.threads import thread_infos
from headrace.rest.answers import JsonAnswer, Refusal
from headrace.rest.backend import Here
from headrace.rest.routes.executors import ExecutorId, executor_of

router = APIRouter(tags=["threads"])

_PATIENCE_S = 10.0


@router.get("/jobmanager/thread-dump")
def dispatcher_threads() -> Response:
    """What the dispatcher's threads are doing."""
    return JsonAnswer({"threadInfos": thread_infos()})


@router.get("/taskmanagers/{taskmanagerid}/thread-dump")
def executor_threads(here: Here, executor_id: ExecutorId) -> Response:
    """What the Python threads of a driver are doing that runs the tasks; Spark shows others."""
    found = executor_of(here, executor_id)
    if not found.is_driver:
        raise Refusal(
            501,
            "threads of Spark's executors are shown by Spark's own pages",
            fix="open the job's Spark UI, Executors, Thread Dump",
            kind="NOT_IMPLEMENTED",
        )
    return JsonAnswer(ask(here.dispatcher.registry, found.job_id, "threads", timeout_s=_PATIENCE_S))
