"""`headrace list`, `status`, `cancel` and `stop`: the jobs of this user, or of a dispatcher.

In: jobs (cli/targets.py).  Out: tables, JSON, requests to drivers.  No Spark is loaded for this.
"""

from __future__ import annotations

import re
import time
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headrace.cli.output import (
    DONE,
    JOB_FAILED,
    AsJson,
    JobText,
    absolute_place,
    people,
    show_json,
    tables,
    told_errors,
    when,
)
from headrace.cli.targets import Dispatcher, jobs_of
from headrace.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from headrace.control.registry import LOST
from headrace.errors import InvalidArgumentError, JobError, NotDoneYetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.status import Status

    from headrace.cli.targets import Jobs
    from headrace.common.opaque import JsonObject
    from headrace.control.registry import JobRecord

_STYLES = {
    "RUNNING": "green",
    "FINISHED": "blue",
    "RESTARTING": "yellow",
    "CANCELLING": "yellow",
    "FAILED": "red",
    LOST: "red",
}
# below, a list has no room for paths: `headrace status` shows them
_WIDE, _FOR_PATHS = 110, 30
# what stands for the uid of a step that has none (graph/nodes.py)
_NO_UID = re.compile(r"step-\d+")

# of a source; `--json` has all
_SPLITS_SHOWN = 8

