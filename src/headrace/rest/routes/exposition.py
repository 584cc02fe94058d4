"""`/metrics`, as Prometheus asks for it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from headrace.control.views.prometheus import CONTENT_TYPE, exposition
from headrace.rest.backend import Here

router = APIRouter(tags=["metrics"])


@router.get("/metrics")
def prometheus(here: Here) -> Response:
    """All metrics of all running jobs, in Prometheus' text format."""
    return Response(exposition(here.views), media_type=CONTENT_TYPE)
