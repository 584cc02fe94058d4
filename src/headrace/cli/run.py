"""`headrace run`: a program in this process, or detached in one of its own.

In: a program and settings.  Out: the exit code of its job.  Next: cli/program.py loads it,
control/agent.py tells the detached job's id through the registry
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
import traceback
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.output import (
    BAD_INPUT,
    DONE,
    FOUND_BEFORE_START,
    JOB_FAILED,
    AsJson,
    error_parts,
    error_text,
    people,
    registry,
    show_json,
    told_errors,
)
from headrace.cli.settings import (
    Definitions,
    MapUid,
    Parallelism,
    Program,
    ProgramArguments,
    put_settings,
    read_settings,
    savepoint_settings,
)
from headrace.cli.targets import Dispatcher, rest_client
from headrace.common.configuration import PREFIX, Configuration, effective_configuration
from headrace.common.options import OPTIONS
from headrace.control.agent import LAUNCH_VARIABLE, LOG_VARIABLE
from headrace.control.job import running_jobs
from headrace.control.progress import progress
from headrace.control.registry import LOST
from headrace.errors import HeadraceError, JobError
from headrace.io.private_files import write_private
from headrace.io.processes import start_detached, this_process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Sequence

    from headrace.client import RestClient
    from headrace.control.orders import Orders
    from headrace.control.registry import JobRecord, JobRegistry


def register(app: typer.Typer) -> None:
    """Add the command."""
    # what follows the program belongs to the program
    app.command("run", context_settings={"allow_interspersed_args": False})(run)


def run(
    program: Program,
    arguments: ProgramArguments = None,
    master: Annotated[
        str | None,
        typer.Option(help="Where Spark runs: local[4], spark://host:7077, yarn, ..."),
    ] = None,
    parallelism: Parallelism = None,
    continuous: Annotated[
        bool,
        typer.Option(
            "--continuous",
            help="Results within milliseconds instead of micro-batches "
            "(headrace.execution.mode: continuous).",
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(help="The job's name; refused while another job with this name is running."),
    ] = None,
    definitions: Definitions = None,
    savepoint: Annotated[
        str | None,
        typer.Option(
            "--from-savepoint", "-s", metavar="PATH", help="Start with the state of a savepoint."
        ),
    ] = None,
    allow_dropped: Annotated[
        bool,
        typer.Option(
            "--allow-non-restored-state",
            "-n",
            help="Start even if the savepoint holds state that no step claims.",
        ),
    ] = False,
    map_uid: MapUid = None,
    detached: Annotated[
        bool,
        typer.Option("--detached", "-d", help="Print the job's id and leave it running."),
    ] = False,
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait for a detached job to start.")
    ] = 180.0,
    dispatcher: Dispatcher = None,
    as_json: AsJson = False,
) -> None:
    """Run a program: a script with its arguments, or a function of a module.

    With -m it is sent to a dispatcher, which runs it as a job of the cluster: a script, a zip with
    a __main__.py, or a function of a module that is installed there.

    Options go before PROGRAM, what follows it belongs to the program. Settings by -D win over
    variables and headrace.toml; what the program sets by code wins over -D, except for --name.

    Progress goes to standard error: Spark's start, the job's id and places, its batches, its
    end. A job that fails ends with exit code 1. Run the same command again to continue from the
    checkpoint in execution.checkpointing.dir.

    \b
    Examples:
      headrace run pipeline.py --input events/
      headrace run --master spark://host:7077 -p 8 my_package.jobs:main
      headrace run --continuous -D execution.checkpointing.interval=30s pipeline.py
      headrace run -d --name orders -D execution.checkpointing.dir=/data/orders pipeline.py
      headrace run -s /data/savepoints/savepoint-3f2a-0c1d -p 8 pipeline.py
      headrace run -m cluster:8081 -d pipeline.py
    """
    with told_errors(as_json=as_json):
        settings = read_settings(
            definitions,
            parallelism=parallelism,
            master=master,
            name=name,
            mode="continuous" if continuous else None,
        )
        settings |= savepoint_settings(
            savepoint,
            allow_dropped=allow_dropped,
            map_uid=map_uid,
            elsewhere=dispatcher is not None,
        )
        if dispatcher is not None:
            code = run_remotely(
                rest_client(dispatcher), program, arguments or [], settings,
                detached=detached, as_json=as_json,
            )  # fmt: skip
            raise typer.Exit(code)
        if name is not None:
            registry().check_name_is_free(name)
        if detached or not _is_attached(settings):
            code = run_detached(
                program, arguments or [], settings, timeout_s=timeout, as_json=as_json
            )
        else:
            code = run_here(program, arguments or [], settings, as_json=as_json)
    raise typer.Exit(code)


def _is_attached(settings: dict[str, str]) -> bool:
    """What execution.attached says; the process that a detached run starts is the job itself."""
    if LAUNCH_VARIABLE in os.environ:
        return True
    configuration = effective_configuration(Configuration.from_dict(dict(settings)))
    return bool(configuration.get(OPTIONS["execution.attached"]))


# --- in this process -----------------------------------------------------------------------------


def run_here(
    program: str,
    arguments: Sequence[str],
    settings: dict[str, str],
    *,
    as_json: bool,
    on_error: Callable[[BaseException], None] = lambda error: None,
) -> int:
    """Run a program and wait for all jobs that it started; the exit code."""
    # only here, because the rest of the command line needs none of the API
    from headrace.cli.program import run_program
    from headrace.datastream.unexecuted import take_unexecuted

    put_settings(settings)
    if not as_json:
        _show_progress(program)
    error: BaseException | None = None
    code = DONE
    try:
        with _termination_as_interrupt():
            run_program(program, arguments)
            _wait_for_jobs()
        error = take_unexecuted()
        code = DONE if error is None else _code_of(error)
        if error is None and not as_json and not jobs_of_this_process():
            progress.info("%s has ended without starting a job", program)
    except SystemExit as end:
        _wait_for_jobs()
        code = end.code if isinstance(end.code, int) else DONE if end.code is None else JOB_FAILED
        if code == DONE:
            error = take_unexecuted()
            code = DONE if error is None else _code_of(error)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # noqa: T201 - as Python does
    except KeyboardInterrupt as interrupt:
        _cancel_jobs()
        error, code = interrupt, 143 if isinstance(interrupt, Terminated) else 130
    except BaseException as raised:
        _cancel_jobs()
        error, code = raised, _code_of(raised)
    if error is not None:
        on_error(error)
        if not as_json:
            _tell(error)
    if as_json:
        jobs = [record.to_json() for record in jobs_of_this_process()]
        told = None if error is None else error_parts(error)
        show_json({"exit_code": code, "jobs": jobs, "error": told})
    return code


class Terminated(KeyboardInterrupt):
    """A service manager ends the process: jobs end as with Ctrl-C."""


def _terminate(signum: int, frame: object) -> None:
    raise Terminated


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """SIGTERM ends jobs as Ctrl-C does; only the first thread of a process may ask for it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_progress(program: str) -> None:
    """Let jobs tell their way on standard error, in lines that need no terminal."""
    form = logging.Formatter("%(message)s")
    if LOG_VARIABLE in os.environ:  # nobody looks on: lines of a log tell when
        form = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
        if logging.lastResort is not None:  # warnings, of programs that set up no logging
            logging.lastResort.setFormatter(form)
    if not progress.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(form)
        progress.addHandler(handler)
        progress.setLevel(logging.INFO)
        progress.propagate = False
    progress.info("running %s", program)