Timeout = Annotated[float, typer.Option(help="Seconds to wait for the job to end.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("list")(list_jobs)
    app.command()(status)
    app.command()(cancel)
    app.command()(stop)


# --- looking -------------------------------------------------------------------------------------


def list_jobs(
    every: Annotated[
        bool,
        typer.Option("--all", "-a", help="Include ended and lost jobs, previews and collects."),
    ] = False,
    dispatcher: Dispatcher = None,
    as_json: AsJson = False,
) -> None:
    """List the jobs that are running on this machine, or those of a dispatcher.

    A job whose driver died is LOST: run its program again to continue from
    its checkpoint.

    \b
    Examples:
      headrace list
      headrace list --all --json
      headrace list -m cluster:8081
    """
    with told_errors(as_json=as_json):
        everything = jobs_of(dispatcher).all()
    shown = [r for r in everything if every or (r.is_running and r.kind == "job")]
    if as_json:
        show_json([record.to_json() for record in shown])
        return
    lost = sum(record.state == LOST for record in everything)
    if not shown:
        typer.echo("no jobs" if every else "no running jobs")
    else:
        output = tables()
        output.print(_table(shown, output.width))
    if lost and not every:
        people().print(f"{lost} lost: headrace list --all shows them", style="yellow")


def _table(records: list[JobRecord], width: int) -> Table:
    """One line a job: names give way, and checkpoints are shown where there is room."""
    rows = [
        (
            record.job_id[:12],
            record.name,
            _state(record),
            when(record.started)[:16],
            f"{record.batches:,}",
            str(record.restarts),
        )
        for record in records
    ]
    headings = ("ID", "NAME", "STATE", "STARTED", "BATCHES", "RESTARTS")
    widths = [max(map(len, cells)) for cells in zip(headings, *rows, strict=True)]
    wide = width >= _WIDE
    taken = sum(widths) - widths[1] + 2 * len(widths) + (_FOR_PATHS if wide else 0)
    widths[1] = min(widths[1], max(8, width - taken))
    table = Table(box=None, pad_edge=False)
    for heading, needed in zip(headings, widths, strict=True):
        right = heading in ("BATCHES", "RESTARTS")
        table.add_column(heading, no_wrap=True, width=needed, justify="right" if right else "left")
    if wide:
        table.add_column("CHECKPOINT", overflow="fold")
    for record, (job_id, name, state, *others) in zip(records, rows, strict=True):
        unknown = "(temporary)" if _has_begun(record) else ""
        place = [record.checkpoint or unknown] if wide else []
        table.add_row(job_id, escape(name), _styled(record.state, state), *others, *place)
    return table


def status(job: JobText, dispatcher: Dispatcher = None, as_json: AsJson = False) -> None:
    """Show one job: its state, its counts by operator, its failures.

    A name means the newest job with that name, and a running one if there is any.

    Exit code 1 if the job failed or was lost, for use in scripts.

    \b
    Examples:
      headrace status 3f2a
      headrace status orders --json
    """
    with told_errors(as_json=as_json):
        jobs = jobs_of(dispatcher)
        record = jobs.find(job, newest=True)
        found = jobs.diagnosis(record.job_id)
    if as_json:
        show_json({**record.to_json(), "diagnosis": found})
    else:
        _show(record, found)
    raise typer.Exit(JOB_FAILED if record.state in ("FAILED", LOST) else DONE)


def _show(record: JobRecord, found: JsonObject) -> None:
    output = tables()
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(no_wrap=True)
    facts.add_column(overflow="fold")
    for label, value in _facts(record).items():
        facts.add_row(label, value)
    for label, text in limits(found):
        facts.add_row(label, escape(text))
    output.print(facts)
    if record.operators:
        output.print(_operators(record))
    for failure in record.failures:
        after = failure["delay_ms"]
        then = "gave up" if after is None else f"restarted after {after / 1000:g} s"
        output.print(
            f"{when(failure['when'])}  {failure['type']}: {failure['message']} ({then})",
            markup=False,
        )
        for label, place in (("where", "where"), ("line", "raised_at")):
            if failure.get(place):
                output.print(f"  {label + ':':6} {failure[place]}", markup=False)
    if record.error and not record.failures:
        output.print(record.error, style="red", markup=False)


def limits(found: JsonObject) -> Iterator[tuple[str, str]]:
    """What limits a job, a line each: slow step, skew, lag, held event time, long epochs."""
    slow = found.get("slow")
    if slow is not None:
        yield "slow step", f"{slow['name']} at {slow['where']}: {slow['reason']}"
    for skew in found.get("skews", ()):
        size = f"{skew['most']:,} " + ("records" if skew["what"] == "records" else "bytes of state")
        yield (
            "uneven",
            f"{skew['name']}: subtask {skew['subtask']} has {size}, {skew['ratio']:g} times the "
            "mean",
        )
    for lag in found.get("lags", ()):
        if lag["pending_records"]:
            time = "" if lag["seconds"] is None else f", {lag['seconds']:g} s at its present rate"
            yield "lag", f"{lag['name']}: {lag['pending_records']:,} records wait{time}"
    for held in found.get("held", ()):
        has = (
            "has had no record yet"
            if held["watermark"] is None
            else f"is at {_watermark(held['watermark'])}"
        )
        yield (
            "event time",
            f"held by split {held['split']} of {held['name']}, which {has} and has been silent for "
            f"{held['silent_s']:g} s; others are at {_watermark(held['others'])}: {held['fix']}",
        )
    long = found.get("epochs")
    if long is not None:
        yield (
            "long epochs",
            f"each of the last {long['count']} took at least {long['ratio']:g} times the interval "
            f"of {long['interval_ms'] / 1000:g} s, the newest {long['duration_ms'] / 1000:.0f} s: "
            f"{long['fix']}",
        )


def _facts(record: JobRecord) -> dict[str, str]:
    facts = {
        "job": record.job_id,
        "name": escape(record.name),
        "state": _styled(record.state, _state(record)),
        "waits for": (record.waits_for or "") if record.is_running else "",
        "submitted" if record.state == "CREATED" else "started": when(record.started),
        "ended": "" if record.ended is None else when(record.ended),
        "program": escape(record.program),
        "driver": str(record.driver) if record.has_driver else "",
        "parallelism": str(record.parallelism),
        **(_facts_of_a_run(record) if _has_begun(record) else {}),
        "log": escape(record.log or ""),
        **{f"web ({name})": address for name, address in record.web.items()},
    }
    return {label: value for label, value in facts.items() if value}


def _facts_of_a_run(record: JobRecord) -> dict[str, str]:
    last = "" if record.last_batch < 0 else f", the last is number {record.last_batch}"
    strategy = f" ({record.restart_strategy})" if record.restart_strategy else ""
    return {
        "mode": record.mode,
        "checkpoint": escape(record.checkpoint or "(temporary, deleted with the job)"),
        "epochs" if record.mode == "continuous" else "batches": f"{record.batches}{last}",
        "restarts": f"{record.restarts}{strategy}",
    }


def _has_begun(record: JobRecord) -> bool:
    """Whether a driver has said what the program asks for."""
    return record.has_driver or bool(record.restart_strategy)


def _operators(record: JobRecord) -> Table:
    table = Table(box=None, pad_edge=False)
    further = [
        (heading, show)
        for heading, name, show in _FURTHER
        if any(name in counts for counts in record.operators.values())
    ]
    for column in ("OPERATOR", "IN", "OUT", "LATE", "WATERMARK", *(name for name, _ in further)):
        table.add_column(column, justify="left" if column == "OPERATOR" else "right")
    for uid, counts in record.operators.items():
        table.add_row(
            escape(_called(uid, counts)),
            str(counts["numRecordsIn"]),
            str(counts["numRecordsOut"]),
            str(counts["numLateRecordsDropped"]),
            _watermark(counts["currentInputWatermark"]),
            *(show(counts) for _, show in further),
        )
        for name, watermark in _furthest_behind(counts.get("splits", {})):
            table.add_row(escape(f"  {name}"), "", "", "", _watermark(watermark))
    return table


def _furthest_behind(splits: dict[str, int | None]) -> list[tuple[str, int]]:
    """The splits of a source that hold event time back most."""
    known = [(name, MIN_LONG_VALUE if mark is None else mark) for name, mark in splits.items()]
    return sorted(known, key=itemgetter(1))[:_SPLITS_SHOWN] if len(known) > 1 else []


def _called(uid: str, counts: JsonObject) -> str:
    """The step's uid; of one without, whose place in the program stands for it, what it does."""
    name = counts.get("name", uid)
    return f"{uid} ({name})" if _NO_UID.fullmatch(uid) and name != uid else uid


def _busy(counts: JsonObject) -> str:
    """Where the time of the operator's task goes."""
    if "busyTimeMsPerSecond" not in counts:
        return ""
    busy, blocked = counts["busyTimeMsPerSecond"], counts["backPressuredTimeMsPerSecond"]
    return f"{busy / 10:.0f}%" + (f", {blocked / 10:.0f}% back-pressured" if blocked >= 50 else "")


def _latency(counts: JsonObject) -> str:
    if "latencyP50" not in counts:
        return ""
    return f"{counts['latencyP50']} / {counts['latencyP99']} ms"


# columns for what only some jobs count: heading, the name of the count, how it is shown
_FURTHER: tuple[tuple[str, str, Callable[[JsonObject], str]], ...] = (
    ("BUSY", "busyTimeMsPerSecond", _busy),
    ("LATENCY P50 / P99", "latencyP50", _latency),
)


def _watermark(timestamp: int) -> str:
    if timestamp in (MIN_LONG_VALUE, MAX_LONG_VALUE):
        return "-" if timestamp == MIN_LONG_VALUE else "end"
    return str(timestamp)


def _state(record: JobRecord) -> str:
    """The state, with what else there is to wait for."""
    if record.queue_position is not None:
        return f"{record.state}, place {record.queue_position}"
    if not record.is_running:
        return record.state
    more = (", stopping" if record.stopping else "") + (", waiting" if record.waits_for else "")
    return f"{record.state}{more}"


def _styled(state: str, text: str = "") -> str:
    style = _STYLES.get(state)
    return f"[{style}]{text or state}[/]" if style else text or state


# --- steering ------------------------------------------------------------------------------------


def cancel(
    job: JobText,
    timeout: Timeout = 60.0,
    dispatcher: Dispatcher = None,
    as_json: AsJson = False,
) -> None:
    """End a job now. The running batch is thrown away; what was committed stays.

    Exit code 3: the job was asked to end, and has not within --timeout; it goes on ending.

    \b
    Examples:
      headrace cancel 3f2a
      headrace cancel orders --json
    """
    with told_errors(as_json=as_json):
        jobs = jobs_of(dispatcher)
    _end(jobs, job, "cancel", {}, timeout, as_json=as_json)


def stop(
    job: JobText,
    drain: Annotated[
        bool,
        typer.Option(
            "--drain",
            help="Let event time reach its end first: all windows and timers fire. If the job "
            "runs again, event time starts again.",
        ),
    ] = False,
    savepoint: Annotated[
        bool,
        typer.Option(
            "--savepoint",
            help="Write a savepoint of exactly where the job ended, into DIR if given.",
        ),
    ] = False,
    folder: Annotated[
        str | None,
        typer.Argument(
            metavar="[DIR]",
            help="With --savepoint: where to create its directory; by default the job's "
            "execution.checkpointing.savepoint-dir.",
        ),
    ] = None,
    timeout: Timeout = 300.0,
    dispatcher: Dispatcher = None,
    as_json: AsJson = False,
) -> None:
    """End a job after the running batch, with its checkpoint complete.

    Exit code 3: the job was asked to end, and has not within --timeout; it goes on ending.

    \b
    Examples:
      headrace stop orders
      headrace stop orders --drain
      headrace stop orders --savepoint /data/savepoints
    """
    arguments: JsonObject = {"drain": drain}
    if savepoint:
        arguments["savepoint"] = folder
        if folder is not None and dispatcher is None:
            arguments["savepoint"] = absolute_place(folder)
    elif folder is not None:
        with told_errors(as_json=as_json):
            raise InvalidArgumentError(
                f"a directory {folder!r} was given without --savepoint",
                fix=f"headrace stop {job} --savepoint {folder}",
            )
    with told_errors(as_json=as_json):
        jobs = jobs_of(dispatcher)
    _end(jobs, job, "stop", arguments, timeout, as_json=as_json)


def _end(
    jobs: Jobs, text: str, action: str, arguments: JsonObject, timeout_s: float, *, as_json: bool
) -> None:
    with told_errors(as_json=as_json):
        job_id = jobs.find(text).job_id
        deadline = time.monotonic() + timeout_s
        with people().status(f"{action} {job_id[:12]}") as display:
            jobs.ask_to_end(job_id, action, arguments, timeout_s=timeout_s)
            record = wait_for_end(jobs, job_id, deadline, display)
    if as_json:
        show_json(record.to_json())
    else:
        tables().print(f"{record.job_id[:12]} {record.name}: {_styled(record.state)}")
    lost = "savepoint" in arguments and record.savepoint is None
    if record.savepoint is not None and not as_json:
        typer.echo(record.savepoint)
    if lost and not as_json:
        reason = record.savepoint_error or "the job ended before it was taken"
        people().print(f"no savepoint was written: {reason}", style="red", markup=False)
    raise typer.Exit(JOB_FAILED if lost or record.state in ("FAILED", LOST) else DONE)


def wait_for_end(jobs: Jobs, job_id: str, deadline: float, display: Status) -> JobRecord:
    """Until a job has ended."""
    while True:
        record = jobs.get(job_id)
        if record is None or not record.is_running:
            break
        display.update(f"{record.name}: {record.state}, {record.batches} batches")
        if time.monotonic() > deadline:
            raise NotDoneYetError(
                f"job {record.name!r} was asked to end, but is still {record.state}",
                fix="it is still ending; `headrace status` shows when it has ended",
            )
        time.sleep(0.1)
    if record is None:
        raise JobError(f"job {job_id[:12]} is no longer known")
    return record
