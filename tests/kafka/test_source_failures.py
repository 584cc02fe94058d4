"""What a KafkaSource does when the broker or the topic is not what it was: tell or wait."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import TopicPartition

from headrace.common import WatermarkStrategy
from headrace.connectors.kafka.reader import close_readers
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer
from headrace.errors import ConnectorError
from headrace.testing import LocalRunner, collect_locally
from patience import PATIENCE_S
from ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.datastream.connectors.kafka import KafkaSourceBuilder
    from headrace.datastream.data_stream import DataStream
    from kafka_broker import KafkaServer

    Reading = Callable[..., KafkaSourceBuilder]


def stream_of(builder: KafkaSourceBuilder) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = builder.build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").uid("kafka")


def remove_before(kafka: KafkaServer, topic: str, offset: int) -> None:
    """What retention does, at once."""
    admin = kafka.admin()
    for future in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result(30)


def test_records_that_retention_removed_before_they_were_read_are_told(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, [f"r{n}" for n in range(10)])
    with LocalRunner(stream_of(reading(topic))) as job:
        assert job.read_batch(2) == ["r0", "r1"]
        remove_before(kafka, topic, 6)
        job.restart()
        close_readers()  # a new process: what the old one had fetched ahead is gone
        with pytest.raises(ConnectorError) as caught:
            job.read_batch()
    text = str(caught.value)
    assert f"the records 2 to 5 of {topic}-0 are lost" in text
    assert "auto.offset.reset" in text


def test_records_that_retention_removed_are_left_out_if_the_user_says_so(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, [f"r{n}" for n in range(10)])
    source = reading(topic).set_property("auto.offset.reset", "earliest")
    with LocalRunner(stream_of(source)) as job:
        assert job.read_batch(2) == ["r0", "r1"]
        remove_before(kafka, topic, 6)
        job.restart()
        close_readers()  # a new process: what the old one had fetched ahead is gone
        assert job.read_batch(3) == []  # 2, 3 and 4
        assert job.read_batch(3) == ["r6", "r7"]  # 5, 6 and 7
        assert job.read_batch() == ["r8", "r9"]


def test_a_topic_that_was_deleted_is_told(kafka: KafkaServer, reading: Reading) -> None:
    topic = kafka.create_topic(1)
    stem = topic.removesuffix(topic[-2:])
    kafka.send(topic, ["a"])
    with LocalRunner(stream_of(reading().set_topic_pattern(f"{stem}.*"))) as job:
        assert job.read_batch() == ["a"]
        kafka.delete_topic(topic)
        with pytest.raises(ConnectorError, match=r"read up to offset 1 and is not there any more"):
            job.read_batch()


def test_a_topic_that_was_created_anew_is_another_topic(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, ["a", "b"])
    with LocalRunner(stream_of(reading(topic))) as job:
        assert job.read_batch() == ["a", "b"]
        kafka.delete_topic(topic)
        kafka.create_topic(1, topic)
        kafka.send(topic, ["c", "d", "e"])
        with pytest.raises(ConnectorError, match="was deleted and created anew"):
            job.read_batch()


def test_a_topic_that_was_created_anew_while_the_job_was_down_is_told_if_it_is_shorter(
    kafka: KafkaServer, reading: Reading
) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, ["a", "b"])
    with LocalRunner(stream_of(reading(topic))) as job:
        assert job.read_batch() == ["a", "b"]
        kafka.delete_topic(topic)
        kafka.create_topic(1, topic)
        kafka.send(topic, ["c"])
        job.restart()
        with pytest.raises(ConnectorError, match="ends at offset 1, but the checkpoint says"):
            job.read_batch()


def test_a_topic_that_does_not_exist_is_named(kafka: KafkaServer, reading: Reading) -> None:
    source = reading("no-such-topic").set_bounded(KafkaOffsetsInitializer.latest())
    with pytest.raises(ConnectorError, match="cannot find the topic no-such-topic") as caught:
        collect_locally(stream_of(source))
    assert "create the topic" in str(caught.value)


def test_a_broker_that_stays_away_is_told_after_the_patience(
    kafka: KafkaServer, reading: Reading
) -> None:
    source = reading("any").set_property("default.api.timeout.ms", "1500")
    source.set_bootstrap_servers(f"127.0.0.1:{free_port()}").set_property(
        "socket.timeout.ms", "1000"
    )
    began = time.monotonic()
    with pytest.raises(ConnectorError) as caught:
        collect_locally(stream_of(source.set_bounded(KafkaOffsetsInitializer.latest())))
    assert 1 < time.monotonic() - began < PATIENCE_S
    assert "check that the brokers run" in str(caught.value)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_a_broker_that_is_away_for_a_moment_is_waited_for(
    kafka: KafkaServer, reading: Reading, sign: signal.Signals
) -> None:
    topic = kafka.create_topic(1)
    kafka.send(topic, [f"r{n}" for n in range(10)])
    with LocalRunner(stream_of(reading(topic))) as job:
        found: list[Any] = job.read_batch(3)
        kafka.stop(sign)
        starter = threading.Timer(2.0, kafka.start)
        starter.start()
        try:
            found += job.read_batch(3)  # waits in the driver's part, then in the worker's
            found += job.read_batch()
        finally:
            starter.join()
    assert found == [f"r{n}" for n in range(10)]
