"""Jobs as Flink's applications: one of headrace's has one job, and that job's id.

In: a JobOverview, ExceptionsView.  Out: JSON of `/applications`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.rest.flink.counts import end_time
from headrace.rest.flink.jobs import job_line

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject
    from headrace.control.views.models import ExceptionsView, JobOverview, JobView

_STATES = ("CREATED", "RUNNING", "FAILING", "FAILED", "CANCELING", "CANCELED", "FINISHED")
# states of a job that an application does not have
_OF_JOBS = {
    "INITIALIZING": "RUNNING",
    "RESTARTING": "RUNNING",
    "RECONCILING": "RUNNING",
    "SUSPENDED": "RUNNING",
    "CANCELLING": "CANCELING",
}


def application_line(job: JobOverview) -> JsonObject:
    """A line of `/applications/overview`."""
    return {**_head(job), "jobs": {job.state: 1}}


def application(job: JobView) -> JsonObject:
    """`/applications/:id`."""
    times = dict.fromkeys(_STATES, 0)
    for state, at in job.state_times.items():
        times[_state(state)] = max(at, times[_state(state)])
    return {
        **_head(job.overview),
        "timestamps": times,
        "jobs": [job_line(job.overview, job.type)],
    }


def _head(job: JobOverview) -> JsonObject:
    return {
        "id": job.job_id,
        "name": job.name,
        "start-time": job.started,
        "end-time": end_time(job.ended),
        "duration": job.duration_ms,
        "status": _state(job.state),
    }


def _state(of_job: str) -> str:
    return _OF_JOBS.get(of_job, of_job)


def application_exceptions(job: JobOverview, view: ExceptionsView) -> JsonObject:
    """`/applications/:id/exceptions`: what ended it; those before it are told of the job."""
    last = [entry for entry in view.entries if entry.delay_ms is None][:1]
    entries = [
        {
            "exceptionName": entry.type,
            "stacktrace": entry.stacktrace,
            "timestamp": entry.when,
            "jobId": job.job_id,
        }
        for entry in last
    ]
    return {"exceptionHistory": {"entries": entries}}
