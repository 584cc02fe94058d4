"""Paths of vertices and their subtasks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from headrace.rest.answers import JsonAnswer, not_found
from headrace.rest.backend import Here, JobId, Subtask, VertexId
from headrace.rest.flink import vertices as flink
from headrace.rest.flink.metrics import aggregated_metrics, metrics
from headrace.rest.routes.jobs import Agg, Get

router = APIRouter(prefix="/jobs/{jobid}/vertices/{vertexid}", tags=["vertices"])

Attempt = Annotated[int, Path(ge=0, le=1 << 31)]


@router.get("")
def vertex_detail(here: Here, job_id: JobId, vertex_id: VertexId) -> Response:
    """A vertex with its subtasks."""
    return JsonAnswer(flink.vertex_detail(*here.vertex(job_id.lower(), vertex_id.lower())))


@router.get("/accumulators")
def vertex_accumulators(here: Here, job_id: JobId, vertex_id: VertexId) -> Response:
    """The users' accumulators of a vertex, merged over its subtasks."""
    vertex, _ = here.vertex(job_id.lower(), vertex_id.lower())
    return JsonAnswer(flink.vertex_accumulators(vertex))


@router.get("/backpressure")
def back_pressure(here: Here, job_id: JobId, vertex_id: VertexId) -> Response:
    """Where the time of a vertex goes."""
    here.vertex(job_id.lower(), vertex_id.lower())
    return JsonAnswer(
        flink.back_pressure(here.views.back_pressure(job_id.lower(), vertex_id.lower()))
    )


@router.get("/metrics")
def vertex_metrics(here: Here, job_id: JobId, vertex_id: VertexId, get: Get = None) -> Response:
    """Metrics of a vertex, each with the number of its subtask in front."""
    here.vertex(job_id.lower(), vertex_id.lower())
    return JsonAnswer(metrics(here.views.vertex_metrics(job_id.lower(), vertex_id.lower()), get))


@router.get("/jm-operator-metrics")
def coordinator_metrics(
    here: Here, job_id: JobId, vertex_id: VertexId, get: Get = None
) -> Response:
    """Metrics of operator coordinators, of which headrace has none."""
    here.vertex(job_id.lower(), vertex_id.lower())
    return JsonAnswer(metrics({}, get))


@router.get("/subtasktimes")
def subtask_times(here: Here, job_id: JobId, vertex_id: VertexId) -> Response:
    """When subtasks began and ended."""
    return JsonAnswer(flink.subtask_times(*here.vertex(job_id.lower(), vertex_id.lower())))


@router.get("/taskmanagers")
def vertex_taskmanagers(here: Here, job_id: JobId, vertex_id: VertexId) -> Response:
    """The subtasks by host."""
    return JsonAnswer(flink.vertex_taskmanagers(*here.vertex(job_id.lower(), vertex_id.lower())))


@router.get("/watermarks")
def watermarks(here: Here, job_id: JobId, vertex_id: VertexId) -> Response:
    """The watermark of every subtask."""
    vertex, _ = here.vertex(job_id.lower(), vertex_id.lower())
    return JsonAnswer(flink.watermarks(vertex))


# --- subtasks ------------------------------------------------------------------------------------


@router.get("/subtasks/accumulators")
def subtask_accumulators(here: Here, job_id: JobId, vertex_id: VertexId) -> Response:
    """The users' accumulators by subtask."""
    vertex, _ = here.vertex(job_id.lower(), vertex_id.lower())
    return JsonAnswer(flink.subtask_accumulators(vertex))


@router.get("/subtasks/metrics")
def subtasks_metrics(
    here: Here, job_id: JobId, vertex_id: VertexId, get: Get = None, agg: Agg = None
) -> Response:
    """Metrics over all subtasks."""
    vertex, _ = here.vertex(job_id.lower(), vertex_id.lower())
    found = [
        here.views.subtask_metrics(job_id.lower(), vertex.id, subtask.number)
        for subtask in vertex.subtasks
    ]
    return JsonAnswer(aggregated_metrics(found, get, agg))


@router.get("/subtasks/{subtaskindex}")
def subtask_detail(here: Here, job_id: JobId, vertex_id: VertexId, index: Subtask) -> Response:
    """One subtask."""
    subtask, now = here.subtask(job_id.lower(), vertex_id.lower(), index)
    return JsonAnswer(flink.subtask_detail(subtask, now))


@router.get("/subtasks/{subtaskindex}/metrics")
def subtask_metrics(
    here: Here, job_id: JobId, vertex_id: VertexId, index: Subtask, get: Get = None
) -> Response:
    """Metrics of one subtask."""
    here.subtask(job_id.lower(), vertex_id.lower(), index)
    found = here.views.subtask_metrics(job_id.lower(), vertex_id.lower(), index)
    return JsonAnswer(metrics(found, get))


@router.get("/subtasks/{subtaskindex}/attempts/{attempt}")
def attempt_detail(
    here: Here, job_id: JobId, vertex_id: VertexId, index: Subtask, attempt: Attempt
) -> Response:
    """The present attempt of a subtask; earlier ones are not kept."""
    subtask, now = here.subtask(job_id.lower(), vertex_id.lower(), index)
    if attempt != subtask.attempt:
        raise not_found(f"attempt {attempt} is not kept; the present one is {subtask.attempt}")
    return JsonAnswer(flink.subtask_detail(subtask, now))


@router.get("/subtasks/{subtaskindex}/attempts/{attempt}/accumulators")
def attempt_accumulators(
    here: Here, job_id: JobId, vertex_id: VertexId, index: Subtask, attempt: Attempt
) -> Response:
    """The users' accumulators of a subtask."""
    vertex, _ = here.vertex(job_id.lower(), vertex_id.lower())
    subtask, _ = here.subtask(job_id.lower(), vertex_id.lower(), index)
    if attempt != subtask.attempt:
        raise not_found(f"attempt {attempt} is not kept; the present one is {subtask.attempt}")
    return JsonAnswer(flink.attempt_accumulators(vertex, subtask))
