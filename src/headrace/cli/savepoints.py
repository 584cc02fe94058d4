"""`headrace savepoint`, `checkpoint` and the group `savepoints`: take them, look after them.

In: jobs (through control/requests.py), and directories of savepoints.  Out: tables or JSON.  No JVM
is started for any of this.  Next: control/savepoints.py, control/restore.py (compare)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from typer.core import TyperGroup

from headrace.cli.output import (
    BAD_INPUT,
    DONE,
    AsJson,
    JobText,
    absolute_place,
    people,
    show_json,
    tables,
    told_errors,
    when,
)
from headrace.cli.settings import (
    Definitions,
    MapUid,
    Parallelism,
    Program,
    ProgramArguments,
    put_settings,
    read_settings,
    uid_mapping,
)
from headrace.cli.targets import Dispatcher, jobs_of
from headrace.errors import EmptyProgramError, SavepointError

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject
    from headrace.control.restore import Match
    from headrace.control.savepoints import StoredSavepoint

Location = Annotated[
    str,
    typer.Argument(
        metavar="SAVEPOINT", help="Directory of a savepoint, as printed when it was taken."
    ),
]
_STYLES = {"kept": "green", "new": "blue", "dropped": "yellow", "converted": "cyan", "wrong": "red"}


class _TakeByDefault(TyperGroup):
    """`headrace savepoint JOB` takes one; `headrace savepoint diff ...` is the other spelling."""

    # Any: a Context of the click that typer brings along and does not publish
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["take", *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    # what follows the program belongs to the program
    plain = {"allow_interspersed_args": False}
    one = typer.Typer(
        cls=_TakeByDefault,
        help="Take a savepoint of a running job: headrace savepoint JOB [DIR]. Its options are "
        "those of the command take, which may be left out.",
        subcommand_metavar="JOB [DIR] | COMMAND [ARGS]...",
    )
    one.command("take")(take)
    one.command("diff", context_settings=plain)(diff)
    app.add_typer(one, name="savepoint", no_args_is_help=True)
    app.command()(checkpoint)
    group = typer.Typer(help="Manage savepoints.", no_args_is_help=True)
    group.command("list")(list_all)
    group.command()(describe)
    group.command("verify")(verify_one)
    group.command("delete")(delete)
    group.command("diff", context_settings=plain)(diff)
    app.add_typer(group, name="savepoints")


# --- taking --------------------------------------------------------------------------------------


def take(
    job: JobText,
    folder: Annotated[
        str | None,
        typer.Argument(
            metavar="[DIR]",
            help="Where to create the savepoint's directory; by default the job's "
            "execution.checkpointing.savepoint-dir.",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for it.")] = 600.0,
    dispatcher: Dispatcher = None,
    as_json: AsJson = False,
) -> None:
    """Take a savepoint of a running job, which keeps running, and print where it is.

    \b
    Examples:
      headrace savepoint orders /data/savepoints
      headrace savepoint diff /data/savepoints/savepoint-3f2a-0c1d pipeline.py
    """
    with told_errors(as_json=as_json):
        jobs = jobs_of(dispatcher)
        job_id = jobs.find(job).job_id
        # a dispatcher's paths are those of its machine
        place = absolute_place(folder) if folder is not None and dispatcher is None else folder
        with people().status(f"taking a savepoint of {job_id[:12]}"):
            location = jobs.savepoint(job_id, place, timeout_s=timeout)
    if as_json:
        show_json({"savepoint": location})
    else:
        typer.echo(location)


def checkpoint(
    job: JobText,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for it.")] = 600.0,
    dispatcher: Dispatcher = None,
    as_json: AsJson = False,
) -> None:
    """Have a checkpoint of a running job now, and print its number.

    In continuous mode the running epoch ends now. In micro-batches the batch that is running
    counts, or the last one if there is no input.

    \b
    Examples:
      headrace checkpoint orders
    """
    with told_errors(as_json=as_json):
        jobs = jobs_of(dispatcher)
        job_id = jobs.find(job).job_id
        with people().status(f"waiting for a checkpoint of {job_id[:12]}"):
            number = jobs.checkpoint(job_id, timeout_s=timeout)
    if as_json:
        show_json({"checkpoint": number})
    else:
        typer.echo(number)


# --- looking after them --------------------------------------------------------------------------


def list_all(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The directory that holds the savepoints.")
    ],
    as_json: AsJson = False,
) -> None:
    """List the savepoints in a directory, the oldest first.

    \b
    Examples:
      headrace savepoints list /data/savepoints
    """
    with told_errors(as_json=as_json):
        from headrace.control.savepoints import list_savepoints

        found = list_savepoints(absolute_place(folder))
        if not found:
            _check_folder(folder)
    if as_json:
        show_json([_summary(savepoint) for savepoint in found])
        return
    if not found:
        typer.echo("no savepoints")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("SAVEPOINT", "JOB", "TAKEN", "ENTRIES", "BYTES", ""):
        table.add_column(column, overflow="fold")
    for savepoint in found:
        table.add_row(
            savepoint.location.rstrip("/").rsplit("/", 1)[-1],
            savepoint.job_name,
            when(savepoint.created_ms),
            f"{savepoint.entries:,}",
            f"{savepoint.bytes:,}",
            "drained" if savepoint.drained else "",
        )
    tables().print(table)


def _check_folder(folder: str) -> None:
    from headrace.io.storage import Storage

    parent, _, name = absolute_place(folder).rstrip("/").rpartition("/")
    if name not in Storage.open(parent or "/").folders(""):
        raise SavepointError("there is no such directory", where=folder)


def _read(location: str) -> StoredSavepoint:
    # in functions, here and below: it loads pyarrow, which commands about jobs do not need
    from headrace.control.savepoints import read_savepoint

    return read_savepoint(absolute_place(location))


def _summary(savepoint: StoredSavepoint) -> JsonObject:
    content = savepoint.to_json()
    del content["files"]
    sizes = {"bytes": savepoint.bytes, "entries": savepoint.entries}
    return {"location": savepoint.location, **sizes, **content}


def describe(location: Location, as_json: AsJson = False) -> None:
    """Show what a savepoint holds: its operators and their states, its sources.

    \b
    Examples:
      headrace savepoints describe /data/savepoints/savepoint-3f2a-0c1d
    """
    with told_errors(as_json=as_json):
        savepoint = _read(location)
    if as_json:
        show_json(_summary(savepoint))
        return
    output = tables()
    facts = Table(box=None, show_header=False, pad_edge=False)
    for label, value in _facts(savepoint).items():
        facts.add_row(label, value)
    output.print(facts)
    output.print(_states(savepoint))


def _facts(savepoint: StoredSavepoint) -> dict[str, str]:
    drained = " (drained: event time has reached its end)" if savepoint.drained else ""
    return {
        "savepoint": savepoint.location,
        "job": f"{savepoint.job_name} ({savepoint.job_id[:12]})",
        "taken": f"{when(savepoint.created_ms)}, after batch {savepoint.batch_id}{drained}",
        "headrace": savepoint.headrace,
        "size": f"{savepoint.bytes:,} bytes in {len(savepoint.files)} files",
        "entries": f"{savepoint.entries:,}",
        "sources": ", ".join(f"{s.uid} ({s.kind})" for s in savepoint.sources) or "none",
    }


def _states(savepoint: StoredSavepoint) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("OPERATOR", "KIND", "PARALLELISM", "STATE", "TYPE", "ENTRIES"):
        table.add_column(column, overflow="fold")
    for operator in savepoint.operators:
        width = f"{operator.parallelism} of {operator.max_parallelism}"
        first = (operator.uid, operator.kind, width)
        if not operator.states:
            table.add_row(*first, "-", "", "0")
        for state in operator.states:
            table.add_row(*first, state.name, state.type_text, f"{state.entries:,}")
            first = ("", "", "")
    return table


def verify_one(location: Location, as_json: AsJson = False) -> None:
    """Read every file of a savepoint and compare its checksum. Exit code 2 if one is broken.

    \b
    Examples:
      headrace savepoints verify /data/savepoints/savepoint-3f2a-0c1d
    """
    with told_errors(as_json=as_json):
        savepoint = _read(location)
        with people().status(f"reading {savepoint.bytes:,} bytes"):
            from headrace.control.savepoints import verify

            verify(savepoint)
    if as_json:
        show_json({"location": savepoint.location, "whole": True, "files": len(savepoint.files)})
    else:
        typer.echo(f"whole: {len(savepoint.files)} files, {savepoint.bytes:,} bytes")


def delete(location: Location, as_json: AsJson = False) -> None:
    """Delete a savepoint; refuses any other directory. Jobs started from it keep running.

    \b
    Examples:
      headrace savepoints delete /data/savepoints/savepoint-3f2a-0c1d
    """
    with told_errors(as_json=as_json):
        from headrace.control.savepoints import delete_savepoint

        delete_savepoint(absolute_place(location))
    if as_json:
        show_json({"deleted": location})
    else:
        typer.echo(f"deleted {location}")


# --- what would happen ---------------------------------------------------------------------------


def diff(
    location: Location,
    program: Program,
    arguments: ProgramArguments = None,
    parallelism: Parallelism = None,
    definitions: Definitions = None,
    map_uid: MapUid = None,
    allow_dropped: Annotated[
        bool,
        typer.Option(
            "--allow-non-restored-state",
            "-n",
            help="Allow state that no step claims to be dropped.",
        ),
    ] = False,
    open_functions: Annotated[
        bool,
        typer.Option(
            "--open-functions",
            help="Call open() of the program's functions here, to list new states of kept "
            "operators and compare the types of all states. Without it that happens when the job "
            "starts.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what starting PROGRAM from SAVEPOINT would do, operator by operator.

    kept, converted, new (starts empty), dropped (no step claims it), wrong. Exit code 2 if the
    program would not start. No record is read and nothing is changed.

    \b
    Examples:
      headrace savepoints diff /data/savepoints/savepoint-3f2a-0c1d pipeline.py
      headrace savepoints diff --map-uid count:totals /data/savepoints/savepoint-3f2a-0c1d job.py
    """
    with told_errors(as_json=as_json):
        savepoint = _read(location)
        mapping = uid_mapping(map_uid)
        put_settings(read_settings(definitions, parallelism=parallelism))
        matches = _matches(
            savepoint, program, arguments or [], mapping, open_functions=open_functions
        )
    starts = all(
        match.fate != "wrong" and (allow_dropped or match.fate != "dropped") for match in matches
    )
    if as_json:
        parts = [{"uid": m.uid, "fate": m.fate, "note": m.note} for m in matches]
        found = {"savepoint": savepoint.location, "starts": starts, "operators": parts}
        show_json({**found, "states_compared": open_functions})
    else:
        _show_matches(matches, starts=starts)
        if not open_functions:
            people().print(_NOT_OPENED, style="yellow")
    raise typer.Exit(DONE if starts else BAD_INPUT)


