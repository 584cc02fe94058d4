"""KafkaSource without a broker: settings, refusals, positions, and reading from a fake consumer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import cloudpickle
import pytest

from golden.compare import assert_golden
from headrace.common import Row, SimpleStringSchema, Types, WatermarkStrategy
from headrace.connectors.kafka.client import ClientSettings
from headrace.connectors.kafka.planner import Subscription
from headrace.connectors.kafka.reader import PartitionReader
from headrace.connectors.kafka.schema import KafkaDecoder
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.base import Boundedness
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.errors import (
    ConfigurationError,
    HeadraceError,
    InvalidArgumentError,
    RecordError,
)
from headrace.testing import LocalRunner

LATEST = KafkaOffsetsInitializer.latest()


def builder() -> KafkaSourceBuilder:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers("127.0.0.1:9")
        .set_topics("clicks")
        .set_value_only_deserializer(SimpleStringSchema())
    )


def settings(**properties: str) -> ClientSettings:
    named = {key.replace("_", "."): value for key, value in properties.items()}
    return ClientSettings.of_source(named, "here")


# --- settings ------------------------------------------------------------------------------------


def test_flinks_own_properties_are_read() -> None:
    found = settings(
        partition_discovery_interval_ms="2000",
        default_api_timeout_ms="5000",
        client_id_prefix="mine",
        group_id="g",
        commit_offsets_on_checkpoint="false",
    )
    assert found.discovery_s == 2
    assert found.patience_s == 5
    assert not found.commits
    assert found.librdkafka == {"group.id": "g"}
    assert found.consumer("x")["client.id"] == "mine-x"
    assert settings(partition_discovery_interval_ms="-1").discovery_s is None


def test_offsets_are_committed_for_a_named_group_only() -> None:
    assert settings(group_id="g").commits
    assert not settings().commits


def test_names_of_the_java_client_are_translated() -> None:
    jaas = 'org.apache.ScramLoginModule required username="me" password="a\\"b";'
    found = ClientSettings.of_source({"fetch.max.wait.ms": "9", "sasl.jaas.config": jaas}, "here")
    assert found.librdkafka == {
        "fetch.wait.max.ms": "9",
        "sasl.username": "me",
        "sasl.password": 'a"b',
    }


def test_what_the_engine_relies_on_cannot_be_set() -> None:
    consumer = settings(isolation_level="read_uncommitted").consumer("x")
    assert consumer["isolation.level"] == "read_uncommitted"
    assert consumer["enable.auto.commit"] is False
    assert consumer["auto.offset.reset"] == "error"
    assert settings(enable_auto_commit="false").librdkafka == {}


def test_admin_clients_get_what_is_about_connections() -> None:
    found = settings(bootstrap_servers="b", sasl_username="u", fetch_wait_max_ms="1").admin()
    assert found["bootstrap.servers"] == "b"
    assert found["sasl.username"] == "u"
    assert "fetch.wait.max.ms" not in found


REFUSED: dict[str, Any] = {
    "enable.auto.commit": lambda: builder().set_property("enable.auto.commit", "true").build(),
    "truststore": lambda: builder().set_property("ssl.truststore.location", "x.jks").build(),
    "reset": lambda: builder().set_property("auto.offset.reset", "latest").build(),
    "milliseconds": lambda: builder().set_property("default.api.timeout.ms", "1 min").build(),
    "unknown property": lambda: builder().set_property("fetch.wait.mx.ms", "1").build(),
    "no brokers": lambda: KafkaSource.builder().set_topics("a").build(),
    "nothing to read": lambda: KafkaSource.builder().set_bootstrap_servers("a").build(),
    "no deserializer": lambda: (
        KafkaSource.builder().set_bootstrap_servers("a").set_topics("a").build()
    ),
    "two subscriptions": lambda: builder().set_topic_pattern("a.*"),
    "bad pattern": lambda: KafkaSource.builder().set_topic_pattern("a("),
    "no partitions": lambda: KafkaSource.builder().set_partitions({("a", 1)}),  # type: ignore[arg-type]
    "no topics": lambda: KafkaSource.builder().set_topics(),
    "offsets": lambda: KafkaOffsetsInitializer.offsets({KafkaTopicPartition("a", 0): -2}),
    "timestamp": lambda: KafkaOffsetsInitializer.timestamp(-1),
    "committed without a group": lambda: (
        builder().set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build()
    ),
    "no initializer": lambda: builder().set_starting_offsets("earliest"),  # type: ignore[arg-type]
    "no schema": lambda: builder().set_value_only_deserializer(str),  # type: ignore[arg-type]
    "end of stream": lambda: builder().set_value_only_deserializer(Ending()),
    "no record schema": lambda: builder().set_deserializer(SimpleStringSchema()),  # type: ignore[arg-type]
    "no tag": lambda: builder().set_bad_records_side_output("bad"),  # type: ignore[arg-type]
    "no size": lambda: builder().set_max_bytes_per_batch(0),
}


class Ending(SimpleStringSchema):
    def is_end_of_stream(self, next_element: Any) -> bool:
        return bool(next_element == "end")


def test_refusals_say_what_to_do_as_in_the_golden_file() -> None:
    told = []
    for name, make in REFUSED.items():
        with pytest.raises(HeadraceError) as caught:
            make()
        assert isinstance(caught.value, ConfigurationError | InvalidArgumentError), name
        assert caught.value.fix, name
        told.append(f"{name}:\n{caught.value}\n")
    assert_golden("errors/kafka_source.txt", "\n".join(told))


# --- what it is ----------------------------------------------------------------------------------


def test_the_description_travels_and_says_what_it_reads() -> None:
    source = builder().set_bounded(LATEST).build()
    copied: KafkaSource = cloudpickle.loads(cloudpickle.dumps(source))
    assert copied.describe() == "KafkaSource(clicks)"
    assert copied.boundedness() is Boundedness.BOUNDED
    assert builder().set_unbounded(LATEST).build().boundedness() is not Boundedness.BOUNDED
    assert copied.has_timestamps()
    assert copied.has_splits()


@pytest.mark.parametrize("topic", ["clicks", "clicks-1", "a.b_c-", "1"])
def test_splits_name_any_partition_of_any_topic(topic: str) -> None:
    partition = KafkaTopicPartition(topic, 12)
    assert KafkaTopicPartition.of_split(partition.split) == partition


def test_a_pattern_is_of_the_whole_name() -> None:
    subscription = Subscription(pattern="a.")
    assert subscription.takes(KafkaTopicPartition("ab", 0))
    assert not subscription.takes(KafkaTopicPartition("abc", 0))


def test_a_position_knows_where_reading_stops() -> None:
    source = builder().build()
    assert source.records_between("clicks-0", [2, 9], [5, 9]) == 3
    assert source.offset_after("clicks-0", [2, 9], [9, 9], 3) == [5, 9]
    assert source.offset_after("clicks-0", 2, 9, 30) == 9
    assert source.is_exhausted({"clicks-0": [9, 9], "clicks-1": [4, 4]})
    assert not source.is_exhausted({"clicks-0": [9, 9], "clicks-1": [3, 4]})
    assert not source.is_exhausted({"clicks-0": 9})


def test_a_batch_takes_at_most_so_many_records_of_a_partition() -> None:
    source = builder().set_max_records_per_partition(10).build()
    assert source.most_of_batch({"clicks-0": 50, "clicks-1": 3}, {}) == {
        "clicks-0": 10,
        "clicks-1": 3,
    }


def timestamps_asked_of(strategy: WatermarkStrategy, **more: Any) -> bool:
    """Whether the source of a program asks messages for Kafka's timestamps."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_source(more.get("source") or builder().build(), strategy, "kafka")
    (source,) = [step.source for step in env._graph.steps if step.source is not None]
    return source.has_timestamps()


