"""Paths that steer jobs: savepoints, checkpoints, stop, cancel, rescale.

What takes long answers 202 with a trigger id, as Flink; the status is asked for with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Body, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from headrace.common.opaque import JsonObject
from headrace.control.savepoints import delete_savepoint
from headrace.control.views.models import JobOverview
from headrace.dispatcher.operations import Kind, Operation
from headrace.errors import HeadraceError, JobNotFoundError
from headrace.rest.answers import JsonAnswer, Refusal, error_parts, not_found
from headrace.rest.backend import HEX_ID, Backend, Here, JobId, TriggerId
from headrace.rest.flink.failures import failure_cause
from headrace.rest.routes.jobs import known

router = APIRouter(tags=["operations"])

_TERMINAL = frozenset({"FINISHED", "FAILED", "CANCELED"})
Parallelism = Annotated[int, Field(ge=1, le=1 << 15)]
DataSetId = Annotated[str, Path(alias="datasetid", pattern=HEX_ID)]
CheckpointType = Literal["CONFIGURED", "FULL", "INCREMENTAL"]


class _TriggerRequest(BaseModel):
    """A body; keys that Flink's clients send beside it are let pass."""

    model_config = ConfigDict(populate_by_name=True)


class SavepointRequest(_TriggerRequest):
    """Flink's SavepointTriggerRequestBody."""

    target_directory: str | None = Field(default=None, alias="target-directory")
    cancel_job: bool = Field(default=False, alias="cancel-job")
    format_type: str | None = Field(default=None, alias="formatType")
    trigger_id: str | None = Field(default=None, alias="triggerId", pattern=HEX_ID)


class StopRequest(_TriggerRequest):
    """Flink's StopWithSavepointRequestBody."""

    target_directory: str | None = Field(default=None, alias="targetDirectory")
    drain: bool = False
    format_type: str | None = Field(default=None, alias="formatType")
    trigger_id: str | None = Field(default=None, alias="triggerId", pattern=HEX_ID)
    # ours: end with a complete checkpoint, but without a savepoint
    savepoint: bool = True


class CheckpointRequest(_TriggerRequest):
    """Flink's CheckpointTriggerRequestBody."""

    checkpoint_type: CheckpointType = Field(default="CONFIGURED", alias="checkpointType")
    trigger_id: str | None = Field(default=None, alias="triggerId", pattern=HEX_ID)


class DisposalRequest(_TriggerRequest):
    """Flink's SavepointDisposalRequest."""

    savepoint_path: str = Field(alias="savepoint-path", min_length=1, max_length=4096)


class RescaleRequest(_TriggerRequest):
    """How many subtasks a job shall have."""

    parallelism: Parallelism
    trigger_id: str | None = Field(default=None, alias="triggerId", pattern=HEX_ID)


class ParallelismRange(BaseModel):
    """Flink's lower and upper bound; headrace takes the upper."""

    lower: int = Field(default=1, alias="lowerBound", ge=1, le=1 << 15)
    upper: int = Field(alias="upperBound", ge=1, le=1 << 15)


class VertexRequirements(BaseModel):
    """Flink's JobVertexResourceRequirements."""

    parallelism: ParallelismRange


# --- cancel --------------------------------------------------------------------------------------


@router.patch("/jobs/{jobid}", status_code=202)
def end_job(
    here: Here,
    job_id: JobId,
    mode: Annotated[Literal["cancel", "stop"], Query()] = "cancel",
) -> Response:
    """Cancel a job: what was committed stays."""
    if mode == "stop":
        raise Refusal(
            400, "mode=stop is gone, in Flink too", fix="POST /jobs/:jobid/stop", kind="BAD_REQUEST"
        )
    cancel(here, known(here, job_id))
    return JsonAnswer({}, 202)


def cancel(here: Backend, job: JobOverview) -> None:
    """Cancel a job; one that is canceled is what was asked for, as in Flink.

    Raises:
        Refusal: 409, it has ended otherwise.
    """
    if job.state == "CANCELED":
        return
    if job.state in _TERMINAL:
        raise Refusal(409, f"job {job.name!r} has ended already: it is {job.state}", kind="JOB")
    here.dispatcher.cancel(job.job_id)


@router.get("/jobs/{jobid}/yarn-cancel", status_code=202, include_in_schema=False)
def yarn_cancel(here: Here, job_id: JobId) -> Response:
    """Refused: a GET that acts is what a foreign page could send."""
    raise Refusal(
        404, "ending a job is not a GET", fix="PATCH /jobs/:jobid", kind="METHOD_NOT_ALLOWED"
    )


@router.patch("/jobs/{jobid}/clientHeartbeat", status_code=202)
def client_heartbeat(here: Here, job_id: JobId) -> Response:
    """A client lives: no job of a dispatcher ends with its client, so there is nothing to do."""
    known(here, job_id)
    return JsonAnswer({}, 202)


