"""What the tests of the Kafka sink share: sinks of numbers, and what readers of a topic find."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from headrace.common.serialization import SimpleStringSchema
from headrace.connectors.kafka.client import ClientSettings
from headrace.connectors.kafka.transaction_admin import TransactionAdmin
from headrace.connectors.kafka.transactions import SinkTransactions
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from headrace.testing.connectors import SinkDriver
    from kafka_broker import KafkaServer

UNFINISHED = {"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"}


def new_prefix() -> str:
    return f"test-{uuid.uuid4().hex[:8]}"


def text_sink(
    server: KafkaServer,
    topic: str,
    prefix: str | None = None,
    guarantee: Any = DeliveryGuarantee.EXACTLY_ONCE,  # Any: `**properties` could be it, says mypy
    **properties: str,
) -> KafkaSink:
    """Records as text; properties with _ for a dot."""
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    builder = KafkaSink.builder().set_bootstrap_servers(server.bootstrap)
    builder.set_record_serializer(schema).set_delivery_guarantee(guarantee)
    builder.set_transactional_id_prefix(prefix or new_prefix())
    named = {name.replace("_", "."): value for name, value in properties.items()}
    for name, value in {**server.login, **named}.items():
        builder.set_property(name, value)
    return builder.build()


def numbers(server: KafkaServer, topic: str, *, isolation: str = "read_committed") -> list[int]:
    """What a reader finds, after the broker has written the marks of ended transactions."""
    return [int(message.value()) for message in server.read(topic, isolation=isolation)]


def admin_of(server: KafkaServer) -> TransactionAdmin:
    properties = {"bootstrap.servers": server.bootstrap, **server.login}
    return TransactionAdmin(ClientSettings.of_sink(properties, "here"))


def unfinished(server: KafkaServer, prefix: str, patience_s: float = PATIENCE_S) -> dict[str, str]:
    """The transactions under a prefix that are not over; waits for those that are just ending.

    An answer to "commit" comes when the commit is in the log of transactions; the marks in the
    topics follow.
    """
    admin = admin_of(server)
    deadline = time.monotonic() + patience_s
    try:
        while True:
            listed = admin.run("list", lambda client: client.list_transactions())
            states = {
                each.transactional_id: each.state.value
                for part in listed.values()
                for each in part
                if each.transactional_id.startswith(prefix) and each.state.value in UNFINISHED
            }
            ending = set(states.values()) - {"Ongoing"}
            if not ending or time.monotonic() > deadline:
                return states
            time.sleep(0.02)
    finally:
        admin.close()


def id_prefix(prefix: str, job: SinkDriver) -> str:
    return SinkTransactions(prefix, job.job_id, job.uid).of_job


def end_offset_is_stable(server: KafkaServer, topic: str) -> bool:
    """Whether readers of committed messages can see the end: no transaction holds them back."""
    from confluent_kafka import IsolationLevel, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    admin = server.admin()
    parts = admin.list_topics(topic, timeout=10).topics[topic].partitions
    latest: Any = OffsetSpec.latest
    wanted: dict[Any, Any] = {TopicPartition(topic, n): latest() for n in parts}

    def ends(level: Any) -> list[int]:
        answers = admin.list_offsets(wanted, isolation_level=level)
        return [answers[each].result(10).offset for each in wanted]

    return ends(IsolationLevel.READ_COMMITTED) == ends(IsolationLevel.READ_UNCOMMITTED)


def settle(server: KafkaServer, *topics: str) -> None:
    """Waits until the marks of ended transactions stand in these topics."""
    wait_until(
        lambda: all(end_offset_is_stable(server, topic) for topic in topics),
        f"a transaction in {topics} does not end",
    )
