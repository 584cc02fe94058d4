"""KafkaSource on a real broker, without Spark: each test takes a topic of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.common import SimpleStringSchema, WatermarkStrategy
from headrace.connectors.kafka.reader import close_readers
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSource,
)
from headrace.testing import LocalRunner, collect_locally

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.datastream.connectors.kafka import KafkaSourceBuilder
    from headrace.datastream.data_stream import DataStream
    from kafka_broker import KafkaServer

LATEST = KafkaOffsetsInitializer.latest()


@pytest.fixture(autouse=True)
def _no_readers_left() -> Iterator[None]:
    yield
    close_readers()


def builder(kafka: KafkaServer, topic: str | None = None) -> KafkaSourceBuilder:
    found = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka.bootstrap)
        .set_value_only_deserializer(SimpleStringSchema())
    )
    return found if topic is None else found.set_topics(topic)


def stream_of(source: KafkaSource, strategy: WatermarkStrategy | None = None) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_source(source, strategy or WatermarkStrategy.no_watermarks(), "kafka")


def test_a_bounded_source_gives_every_partition_to_its_end(kafka: KafkaServer) -> None:
    topic = kafka.create_topic(3)
    for partition in range(3):
        kafka.send(topic, [f"{partition}-{n}" for n in range(5)], partition=partition)
    found = collect_locally(stream_of(builder(kafka, topic).set_bounded(LATEST).build()))
    assert sorted(found) == [f"{p}-{n}" for p in range(3) for n in range(5)]


def test_an_unbounded_source_goes_on_where_it_was_after_a_restart(kafka: KafkaServer) -> None:
    topic = kafka.create_topic(2)
    kafka.send(topic, ["a0", "a1"], partition=0)
    kafka.send(topic, ["b0"], partition=1)
    with LocalRunner(stream_of(builder(kafka, topic).build())) as job:
        assert sorted(job.read_batch()) == ["a0", "a1", "b0"]
        assert job.read_batch() == []
        kafka.send(topic, ["a2"], partition=0)
        assert job.read_batch() == ["a2"]
        assert job.positions == [{f"{topic}-0": 3, f"{topic}-1": 1}]
        kafka.send(topic, ["b1"], partition=1)
        job.restart()
        assert job.read_batch() == ["b1"]
