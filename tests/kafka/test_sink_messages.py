"""What the Kafka sink writes: messages as asked for, and errors that say what, where and how."""

from __future__ import annotations

import pickle
import sys
import time
from typing import TYPE_CHECKING, Any

import cloudpickle
import pytest
from kafka.partitioner.default import murmur2

from headrace.common import Row, Types
from headrace.common.serialization import SerializationSchema, SimpleStringSchema
from headrace.connectors.kafka import producers
from headrace.connectors.kafka.client import ClientSettings
from headrace.connectors.kafka.transaction_admin import TransactionAdmin
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaSinkContext,
    KafkaTopicSelector,
    ProducerRecord,
)
from headrace.datastream.formats.json import JsonRowSerializationSchema
from headrace.errors import (
    ConnectorError,
    EnvironmentSetupError,
    HeadraceError,
    TypeMismatchError,
)
from headrace.io.server_calls import Retries
from headrace.testing.connectors import SinkDriver
from kafka_sinks import new_prefix, numbers, settle, text_sink
from patience import wait_until
from ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_broker import KafkaServer

AT_LEAST_ONCE = DeliveryGuarantee.AT_LEAST_ONCE


class Field(SerializationSchema):
    """One field of a dict as text; nothing for a field that is missing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def serialize(self, element: Any) -> bytes:
        value = element.get(self.name)
        return None if value is None else str(value).encode()  # type: ignore[return-value]


def schema() -> KafkaRecordSerializationSchemaBuilder:
    return KafkaRecordSerializationSchema.builder().set_value_serialization_schema(Field("v"))


def job_for(
    server: KafkaServer,
    serializer: KafkaRecordSerializationSchema,
    guarantee: DeliveryGuarantee = AT_LEAST_ONCE,
) -> SinkDriver:
    builder = KafkaSink.builder().set_bootstrap_servers(server.bootstrap)
    builder.set_record_serializer(serializer).set_delivery_guarantee(guarantee)
    return SinkDriver(builder.set_transactional_id_prefix(new_prefix()).build())


def write(job: SinkDriver, values: list[Any], timestamps: list[int] | None = None) -> None:
    writer = job.writer(0)
    writer.write(values, timestamps)
    job.committer.commit(0, writer.prepare_commit())


# messages


@pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE])
def test_key_value_headers_timestamp_and_topic_are_written(
    kafka: KafkaServer, guarantee: DeliveryGuarantee
) -> None:
    red, blue = kafka.create_topic(), kafka.create_topic()
    serializer = (
        schema()
        .set_topic_selector(lambda record: red if record["v"] < 2 else blue)
        .set_key_serialization_schema(Field("k"))
        .set_header_provider(lambda record: {"from": "test", "n": b"%d" % record["v"]})
        .build()
    )
    job = job_for(kafka, serializer, guarantee)
    times = [1_700_000_000_000 + n for n in range(3)]
    write(job, [{"k": f"k{n}", "v": n} for n in range(3)], times)
    settle(kafka, red, blue)
    found = [*kafka.read(red), *kafka.read(blue)]
    assert [m.topic() for m in found] == [red, red, blue]
    assert [(m.key(), m.value()) for m in found] == [
        (b"k0", b"0"),
        (b"k1", b"1"),
        (b"k2", b"2"),
    ]
    assert [m.timestamp()[1] for m in found] == times
    assert found[2].headers() == [("from", b"test"), ("n", b"2")]


def test_headers_may_have_a_name_twice(kafka: KafkaServer) -> None:
    topic = kafka.create_topic()
    pairs = [("a", b"1"), ("a", b"2"), ("b", None)]
    serializer = schema().set_topic(topic).set_header_provider(lambda record: pairs).build()
    write(job_for(kafka, serializer), [{"v": 1}])
    assert kafka.read(topic)[0].headers() == pairs


@pytest.mark.parametrize("timestamps", [None, [-(2**63)]])
def test_a_record_without_event_time_gets_the_time_at_which_it_is_written(
    kafka: KafkaServer, timestamps: list[int] | None
) -> None:
    topic = kafka.create_topic()
    before = int(time.time() * 1000)
    write(job_for(kafka, schema().set_topic(topic).build()), [{"v": 1}], timestamps)
    assert before - 1 <= kafka.read(topic)[0].timestamp()[1] <= time.time() * 1000 + 1


def test_a_record_without_value_is_a_tombstone(kafka: KafkaServer) -> None:
    topic = kafka.create_topic()
    serializer = schema().set_topic(topic).set_key_serialization_schema(Field("k")).build()
    write(job_for(kafka, serializer), [{"k": "gone"}])
    assert [(m.key(), m.value()) for m in kafka.read(topic)] == [(b"gone", None)]


def test_a_key_is_in_the_partition_where_javas_producer_puts_it(kafka: KafkaServer) -> None:
    topic = kafka.create_topic(7)
    serializer = schema().set_topic(topic).set_key_serialization_schema(Field("k")).build()
    write(job_for(kafka, serializer), [{"k": f"key-{n}", "v": n} for n in range(40)])
    found = {m.key(): m.partition() for m in kafka.read(topic)}
    assert found == {key: (murmur2(key) & 0x7FFFFFFF) % 7 for key in found}
    assert len(found) == 40


class ByLength(KafkaPartitioner):
    opened: tuple[int, int] | None = None

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self.opened = parallel_instance_id, parallel_instances

    def partition(
        self,
        record: Any,
        key: bytes | None,
        value: bytes | None,
        target_topic: str,
        partitions: list[int],
    ) -> int:
        assert self.opened == (0, 1)
        assert value is not None
        return partitions[len(value) % len(partitions)]


def test_a_partitioner_chooses_the_partition(kafka: KafkaServer) -> None:
    topic = kafka.create_topic(3)
    serializer = schema().set_topic(topic).set_partitioner(ByLength()).build()
    write(job_for(kafka, serializer), [{"v": "x" * n} for n in range(1, 7)])
    found = {m.value().decode(): m.partition() for m in kafka.read(topic)}
    assert found == {"x" * n: n % 3 for n in range(1, 7)}


@pytest.mark.parametrize("key", [None, SimpleStringSchema()])
def test_rows_are_written_as_json(kafka: KafkaServer, key: SimpleStringSchema | None) -> None:
    topic, row = (
        kafka.create_topic(),
        Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()]),
    )
    json_rows = JsonRowSerializationSchema.builder().with_type_info(row).build()
    builder = schema().set_topic(topic).set_value_serialization_schema(json_rows)
    if key is not None:
        builder.set_key_serialization_schema(key)
    write(job_for(kafka, builder.build()), [Row(1, "tea"), Row(2, None)])
    found = [m.value() for m in kafka.read(topic)]
    assert found == [b'{"id":1,"name":"tea"}', b'{"id":2,"name":null}']


class Odd(KafkaRecordSerializationSchema):
    """Writes odd numbers only; knows its place."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.opened = 0

    def open(self) -> None:
        self.opened += 1

    def serialize(
        self, element: int, context: KafkaSinkContext | None, timestamp: int | None
    ) -> ProducerRecord | None:
        assert self.opened == 1
        assert context is not None
        place = context.parallel_instance_id, context.number_of_parallel_instances
        assert place == (0, 1)
        last = context.partitions_for_topic(self.topic)[-1]
        return ProducerRecord(self.topic, b"%d" % element, partition=last) if element % 2 else None


