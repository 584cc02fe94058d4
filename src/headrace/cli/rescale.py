"""`headrace rescale`: the same job with another parallelism, by a savepoint and a new start.

In: a job that runs detached, or at a dispatcher (-m).  Out: the id of the job that continues it.
Next: cli/run.py (run_detached), dispatcher/dispatcher.py (rescale)
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.jobs import wait_for_end
from headrace.cli.output import (
    AsJson,
    JobText,
    absolute_place,
    people,
    registry,
    show_json,
    told_errors,
)
from headrace.cli.run import launch_file, run_detached
from headrace.cli.targets import Dispatcher, Jobs, LocalJobs, jobs_of, rest_client
from headrace.control.orders import Orders
from headrace.errors import InvalidArgumentError, JobError, NotDoneYetError

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject
    from headrace.control.registry import JobRecord


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(rescale)


def rescale(
    job: JobText,
    parallelism: Annotated[
        int | None, typer.Option("--parallelism", "-p", min=1, help="Subtasks of every step.")
    ] = None,
    propose: Annotated[
        bool,
        typer.Option(
            "--propose",
            help="Say which parallelism the job's load asks for, and why; nothing is changed.",
        ),
    ] = False,
    folder: Annotated[
        str | None,
        typer.Argument(
            metavar="[DIR]",
            help="Where the savepoint goes; by default the job's "
            "execution.checkpointing.savepoint-dir.",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait.")] = 600.0,
    dispatcher: Dispatcher = None,
    as_json: AsJson = False,
) -> None:
    """Run a job with another parallelism: stop it with a savepoint, and start it from that.

    The job that continues has an id of its own, which is printed; its checkpoint takes the place of
    the old one. Steps with a parallelism of their own keep it.

    \b
    Examples:
      headrace rescale orders -p 8
      headrace rescale orders -p 8 -m cluster:8081
      headrace rescale orders --propose
    """
    with told_errors(as_json=as_json):
        if propose:
            _show_proposal(jobs_of(dispatcher), job, as_json=as_json)
            return
        if parallelism is None:
            raise InvalidArgumentError(
                "no parallelism was given",
                fix=f"headrace rescale {job} -p N; headrace rescale {job} --propose says which",
            )
        if dispatcher is not None:
            _rescale_remotely(dispatcher, job, parallelism, timeout, as_json=as_json)
            return
        code = _rescale_here(job, parallelism, folder, timeout, as_json=as_json)
    raise typer.Exit(code)


def _show_proposal(jobs: Jobs, job: str, *, as_json: bool) -> None:
    found = jobs.proposal(jobs.find(job).job_id)
    if as_json:
        show_json(found)
        return
    now, wanted = found["current"], found["parallelism"]
    typer.echo(f"{wanted}" if wanted == now else f"{wanted} instead of {now}")
    typer.echo(found["reason"])


def _rescale_remotely(
    dispatcher: str, job: str, parallelism: int, timeout_s: float, *, as_json: bool
) -> None:
    client = rest_client(dispatcher)
    job_id = client.find(job).job_id
    with people().status(f"rescaling {job_id[:12]} to {parallelism}"):
        done = client.rescale(job_id, parallelism, timeout_s=timeout_s)
    if as_json:
        show_json(client.find(done["job-id"]).to_json())
    else:
        typer.echo(done["job-id"])


def _rescale_here(
    job: str, parallelism: int, folder: str | None, timeout_s: float, *, as_json: bool
) -> int:
    jobs = LocalJobs(registry())
    record = jobs.find(job)
    started = _started_with(record)
    place = None if folder is None else absolute_place(folder)
    deadline = time.monotonic() + timeout_s
    with people().status(f"rescaling {record.job_id[:12]} to {parallelism}") as display:
        wanted: JsonObject = {"drain": False, "savepoint": place}
        jobs.ask_to_end(record.job_id, "stop", wanted, timeout_s=timeout_s)
        try:
            ended = wait_for_end(jobs, record.job_id, deadline, display)
        except NotDoneYetError as late:
            late.fix = (
                "it is still ending, with a savepoint, and nothing continues it: `headrace status` "
                "shows when it has ended; then run its program again"
            )
            raise
    if ended.savepoint is None:
        raise JobError(
            f"no savepoint was written: {ended.savepoint_error or ended.error}",
            where=ended.checkpoint,
            fix="the job has ended; run its program again to continue from its checkpoint",
        )
    settings = started["settings"] | {
        "execution.state-recovery.path": ended.savepoint,
        "parallelism.default": str(parallelism),
    }
    if ended.checkpoint is not None:
        settings["execution.checkpointing.dir"] = ended.checkpoint
    return run_detached(
        started["program"],
        started["arguments"],
        settings,
        timeout_s=timeout_s,
        as_json=as_json,
        orders=Orders(parallelism=parallelism, replaces=record.job_id),
        folder=Path(started["folder"]),
    )


def _started_with(record: JobRecord) -> JsonObject:
    """What the job's driver was started with.

    Raises:
        JobError: it is not known, since somebody else has started it.
    """
    try:
        found = launch_file(registry(), record.launch or "").read_text()
        return dict(json.loads(found))
    except (OSError, ValueError):
        raise JobError(
            f"job {record.name!r} ({record.job_id[:8]}) was not started by `headrace run "
            "--detached`, so it is not known how to start it again",
            where=record.program,
            fix="of a dispatcher's job: headrace rescale -m HOST:PORT; else stop it with "
            "--savepoint, and run it with -s and -p",
        ) from None
