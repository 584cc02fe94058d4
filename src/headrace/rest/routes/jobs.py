"""Paths that read jobs: `/jobs` and what is below it, but for vertices and checkpoints."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from headrace.control.scaling import propose_parallelism, scaling_of
from headrace.control.views.models import JobOverview
from headrace.rest.answers import JsonAnswer, Refusal, not_found
from headrace.rest.backend import Backend, Here, JobId
from headrace.rest.flink import jobs as flink
from headrace.rest.flink.metrics import aggregated_metrics, asked_for, metrics, series
from headrace.rest.log_files import log_answer, log_list

router = APIRouter(tags=["jobs"])

Get = Annotated[str | None, Query(description="Names of metrics, separated by commas.")]
Agg = Annotated[str | None, Query(description="Any of min, max, avg, sum, skew.")]


@router.get("/jobs")
def list_jobs(here: Here) -> Response:
    """All jobs with their states."""
    return JsonAnswer(flink.job_ids(here.views.overview()))


@router.get("/jobs/overview")
def jobs_overview(here: Here) -> Response:
    """All jobs in a line each; waiting ones with their place in the queue."""
    lines = [{**flink.job_line(job), **_place(here, job)} for job in here.views.overview()]
    return JsonAnswer({"jobs": lines})


def _place(here: Backend, job: JobOverview) -> dict[str, int | None]:
    """The place in the queue, of a job that waits."""
    if job.state != "CREATED":
        return {}
    return {"queue-position": here.dispatcher.queue_position(job.job_id)}


@router.get("/jobs/metrics")
def jobs_metrics(
    here: Here,
    get: Get = None,
    agg: Agg = None,
    jobs: Annotated[str | None, Query(description="Ids, separated by commas; else all.")] = None,
) -> Response:
    """Metrics over several jobs."""
    wanted = None if jobs is None else set(jobs.lower().split(","))
    found = [
        here.views.job_metrics(job.job_id)
        for job in here.views.overview()
        if wanted is None or job.job_id in wanted
    ]
    return JsonAnswer(aggregated_metrics(found, get, agg))


@router.get("/jobs/{jobid}")
def job_detail(here: Here, job_id: JobId) -> Response:
    """One job with its vertices; a waiting one with its place in the queue."""
    job = here.views.job(job_id.lower())
    restored = here.views.checkpoints(job.overview.job_id).restored_path
    place = _place(here, job.overview)
    return JsonAnswer({**flink.job_detail(job), "restored-from": restored, **place})


@router.get("/jobs/{jobid}/status")
def job_status(here: Here, job_id: JobId) -> Response:
    """The state of a job."""
    return JsonAnswer({"status": known(here, job_id).state})


@router.get("/jobs/{jobid}/plan")
def job_plan(here: Here, job_id: JobId) -> Response:
    """The graph of a job."""
    return JsonAnswer({"plan": flink.plan(here.views.plan(job_id.lower()))})


@router.get("/jobs/{jobid}/config")
def job_config(here: Here, job_id: JobId) -> Response:
    """How a job was configured."""
    return JsonAnswer(flink.job_config(here.views.configuration(job_id.lower())))


@router.get("/jobs/{jobid}/jobmanager/config")
def job_options(here: Here, job_id: JobId) -> Response:
    """All options of a job; secrets are masked."""
    return JsonAnswer(flink.options(here.views.configuration(job_id.lower())))


@router.get("/jobs/{jobid}/accumulators")
def job_accumulators(
    here: Here,
    job_id: JobId,
    with_serialized: Annotated[bool, Query(alias="includeSerializedValue")] = False,  # noqa: FBT002
) -> Response:
    """The users' accumulators."""
    found = here.views.accumulators(job_id.lower())
    if with_serialized and found:
        raise Refusal(
            501,
            "accumulators are not served as serialized Java objects",
            fix="ask without includeSerializedValue: the values are there as text",
            kind="NOT_IMPLEMENTED",
        )
    return JsonAnswer(flink.accumulators(found))


@router.get("/jobs/{jobid}/exceptions")
def job_exceptions(
    here: Here,
    job_id: JobId,
    most: Annotated[int, Query(alias="maxExceptions", ge=1, le=10_000)] = 20,
) -> Response:
    """What went wrong, with the user's line."""
    return JsonAnswer(flink.exceptions(here.views.exceptions(job_id.lower(), most)))


@router.get("/jobs/{jobid}/execution-result")
def job_result(here: Here, job_id: JobId) -> Response:
    """Whether a job has ended, and how."""
    job = known(here, job_id)
    error = here.views.job(job.job_id).error if job.state == "FAILED" else None
    return JsonAnswer(flink.execution_result(job, error))


@router.get("/jobs/{jobid}/metrics")
def job_metrics(here: Here, job_id: JobId, get: Get = None) -> Response:
    """Metrics of a job."""
    return JsonAnswer(metrics(here.views.job_metrics(known(here, job_id).job_id), get))


# --- what Flink has not --------------------------------------------------------------------------


@router.get("/jobs/{jobid}/metrics/history")
def metric_history(
    here: Here,
    job_id: JobId,
    get: Annotated[str | None, Query(description="`job.NAME` or `VERTEX.NAME`, by commas.")] = None,
    since: Annotated[int, Query(ge=0, description="Epoch milliseconds.")] = 0,
) -> Response:
    """Metrics over time."""
    return JsonAnswer(series(here.views.series(known(here, job_id).job_id, asked_for(get)), since))


@router.get("/jobs/{jobid}/diagnosis")
def job_diagnosis(here: Here, job_id: JobId) -> Response:
    """What limits a job: the slow step, skewed subtasks, sources that lag, long epochs."""
    return JsonAnswer(asdict(here.views.diagnosis(known(here, job_id).job_id)))


@router.get("/jobs/{jobid}/rescale")
def job_proposal(here: Here, job_id: JobId) -> Response:
    """Which parallelism is proposed, from how busy the job is and how far its sources lag."""
    job = known(here, job_id).job_id
    found = propose_parallelism(here.views, job, scaling_of(here.views, job))
    return JsonAnswer(
        {
            "current": found.current,
            "proposed": found.parallelism,
            "load": found.load,
            "reason": found.reason,
        }
    )


@router.get("/jobs/{jobid}/logs")
def job_logs(here: Here, job_id: JobId) -> Response:
    """The logs of a job's driver."""
    return JsonAnswer(log_list(driver_logs(here, job_id)))


@router.get("/jobs/{jobid}/logs/{name}")
def job_log(here: Here, job_id: JobId, name: str) -> Response:
    """One log of a job's driver; the end of it if it is long."""
    return log_answer(driver_logs(here, job_id), name)


@router.get("/jobs/{jobid}/jobmanager/log-url")
def job_log_url(here: Here, job_id: JobId) -> Response:
    """Where the log of a job's driver is."""
    logs = driver_logs(here, job_id)
    if not logs:
        raise not_found(f"job {job_id[:12]} writes no log file of its own")
    return JsonAnswer({"url": f"/jobs/{job_id}/logs/{logs[0].name}"})


def driver_logs(here: Backend, job_id: str) -> list[FilePath]:
    """The files that a job's driver writes its log to."""
    log = here.views.job(job_id.lower()).log or here.dispatcher.log_file(job_id.lower())
    return [] if log is None else [FilePath(log)]


def known(here: Backend, job_id: str) -> JobOverview:
    """A job that there is.

    Raises:
        Refusal: 404.
    """
    job = here.views.find(job_id.lower())
    if job is None:
        raise not_found(f"there is no job {job_id}", "GET /jobs lists all")
    return job