def test_a_schema_of_ones_own_may_leave_records_out(kafka: KafkaServer) -> None:
    topic = kafka.create_topic(2)
    job = job_for(kafka, Odd(topic), DeliveryGuarantee.EXACTLY_ONCE)
    write(job, [1, 2, 3])
    assert job.stage(1, [2, 4]) == []  # nothing written: nothing to commit, and nothing left open
    settle(kafka, topic)
    assert [(m.value(), m.partition()) for m in kafka.read(topic)] == [(b"1", 1), (b"3", 1)]


class Topics(KafkaTopicSelector):
    def apply(self, data: Any) -> str:
        return f"topic-{data}"


def test_a_topic_selector_may_be_a_class_and_travels() -> None:
    builder = KafkaRecordSerializationSchema.builder().set_topic_selector(Topics())
    built = builder.set_value_serialization_schema(SimpleStringSchema()).build()
    copied = pickle.loads(cloudpickle.dumps(built))
    assert copied.serialize(7, None, None) == ProducerRecord("topic-7", b"7")


# guarantees


def test_at_least_once_has_all_messages_in_kafka_when_a_batch_ends(kafka: KafkaServer) -> None:
    topic = kafka.create_topic(2)
    job = SinkDriver(text_sink(kafka, topic, guarantee=AT_LEAST_ONCE))
    assert job.stage(0, list(range(5000)), list(range(5000, 6000))) == []
    assert sorted(numbers(kafka, topic)) == list(range(6000))


