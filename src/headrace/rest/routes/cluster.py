"""Paths of the dispatcher itself: overview, settings, logs, metrics; and what is not served."""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from headrace import __version__
from headrace.common.opaque import JsonObject
from headrace.common.sensitive import masked
from headrace.rest.answers import JsonAnswer, Refusal, not_found
from headrace.rest.backend import Backend, Here, JobId
from headrace.rest.flink.metrics import metrics
from headrace.rest.guard import role_of
from headrace.rest.log_files import log_answer, log_list, own_logs
from headrace.rest.routes.jobs import Get, known

router = APIRouter(tags=["cluster"])

# The version of Flink whose REST API this is: clients compare it with their own.
FLINK_VERSION = "2.3.0"
_STARTED = time.monotonic()


@router.get("/overview")
def overview(here: Here) -> Response:
    """Jobs by state, executors and slots."""
    jobs = here.views.overview()
    executors = here.views.executors()
    total, taken = _slots(here)
    states = [job.state for job in jobs]
    return JsonAnswer(
        {
            "taskmanagers": len(executors),
            "slots-total": total,
            "slots-available": max(0, total - taken),
            "jobs-running": sum(
                state not in ("FINISHED", "CANCELED", "FAILED") for state in states
            ),
            "jobs-finished": states.count("FINISHED"),
            "jobs-cancelled": states.count("CANCELED"),
            "jobs-failed": states.count("FAILED"),
            "flink-version": FLINK_VERSION,
            "flink-commit": f"headrace {__version__}",
            "headrace-version": __version__,
        }
    )


def _slots(here: Backend) -> tuple[int, int]:
    """All and taken ones: the cluster's own where they are limited, else those of executors."""
    total, taken = here.dispatcher.slots()
    if total:
        return total, taken
    executors = here.views.executors()
    return sum(e.slots for e in executors), sum(e.busy_slots for e in executors)


@router.get("/config")
def config(here: Here, request: Request) -> Response:
    """What the dashboard has to know; `role` is what the one who asks may do."""
    settings, now = here.settings, datetime.now(UTC).astimezone()
    offset = now.utcoffset()
    return JsonAnswer(
        {
            "refresh-interval": settings.refresh_ms,
            "timezone-name": now.tzname(),
            "timezone-offset": 0 if offset is None else int(offset.total_seconds() * 1000),
            "flink-version": FLINK_VERSION,
            "flink-revision": f"headrace {__version__}",
            "headrace-version": __version__,
            "role": role_of(request).name.lower(),
            "features": {
                "web-submit": settings.takes_programs,
                "web-cancel": settings.web_cancel,
                "web-rescale": True,
                "web-history": False,
            },
        }
    )


@router.delete("/cluster")
def shut_down(here: Here) -> Response:
    """End the dispatcher; jobs go on, and are found by the next one."""
    if here.shut_down is None:
        raise Refusal(501, "this server cannot be ended over REST", kind="NOT_IMPLEMENTED")
    threading.Timer(0.2, here.shut_down).start()  # after the answer
    return JsonAnswer({})


@router.get("/health")
def health(here: Here) -> Response:
    """Whether the server answers, and whether it leads: for probes."""
    return JsonAnswer({"status": "ok", "leader": here.dispatcher.is_leader})


# --- the JobManager, which is the dispatcher -----------------------------------------------------


@router.get("/jobmanager/config")
def dispatcher_config(here: Here) -> Response:
    """The dispatcher's options; secrets are masked."""
    return JsonAnswer(dispatcher_options(here))


def dispatcher_options(here: Backend) -> list[JsonObject]:
    """The options as Flink lists them."""
    options = masked(here.dispatcher.settings.configuration.to_dict())
    return [{"key": key, "value": value} for key, value in sorted(options.items())]


@router.get("/jobmanager/environment")
def dispatcher_environment() -> Response:
    """Which Python runs the dispatcher."""
    return JsonAnswer(_environment())


@router.get("/jobs/{jobid}/jobmanager/environment")
def job_environment(here: Here, job_id: JobId) -> Response:
    """Which Python runs a job: the same."""
    known(here, job_id)
    return JsonAnswer(_environment())


def _environment() -> JsonObject:
    return {
        "jvm": {
            "version": f"Python {platform.python_version()} ({platform.python_implementation()})",
            "arch": platform.machine(),
            "options": [],
        },
        "classpath": [path for path in sys.path if path],
    }


@router.get("/jobmanager/logs")
def dispatcher_logs() -> Response:
    """The dispatcher's logs."""
    return JsonAnswer(log_list(own_logs()))


@router.get("/jobmanager/logs/{name}")
def dispatcher_log(name: str) -> Response:
    """One of the dispatcher's logs; the end of it if it is long."""
    return log_answer(own_logs(), name)


@router.get("/jobmanager/log")
def dispatcher_main_log() -> Response:
    """The dispatcher's log."""
    logs = own_logs()
    if not logs:
        raise not_found("the dispatcher writes its log to a terminal")
    return log_answer(logs, logs[0].name)


@router.get("/jobmanager/stdout")
def dispatcher_output() -> Response:
    """What the dispatcher has printed: a detached one prints into its log."""
    return dispatcher_main_log()


@router.get("/jobmanager/metrics")
def dispatcher_metrics(here: Here, get: Get = None) -> Response:
    """Metrics of the dispatcher."""
    total, taken = _slots(here)
    used = os.times()
    states = [job.state for job in here.views.overview()]
    found = {
        "taskSlotsTotal": total,
        "taskSlotsAvailable": max(0, total - taken),
        "numRegisteredTaskManagers": len(here.views.executors()),
        "numRunningJobs": states.count("RUNNING"),
        "Status.CPU.TimeMs": int((used.user + used.system) * 1000),
        "Status.Threads.Count": threading.active_count(),
        "uptime": int((time.monotonic() - _STARTED) * 1000),
    }
    return JsonAnswer(metrics(found, get))


# --- Flink's that headrace has not ---------------------------------------------------------------


@router.get("/datasets")
def datasets() -> Response:
    """Cached data sets of Flink's batch mode, of which there are none."""
    return JsonAnswer({"dataSets": []})


# As a Flink answers whose scheduler is not the adaptive one, and that does not profile.
_MISSING = (
    ("/jobs/{jobid}/rescales/{rest:path}", "rescales are not kept"),
    ("/jobmanager/profiler", "the dispatcher is not profiled"),
    ("/jobmanager/profiler/{rest:path}", "the dispatcher is not profiled"),
    ("/taskmanagers/{taskmanagerid}/profiler", "executors are not profiled"),
    ("/taskmanagers/{taskmanagerid}/profiler/{rest:path}", "executors are not profiled"),
)  # fmt: skip


def _refusing(why: str) -> Callable[[], Response]:
    def refuse() -> Response:
        raise Refusal(404, f"this path of Flink's is not served: {why}", kind="NOT_SERVED")

    return refuse


for _path, _why in _MISSING:
    router.add_api_route(
        _path, _refusing(_why), methods=["GET"], include_in_schema=False, name=f"GET {_path}"
    )
