"""Paths of Flink 2.3's applications: an application of headrace's is one job, and has its id.

In: ids of jobs.  Out: rest/flink/applications.py.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from headrace.rest.answers import JsonAnswer
from headrace.rest.backend import HEX_ID, Here
from headrace.rest.flink import applications as flink
from headrace.rest.routes.cluster import dispatcher_options
from headrace.rest.routes.jobs import known
from headrace.rest.routes.operations import cancel

router = APIRouter(prefix="/applications", tags=["applications"])

ApplicationId = Annotated[
    str, Path(alias="applicationid", pattern=HEX_ID, description="The id of its job.")
]


@router.get("/overview")
def applications(here: Here) -> Response:
    """All applications in a line each."""
    lines = [flink.application_line(job) for job in here.views.overview()]
    return JsonAnswer({"applications": lines})


@router.get("/{applicationid}")
def application(here: Here, application_id: ApplicationId) -> Response:
    """One application, and its job."""
    return JsonAnswer(flink.application(here.views.job(application_id.lower())))


@router.get("/{applicationid}/exceptions")
def application_exceptions(here: Here, application_id: ApplicationId) -> Response:
    """Why an application has failed."""
    job = known(here, application_id)
    return JsonAnswer(flink.application_exceptions(job, here.views.exceptions(job.job_id)))


@router.get("/{applicationid}/jobmanager/config")
def application_dispatcher(here: Here, application_id: ApplicationId) -> Response:
    """The options of the dispatcher that started it; secrets are masked."""
    known(here, application_id)
    return JsonAnswer(dispatcher_options(here))


@router.post("/{applicationid}/cancel", status_code=202)
def cancel_application(here: Here, application_id: ApplicationId) -> Response:
    """Cancel the job of an application."""
    cancel(here, known(here, application_id))
    return JsonAnswer({}, 202)
