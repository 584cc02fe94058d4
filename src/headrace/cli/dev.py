"""`headrace dev`: servers to try things with, on this machine and for as long as the command runs.

In: options.  Out: a broker on loopback, and its address.  Next: connectors/kafka/local_broker.py
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.output import AsJson, people, show_json, told_errors
from headrace.errors import ConnectorError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

_START_S = 60.0
_END_S = 30.0


def register(app: typer.Typer) -> None:
    """Add the command and what is below it."""
    dev = typer.Typer(no_args_is_help=True, help="Servers to try things with, on this machine.")
    dev.callback()(_group)
    dev.command("kafka")(kafka)
    app.add_typer(dev, name="dev")


def _group() -> None:
    """Servers to try things with, on this machine, until Ctrl-C."""


def kafka(
    port: Annotated[int, typer.Option(help="Where it listens, on loopback; 0: any free one.")] = 0,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", help="Make a topic: NAME, or NAME:PARTITIONS. Repeat for more."),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Keep its data here; else they go when the command ends."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a Kafka broker on this machine, until Ctrl-C.

    One node on loopback that makes topics when they are first used. Needs Java; Kafka itself, about
    120 MB, is brought from Maven Central once. Not for production.

    \b
    Examples:
      headrace dev kafka --topic orders:4
      headrace dev kafka --port 9092 --dir ~/kafka
    """
    from headrace.connectors.kafka.local_broker import broker_command, free_port, is_brought

    with told_errors(as_json=as_json), _folder(directory) as folder:
        topics = dict(_topic(text) for text in topic or ())
        address = ("127.0.0.1", port or free_port())
        _check_free(address)
        if not is_brought():
            people().print("bringing Kafka from Maven Central, once: a minute or two")
        with _running(broker_command(folder, address[1]), folder, address) as broker:
            bootstrap = f"{address[0]}:{address[1]}"
            _make_topics(bootstrap, topics)
            if as_json:
                show_json({"bootstrap.servers": bootstrap, "topics": topics})
            else:
                typer.echo(f"bootstrap.servers={bootstrap}")
            people().print("Ctrl-C ends it")
            with contextlib.suppress(KeyboardInterrupt):
                broker.wait()


def _topic(text: str) -> tuple[str, int]:
    name, _, count = text.partition(":")
    if not name or (count and not (count.isdigit() and int(count) > 0)):
        raise InvalidArgumentError(
            f"{text!r} is no topic", where="--topic", fix="write NAME or NAME:PARTITIONS: orders:4"
        )
    return name, int(count or 1)


@contextlib.contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    """The broker's folder; one of its own is gone afterwards."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given.absolute()
        return
    made = Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _check_free(address: tuple[str, int]) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise ConnectorError(
                f"port {address[1]} cannot be had: {error.strerror}",
                where="--port",
                fix="leave --port out for a free one",
            ) from error


@contextlib.contextmanager
def _running(
    command: list[str], folder: Path, address: tuple[str, int]
) -> Iterator[subprocess.Popen[bytes]]:
    """The broker, from its first answer on; it ends with the block, also by SIGTERM."""
    log = folder / "log"
    with log.open("ab") as file:
        # a session of its own: Ctrl-C reaches this process, which ends the broker in its time
        broker = subprocess.Popen(
            command, stdout=file, stderr=file, cwd=folder, start_new_session=True
        )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _await(broker, log, address)
        yield broker
    finally:
        signal.signal(signal.SIGTERM, before)
        broker.terminate()
        try:
            broker.wait(_END_S)
        except subprocess.TimeoutExpired:
            broker.kill()


def _await(broker: subprocess.Popen[bytes], log: Path, address: tuple[str, int]) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
            return
        if broker.poll() is not None or time.monotonic() > deadline:
            raise ConnectorError(
                f"Kafka did not start: {log.read_text(errors='replace')[-1000:]}",
                where=str(log),
                fix="see what it says above",
            )
        time.sleep(0.1)


def _make_topics(bootstrap: str, topics: dict[str, int]) -> None:
    if not topics:
        return
    from headrace.connectors.kafka.client import admin_library

    library = admin_library()
    admin = library.AdminClient({"bootstrap.servers": bootstrap})
    known = admin.list_topics(timeout=_START_S).topics
    news = [library.NewTopic(name, count, 1) for name, count in topics.items() if name not in known]
    for made in admin.create_topics(news).values() if news else ():
        made.result(_START_S)
