"""Paths that read checkpoints."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from headrace.control.views.models import CheckpointView
from headrace.rest.answers import JsonAnswer, not_found
from headrace.rest.backend import Backend, Here, JobId, VertexId
from headrace.rest.flink import checkpoints as flink
from headrace.rest.routes.jobs import known

router = APIRouter(prefix="/jobs/{jobid}/checkpoints", tags=["checkpoints"])

CheckpointId = Annotated[int, Path(alias="checkpointid", ge=0, le=(1 << 63) - 1)]


@router.get("")
def checkpoints(here: Here, job_id: JobId) -> Response:
    """Counts, statistics and the history of checkpoints."""
    return JsonAnswer(flink.checkpoints(here.views.checkpoints(known(here, job_id).job_id)))


@router.get("/config")
def checkpoint_config(here: Here, job_id: JobId) -> Response:
    """How checkpoints are configured."""
    return JsonAnswer(flink.checkpoint_config(here.views.configuration(known(here, job_id).job_id)))


@router.get("/details/{checkpointid}")
def checkpoint_detail(here: Here, job_id: JobId, number: CheckpointId) -> Response:
    """One checkpoint with its parts."""
    return JsonAnswer(flink.checkpoint(_checkpoint(here, job_id, number)))


@router.get("/details/{checkpointid}/subtasks/{vertexid}")
def checkpoint_subtasks(
    here: Here, job_id: JobId, number: CheckpointId, vertex_id: VertexId
) -> Response:
    """What every subtask of a vertex added to a checkpoint."""
    found = _checkpoint(here, job_id, number)
    for part in found.vertices:
        if part.id == vertex_id.lower():
            return JsonAnswer(flink.checkpoint_subtasks(found, part))
    raise not_found(f"checkpoint {number} has no part of vertex {vertex_id}")


def _checkpoint(here: Backend, job_id: str, number: int) -> CheckpointView:
    found = here.views.checkpoint(known(here, job_id).job_id, number)
    if found is None:
        raise not_found(f"checkpoint {number} is not, or no longer, in the history")
    return found