# --- savepoints, stop ----------------------------------------------------------------------------


@router.post("/jobs/{jobid}/savepoints", status_code=202)
def trigger_savepoint(
    here: Here, job_id: JobId, body: Annotated[SavepointRequest | None, Body()] = None
) -> Response:
    """Take a savepoint; answers with a trigger id at once."""
    request = body or SavepointRequest()
    _check_format(request.format_type)
    operation = here.dispatcher.savepoint(
        job_id.lower(),
        request.target_directory,
        cancel_job=request.cancel_job,
        operation_id=_lower(request.trigger_id),
    )
    return JsonAnswer({"request-id": operation.id}, 202)


@router.post("/jobs/{jobid}/stop", status_code=202)
def stop_job(
    here: Here, job_id: JobId, body: Annotated[StopRequest | None, Body()] = None
) -> Response:
    """Stop a job with a savepoint; its status is at /jobs/:jobid/savepoints/:triggerid."""
    request = body or StopRequest()
    _check_format(request.format_type)
    operation = here.dispatcher.stop(
        job_id.lower(),
        drain=request.drain,
        savepoint=request.savepoint,
        folder=request.target_directory,
        operation_id=_lower(request.trigger_id),
    )
    return JsonAnswer({"request-id": operation.id}, 202)


@router.get("/jobs/{jobid}/savepoints/{triggerid}")
def savepoint_status(here: Here, job_id: JobId, trigger_id: TriggerId) -> Response:
    """What has become of a savepoint or a stop."""
    found = _operation(here, job_id, trigger_id, "savepoint", "stop")
    return JsonAnswer(_status(found, {"savepoint": "location"}))


@router.post("/jobs/{jobid}/checkpoints", status_code=202)
def trigger_checkpoint(
    here: Here, job_id: JobId, body: Annotated[CheckpointRequest | None, Body()] = None
) -> Response:
    """Have a checkpoint now; answers with a trigger id at once."""
    request = body or CheckpointRequest()
    if request.checkpoint_type != "CONFIGURED":
        raise Refusal(
            400,
            f"a checkpoint is made as the state backend makes it, and not {request.checkpoint_type}"
            " when asked to",
            fix="leave checkpointType out; a savepoint holds all state on its own",
            kind="BAD_REQUEST",
        )
    operation = here.dispatcher.checkpoint(job_id.lower(), operation_id=_lower(request.trigger_id))
    return JsonAnswer({"request-id": operation.id}, 202)


@router.get("/jobs/{jobid}/checkpoints/{triggerid}")
def checkpoint_status(here: Here, job_id: JobId, trigger_id: TriggerId) -> Response:
    """What has become of a checkpoint that was asked for."""
    found = _operation(here, job_id, trigger_id, "checkpoint")
    return JsonAnswer(_status(found, {"checkpoint": "checkpointId"}, cause="failureCause"))


@router.post("/savepoint-disposal")
def dispose_savepoint(here: Here, body: DisposalRequest) -> Response:
    """Delete a savepoint, and nothing else: what is no savepoint is left alone."""

    def dispose() -> JsonObject:
        delete_savepoint(body.savepoint_path)
        return {}

    return JsonAnswer({"request-id": here.disposals.begin("", "disposal", dispose).id})


@router.get("/savepoint-disposal/{triggerid}")
def disposal_status(here: Here, trigger_id: TriggerId) -> Response:
    """What has become of a savepoint that was to be deleted."""
    return JsonAnswer(_status(_disposal(here, trigger_id, "disposal"), {}))


@router.delete("/datasets/{datasetid}", status_code=202)
def delete_dataset(here: Here, dataset_id: DataSetId) -> Response:
    """Delete a cached data set of Flink's batch mode; there are none, and so nothing is left."""
    return JsonAnswer({"request-id": here.disposals.begin("", "data set", dict).id}, 202)


@router.get("/datasets/delete/{triggerid}")
def dataset_status(here: Here, trigger_id: TriggerId) -> Response:
    """What has become of a data set that was to be deleted."""
    return JsonAnswer(_status(_disposal(here, trigger_id, "data set"), {}))


# --- rescale -------------------------------------------------------------------------------------


@router.post("/jobs/{jobid}/rescale", status_code=202)
def rescale(here: Here, job_id: JobId, body: RescaleRequest) -> Response:
    """Run a job with another parallelism: by a savepoint, and restored from it."""
    job = known(here, job_id)
    operation = here.dispatcher.rescale(
        job.job_id, body.parallelism, operation_id=_lower(body.trigger_id)
    )
    return JsonAnswer({"request-id": operation.id}, 202)


@router.patch("/jobs/{jobid}/rescaling", status_code=202)
def rescaling(
    here: Here, job_id: JobId, parallelism: Annotated[int, Query(ge=1, le=1 << 15)]
) -> Response:
    """The same, as Flink once had it."""
    operation = here.dispatcher.rescale(known(here, job_id).job_id, parallelism)
    return JsonAnswer({"request-id": operation.id}, 202)