def test_at_least_once_writes_a_repeated_batch_again(kafka: KafkaServer) -> None:
    topic = kafka.create_topic()
    job = SinkDriver(text_sink(kafka, topic, guarantee=AT_LEAST_ONCE))
    job.run(0, [1, 2])
    job.crash()
    job.run(0, [1, 2])
    assert sorted(numbers(kafka, topic)) == [1, 1, 2, 2]


def test_none_writes_without_waiting_and_the_messages_arrive(kafka: KafkaServer) -> None:
    topic = kafka.create_topic()
    job = SinkDriver(text_sink(kafka, topic, guarantee=DeliveryGuarantee.NONE, linger_ms="400"))
    started = time.monotonic()
    job.writer(0)  # connects
    job.run(0, list(range(100)))
    assert numbers(kafka, topic) == [] or time.monotonic() - started > 0.4
    wait_until(lambda: len(numbers(kafka, topic)) >= 100)
    assert numbers(kafka, topic) == list(range(100))


def test_messages_that_readers_of_uncommitted_data_see_are_not_committed(
    kafka: KafkaServer,
) -> None:
    """What a reader without read_committed must know."""
    topic = kafka.create_topic()
    job = SinkDriver(text_sink(kafka, topic))
    job.stage(0, [1, 2])
    assert numbers(kafka, topic, isolation="read_uncommitted") == [1, 2]
    assert numbers(kafka, topic) == []
    job.crash()
    _ = job.committer


# errors


@pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE])
def test_a_topic_that_does_not_exist_is_told(
    kafka: KafkaServer, guarantee: DeliveryGuarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producers, "_TOPIC_S", 0.3)
    job = SinkDriver(text_sink(kafka, "no-such-topic", guarantee=guarantee))
    with pytest.raises(ConnectorError, match="cannot find the topic no-such-topic") as caught:
        job.run(0, [1])
    assert "create the topic" in (caught.value.fix or "")
    assert caught.value.where == f"Kafka at {kafka.bootstrap}"


@pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE])
def test_a_message_that_the_topic_does_not_take_is_told_with_its_partition(
    kafka: KafkaServer, guarantee: DeliveryGuarantee
) -> None:
    topic = kafka.create_topic(max_message_bytes="1000")
    job = SinkDriver(text_sink(kafka, topic, guarantee=guarantee))
    with pytest.raises(ConnectorError, match=f"topic {topic}, partition 0 was not") as caught:
        job.run(0, ["1" * 5000])
    assert "max.message.bytes" in (caught.value.fix or "")
    job.run(0, [1])
    settle(kafka, topic)
    assert numbers(kafka, topic) == [1]


def test_a_partition_that_does_not_exist_is_told(kafka: KafkaServer) -> None:
    topic = kafka.create_topic()

    class Wrong(ByLength):
        def partition(self, *_: Any) -> int:
            return 99

    job = job_for(kafka, schema().set_topic(topic).set_partitioner(Wrong()).build())
    with pytest.raises(ConnectorError, match="UNKNOWN_PARTITION") as caught:
        job.run(0, [{"v": 1}])
    assert "partitioner" in (caught.value.fix or "")


@pytest.mark.parametrize("key", [None, Field("k")])
def test_a_value_that_is_no_bytes_is_told(kafka: KafkaServer, key: Field | None) -> None:
    class Number(SerializationSchema):
        def serialize(self, element: Any) -> bytes:
            return 7  # type: ignore[return-value]

    builder = schema().set_topic(kafka.create_topic()).set_value_serialization_schema(Number())
    if key is not None:
        builder.set_key_serialization_schema(key)
    with pytest.raises(TypeMismatchError, match="which Kafka cannot take"):
        job_for(kafka, builder.build()).run(0, [{"v": 1}])