_NOT_OPENED = (
    "not compared: the states inside kept operators, which functions declare in "
    "open(). --open-functions shows new ones and those of another type"
)


def _matches(
    savepoint: StoredSavepoint,
    program: str,
    arguments: list[str],
    mapping: dict[str, str],
    *,
    open_functions: bool,
) -> list[Match]:
    # only here: these load the API, and pyspark's names
    from headrace.cli.program import capture_program
    from headrace.control.executor import plan_options
    from headrace.control.fingerprint import fingerprint
    from headrace.control.restore import compare, declared_types
    from headrace.plan.planner import plan

    captured, _ = capture_program(program, arguments)
    if not captured:
        raise EmptyProgramError(f"{program} executes nothing", fix="call env.execute()")
    first = captured[0]
    renamed = mapping or first.spec.option("execution.state-recovery.uid-mapping")
    physical = plan(first.graph, plan_options(first.spec, savepoint.job_id, savepoint))
    now = fingerprint(first.graph, physical)
    types = declared_types(physical, open_functions=open_functions)
    return compare(savepoint, now, renamed, types)


def _show_matches(matches: list[Match], *, starts: bool) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("OPERATOR", "FATE", "WHAT"):
        table.add_column(column, overflow="fold")
    for match in matches:
        table.add_row(match.uid, f"[{_STYLES[match.fate]}]{match.fate}[/]", match.note)
    output = tables()
    output.print(table)
    output.print("the program would start" if starts else "the program would not start")
