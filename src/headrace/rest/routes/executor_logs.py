"""Logs of TaskManagers: files where the driver runs the tasks, else links to Spark's own pages.

In: executors and their jobs' logs (rest/routes/jobs.py).  Out: lists, texts and redirections.  A
request names a log of the list, never a path.  Next: rest/log_files.py
"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from headrace.control.views.models import ExecutorView
from headrace.rest.answers import JsonAnswer, not_found
from headrace.rest.backend import Backend, Here, JobId
from headrace.rest.log_files import log_answer, log_list
from headrace.rest.routes.executors import ExecutorId, executor_of
from headrace.rest.routes.jobs import driver_logs

router = APIRouter(tags=["taskmanagers"])


@router.get("/taskmanagers/{taskmanagerid}/logs")
def executor_logs(here: Here, executor_id: ExecutorId) -> Response:
    """The logs of an executor; those that Spark serves have a ``url``."""
    found = executor_of(here, executor_id)
    linked = [{"name": n, "size": 0, "mtime": 0, "url": url} for n, url in _links(found).items()]
    return JsonAnswer({"logs": [*log_list(_files(here, found))["logs"], *linked]})


@router.get("/taskmanagers/{taskmanagerid}/logs/{name}")
def executor_log(here: Here, executor_id: ExecutorId, name: str) -> Response:
    """One log of an executor, or where Spark serves it."""
    return _log(here, executor_of(here, executor_id), name)


@router.get("/taskmanagers/{taskmanagerid}/log")
def executor_main_log(here: Here, executor_id: ExecutorId) -> Response:
    """What an executor logs: Spark's go to standard error."""
    found = executor_of(here, executor_id)
    return _log(here, found, _main_log(here, found, "stderr"))


@router.get("/taskmanagers/{taskmanagerid}/stdout")
def executor_output(here: Here, executor_id: ExecutorId) -> Response:
    """What an executor has printed: a driver prints into its log."""
    found = executor_of(here, executor_id)
    return _log(here, found, _main_log(here, found, "stdout"))


@router.get("/jobs/{jobid}/taskmanagers/{taskmanagerid}/log-url")
def executor_log_url(here: Here, job_id: JobId, executor_id: ExecutorId) -> Response:
    """Where the log of an executor of a job is."""
    found = executor_of(here, executor_id)
    if found.job_id != job_id.lower():
        raise not_found(f"executor {executor_id[:100]} is not of job {job_id[:12]}")
    name = _main_log(here, found, "stderr")
    url = _links(found).get(name, f"/taskmanagers/{executor_id}/logs/{name}")
    return JsonAnswer({"url": url})


def _main_log(here: Backend, executor: ExecutorView, spark_name: str) -> str:
    """The name of the one log that is asked for without a name.

    Args:
        here: what the routes stand on.
        executor: whose log.
        spark_name: how Spark calls it.

    Raises:
        Refusal: 404, there is none.
    """
    names = [file.name for file in _files(here, executor)]
    links = _links(executor)
    if not names and not links:
        raise not_found(
            f"executor {executor.id} writes no log file", "its output goes to a terminal"
        )
    return names[0] if names else spark_name if spark_name in links else next(iter(links))


def _log(here: Backend, executor: ExecutorView, name: str) -> Response:
    url = _links(executor).get(name)
    if url is not None:
        return JsonAnswer({"url": url}, 303, headers={"Location": url})
    return log_answer(_files(here, executor), name)


def _files(here: Backend, executor: ExecutorView) -> list[Path]:
    """Logs that are files here: those of the driver, where it runs the tasks."""
    return driver_logs(here, executor.job_id) if executor.is_driver else []


def _links(executor: ExecutorView) -> dict[str, str]:
    """Logs that Spark serves, by name; other schemes would not be followed."""
    return {
        name: url for name, url in executor.logs.items() if url.startswith(("http://", "https://"))
    }
