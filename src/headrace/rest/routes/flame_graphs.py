"""Flame graphs of vertices.

In: a vertex.  Out: Flink's answer.  Next: rest/flame_graphs.py
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from headrace.common.opaque import JsonObject
from headrace.control.requests import ask
from headrace.rest import flame_graphs as graphs
from headrace.rest.answers import JsonAnswer, Refusal
from headrace.rest.backend import Backend, Here, JobId, VertexId

router = APIRouter(prefix="/jobs/{jobid}/vertices/{vertexid}", tags=["vertices"])

_OVER = ("FINISHED", "CANCELED", "FAILED")


@router.get("/flamegraph")
def flame_graph(
    here: Here,
    job_id: JobId,
    vertex_id: VertexId,
    kind: Annotated[str, Query(alias="type", description="full, on_cpu or off_cpu.")] = "full",
    index: Annotated[int | None, Query(alias="subtaskindex", ge=0, le=1 << 31)] = None,
) -> Response:
    """What the tasks of a vertex are doing; -3 for its time while the first is being made."""
    if kind.lower() not in graphs.TYPES:
        known = ", ".join(graphs.TYPES)
        raise Refusal(400, f"there is no flame graph of type {kind[:50]!r}", fix=f"known: {known}")
    return JsonAnswer(_graph(here, (job_id.lower(), vertex_id.lower(), index), kind.lower()))


def _graph(here: Backend, place: tuple[str, str, int | None], kind: str) -> JsonObject:
    job_id, vertex_id, index = place
    vertex, _ = here.vertex(job_id, vertex_id)
    status = vertex.status if index is None else here.subtask(*place[:2], index)[0].status
    if status in _OVER:
        return graphs.TERMINATED
    settings = here.settings.flame_graphs
    # Spark compiles native steps into one method with whatever stands around them
    if not settings.enabled or vertex.runs == "native":
        return graphs.DISABLED

    def sample() -> list[JsonObject]:
        arguments = {
            "uids": [operator.uid for operator in vertex.operators],
            "subtask": index,
            "count": settings.count,
            "delay_ms": settings.delay_ms,
            "depth": settings.depth,
        }
        patience_s = 2 * settings.count * settings.delay_ms / 1000 + 10
        found = ask(here.dispatcher.registry, job_id, "samples", arguments, timeout_s=patience_s)
        return list(found["samples"])

    return here.flame_graphs.get(place, kind, sample)