def jobs_of_this_process() -> list[JobRecord]:
    """What the registry says about the jobs that the program started."""
    me = this_process()
    return [record for record in registry().all() if record.driver == me]


def _wait_for_jobs() -> None:
    """Jobs of execute_async keep running after the script ends, as on a Flink cluster."""
    for job in running_jobs():
        while not job.wait(0.2):  # in steps, so that Ctrl-C is seen at once
            pass
        if job.error is not None:
            raise job.error


def _cancel_jobs() -> None:
    for job in running_jobs():
        job.cancel()
    for job in running_jobs():
        job.wait(30)


def _code_of(error: BaseException) -> int:
    """2 as long as nothing has run."""
    early = isinstance(error, FOUND_BEFORE_START)
    ran = any(record.batches for record in jobs_of_this_process()) if early else True
    return JOB_FAILED if ran else BAD_INPUT


def _tell(error: BaseException) -> None:
    if isinstance(error, HeadraceError | KeyboardInterrupt):
        text = "cancelled" if isinstance(error, KeyboardInterrupt) else error_text(error)
        print(text, file=sys.stderr)  # noqa: T201
        return
    # the program's own mistake: its frames, without those of this command
    frames = error.__traceback__
    here = str(Path(__file__).parent)
    while frames is not None and (
        frames.tb_frame.f_code.co_filename.startswith(here)
        or "importlib" in frames.tb_frame.f_code.co_filename
    ):
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)


# --- in a process of its own ---------------------------------------------------------------------


