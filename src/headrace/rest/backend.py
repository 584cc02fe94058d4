"""What the routes stand on: a dispatcher, read models, settings; and the parts of their signatures.

In: create_app (rest/app.py).  Out: `Here`, which FastAPI gives to every route, and checked parts of
paths.  Next: rest/routes/
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Path
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotation

from headrace.dispatcher.operations import Operations
from headrace.rest.answers import not_found
from headrace.rest.flame_graphs import FlameGraphs

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.control.views.models import SubtaskView, VertexView
    from headrace.control.views.reader import JobViews
    from headrace.dispatcher.dispatcher import Dispatcher
    from headrace.rest.settings import RestSettings

HEX_ID = "^[0-9a-fA-F]{32}$"


@dataclass(slots=True)
class Backend:
    """Everything a route may use.

    Attributes:
        dispatcher: acts.
        views: reads.
        settings: of REST.
        shut_down: ends the dispatcher's process; None where that is not REST's to do.
        disposals: savepoints that are being deleted.
        flame_graphs: those that were asked for.
    """

    dispatcher: Dispatcher
    views: JobViews
    settings: RestSettings
    shut_down: Callable[[], None] | None = None
    disposals: Operations = field(default_factory=Operations)
    flame_graphs: FlameGraphs = field(init=False)

    def __post_init__(self) -> None:
        self.flame_graphs = FlameGraphs(self.settings.flame_graphs)

    def vertex(self, job_id: str, vertex_id: str) -> tuple[VertexView, int]:
        """A vertex of a job, and the moment at which it was so.

        Raises:
            JobNotFoundError: there is no such job.
            Refusal: 404, it has no such vertex.
        """
        job = self.views.job(job_id)
        for vertex in job.vertices:
            if vertex.id == vertex_id:
                return vertex, job.now
        raise not_found(f"job {job_id[:12]} has no vertex {vertex_id}")

    def subtask(self, job_id: str, vertex_id: str, number: int) -> tuple[SubtaskView, int]:
        """A subtask of a vertex, and the moment at which it was so."""
        vertex, now = self.vertex(job_id, vertex_id)
        for subtask in vertex.subtasks:
            if subtask.number == number:
                return subtask, now
        raise not_found(f"vertex {vertex_id} has no subtask {number}")


async def _backend(request: Request) -> Backend:
    return cast("Backend", request.app.state.backend)


Here = Annotated[Backend, Depends(_backend)]
JobId = Annotated[str, Path(alias="jobid", pattern=HEX_ID, description="32 hexadecimal digits.")]
VertexId = Annotated[str, Path(alias="vertexid", pattern=HEX_ID)]
TriggerId = Annotated[str, Path(alias="triggerid", pattern=HEX_ID)]
Subtask = Annotated[int, Path(alias="subtaskindex", ge=0, le=1 << 31)]
