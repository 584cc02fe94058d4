"""A Kafka broker on this machine, to try things with and for tests: one node, on loopback.

In: a folder and a port.  Out: the command that runs the broker on storage that is formatted.
Next: cli/dev.py runs it
"""

from __future__ import annotations

import socket
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

from headrace.errors import ConnectorError
from headrace.io.maven_jars import has_jars, jars_of, java

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["broker_command", "free_port", "is_brought", "kafka_jars"]

VERSION = "4.1.1"
_NAME = f"kafka-{VERSION}"
_HEAP = "-Xmx512m"
_FORMAT_S = 120
# any 16 bytes, in base 64
_CLUSTER_ID = "aGVhZHJhY2VoZWFkcmFjZQ"


def is_brought() -> bool:
    """Whether Kafka's jars are on this machine."""
    return has_jars(_NAME)


def kafka_jars() -> Path:
    """The folder with Kafka's jars; brings them if they are not there.

    Raises:
        ConnectorError: they cannot be had.
    """
    return jars_of(_NAME, [("org.apache.kafka", "kafka_2.13", VERSION)])


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def broker_command(
    folder: Path,
    port: int,
    settings: Mapping[str, str] | None = None,
    format_options: Sequence[str] = (),
    *,
    controller_port: int | None = None,
) -> list[str]:
    """What runs a broker; its storage is formatted if it is new.

    Args:
        folder: for its files.
        port: of loopback, where clients find it.
        settings: of the broker, beside and instead of those that make it small.
        format_options: of Kafka's StorageTool, such as users.
        controller_port: of loopback, where the broker finds itself; any that is free, if none.

    Raises:
        ConnectorError: Kafka cannot be had, or its storage not be formatted.
    """
    command = [java(), _HEAP, "-cp", f"{kafka_jars()}/*"]
    properties = _properties(folder, port, controller_port or free_port()) | dict(settings or {})
    file = folder / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    _format(command, file, format_options)
    return [*command, "kafka.Kafka", str(file)]


def _properties(folder: Path, port: int, controller_port: int) -> dict[str, str]:
    here, controller = f"127.0.0.1:{port}", f"127.0.0.1:{controller_port}"
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CLIENTS://{here},CONTROLLER://{controller}",
        "advertised.listeners": f"CLIENTS://{here}",
        "inter.broker.listener.name": "CLIENTS",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENTS:PLAINTEXT",
        "log.dirs": str(folder / "data"),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "group.initial.rebalance.delay.ms": "0",
        # Retention goes by timestamps, which are made up here, and looks at them all five minutes.
        "log.retention.ms": "-1",
    }


def _format(command: Sequence[str], file: Path, options: Sequence[str]) -> None:
    tool = ["kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", _CLUSTER_ID]
    done = subprocess.run(
        [*command, *tool, "-c", str(file), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=_FORMAT_S,
    )
    if done.returncode:
        raise ConnectorError(
            f"the storage of Kafka cannot be formatted: {(done.stdout + done.stderr)[-1000:]}",
            where=str(file.parent),
            fix="give another folder, or delete this one",
        )