def test_a_transaction_timeout_above_the_brokers_is_told(kafka: KafkaServer) -> None:
    sink = text_sink(kafka, kafka.create_topic(), transaction_timeout_ms="3600000")
    with pytest.raises(ConnectorError, match="INVALID_TRANSACTION_TIMEOUT") as caught:
        SinkDriver(sink).run(0, [1])
    assert "transaction.max.timeout.ms" in (caught.value.fix or "")


def test_brokers_that_cannot_be_reached_are_told_when_the_job_starts() -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = ClientSettings.of_sink({"bootstrap.servers": address}, "here")
    admin = TransactionAdmin(settings, Retries(attempts=1))
    with pytest.raises(ConnectorError, match="cannot list open transactions") as caught:
        admin.open_ids("p")
    assert caught.value.where == f"Kafka at {address}"


# building


def complete() -> KafkaSinkBuilder:
    serializer = schema().set_topic("t").build()
    builder = KafkaSink.builder().set_bootstrap_servers("127.0.0.1:1")
    return builder.set_record_serializer(serializer)


def exactly_once() -> KafkaSinkBuilder:
    builder = complete().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    return builder.set_transactional_id_prefix("p")


WRONG: dict[str, Callable[[], Any]] = {
    "has no brokers": lambda: KafkaSink.builder().build(),
    "has no record serializer": lambda: (
        KafkaSink.builder().set_bootstrap_servers("127.0.0.1:1").build()
    ),
    "needs a prefix": lambda: (
        complete().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    ),
    "is no guarantee": lambda: complete().set_delivery_guarantee("EXACTLY_ONCE"),  # type: ignore[arg-type]
    "is no prefix": lambda: complete().set_transactional_id_prefix(""),
    "has 7000 bytes": lambda: complete().set_transactional_id_prefix("x" * 7000),
    "has the value 5": lambda: complete().set_property("linger.ms", 5),  # type: ignore[arg-type]
    "'buffer.memory' cannot be used here": lambda: (
        complete().set_property("buffer.memory", "1000").build()
    ),
    "'transactional.id' cannot be used here": lambda: (
        complete().set_property("transactional.id", "mine").build()
    ),
    "No such configuration property": lambda: complete().set_property("linger.s", "1").build(),
    "needs enable.idempotence": lambda: (
        exactly_once().set_property("enable.idempotence", "false").build()
    ),
    "cannot log in with sasl.mechanisms=OAUTHBEARER": lambda: (
        exactly_once()
        .set_property("security.protocol", "SASL_PLAINTEXT")
        .set_property("sasl.mechanism", "OAUTHBEARER")
        .build()
    ),
    "is no KafkaRecordSerializationSchema": lambda: complete().set_record_serializer(
        SimpleStringSchema()  # type: ignore[arg-type]
    ),
    "has no topic": lambda: schema().build(),
    "makes the value": lambda: KafkaRecordSerializationSchema.builder().set_topic("t").build(),
    "is no name of a topic": lambda: schema().set_topic(None),  # type: ignore[arg-type]
    "selects no topic": lambda: schema().set_topic_selector("t"),  # type: ignore[arg-type]
    "is no SerializationSchema": lambda: schema().set_key_serialization_schema(str),  # type: ignore[arg-type]
    "is no function": lambda: schema().set_header_provider({}),  # type: ignore[arg-type]
    "is no KafkaPartitioner": lambda: schema().set_partitioner(len),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_work_is_refused_while_the_program_is_written(text: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        WRONG[text]()
    assert text in caught.value.message
    assert caught.value.fix


def test_the_default_guarantee_is_none_as_in_flink() -> None:
    assert repr(complete().build()) == "KafkaSink('127.0.0.1:1', NONE)"
    assert complete().build().get_transformer() is None


def test_ways_to_log_in_that_only_librdkafka_knows_are_for_the_other_guarantees() -> None:
    builder = complete().set_property("sasl.mechanism", "OAUTHBEARER")
    job = SinkDriver(builder.set_delivery_guarantee(AT_LEAST_ONCE).build())
    job.committer.commit(0, [])


@pytest.mark.parametrize("package", ["confluent_kafka", "kafka"])
def test_a_missing_client_says_how_to_install_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EnvironmentSetupError, match=package) as caught:
        SinkDriver(exactly_once().build()).writer(0)
    assert caught.value.fix == "pip install 'headrace[kafka]'"