@router.get("/jobs/{jobid}/rescaling/{triggerid}")
def rescaling_status(here: Here, job_id: JobId, trigger_id: TriggerId) -> Response:
    """What has become of a rescale."""
    found = _operation(here, job_id, trigger_id, "rescale")
    return JsonAnswer(_status(found, {"job_id": "job-id"}))


@router.get("/jobs/{jobid}/resource-requirements")
def resource_requirements(here: Here, job_id: JobId) -> Response:
    """The parallelism of every vertex."""
    plan = here.views.plan(known(here, job_id).job_id)
    return JsonAnswer(
        {
            node.id: {"parallelism": {"lowerBound": 1, "upperBound": node.parallelism}}
            for node in plan.nodes
        }
    )


@router.put("/jobs/{jobid}/resource-requirements")
def put_resource_requirements(
    here: Here, job_id: JobId, body: dict[str, VertexRequirements]
) -> Response:
    """Rescale to the upper bound, which must be the same for all vertices of the job."""
    job = known(here, job_id)
    if not body:
        raise Refusal(400, "the body names no vertex", kind="BAD_REQUEST")
    known_ids = [node.id for node in here.views.plan(job.job_id).nodes]
    unknown = [vertex for vertex in body if vertex not in known_ids]
    if unknown:
        raise not_found(f"job {job_id[:12]} has no vertex {unknown[0][:50]}")
    here.dispatcher.rescale(job.job_id, _one_parallelism(body, known_ids))
    return JsonAnswer({})


def _one_parallelism(body: dict[str, VertexRequirements], vertices: list[str]) -> int:
    """The parallelism that all vertices are to get; a job has no other."""
    missing = [vertex for vertex in vertices if vertex not in body]
    if missing:  # as in Flink, and else they would change without being named
        raise Refusal(
            400,
            f"the body does not name vertex {missing[0]}, and all vertices change together",
            fix="name all vertices of GET .../resource-requirements with the same upperBound",
            kind="BAD_REQUEST",
        )
    for vertex, requirements in body.items():
        bounds = requirements.parallelism
        if bounds.lower > bounds.upper:
            raise Refusal(
                400,
                f"lowerBound {bounds.lower} of vertex {vertex} is above its upperBound "
                f"{bounds.upper}",
                fix="lowerBound has no effect here: leave it out",
                kind="BAD_REQUEST",
            )
    wanted = {requirements.parallelism.upper for requirements in body.values()}
    if len(wanted) > 1:
        raise Refusal(
            409,
            f"vertices would get different parallelisms: {', '.join(map(str, sorted(wanted)))}",
            fix="give all the same upperBound; set_parallelism() in the program sets single ones",
            kind="UNSUPPORTED",
        )
    return wanted.pop()


# --- what all share ------------------------------------------------------------------------------


def _check_format(text: str | None) -> None:
    if text is not None and text.upper() not in ("CANONICAL", "NATIVE"):
        raise Refusal(
            400, f"formatType is {text[:50]!r}", fix="CANONICAL or NATIVE", kind="BAD_REQUEST"
        )


def _disposal(here: Backend, trigger_id: str, kind: Kind) -> Operation:
    try:
        found = here.disposals.get(trigger_id.lower())
    except JobNotFoundError:
        found = None
    if found is None or found.kind != kind:
        raise not_found(f"there is no deletion ({kind}) with trigger id {trigger_id}")
    return found


def _operation(here: Backend, job_id: str, trigger_id: str, *kinds: str) -> Operation:
    try:
        found = here.dispatcher.operation(trigger_id.lower(), job_id.lower())
    except JobNotFoundError:
        found = None
    if found is None or found.kind not in kinds:
        raise not_found(
            f"there is no {' or '.join(kinds)} with trigger id {trigger_id} for job {job_id}",
            "ended ones are remembered for a while, and lost with their dispatcher",
        )
    return found


def _status(
    operation: Operation, words: Mapping[str, str], *, cause: str = "failure-cause"
) -> JsonObject:
    """Flink's AsynchronousOperationResult.

    Args:
        operation: what was begun.
        words: Flink's words for parts of its result; the others keep theirs.
        cause: Flink's word for why it failed.
    """
    if not operation.is_done:
        return {"status": {"id": "IN_PROGRESS"}, "operation": None}
    if operation.error is not None:
        told: JsonObject = {cause: failure_cause(operation.error)}
        if isinstance(operation.error, HeadraceError):
            told |= error_parts(operation.error)
        return {"status": {"id": "COMPLETED"}, "operation": told}
    result = operation.result or {}
    told = {words.get(key, key): value for key, value in result.items()}
    return {"status": {"id": "COMPLETED"}, "operation": told}


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()
