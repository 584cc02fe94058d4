"""Where the job under attack reads and writes: folders of files, or the topics of a Kafka broker.

In: a folder, what the generator makes.  Out: the source that publishes it, the output that the job
has made so far, the settings with which chaos/program.py finds both, and the verdict.
Next: chaos/runner.py, which does not know the difference; chaos/sql_media.py for the job in SQL
"""

from __future__ import annotations

import json
import threading
import zlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from chaos.checker import differences
from chaos.machine import undisturbed
from kafka_broker import KafkaServer

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.machine import Event, Generator

SINKS = ("answers", "windows")
PARTITIONS = 4


class Source(ABC):
    """Publishes what the generator makes, in the background, a *file* of events at a time."""

    def __init__(self, generator: Generator, interval_s: float) -> None:
        self.published = 0
        self._generator = generator
        self._interval_s = interval_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chaos-source", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """The last file has been published when this returns."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._interval_s):
            self.publish(self._generator.next_file())
            self.published += 1

    @abstractmethod
    def publish(self, events: list[Event]) -> None:
        """Make events readable, all of them."""


class Output(ABC):
    """Follows what readers of the job's answers see."""

    def __init__(self) -> None:
        self.rows = 0
        self.newest = -1  # the newest source file of which something was answered

    def look(self) -> None:
        """Take in what is new."""
        for row in self.new_rows():
            self.rows += 1
            self.newest = max(self.newest, row["file"])

    @abstractmethod
    def new_rows(self) -> list[dict[str, Any]]:
        """Answers that were not seen before."""


class Verdict(ABC):
    """What the job should have written, and whether it has."""

    @abstractmethod
    def complete(self, output: Output) -> bool:
        """Whether there is nothing left to wait for."""

    @abstractmethod
    def progress(self, output: Output) -> str:
        """How far it is, for people."""

    @abstractmethod
    def differences(self) -> list[str]:
        """Everything that is not as it should be."""


class MachineVerdict(Verdict):
    """Every event answered once, in order; every window written once."""

    def __init__(self, medium: Medium, made: list[list[Event]]) -> None:
        self._medium = medium
        self._right = undisturbed(made)

    def complete(self, output: Output) -> bool:
        return output.rows >= self._right.count

    def progress(self, output: Output) -> str:
        return f"{output.rows:,} of {self._right.count:,} events are answered"

    def differences(self) -> list[str]:
        medium = self._medium
        return differences(medium.rows("answers"), medium.rows("windows"), self._right)


class Medium(ABC):
    """One way in and out of the job."""

    program = "program.py"  # the job, in this folder
    interval_s = 0.5  # a new file of events appears so often
    # what can happen to it, beside what can happen to any job
    faults: tuple[str, ...] = ("failing sink",)

    @abstractmethod
    def source(self, generator: Generator, interval_s: float) -> Source:
        """What publishes the events."""

    @abstractmethod
    def output(self) -> Output:
        """What follows the answers."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """For chaos/program.py."""

    @abstractmethod
    def rows(self, sink: str) -> list[dict[str, Any]]:
        """All that a sink has written, the rows of an entity in their order."""

    def verdict(self, made: list[list[Event]]) -> Verdict:
        """What the job should have written for all files."""
        return MachineVerdict(self, made)

    def close(self) -> None:  # noqa: B027 - files need none
        """End what was started."""


# --- files ---------------------------------------------------------------------------------------


class Files(Medium):
    """Source files, each published by a rename, and part files of JSON lines."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def source(self, generator: Generator, interval_s: float) -> Source:
        return _FileSource(self._folder / "in", generator, interval_s)

    def output(self) -> Output:
        return _FileOutput(self._folder / "answers")

    def settings(self) -> dict[str, Any]:
        return {name: str(self._folder / name) for name in ("in", *SINKS)}

    def rows(self, sink: str) -> list[dict[str, Any]]:
        """An entity has at most one file a batch, and batches follow each other."""
        files = (self._folder / sink).glob("part-*")
        in_order = sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name))
        return [json.loads(line) for file in in_order for line in file.open()]


class _FileSource(Source):
    def __init__(self, folder: Path, generator: Generator, interval_s: float) -> None:
        super().__init__(generator, interval_s)
        folder.mkdir()
        self._folder = folder

    def publish(self, events: list[Event]) -> None:
        draft = self._folder / f".{self.published:06d}"
        draft.write_text("".join(f"{event.line()}\n" for event in events))
        draft.rename(self._folder / f"{self.published:06d}.txt")


class _FileOutput(Output):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._read: set[str] = set()

    def new_rows(self) -> list[dict[str, Any]]:
        found = []
        for path in self._folder.glob("part-*"):
            if path.name not in self._read:
                self._read.add(path.name)
                found += [json.loads(line) for line in path.open()]
        return found


# --- Kafka ---------------------------------------------------------------------------------------


class Kafka(Medium):
    """Topics of a broker that dies and comes back; readers see committed transactions only."""

    faults = (*Medium.faults, "broker")
    topics: tuple[str, ...] = ("in", *SINKS)

    def __init__(self, folder: Path) -> None:
        home = folder / "kafka"
        home.mkdir()
        self.broker = KafkaServer(home)
        self.broker.start()
        for topic in self.topics:
            self.broker.create_topic(PARTITIONS, topic)

    def source(self, generator: Generator, interval_s: float) -> Source:
        return _Producer(self.broker.bootstrap, generator, interval_s)

    def output(self) -> Output:
        return _Consumer(self.broker.bootstrap)

    def settings(self) -> dict[str, Any]:
        return {"kafka": self.broker.bootstrap}

    def rows(self, sink: str) -> list[dict[str, Any]]:
        """An entity has one partition, in which its rows are in order."""
        return [json.loads(message.value()) for message in self.broker.read(sink)]

    def close(self) -> None:
        self.broker.stop()


class _Producer(Source):
    """An entity's events go to one partition, so that they stay in order."""

    def __init__(self, bootstrap: str, generator: Generator, interval_s: float) -> None:
        from confluent_kafka import Producer

        super().__init__(generator, interval_s)
        patient = {"message.timeout.ms": 300_000, "enable.idempotence": True, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": bootstrap, **patient})

    def publish(self, events: list[Event]) -> None:
        for event in events:
            partition = zlib.crc32(event.entity.encode()) % PARTITIONS
            self._producer.produce("in", event.line(), partition=partition)
        assert self._producer.flush(300) == 0


class _Consumer(Output):
    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import Consumer, TopicPartition

        super().__init__()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "chaos",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition("answers", n, 0) for n in range(PARTITIONS)])

    def new_rows(self) -> list[dict[str, Any]]:
        messages: list[Any] = self._consumer.consume(10_000, timeout=0.05)
        return [json.loads(message.value()) for message in messages if message.error() is None]
