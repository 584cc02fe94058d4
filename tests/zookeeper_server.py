"""A real ZooKeeper for tests: the one among Spark's jars, on loopback, in a temporary directory."""

from __future__ import annotations

import socket
from pathlib import Path

import pyspark

from headrace.connectors.kafka.local_broker import free_port
from services import Server

# only these: the pattern jars/* would load all of Spark's 300
_JARS = ("zookeeper-", "netty-", "slf4j-api-", "log4j-", "metrics-core-", "snappy-java-")


class ZooKeeper(Server):
    """A server that can be stopped, killed and started again on its port, with its nodes."""

    def __init__(self, folder: Path) -> None:
        """Writes its configuration."""
        port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "zoo.cfg"
        file.write_text(
            f"tickTime=500\ndataDir={folder / 'data'}\nclientPort={port}\n"
            "clientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\n"
            "maxSessionTimeout=60000\n4lw.commands.whitelist=ruok\n"
        )
        jars = Path(pyspark.__file__).parent / "jars"
        needed = [str(jar) for jar in jars.glob("*.jar") if jar.name.startswith(_JARS)]
        command = [
            "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
            ":".join(needed), "org.apache.zookeeper.server.ZooKeeperServerMain", str(file),
        ]  # fmt: skip
        super().__init__(folder, port, command)

    @property
    def address(self) -> str:
        """For high-availability.zookeeper.quorum."""
        return f"127.0.0.1:{self.port}"

    def answers(self) -> bool:
        """Whether it serves."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as client:
                client.sendall(b"ruok")
                return client.recv(10) == b"imok"
        except OSError:
            return False
