"""Paths of headrace's own: jobs as the command line shows them, programs that need no upload.

What `headrace list -m HOST:PORT` and its sisters ask; Flink's paths have other words for it.
"""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from headrace.common.opaque import JsonObject
from headrace.common.sensitive import masked_text
from headrace.control.registry import JobRecord
from headrace.dispatcher.job_store import Submission
from headrace.rest.answers import JsonAnswer, Refusal
from headrace.rest.backend import Here

router = APIRouter(tags=["headrace"])

Text = Annotated[str, Path(alias="text", max_length=500, description="Id, part of it, or name.")]


class ModuleRequest(BaseModel):
    """A function that the dispatcher can import, to be run as a job."""

    program: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$", max_length=500)
    arguments: list[str] = Field(default_factory=list, max_length=1000)
    configuration: dict[str, str] = Field(default_factory=dict)


@router.get("/headrace/jobs")
def records(here: Here) -> Response:
    """All jobs, the newest first."""
    queue = here.dispatcher.queue()
    return JsonAnswer([_shown(record, queue) for record in here.dispatcher.registry.all()])


@router.get("/headrace/jobs/{text}")
def record(here: Here, text: Text, *, newest: Annotated[bool, Query()] = False) -> Response:
    """One job by its id, the beginning of its id, or its name."""
    found = here.dispatcher.find(text, newest=newest)
    return JsonAnswer(_shown(found, here.dispatcher.queue()))


def _shown(record: JobRecord, queue: list[str]) -> JsonObject:
    """A record with its place in the queue, and without the secrets that an error may quote."""
    told = record.to_json()
    if record.job_id in queue:
        told["queue_position"] = queue.index(record.job_id) + 1
    for key in ("error", "savepoint_error"):
        if told[key] is not None:
            told[key] = masked_text(told[key])
    for failure in told["failures"]:
        failure["message"] = masked_text(str(failure.get("message", "")))
    return told


@router.get("/headrace/dispatcher")
def dispatcher(here: Here) -> Response:
    """This dispatcher, whether it leads or not."""
    leader = here.dispatcher.leader
    slots, taken = here.dispatcher.slots()
    return JsonAnswer(
        {
            "pid": os.getpid(),
            "address": here.dispatcher.address,
            "started": here.dispatcher.started_ms,
            "cluster_id": here.dispatcher.settings.cluster_id,
            "availability": here.dispatcher.settings.availability,
            "leads": here.dispatcher.is_leader,
            "leader": None if leader is None else leader.address,
            "epoch": None if leader is None else leader.epoch,
            "slots": slots,
            "slots_taken": taken,
            "waiting": len(here.dispatcher.queue()),
        }
    )


@router.post("/jars/run")
def run_module(here: Here, body: ModuleRequest) -> Response:
    """Run a function of a module that is installed where the dispatcher is."""
    if not here.settings.takes_programs:
        raise Refusal(
            403,
            "programs are not taken from the network without knowing who sends them",
            fix="set headrace.rest.tokens or security.ssl.rest.authentication-enabled",
            kind="UPLOADS_ARE_OFF",
        )
    job_id = here.dispatcher.submit(
        Submission(body.program, tuple(body.arguments), dict(body.configuration))
    )
    return JsonAnswer({"jobid": job_id})