def test_kafkas_timestamps_are_asked_for_where_somebody_needs_them() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assert timestamps_asked_of(WatermarkStrategy.no_watermarks())
    assert timestamps_asked_of(strategy)
    assert timestamps_asked_of(strategy.with_timestamp_assigner(lambda record, time: time))
    assert not timestamps_asked_of(strategy.with_timestamp_assigner(lambda record, _: record[1]))
    assert not timestamps_asked_of(strategy.with_timestamp_assigner("ts"))
    bad = builder().set_bad_records_side_output(OutputTag("bad")).build()  # has the timestamps
    assert timestamps_asked_of(strategy.with_timestamp_assigner("ts"), source=bad)


# --- reading -------------------------------------------------------------------------------------


class FakeMessage:
    def __init__(self, offset: int, error: Any = None) -> None:
        self._offset, self._error = offset, error

    def offset(self) -> int:
        return self._offset

    def error(self) -> Any:
        return self._error


class End:
    """The event at the end of a partition."""

    def code(self) -> int:
        from confluent_kafka import KafkaError

        return int(KafkaError._PARTITION_EOF)


class FakeConsumer:
    """A partition with gaps: some offsets have no message, and its end is told once."""

    def __init__(self, offsets: list[int], end: int) -> None:
        self.events = [FakeMessage(n) for n in offsets] + [FakeMessage(end, End())]
        self.assigned: list[int] = []
        self.at = 0

    def assign(self, places: list[Any]) -> None:
        (place,) = places
        self.assigned.append(place.offset)
        self.at = next(n for n, e in enumerate(self.events) if e.offset() >= place.offset)

    def consume(self, count: int, timeout: float) -> list[FakeMessage]:
        found = self.events[self.at : self.at + count]
        self.at += len(found)
        return found


