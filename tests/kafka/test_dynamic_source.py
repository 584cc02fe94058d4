"""DynamicKafkaSource on two real brokers, which are two clusters, without Spark."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Row, SimpleStringSchema, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.dynamic_kafka import (
    ClusterMetadata,
    DynamicKafkaSource,
    KafkaMetadataService,
    KafkaStream,
    SingleClusterTopicMetadataService,
)
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer
from headrace.errors import ConnectorError
from headrace.testing import LocalRunner, collect_locally
from headrace.testing.connectors import SourceContract
from kafka_broker import KafkaServer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Set
    from pathlib import Path

    from headrace.datastream.connectors.dynamic_kafka import DynamicKafkaSourceBuilder
    from headrace.datastream.connectors.python_source import PythonSource
    from headrace.datastream.data_stream import DataStream

LATEST = KafkaOffsetsInitializer.latest()


@pytest.fixture(scope="module")
def west(kafka: KafkaServer, services_folder: Path) -> Iterator[KafkaServer]:
    """A second cluster beside the one of all tests."""
    folder = services_folder / "kafka-west"
    folder.mkdir()
    server = KafkaServer(folder)
    server.start()
    yield server
    server.stop()


class Registry(KafkaMetadataService):
    """Streams from a file, as a user would write it: stream -> cluster -> [brokers, topic, ...]."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def get_all_streams(self) -> Set[KafkaStream]:
        return {
            KafkaStream(
                stream,
                {
                    name: ClusterMetadata(set(topics), {"bootstrap.servers": brokers})
                    for name, (brokers, *topics) in clusters.items()
                },
            )
            for stream, clusters in json.loads(self.file.read_text()).items()
        }

    def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        return {s.stream_id: s for s in self.get_all_streams() if s.stream_id in stream_ids}

    def is_cluster_active(self, kafka_cluster_id: str) -> bool:
        return True


def reading(service: KafkaMetadataService) -> DynamicKafkaSourceBuilder:
    return (
        DynamicKafkaSource.builder()
        .set_kafka_metadata_service(service)
        .set_property("stream-metadata-discovery-interval-ms", "1")
        .set_property("partition.discovery.interval.ms", "1")
        .set_value_only_deserializer(SimpleStringSchema())
    )


def stream_of(builder: DynamicKafkaSourceBuilder) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "kafka").uid("kafka")


def single(kafka: KafkaServer) -> SingleClusterTopicMetadataService:
    return SingleClusterTopicMetadataService("east", {"bootstrap.servers": kafka.bootstrap})


def test_the_topics_of_a_cluster_are_streams(kafka: KafkaServer) -> None:
    stem = kafka.create_topic(1)
    topics = [kafka.create_topic(1, f"{stem}-{n}") for n in "ab"]
    for topic in topics:
        kafka.send(topic, [f"in {topic}"])
    service = single(kafka)
    assert set(topics) <= {stream.stream_id for stream in service.get_all_streams()}
    assert not any(s.stream_id.startswith("__") for s in service.get_all_streams())
    by_name = reading(service).set_stream_ids({topics[0]}).set_bounded(LATEST)
    assert collect_locally(stream_of(by_name)) == [f"in {topics[0]}"]
    by_pattern = reading(service).set_stream_pattern(f"^{stem}-").set_bounded(LATEST)
    assert sorted(collect_locally(stream_of(by_pattern))) == [f"in {topic}" for topic in topics]


def test_a_stream_that_does_not_exist_is_told(kafka: KafkaServer) -> None:
    source = reading(single(kafka)).set_stream_ids({"nowhere"}).set_bounded(LATEST)
    with pytest.raises(ConnectorError, match="cannot find the topic nowhere"):
        collect_locally(stream_of(source))


def test_a_stream_moves_from_one_cluster_to_another_while_the_job_runs(
    kafka: KafkaServer, west: KafkaServer, tmp_path: Path
) -> None:
    name = kafka.create_topic(2)
    west.create_topic(1, name)  # the same name in both
    table = tmp_path / "streams.json"

    def say(*clusters: str) -> None:
        known = {"east": kafka.bootstrap, "west": west.bootstrap}
        table.write_text(json.dumps({"orders": {each: [known[each], name] for each in clusters}}))

    def read(job: LocalRunner) -> list[Any]:
        time.sleep(0.01)  # longer than both discovery intervals
        return sorted(job.read_batch() + job.read_batch())  # a new split's first offset is stored

    say("east")
    kafka.send(name, ["e0"], partition=0)
    kafka.send(name, ["e1"], partition=1)
    west.send(name, ["w0"])
    with LocalRunner(stream_of(reading(Registry(table)).set_stream_ids({"orders"}))) as job:
        assert read(job) == ["e0", "e1"]
        say("east", "west")
        assert read(job) == ["w0"]
        kafka.send(name, ["e2"], partition=1)
        west.send(name, ["w1"])
        assert read(job) == ["e2", "w1"]
        say("west")
        kafka.send(name, ["e3"], partition=0)
        west.send(name, ["w2"])
        assert read(job) == ["w2"]
        job.restart()
        assert job.positions == [{f"east/{name}-0": 1, f"east/{name}-1": 2, f"west/{name}-0": 3}]
        west.send(name, ["w3"])
        assert read(job) == ["w3"]
        say("east", "west")  # back, and nothing is lost
        assert read(job) == ["e3"]


class TestContract(SourceContract):
    """headrace's own rules for sources; what reads is a copy, as in a worker."""

    @pytest.fixture(autouse=True)
    def _topics(self, kafka: KafkaServer, west: KafkaServer, tmp_path: Path) -> None:
        self.topic = kafka.create_topic(1)
        west.create_topic(1, self.topic)
        for number, server in enumerate((kafka, west)):
            server.send(self.topic, [f"{number}{n}" for n in range(9)])
        self.table = tmp_path / "streams.json"
        both = {"east": [kafka.bootstrap, self.topic], "west": [west.bootstrap, self.topic]}
        self.table.write_text(json.dumps({"orders": both}))

    def make_source(self) -> PythonSource:
        return reading(Registry(self.table)).set_stream_ids({"orders"}).build()

    def expected(self) -> list[Any]:
        return [
            Row(value=f"{cluster}{n}".encode(), topic=self.topic, partition=0, offset=n)
            for cluster in range(2)
            for n in range(9)
        ]
