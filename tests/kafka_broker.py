"""A real Kafka broker for tests and benchmarks: one node in KRaft mode, on loopback.

In: connectors/kafka/local_broker.py, which brings Kafka's jars.  Out: `KafkaServer`, and the
fixture `kafka`, which tests/conftest.py hands to all tests.  Without a network the tests that need
it are skipped, and fail in CI.
"""

from __future__ import annotations

import socket
import time
import uuid
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from headrace.connectors.kafka.local_broker import broker_command, kafka_jars
from headrace.errors import ConnectorError
from patience import PATIENCE_S, wait_until
from ports import free_port
from services import Server, services_folder  # noqa: F401 - a fixture of ours uses it
from skips import give_up

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def need_kafka() -> None:
    """Skips the test if Kafka cannot be had; in CI it fails."""
    try:
        kafka_jars()
    except ConnectorError as error:
        give_up(str(error))


class KafkaServer(Server):
    """A broker that can be stopped, killed and started again on its port, with its topics."""

    def __init__(
        self,
        folder: Path,
        settings: dict[str, str] | None = None,
        *,
        login: dict[str, str] | None = None,
        format_options: tuple[str, ...] = (),
    ) -> None:
        """Formats its storage.

        Args:
            folder: for its files.
            settings: of the broker, beside and instead of those in `_properties`.
            login: properties with which clients get in.
            format_options: of Kafka's StorageTool, such as users.
        """
        port = free_port()
        own = {"auto.create.topics.enable": "false", **(settings or {})}
        self.login = login or {}
        command = broker_command(folder, port, own, format_options, controller_port=free_port())
        super().__init__(folder, port, command)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def client(self) -> dict[str, Any]:
        """What a client of librdkafka needs to get in; it writes nothing to stderr."""
        return {"bootstrap.servers": self.bootstrap, "log_level": 0, **self.login}

    def answers(self) -> bool:
        try:
            with closing(socket.create_connection(("127.0.0.1", self.port), timeout=1)):
                pass
            self.admin().list_topics(timeout=5)
        except Exception:  # not up yet, however it says so
            return False
        return True

    def admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient(self.client)

    def create_topic(self, partitions: int = 1, name: str | None = None, **config: str) -> str:
        """A new topic, with a name of its own unless one is given."""
        from confluent_kafka.admin import NewTopic

        topic = name or f"topic-{uuid.uuid4().hex[:8]}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        admin = self.admin()  # a client that is let go takes its requests along
        admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(30)
        return topic

    def delete_topic(self, topic: str) -> None:
        """Takes a topic away, and waits until its name is free again."""
        admin = self.admin()
        admin.delete_topics([topic])[topic].result(30)
        wait_until(
            lambda: topic not in admin.list_topics(timeout=10).topics,
            f"topic {topic} is still there",
        )

    def add_partitions(self, topic: str, total: int) -> None:
        """More partitions for a topic; they can be written to."""
        from confluent_kafka.admin import NewPartitions

        admin = self.admin()
        admin.create_partitions([NewPartitions(topic, total)])[topic].result(30)

        def have_leaders() -> bool:
            # a producer gives up at once what goes to a partition that it is not told of
            known = admin.list_topics(topic, timeout=10).topics[topic].partitions
            return len(known) == total and all(each.leader >= 0 for each in known.values())

        wait_until(have_leaders, f"{topic} does not get its {total} partitions", every_s=0.05)

    def send(self, topic: str, values: list[Any], *, partition: int | None = None) -> None:
        """Produces values: bytes or text, or dicts with produce's arguments; waits for them."""
        from confluent_kafka import Producer

        producer = Producer({**self.client, "linger.ms": 5})
        where = {} if partition is None else {"partition": partition}
        refused: list[str] = []

        def told(error: Any, _message: Any) -> None:
            if error is not None:
                refused.append(str(error))

        for value in values:
            message = value if isinstance(value, dict) else {"value": value}
            producer.produce(topic, **{**where, **message}, on_delivery=told)
            producer.poll(0)
        assert producer.flush(30) == 0
        assert refused == []

    def read(self, topic: str, *, isolation: str = "read_committed") -> list[Any]:
        """All messages of a topic, by partition and offset, as a consumer of its own sees them."""
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        consumer = Consumer(
            {
                **self.client,
                "group.id": f"test-{uuid.uuid4()}",
                "isolation.level": isolation,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found, open_ends = [], self._ends(topic, list(partitions), isolation)
        deadline = time.monotonic() + PATIENCE_S
        while open_ends:
            assert time.monotonic() < deadline, f"topic {topic} does not end"
            messages: list[Any] = consumer.consume(1000, timeout=1.0)
            for message in messages:
                error = message.error()
                if error is None:
                    found.append(message)
                elif error.code() != KafkaError._PARTITION_EOF:
                    continue  # the client tries again by itself
                # a busy broker may say "the end" before it has shown all there is
                elif message.offset() >= open_ends.get(message.partition(), 0):
                    open_ends.pop(message.partition(), None)
        consumer.close()
        return sorted(found, key=lambda message: (message.partition(), message.offset()))

    def _ends(self, topic: str, partitions: list[int], isolation: str) -> dict[int, int]:
        """Where each partition ends now for readers of this isolation level."""
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        level = IsolationLevel[isolation.upper()]
        wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in partitions}  # type: ignore[no-untyped-call]
        admin = self.admin()
        answers = admin.list_offsets(wanted, isolation_level=level)
        return {each.partition: answers[each].result(30).offset for each in wanted}


@pytest.fixture(scope="session")
def kafka(services_folder: Path) -> Iterator[KafkaServer]:  # noqa: F811 - the fixture itself
    """A broker for the whole run; tests take topics of their own."""
    need_kafka()
    folder = services_folder / "kafka"
    folder.mkdir()
    server = KafkaServer(folder)
    server.start()
    yield server
    server.stop()
