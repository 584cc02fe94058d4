"""KafkaSource on a real broker, without Spark: each test takes a topic of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.common import Row, Types, WatermarkStrategy
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import (
    ConsumerRecord,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaTopicPartition,
)
from headrace.datastream.functions import ProcessFunction
from headrace.errors import ConnectorError, RecordError
from headrace.testing import LocalRunner, collect_locally
from headrace.testing.connectors import SourceContract
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.datastream.connectors.kafka import KafkaSourceBuilder
    from headrace.datastream.connectors.python_source import PythonSource
    from headrace.datastream.data_stream import DataStream
    from kafka_broker import KafkaServer

    Reading = Callable[..., KafkaSourceBuilder]

EARLIEST, LATEST = KafkaOffsetsInitializer.earliest(), KafkaOffsetsInitializer.latest()


def stream_of(builder: KafkaSourceBuilder, strategy: WatermarkStrategy | None = None) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = strategy or WatermarkStrategy.no_watermarks()
    return env.from_source(builder.build(), strategy, "kafka").uid("kafka")


def everything(builder: KafkaSourceBuilder) -> list[Any]:
    return sorted(collect_locally(stream_of(builder.set_bounded(LATEST))))


# --- what is read --------------------------------------------------------------------------------


def test_a_bounded_source_gives_every_partition_to_its_end(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(3)
    for partition in range(3):
        kafka.send(topic, [f"{partition}-{n}" for n in range(5)], partition=partition)
    assert everything(reading(topic)) == [f"{p}-{n}" for p in range(3) for n in range(5)]


def test_where_a_bounded_source_ends_is_part_of_the_checkpoint(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, ["a", "b", "c"])
    with LocalRunner(stream_of(reading(topic).set_bounded(LATEST))) as job:
        assert job.read_batch(1) == ["a"]
        assert job.positions == [{f"{topic}-0": [1, 3]}]
        kafka.send(topic, ["too late"])
        job.restart()
        assert not job.sources_are_exhausted()
        assert job.read_batch() == ["b", "c"]
        assert job.sources_are_exhausted()


def test_an_unbounded_source_may_stop_and_its_job_goes_on(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, ["a", "b", "c"])
    stop = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, 0): 2})
    source = reading(topic).set_unbounded(stop)
    assert not source.build().is_bounded()
    with LocalRunner(stream_of(source)) as job:
        assert job.read_batch() == ["a", "b"]
        assert job.read_batch() == []


def test_an_unbounded_source_goes_on_where_it_was_after_a_restart(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(2)
    kafka.send(topic, ["a0", "a1"], partition=0)
    kafka.send(topic, ["b0"], partition=1)
    with LocalRunner(stream_of(reading(topic))) as job:
        assert sorted(job.read_batch()) == ["a0", "a1", "b0"]
        assert job.read_batch() == []
        kafka.send(topic, ["a2"], partition=0)
        assert job.read_batch() == ["a2"]
        assert job.positions == [{f"{topic}-0": 3, f"{topic}-1": 1}]
        kafka.send(topic, ["b1"], partition=1)
        job.restart()
        assert job.read_batch() == ["b1"]


def test_topics_by_name_by_pattern_and_by_partition(kafka: KafkaServer, reading: Reading) -> None:
    stem = kafka.create_topic(1)
    names = [kafka.create_topic(2, f"{stem}-{n}") for n in ("1", "1-2")]  # dashes and numbers
    for name in names:
        for partition in range(2):
            kafka.send(name, [f"{name}/{partition}"], partition=partition)
    both = sorted(f"{name}/{partition}" for name in names for partition in range(2))
    assert everything(reading(*names)) == both
    assert everything(reading().set_topic_pattern(f"{stem}-.*")) == both
    assert everything(reading().set_topic_pattern(f"{stem}-.")) == [
        f"{names[0]}/{partition}" for partition in range(2)
    ]
    chosen = {KafkaTopicPartition(names[0], 1), KafkaTopicPartition(names[1], 0)}
    found = everything(reading().set_partitions(chosen))
    assert found == sorted([f"{names[0]}/1", f"{names[1]}/0"])


def test_a_new_partition_and_a_new_topic_are_read_from_their_first_record(
    kafka: KafkaServer, reading: Reading
) -> None:
    stem = kafka.create_topic(1)
    first = kafka.create_topic(1, f"{stem}-first")
    kafka.send(first, ["before"])
    source = reading().set_topic_pattern(f"{stem}-.*").set_starting_offsets(LATEST)
    with LocalRunner(stream_of(source)) as job:
        assert job.read_batch() == []
        kafka.add_partitions(first, 2)
        kafka.send(first, ["new partition"], partition=1)
        second = kafka.create_topic(1, f"{stem}-second")
        kafka.send(second, ["new topic"])
        found = job.read_batch() + job.read_batch()  # its first offset first, as it is stored
        assert sorted(found) == ["new partition", "new topic"]


@pytest.mark.parametrize("start", ["earliest", "latest", "timestamp", "offsets", "committed"])
def test_where_reading_begins(kafka: KafkaServer, reading: Reading, start: str) -> None:
    topic = kafka.create_topic(2)
    for partition in range(2):
        values = [{"value": f"{partition}{n}", "timestamp": 1000 + n} for n in range(4)]
        kafka.send(topic, values, partition=partition)
    group = f"group-{topic}"
    watcher = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    watcher.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
    watcher.close()
    initializers = {
        "earliest": (EARLIEST, "00 01 02 03 10 11 12 13"),
        "latest": (LATEST, ""),
        "timestamp": (KafkaOffsetsInitializer.timestamp(1002), "02 03 12 13"),
        "offsets": (
            KafkaOffsetsInitializer.offsets(
                {KafkaTopicPartition(topic, 1): 2}, KafkaOffsetResetStrategy.LATEST
            ),
            "12 13",
        ),
        "committed": (
            KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST),
            "03 10 11 12 13",
        ),
    }
    initializer, expected = initializers[start]
    source = reading(topic).set_starting_offsets(initializer).set_group_id(group)
    with LocalRunner(stream_of(source)) as job:
        assert sorted(job.read_batch()) == expected.split()
        kafka.send(topic, ["next"], partition=0)
        assert job.read_batch() == ["next"]


def test_a_group_without_offsets_is_told_if_nothing_else_is_said(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(1)
    source = reading(topic).set_group_id("nobody")
    source.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    with pytest.raises(ConnectorError, match="has committed no offset") as caught:
        collect_locally(stream_of(source.set_bounded(LATEST)))
    assert "KafkaOffsetResetStrategy" in str(caught.value)


def test_the_groups_offsets_follow_the_job(kafka: KafkaServer, reading: Reading) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, ["a", "b", "c"])
    group = f"watched-{topic}"
    with LocalRunner(stream_of(reading(topic).set_group_id(group))) as job:
        job.read_batch(2)
        watcher = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
        place = [TopicPartition(topic, 0)]
        wait_until(lambda: watcher.committed(place, timeout=10)[0].offset == 2)
        watcher.close()


class TestContract(SourceContract):
    """headrace's own rules for sources, over offsets that are not reset between the tests."""

    @pytest.fixture(autouse=True)
    def _topic(self, kafka: KafkaServer, reading: Reading) -> None:
        self.topic = kafka.create_topic(2)
        for partition in range(2):
            kafka.send(self.topic, [f"{partition}{n}" for n in range(9)], partition=partition)
        self.reading = reading

    def make_source(self) -> PythonSource:
        return self.reading(self.topic).build()

    def expected(self) -> list[Any]:
        return [
            Row(value=f"{p}{n}".encode(), topic=self.topic, partition=p, offset=n)
            for p in range(2)
            for n in range(9)
        ]