def run_detached(
    program: str,
    arguments: Sequence[str],
    settings: dict[str, str],
    *,
    timeout_s: float,
    as_json: bool,
    orders: Orders | None = None,
    folder: Path | None = None,
) -> int:
    """Start a driver that outlives this terminal, and wait until its job runs.

    Args:
        program: see `run`; so are `arguments` and `settings`.
        orders: for its job, if it continues another one.
        folder: where it runs; here if not given.
    """
    jobs = registry()
    jobs.folder.mkdir(parents=True, exist_ok=True)
    launch = uuid.uuid4().hex
    log = launch_log(jobs, launch)
    started = {"program": program, "arguments": list(arguments), "settings": settings,
               "folder": str(folder or Path.cwd())}  # fmt: skip
    write_private(launch_file(jobs, launch), started)  # for `headrace rescale`
    command = [sys.executable, "-m", "headrace.cli", "run", "--", program, *arguments]
    process = start_detached(
        command,
        log,
        folder=folder,
        variables={
            **os.environ,
            # not on the command line, which everybody on the machine can read
            **{f"{PREFIX}{key}": value for key, value in settings.items()},
            **({} if orders is None else orders.to_variable()),
            LAUNCH_VARIABLE: launch,
            LOG_VARIABLE: str(log),
            "PYTHONUNBUFFERED": "1",
        },
    )
    with people().status(f"starting {program} (log: {log})"):
        record = _wait_for_launch(process, launch, log, timeout_s)
    failed = record.state == "FAILED"
    if as_json:
        show_json(record.to_json())
    elif failed:
        print(record.error, file=sys.stderr)  # noqa: T201
    else:
        typer.echo(record.job_id)
        people().print(f"log {log}", markup=False, highlight=False, soft_wrap=True)
    return JOB_FAILED if failed else DONE


def launch_log(jobs: JobRegistry, launch: str) -> Path:
    """Where a detached driver writes its log."""
    return jobs.folder / f"launch-{launch[:12]}.log"


def launch_file(jobs: JobRegistry, launch: str) -> Path:
    """What a detached driver was started with; not a job's file, though in the same folder."""
    return jobs.folder / f"launch-{launch[:12]}.start"


def _wait_for_launch(
    process: subprocess.Popen[bytes], launch: str, log: Path, timeout_s: float
) -> JobRecord:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        ended = process.poll()
        for record in registry().all():
            if record.launch == launch and record.state != "CREATED":
                return record
        if ended is not None:
            _tell_log(log)
            raise typer.Exit(ended or BAD_INPUT)
        time.sleep(0.1)
    raise JobError(
        f"the program started no job within {timeout_s:g} s; its process {process.pid} is still "
        "running",
        where=str(log),
        fix="read its log; `headrace list` shows the job when it runs",
    )


def _tell_log(log: Path) -> None:
    lines = log.read_text(errors="replace").splitlines()
    log.unlink()
    log.with_suffix(".start").unlink(missing_ok=True)
    told = lines[-40:] or ["the program ended without starting a job"]
    print("\n".join(told), file=sys.stderr)  # noqa: T201


# --- at a dispatcher -----------------------------------------------------------------------------


def run_remotely(
    client: RestClient,
    program: str,
    arguments: Sequence[str],
    settings: dict[str, str],
    *,
    detached: bool,
    as_json: bool,
) -> int:
    """Send a program to a dispatcher, and wait for its job unless detached; the exit code."""
    job_id = client.run(program, list(arguments), settings)
    if detached:
        if as_json:
            show_json(client.find(job_id).to_json())
        else:
            typer.echo(job_id)
        return DONE
    try:
        record = _watch_remotely(client, job_id, silent=as_json)
    except KeyboardInterrupt:
        print(f"job {job_id} goes on; `headrace cancel -m ... {job_id[:8]}` ends it",  # noqa: T201
              file=sys.stderr)  # fmt: skip
        return 130
    # what the program left behind, if it has ended before its job began
    code = (record.exit_code or JOB_FAILED) if record.state == "FAILED" else DONE
    if as_json:
        error = None if record.error is None else {"message": record.error}
        show_json({"exit_code": code, "jobs": [record.to_json()], "error": error})
    elif record.error:
        print(record.error, file=sys.stderr)  # noqa: T201
    else:
        typer.echo(f"{record.job_id[:12]} {record.name}: {record.state}")
    return code


def _watch_remotely(client: RestClient, job_id: str, *, silent: bool) -> JobRecord:
    """Wait for a job's end; a line for every state and place in the queue."""
    console, told = people(), ""
    with console.status(f"job {job_id[:12]}") as display:
        record = client.find(job_id)
        while record.is_running or record.state == LOST:  # a dispatcher starts a lost one again
            place = record.queue_position
            now = f"{record.state}, place {place} in the queue" if place else record.state
            if now != told and not silent:
                console.print(f"job {job_id}: {now}", markup=False, highlight=False, soft_wrap=True)
            told = now
            display.update(f"{record.name}: {now}, {record.batches} batches")
            time.sleep(0.5)
            record = client.find(job_id)
    return record
