"""PyFlink's examples that need a server: Kafka's five, on PyFlink and on headrace.

In: a broker, and `.venv-oracle` for the sources (and for PyFlink, with the connector's jars).
Out: what an example prints and the messages that it leaves in its topic.  The address of the
server is put into the source; besides, only the imports change.
Next: test_server_examples.py

    cd tests && python -m oracle.server_examples   # asks PyFlink, rewrites server_examples.json
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.io.maven_jars import jars_of
from kafka_broker import KafkaServer
from oracle import examples, session, setup_venv

if TYPE_CHECKING:
    from collections.abc import Callable

STORED = Path(__file__).resolve().parent / "server_examples.json"
ADDRESS = "localhost:9092"
# the connector for 2.2 is the newest that is published
JARS = [
    ("org.apache.flink", "flink-sql-connector-kafka", "5.0.0-2.2"),
    ("org.apache.flink", "flink-sql-avro", "2.3.0"),
]
READS = "start reading data from kafka"  # what the examples print between their halves
_PATIENCE_S = 240

# PyFlink has its jars where the JVM looks first: the paths in the examples are made up, one of them
# names none, and its Avro schemas find Avro nowhere else.
_RUN_PYFLINK = """
from pyflink.datastream import StreamExecutionEnvironment
StreamExecutionEnvironment.add_jars = lambda environment, *paths: None
"""


@dataclass(frozen=True)
class KafkaExample:
    """What is known about an example without running it."""

    topic: str
    partitions: int = 1
    reads: bool = True  # its second half reads the topic, and never ends


KAFKA = {
    "connectors/kafka_avro_format": KafkaExample("test_avro_topic"),
    "connectors/kafka_bytearray_format": KafkaExample("test_bytearray_topic"),
    "connectors/kafka_csv_format": KafkaExample("test_csv_topic"),
    "connectors/kafka_json_format": KafkaExample("test_json_topic"),
    "connectors/kafka_row_field_extractor_example": KafkaExample(
        "row-extractor-example", partitions=3, reads=False
    ),
}


class Program:
    """An example under way, with what it prints; ends with the block.

    Its output goes to a file: a pipe that nobody reads would stop it.
    """

    def __init__(self, command: list[str], environment: dict[str, str], folder: str) -> None:
        self._output, self._log = Path(folder) / "output", Path(folder) / "log"
        with self._output.open("wb") as output, self._log.open("wb") as log:
            # A session of its own: the JVM and the workers end with it.
            self._process = subprocess.Popen(
                command,
                stdout=output,
                stderr=log,
                env={**environment, "PYTHONUNBUFFERED": "1"},
                cwd=folder,
                start_new_session=True,
            )
        self._deadline = time.monotonic() + _PATIENCE_S

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._process.poll() is None:  # as Ctrl-C would
            os.killpg(self._process.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def until_it_ends(self) -> list[str]:
        """What its function printed.

        Raises:
            RuntimeError: it failed.
        """
        if self._process.wait(_PATIENCE_S) != 0:
            raise RuntimeError(self._story("it failed"))
        return [line for line in self._lines() if line.startswith("Sending: ")]

    def until_it_has_read(self, broker: KafkaServer, topic: str) -> list[str]:
        """What it printed up to a line for each message of the topic.

        Raises:
            RuntimeError: it failed, or the lines did not come.
        """
        self._wait_for(lambda: READS in self._lines())
        records = len(broker.read(topic))
        self._wait_for(lambda: len(self._after_marker()) >= records)
        return self._after_marker()

    def _after_marker(self) -> list[str]:
        lines = self._lines()
        return lines[lines.index(READS) + 1 :]

    def _wait_for(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if self._process.poll() is not None:
                raise RuntimeError(self._story("it ended too early"))
            if time.monotonic() > self._deadline:
                raise RuntimeError(self._story("it took too long"))
            time.sleep(0.1)

    def _lines(self) -> list[str]:
        """Whole lines."""
        return self._output.read_text(encoding="utf-8").split("\n")[:-1]

    def _story(self, what: str) -> str:
        log = self._log.read_text(encoding="utf-8", errors="replace")
        return f"{what}:\n{self._output.read_text()[-1000:]}\n{log[-3000:]}"


def on_pyflink(name: str, broker: KafkaServer) -> dict[str, Any]:
    """What PyFlink prints and writes."""
    source = (examples.folder() / f"{name}.py").read_text(encoding="utf-8")
    command = [str(setup_venv.PYTHON), "-c", _RUN_PYFLINK + examples._RUN]
    # the one variable by which PyFlink's JVM gets more jars when it starts
    jars = jars_of("flink-kafka-5.0.0-avro-2.3.0", JARS)
    environment = {**session._environment(), "HADOOP_CLASSPATH": f"{jars}/*"}
    return _run(name, broker, command, source, environment)


def on_headrace(name: str, broker: KafkaServer, **options: str) -> dict[str, Any]:
    """What headrace prints and writes.

    Args:
        options: environment variables.
    """
    command = [sys.executable, "-c", examples._RUN]
    return _run(name, broker, command, examples.for_headrace(name), {**os.environ, **options})


def _run(
    name: str, broker: KafkaServer, command: list[str], source: str, environment: dict[str, str]
) -> dict[str, Any]:
    known = KAFKA[name]
    broker.create_topic(known.partitions, known.topic)
    try:
        with tempfile.TemporaryDirectory(prefix="example-") as scratch:
            script = Path(scratch) / "example.py"
            script.write_text(source.replace(ADDRESS, broker.bootstrap), encoding="utf-8")
            with Program([*command, str(script)], environment, scratch) as program:
                printed = (
                    program.until_it_has_read(broker, known.topic)
                    if known.reads
                    else program.until_it_ends()
                )
        return {
            "prints": examples.results("\n".join(printed)),
            "writes": messages(broker, known.topic),
        }
    finally:
        broker.delete_topic(known.topic)


def messages(broker: KafkaServer, topic: str) -> list[dict[str, Any]]:
    """Keys and values of a topic; of what has a key, the partition: the key decides it."""
    found = []
    for message in broker.read(topic):
        shown = {"key": _shown(message.key()), "value": _shown(message.value())}
        partition = {} if message.key() is None else {"partition": message.partition()}
        found.append({**shown, **partition})
    return sorted(found, key=json.dumps)


def _shown(content: bytes | None) -> str | None:
    """A character for each byte, so that texts can be read in the stored file."""
    return None if content is None else content.decode("latin-1")


def stored() -> dict[str, dict[str, Any]]:
    """What PyFlink printed and wrote when server_examples.json was written."""
    found: dict[str, dict[str, Any]] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Ask PyFlink, and remember."""
    answers = {}
    with tempfile.TemporaryDirectory(prefix="example-broker-") as folder:
        broker = KafkaServer(Path(folder))
        broker.start()
        try:
            for name in KAFKA:
                answers[name] = on_pyflink(name, broker)
                print(name, len(answers[name]["writes"]), flush=True)
        finally:
            broker.stop()
    STORED.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