# --- transactions and gaps -----------------------------------------------------------------------


def in_transaction(kafka: KafkaServer, topic: str, values: list[str]) -> Producer:
    """A producer whose transaction with these values is open."""
    name = f"{topic}-{values[0]}"
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush(30)
    return producer


def test_aborted_transactions_are_never_seen_and_open_ones_are_waited_for(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(1)
    with LocalRunner(stream_of(reading(topic))) as job:
        in_transaction(kafka, topic, ["no1", "no2"]).abort_transaction(30)
        assert job.read_batch() == []  # a range of offsets without any record
        in_transaction(kafka, topic, ["yes1", "yes2"]).commit_transaction(30)
        later = in_transaction(kafka, topic, ["yes3"])
        assert job.read_batch() == ["yes1", "yes2"]
        kafka.send(topic, ["behind it"], partition=0)
        assert job.read_batch() == []
        later.commit_transaction(30)
        assert job.read_batch(1) + job.read_batch(1) + job.read_batch() == ["yes3", "behind it"]


def test_records_of_aborted_transactions_are_seen_if_the_user_says_so(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(1)
    in_transaction(kafka, topic, ["no"]).abort_transaction(30)
    in_transaction(kafka, topic, ["yes"]).commit_transaction(30)
    source = reading(topic).set_property("isolation.level", "read_uncommitted")
    assert everything(source) == ["no", "yes"]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_offsets_that_compaction_removed_are_jumped_over(
    kafka: KafkaServer, reading: Reading, size: int
) -> None:
    topic = kafka.create_topic(
        1,
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.01",
        max_compaction_lag_ms="100",
    )
    kafka.send(topic, [{"key": f"k{n % 2}", "value": f"v{n}"} for n in range(20)])

    def is_compacted() -> bool:
        kafka.send(topic, [{"key": "other", "value": "end"}])  # closes the segment before
        return len(kafka.read(topic)) <= 10

    wait_until(is_compacted, "the broker does not compact", every_s=1)
    left = [message.value().decode() for message in kafka.read(topic)]
    found: list[str] = []
    with LocalRunner(stream_of(reading(topic).set_bounded(LATEST))) as job:
        while not job.sources_are_exhausted() or not found:
            found += job.read_batch(size)
    assert found[: len(left) - 1] == left[:-1]


# --- bad records, whole records, time ------------------------------------------------------------


def test_a_message_that_cannot_be_decoded_ends_the_job_with_its_place(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(2)
    kafka.send(topic, ["good", b"\xff\xfe", "good"], partition=1)
    with pytest.raises(RecordError) as caught:
        everything(reading(topic))
    text = str(caught.value)
    assert f"offset 1 of partition 1 of topic {topic!r}" in text
    assert "SimpleStringSchema" in text
    assert r"b'\xff\xfe'" in text
    assert "skip_bad_records" in text


def test_bad_messages_are_skipped_and_counted(kafka: KafkaServer, reading: Reading) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, ["one", b"\xff", "two", b"\xfe"])
    with LocalRunner(stream_of(reading(topic).skip_bad_records())) as job:
        assert job.read_batch() == ["one", "two"]
        counts = job.metrics.snapshot()["operators"]["kafka"]
        assert counts["numRecordsInErrors"] == 2


@pytest.mark.parametrize("timed", [True, False])
def test_bad_messages_go_to_a_side_output(
    kafka: KafkaServer, reading: Reading, timed: bool
) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, ["one", {"value": b"\xff", "timestamp": 77}, "two"])
    tag = OutputTag("bad", KafkaSource.BAD_RECORD_TYPE)
    strategy = WatermarkStrategy.for_monotonous_timestamps() if timed else None
    stream = stream_of(reading(topic).set_bad_records_side_output(tag), strategy)
    with LocalRunner(stream, stream.get_side_output(tag)) as job:
        good, bad = job.read_batch()
    assert good == ["one", "two"]
    (row,) = bad
    assert (row.topic, row.partition, row.offset, row.timestamp) == (topic, 0, 1, 77)
    assert row.value == b"\xff"
    assert "UnicodeDecodeError" in row.error


class Everything(KafkaRecordDeserializationSchema):
    def deserialize(self, record: ConsumerRecord) -> Iterable[ConsumerRecord]:
        if record.key != b"none":
            yield record
        if record.key == b"twice":
            yield record

    def get_produced_type(self) -> Any:
        return Types.PICKLED_BYTE_ARRAY()


def test_a_schema_of_whole_records_sees_all_that_kafka_knows(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(1)
    headers = [("a", b"1"), ("a", None), ("b", b"")]
    kafka.send(
        topic,
        [
            {"key": "k", "value": "v", "timestamp": 5, "headers": headers},
            {"key": "none", "value": "v"},
            {"key": "twice", "value": None, "timestamp": 6},
        ],
    )
    first, second, third = collect_locally(
        stream_of(reading(topic).set_deserializer(Everything()).set_bounded(LATEST))
    )
    assert first == ConsumerRecord(topic, 0, 0, 5, 1, b"k", b"v", tuple(headers))
    assert second == third == ConsumerRecord(topic, 0, 2, 6, 1, b"twice", None, ())


def test_tombstones_have_no_value_to_decode(kafka: KafkaServer, reading: Reading) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, [{"key": "k", "value": None}, "one", {"key": "k", "value": None}])
    assert everything(reading(topic)) == ["one"]


class Stamped(ProcessFunction):
    def process_element(self, value: str, ctx: Any) -> Any:
        yield value, ctx.timestamp()


def test_a_record_has_kafkas_timestamp(kafka: KafkaServer, reading: Reading) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, [{"value": "a", "timestamp": 1000}, {"value": "b", "timestamp": 900}])
    stream = stream_of(reading(topic), WatermarkStrategy.for_monotonous_timestamps())
    with LocalRunner(stream.process(Stamped())) as job:
        assert job.read_batch() == [("a", 1000), ("b", 900)]


# --- admission -----------------------------------------------------------------------------------


def test_a_backlog_is_worked_off_in_even_batches(kafka: KafkaServer, reading: Reading) -> None:
    topic = kafka.create_topic(2)
    kafka.send(topic, [f"a{n}" for n in range(10)], partition=0)
    kafka.send(topic, [f"b{n}" for n in range(4)], partition=1)
    with LocalRunner(stream_of(reading(topic).set_max_records_per_partition(3))) as job:
        sizes, lags = [], []
        for _ in range(5):
            sizes.append(len(job.read_batch(100)))
            lags.append(job.metrics.snapshot()["operators"]["kafka/source"]["pendingRecords"])
    assert sizes == [6, 4, 3, 1, 0]
    assert lags == [8, 4, 1, 0, 0]


def test_a_batch_has_about_as_many_bytes_as_it_may(kafka: KafkaServer, reading: Reading) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, ["x" * 1000] * 50)
    with LocalRunner(stream_of(reading(topic).set_max_bytes_per_batch(10_000))) as job:
        assert [len(job.read_batch(1000)) for _ in range(6)] == [10, 10, 10, 10, 10, 0]
