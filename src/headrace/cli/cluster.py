"""`headrace cluster start | stop | status | token`: a dispatcher on this machine.

In: options.  Out: a process that takes programs over REST and looks after their jobs.
Next: dispatcher/dispatcher.py, rest/server.py
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.output import BAD_INPUT, DONE, JOB_FAILED, AsJson, show_json, told_errors, when
from headrace.cli.settings import Definitions, put_settings, read_settings
from headrace.cli.targets import Dispatcher  # noqa: TC001 - typer reads it
from headrace.common.clock import wall_clock
from headrace.common.configuration import effective_configuration
from headrace.common.options import OPTIONS
from headrace.dispatcher.instances import (
    Instance,
    instances,
    jobs_are_to_stop,
    log_path,
    registered,
    unfinished_jobs,
)
from headrace.errors import (
    ConfigurationError,
    EnvironmentSetupError,
    JobError,
    NotDoneYetError,
)
from headrace.io.processes import start_detached

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from headrace.common.configuration import Configuration
    from headrace.rest.access import TokenFile

_INSTANCE_VARIABLE = "_HEADRACE_INSTANCE"
_START_S = 60.0

Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Port; 0 for any that is free.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        no_args_is_help=True, help="A dispatcher: takes programs and looks after their jobs."
    )
    group.command()(start)
    group.command()(stop)
    group.command()(status)
    tokens = typer.Typer(no_args_is_help=True, help="Who may use the REST API.")
    tokens.command("create")(create_token)
    tokens.command("revoke")(revoke_token)
    group.add_typer(tokens, name="token")
    app.add_typer(group, name="cluster")


# --- start ---------------------------------------------------------------------------------------


def start(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Port = None,
    definitions: Definitions = None,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Leave it running, with a log file.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Start a dispatcher: Flink's session cluster, with its REST API and dashboard.

    Ctrl-C, or `headrace cluster stop`, ends it. Its jobs go on running: the next dispatcher finds
    them. Options are those of headrace.toml, HEADRACE_* variables and -D; jobs get them, too.

    \b
    Examples:
      headrace cluster start
      headrace cluster start --detach --port 8082 -D spark.master=spark://host:7077
      headrace cluster start -D high-availability.type=zookeeper \\
          -D high-availability.zookeeper.quorum=zk:2181 \\
          -D high-availability.storageDir=/shared/headrace
    """
    with told_errors(as_json=as_json):
        settings = read_settings(definitions)
        if host is not None:
            settings |= {"rest.address": host, "rest.bind-address": host}
        if port is not None:
            settings |= {"rest.port": str(port), "rest.bind-port": str(port)}
        put_settings(settings)
        if detach:
            instance = _start_apart()
        else:
            _serve(effective_configuration(), as_json=as_json)
            return
    _show_start(instance, as_json=as_json)


def _serve(configuration: Configuration, *, as_json: bool) -> None:
    """Be the dispatcher until somebody ends it."""
    try:
        from headrace.rest.server import RestServer, listen
        from headrace.rest.settings import RestSettings
    except ImportError as error:
        raise EnvironmentSetupError(
            f"a dispatcher needs {error.name}, which is not installed",
            fix="pip install 'headrace[cluster]'",
        ) from None
    from headrace.dispatcher.dispatcher import Dispatcher
    from headrace.dispatcher.settings import ClusterSettings

    _log_to_standard_error()
    settings = ClusterSettings.of(configuration)
    bind, public = _addresses(configuration)
    # whether strangers could come in is asked before the port is open
    RestSettings.of(configuration, address=bind, port=0)
    listening = _listening(configuration, bind, listen)
    port: int = listening.getsockname()[1]
    rest_settings = RestSettings.of(configuration, address=bind, port=port)
    shown = f"[{public}]" if ":" in public else public
    address = f"{rest_settings.scheme}://{shown}:{port}"
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    dispatcher = Dispatcher(settings, address=address)
    server = RestServer(dispatcher, rest_settings, shut_down=over.set, listening=listening)
    instance = Instance(
        os.environ.pop(_INSTANCE_VARIABLE, "") or uuid.uuid4().hex[:12],
        os.getpid(), address, str(settings.folder), wall_clock(), str(dispatcher.registry.folder),
    )  # fmt: skip
    dispatcher.start()
    try:
        server.start()
        with registered(instance):
            _show_start(instance, as_json=as_json)
            over.wait()
            stop_jobs = jobs_are_to_stop(instance.id)
            dispatcher.close(stop_jobs=stop_jobs)
            server.close()
    except BaseException:
        dispatcher.close()
        raise


