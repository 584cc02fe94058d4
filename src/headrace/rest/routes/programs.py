"""Flink's `/jars`, with Python programs: a script, or a zip of packages.

In: an uploaded file; how to run it.  Out: ids of programs and jobs.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends, File, Path, Query, UploadFile
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from headrace.common.opaque import JsonObject
from headrace.dispatcher.job_store import Submission
from headrace.dispatcher.program_store import ZIP_ENTRY, StoredProgram
from headrace.errors import InvalidArgumentError
from headrace.rest.answers import JsonAnswer, Refusal, not_found
from headrace.rest.backend import HEX_ID, Backend, Here
from headrace.rest.program_plans import PlanRequest, make_plan

router = APIRouter(prefix="/jars", tags=["programs"])

ProgramId = Annotated[str, Path(alias="jarid", max_length=300)]


class RunRequest(BaseModel):
    """Flink's JarRunRequestBody."""

    model_config = ConfigDict(populate_by_name=True)

    entry: str | None = Field(default=None, alias="entryClass", max_length=500)
    arguments: list[str] | None = Field(default=None, alias="programArgsList", max_length=1000)
    parallelism: int | None = Field(default=None, ge=1, le=1 << 15)
    job_id: str | None = Field(default=None, alias="jobId", pattern=HEX_ID)
    application_id: str | None = Field(default=None, alias="applicationId", pattern=HEX_ID)
    savepoint: str | None = Field(default=None, alias="savepointPath", max_length=4096)
    allow_non_restored: bool | None = Field(default=None, alias="allowNonRestoredState")
    configuration: dict[str, str] = Field(default_factory=dict, alias="flinkConfiguration")
    # ours
    name: str | None = Field(default=None, max_length=500)


@router.get("")
def programs(here: Here, request: Request) -> Response:
    """All programs that were uploaded."""
    store = here.dispatcher.programs
    files = [_file(program, store.entry(program)) for program in store.all()]
    address = f"{here.settings.scheme}://{request.headers.get('host', '')}"
    return JsonAnswer({"address": address, "files": files})


def _file(program: StoredProgram, entry: str | None) -> JsonObject:
    return {
        "id": program.id,
        "name": program.name,
        "uploaded": program.uploaded_ms,
        "entry": [] if entry is None else [{"name": entry, "description": None}],
        "size": program.size_bytes,
    }


@router.post("/upload")
def upload(here: Here, jarfile: Annotated[UploadFile, File()]) -> Response:
    """Upload a program: a part named ``jarfile`` with a .py or .zip file."""
    _check_taken(here)
    stored = here.dispatcher.programs.add(jarfile.filename or "", jarfile.file.read())
    return JsonAnswer(
        {"filename": f"{here.dispatcher.programs.folder}/{stored.id}", "status": "success"}
    )


@router.delete("/{jarid}")
def delete_program(here: Here, program_id: ProgramId) -> Response:
    """Delete a program; jobs that run it have copies."""
    here.dispatcher.programs.delete(_program(here, program_id).id)
    return JsonAnswer({})


def _submitted(
    here: Here,
    program_id: ProgramId,
    body: Annotated[RunRequest | None, Body()] = None,
    entry: Annotated[str | None, Query(alias="entry-class", max_length=500)] = None,
    argument: Annotated[str | None, Query(alias="programArg", description="By commas.")] = None,
    arguments: Annotated[
        str | None, Query(alias="programArgsList", description="By commas.")
    ] = None,
    parallelism: Annotated[int | None, Query(ge=1, le=1 << 15)] = None,
    savepoint: Annotated[str | None, Query(alias="savepointPath", max_length=4096)] = None,
    allow_non_restored: Annotated[bool | None, Query(alias="allowNonRestoredState")] = None,
) -> str:
    """Run a program as a job; what the body says wins over the query."""
    _check_taken(here)
    program, asked = _program(here, program_id), body or RunRequest()
    listed = asked.arguments
    if listed is None:
        listed = [each for each in (arguments or argument or "").split(",") if each]
    settings = dict(asked.configuration)
    for key, value in (
        ("parallelism.default", asked.parallelism or parallelism),
        ("execution.state-recovery.path", asked.savepoint or savepoint),
        (
            "execution.state-recovery.ignore-unclaimed-state",
            _first(asked.allow_non_restored, allow_non_restored),
        ),
        ("pipeline.name", asked.name),
    ):
        if value is not None:
            settings[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return here.dispatcher.submit(
        Submission(
            program=asked.entry or entry or program.name,
            arguments=tuple(listed),
            settings=settings,
            job_id=_wanted_id(asked),
            name=asked.name or program.name,
            upload=program.id,
        )
    )


def _wanted_id(asked: RunRequest) -> str:
    """The id that the job is to have, which is its application's, too; "" for any."""
    wanted = {each.lower() for each in (asked.job_id, asked.application_id) if each}
    if len(wanted) > 1:
        raise Refusal(
            400,
            "jobId and applicationId differ, and an application has the id of its job",
            fix="give one of them, or none",
            kind="BAD_REQUEST",
        )
    return wanted.pop() if wanted else ""


SubmittedJob = Annotated[str, Depends(_submitted)]


@router.post("/{jarid}/run")
def run_program(job_id: SubmittedJob) -> Response:
    """Run a program as a job; what the body says wins over the query."""
    return JsonAnswer({"jobid": job_id})


@router.post("/{jarid}/run-application", status_code=202)
def run_application(job_id: SubmittedJob) -> Response:
    """The same: an application of headrace's is one job, and has its id."""
    return JsonAnswer({"applicationid": job_id}, 202)


@router.post("/{jarid}/plan")
@router.get("/{jarid}/plan", include_in_schema=False)
def program_plan(
    here: Here,
    program_id: ProgramId,
    body: Annotated[RunRequest | None, Body()] = None,
    entry: Annotated[str | None, Query(alias="entry-class", max_length=500)] = None,
    argument: Annotated[str | None, Query(alias="programArg", description="By commas.")] = None,
    parallelism: Annotated[int | None, Query(ge=1, le=1 << 15)] = None,
) -> Response:
    """The plan of a program: it runs up to execute(), without Spark."""
    _check_taken(here)
    program, asked = _program(here, program_id), body or RunRequest()
    listed = asked.arguments
    if listed is None:
        listed = [each for each in (argument or "").split(",") if each]
    standard = ZIP_ENTRY if program.name.endswith(".zip") else program.name
    request = PlanRequest(
        here.dispatcher.programs.path(program.id),
        program.name,
        asked.entry or entry or standard,
        tuple(listed),
        asked.parallelism or parallelism,
        asked.configuration,
    )
    return JsonAnswer(make_plan(request))


def _first(*values: bool | None) -> bool | None:
    return next((value for value in values if value is not None), None)


def _program(here: Backend, program_id: str) -> StoredProgram:
    try:
        return here.dispatcher.programs.get(program_id)
    except InvalidArgumentError:
        raise not_found(
            f"there is no program {program_id[:100]!r}", "GET /jars lists all"
        ) from None


def _check_taken(here: Backend) -> None:
    if here.settings.takes_programs:
        return
    if not here.settings.web_submit:
        raise Refusal(403, "web.submit.enable is false", kind="UPLOADS_ARE_OFF")
    raise Refusal(
        403,
        "programs are not taken from the network without knowing who sends them",
        fix="set headrace.rest.tokens or security.ssl.rest.authentication-enabled",
        kind="UPLOADS_ARE_OFF",
    )