def reader_over(consumer: FakeConsumer) -> PartitionReader:
    reader = PartitionReader(settings(bootstrap_servers="x"), KafkaTopicPartition("clicks", 0))
    reader._consumer = consumer
    library = reader._library
    reader._library = SimpleNamespace(
        Message=FakeMessage, TopicPartition=library.TopicPartition, KafkaError=library.KafkaError
    )
    return reader


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12])
def test_ranges_over_gaps_give_every_message_once_and_seek_once(size: int) -> None:
    offsets = [0, 1, 4, 5, 6, 9]
    consumer = FakeConsumer(offsets, end=12)
    reader = reader_over(consumer)
    found = []
    for start in range(0, 12, size):
        end = min(start + size, 12)
        read = [m.offset() for part in reader.read(start, end) for m in part]
        assert all(start <= offset < end for offset in read)
        found += read
    assert found == offsets
    assert consumer.assigned == [0], "it goes on where it stands"


def test_a_range_that_is_read_again_is_sought() -> None:
    consumer = FakeConsumer([0, 1, 2, 3], end=4)
    reader = reader_over(consumer)
    for _ in range(2):
        assert [m.offset() for part in reader.read(1, 3) for m in part] == [1, 2]
    assert consumer.assigned == [1, 1]


# --- decoding ------------------------------------------------------------------------------------


def raw(*values: bytes) -> list[Row]:
    """Messages as the source hands them over."""
    return [
        Row(value=value, topic="clicks", partition=1, offset=40 + number)
        for number, value in enumerate(values)
    ]


def decoded(source: KafkaSourceBuilder, *tags: OutputTag) -> LocalRunner:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "clicks")
    return LocalRunner(stream.uid("clicks"), *map(stream.get_side_output, tags))


class Picky(SimpleStringSchema):
    """Leaves out what begins with a dash, chokes on what is empty, and cannot do columns."""

    def deserialize(self, message: bytes) -> Any:
        if not message:
            raise ValueError("empty")
        return None if message.startswith(b"-") else super().deserialize(message)

    def deserialize_columns(self, messages: Any) -> None:
        return None


def test_a_schema_may_leave_messages_out() -> None:
    with decoded(builder().set_value_only_deserializer(Picky())) as job:
        assert job.run_batch(raw(b"a", b"-b", b"c")) == ["a", "c"]


def test_a_list_with_a_bad_message_keeps_the_good_ones() -> None:
    bad = OutputTag("bad", KafkaSource.BAD_RECORD_TYPE)
    with decoded(builder().set_bad_records_side_output(bad), bad) as job:
        good, left_out = job.run_batch(raw(b"a", b"\xff", b"c"))
    assert good == ["a", "c"]
    assert [(row.partition, row.offset, row.value) for row in left_out] == [(1, 41, b"\xff")]


def test_the_first_bad_message_ends_a_job_that_says_nothing_else() -> None:
    with (
        decoded(builder().set_value_only_deserializer(Picky())) as job,
        pytest.raises(RecordError, match="offset 41 of partition 1 of topic 'clicks'") as caught,
    ):
        job.run_batch(raw(b"a", b"", b"c"))
    assert "Picky cannot read" in str(caught.value)
    assert "ValueError: empty" in str(caught.value)


def test_a_bad_message_is_shown_once_with_one_remedy() -> None:
    row_type = Types.ROW_NAMED(["id"], [Types.LONG()])
    schema = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    with (
        decoded(builder().set_value_only_deserializer(schema)) as job,
        pytest.raises(RecordError) as caught,
    ):
        job.run_batch(raw(b'{"id": 1}', b'{"id: 2}'))
    text = str(caught.value)
    assert [text.count(part) for part in ('{"id: 2}', "where:", "fix:")] == [1, 1, 1]
    assert "ignore_parse_errors()" in text
    assert "skip_bad_records()" in text


def test_typed_json_is_decoded_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    row_type = Types.ROW_NAMED(["id", "user"], [Types.LONG(), Types.STRING()])
    schema = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    monkeypatch.setattr(KafkaDecoder, "decode", None)  # no message is decoded alone
    with decoded(builder().set_value_only_deserializer(schema)) as job:
        found = job.run_batch(raw(b'{"id": 1, "user": "ann"}', b'{"user": "bob", "id": 2}'))
    assert found == [Row(id=1, user="ann"), Row(id=2, user="bob")]


def test_parts_of_the_source_take_their_uid_from_the_stream() -> None:
    with decoded(builder()) as job:
        assert [plan.step.stable_id for plan in job.plan.sources] == ["clicks/source"]