def _addresses(configuration: Configuration) -> tuple[str, str]:
    """Where to listen, and what others are told."""
    public = str(configuration.get(OPTIONS["rest.address"]))
    return str(configuration.get(OPTIONS["rest.bind-address"]) or public), public


def _listening(
    configuration: Configuration, address: str, listen: Callable[[str, int], socket.socket]
) -> socket.socket:
    """On the first port of the range that is free."""
    bind = configuration.get(OPTIONS["rest.bind-port"])
    option = "rest.bind-port" if bind else "rest.port"
    text = str(bind or configuration.get(OPTIONS["rest.port"]))
    first, _, last = text.partition("-")
    try:
        ports = range(int(first), int(last or first) + 1)
    except ValueError:
        ports = range(0)
    if not ports or ports[-1] > 65535:
        raise ConfigurationError(
            f"option {option} is {text!r}, expected a port"
            + (" or a range of ports" if bind else ""),
            fix=f"from 0 to 65535, for instance {'8081-8090' if bind else '8081'}",
        )
    for port in ports:
        try:
            return listen(address, port)
        except ConfigurationError:
            if port == ports[-1]:
                raise
    raise AssertionError


def _log_to_standard_error() -> None:
    log = logging.getLogger("headrace")
    if not log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)


def _start_apart() -> Instance:
    instance_id = uuid.uuid4().hex[:12]
    log = log_path(instance_id)
    log.parent.mkdir(parents=True, exist_ok=True)
    process = start_detached(
        [sys.executable, "-m", "headrace.cli", "cluster", "start"],
        log,
        # options are in the environment by now, and so in no process list
        variables={**os.environ, _INSTANCE_VARIABLE: instance_id, "PYTHONUNBUFFERED": "1"},
    )
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        found = [instance for instance in instances() if instance.id == instance_id]
        if found:
            return found[0]
        if process.poll() is not None:
            text = log.read_text(errors="replace")
            log.unlink()
            print("\n".join(text.splitlines()[-40:]), file=sys.stderr)  # noqa: T201
            raise typer.Exit(process.returncode or BAD_INPUT)
        time.sleep(0.05)
    raise JobError(
        f"the dispatcher does not answer within {_START_S:g} s; its process {process.pid} runs",
        where=str(log),
        fix="read its log",
    )


def _show_start(instance: Instance, *, as_json: bool) -> None:
    if as_json:
        show_json(_described(instance))
    else:
        typer.echo(instance.address)


def _described(instance: Instance) -> dict[str, object]:
    log = log_path(instance.id)
    return {
        "id": instance.id,
        "pid": instance.pid,
        "address": instance.address,
        "folder": instance.folder,
        "started": instance.started_ms,
        "log": str(log) if log.exists() else None,
    }


# --- stop and status -----------------------------------------------------------------------------


def stop(
    port: Port = None,
    stop_jobs: Annotated[
        bool,
        typer.Option("--stop-jobs", help="Stop all jobs first, each after its running batch."),
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for its end.")] = 180.0,
    as_json: AsJson = False,
) -> None:
    """End a dispatcher of this machine. Its jobs go on running, unless they are to be stopped.

    Says what becomes of each. Jobs that wait in the queue wait for the next dispatcher.

    \b
    Examples:
      headrace cluster stop
      headrace cluster stop --port 8082 --stop-jobs
    """
    with told_errors(as_json=as_json):
        instance = _the_one(port)
        before = unfinished_jobs(instance)
        instance.end(stop_jobs=stop_jobs)
        deadline = time.monotonic() + timeout
        while instance.runs:
            if time.monotonic() > deadline:
                raise NotDoneYetError(
                    f"the dispatcher at {instance.address} has not ended within {timeout:g} s",
                    where=f"process {instance.pid}",
                    fix="its jobs may still be ending; its log says more",
                )
            time.sleep(0.05)
    fates = [(job, job.fate(instance)) for job in before]
    if as_json:
        jobs = [{"job_id": job.job_id, "name": job.name, "fate": fate} for job, fate in fates]
        show_json({**_described(instance), "jobs": jobs})
        return
    typer.echo(f"{instance.address} has ended")
    for job, fate in fates:
        typer.echo(f"{job.job_id[:12]} {job.name}: {fate}")


def _the_one(port: int | None) -> Instance:
    running = instances()
    found = [i for i in running if port is None or i.address.endswith(f":{port}")]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(instance.address for instance in running) or "none"
    raise JobError(
        "there is no such dispatcher on this machine" if not found else "several dispatchers run",
        where=listed,
        fix="`headrace cluster start` starts one" if not running else "name its --port",
    )


def status(dispatcher: Dispatcher = None, as_json: AsJson = False) -> None:
    """Show the dispatchers of this machine, or another one; exit code 1 if there are none.

    \b
    Examples:
      headrace cluster status
      headrace cluster status -m cluster:8081
      headrace cluster status --json
    """
    with told_errors(as_json=as_json):
        found = (
            [_with_answer(instance) for instance in instances()]
            if dispatcher is None
            else [_answer_of(dispatcher)]
        )
    if as_json:
        show_json(found)
    for each in [] if as_json else found:
        role = "leads" if each.get("leads") else f"standby of {each.get('leader') or 'nobody'}"
        slots = f", {each['slots_taken']} of {each['slots']} slots" if each.get("slots") else ""
        number = int(str(each.get("waiting") or 0))
        waiting = f", {number} {'job waits' if number == 1 else 'jobs wait'}" if number else ""
        error = f" ({each['error']})" if "error" in each else ""
        typer.echo(
            f"{each['address']}  {role}{slots}{waiting}, process {each['pid']}, since "
            f"{when(int(str(each['started'])))}{error}"
        )
    if not found and not as_json:
        typer.echo("no dispatcher runs on this machine")
    raise typer.Exit(DONE if found else JOB_FAILED)


def _answer_of(dispatcher: str) -> dict[str, object]:
    """What a dispatcher says of itself, wherever it runs."""
    from headrace.client import RestClient

    return dict(RestClient.of(dispatcher, effective_configuration()).dispatcher())


def _with_answer(instance: Instance) -> dict[str, object]:
    """What is known of a dispatcher, and what it says itself if it answers."""
    from headrace.client import RestClient
    from headrace.errors import HeadraceError

    described = _described(instance)
    try:
        client = RestClient.of(instance.address, effective_configuration())
        return described | client.dispatcher()
    except HeadraceError as error:
        return described | {"error": error.message}


# --- tokens --------------------------------------------------------------------------------------


def create_token(
    name: Annotated[str, typer.Option(help="Whose it is; for the list.")],
    role: Annotated[str, typer.Option(help="read, operate or submit.")] = "read",
    definitions: Definitions = None,
    as_json: AsJson = False,
) -> None:
    """Make a token for the REST API, and print it: it is shown this once.

    \b
    Examples:
      headrace cluster token create --name ci --role submit -D headrace.rest.tokens=tokens.json
    """
    from headrace.rest.access import Role

    with told_errors(as_json=as_json):
        put_settings(read_settings(definitions))
        token = _token_file().create(name, Role.named(role))
    if as_json:
        show_json({"name": name, "role": role, "token": token})
    else:
        typer.echo(token)


def revoke_token(
    name: Annotated[str, typer.Option(help="Whose token.")],
    definitions: Definitions = None,
    as_json: AsJson = False,
) -> None:
    """Take a token back; dispatchers notice at once.

    \b
    Examples:
      headrace cluster token revoke --name ci
    """
    with told_errors(as_json=as_json):
        put_settings(read_settings(definitions))
        _token_file().revoke(name)
    if as_json:
        show_json({"revoked": name})


def _token_file() -> TokenFile:
    # only here: most commands need no web server
    from headrace.rest.access import TokenFile

    named = effective_configuration().get(OPTIONS["headrace.rest.tokens"])
    if not named:
        raise ConfigurationError(
            "no file for tokens is named", fix="set headrace.rest.tokens, for instance by -D"
        )
    return TokenFile(Path(str(named)).expanduser().absolute())
