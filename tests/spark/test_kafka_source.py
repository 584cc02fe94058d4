"""KafkaSource on Spark and a real broker: nothing lost, nothing twice."""

from __future__ import annotations

import json
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from headrace.common import Duration, SimpleStringSchema, Time, Types, WatermarkStrategy
from headrace.connectors.discarding import DiscardingSink
from headrace.datastream.connectors.dynamic_kafka import (
    ClusterMetadata,
    DynamicKafkaSource,
    KafkaMetadataService,
    KafkaStream,
)
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import UserFunctionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.datastream import StreamExecutionEnvironment
    from headrace.datastream.connectors.kafka import KafkaSourceBuilder
    from kafka_broker import KafkaServer

    Make = Callable[..., StreamExecutionEnvironment]
    Wait = Callable[..., Any]


def builder(kafka: KafkaServer, topic: str) -> KafkaSourceBuilder:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka.bootstrap)
        .set_topics(topic)
        .set_property("partition.discovery.interval.ms", "500")
        .set_value_only_deserializer(SimpleStringSchema())
    )


def test_a_bounded_source_gives_every_record_once(
    env: StreamExecutionEnvironment, kafka: KafkaServer
) -> None:
    topic = kafka.create_topic(3)
    kafka.send(topic, [f"r{n}" for n in range(50)])
    source = builder(kafka, topic).set_bounded(KafkaOffsetsInitializer.latest()).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    with stream.map(str.upper, Types.STRING()).execute_and_collect("bounded") as found:
        assert sorted(found) == sorted(f"R{n}" for n in range(50))


class TwoClusters(KafkaMetadataService):
    """A service of a user's: a stream in two clusters, which are one broker here."""

    def __init__(self, brokers: str, topics: dict[str, str]) -> None:
        self.brokers, self.topics = brokers, topics

    def get_all_streams(self) -> set[KafkaStream]:
        place = {"bootstrap.servers": self.brokers}
        found = {name: ClusterMetadata({topic}, place) for name, topic in self.topics.items()}
        return {KafkaStream("orders", found)}

    def describe_streams(self, stream_ids: Any) -> dict[str, KafkaStream]:
        return {stream.stream_id: stream for stream in self.get_all_streams()}

    def is_cluster_active(self, kafka_cluster_id: str) -> bool:
        return True


def test_workers_find_the_clusters_of_a_stream(
    env: StreamExecutionEnvironment, kafka: KafkaServer
) -> None:
    topics = {name: kafka.create_topic(2) for name in ("east", "west")}
    for name, topic in topics.items():
        kafka.send(topic, [f"{name}{n}" for n in range(20)])
    source = (
        DynamicKafkaSource.builder()
        .set_kafka_metadata_service(TwoClusters(kafka.bootstrap, topics))
        .set_stream_ids({"orders"})
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    with stream.map(str.upper, Types.STRING()).execute_and_collect("dynamic") as found:
        assert sorted(found) == sorted(f"{c}{n}" for c in ("EAST", "WEST") for n in range(20))


class Numbered(KeyedProcessFunction):
    """Numbers the records of each first letter; chokes on poison while the flag is there."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: Any) -> Any:
        if value.endswith("poison") and self.flag.exists():
            raise ValueError("choked")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield {"line": value, "number": count}


def test_a_job_that_fails_and_starts_again_counts_every_record_once(
    make_env: Make, wait_for: Wait, kafka: KafkaServer, tmp_path: Path
) -> None:
    topic = kafka.create_topic(2)
    kafka.send(topic, ["a0", "a1", "a2"], partition=0)
    kafka.send(topic, ["b0", "b1"], partition=1)
    flag, out = tmp_path / "flag", tmp_path / "out"
    flag.touch()

    def start() -> Any:
        env = make_env(
            {
                "source.max-records-per-batch": 4,
                "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
            }
        )
        source = builder(kafka, topic).set_group_id("watched").build()
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").uid("kafka")
        numbered = stream.key_by(lambda line: line[0]).process(Numbered(flag)).uid("numbered")
        numbered.sink_to(FileSink.json(str(out))).uid("files")
        return env.execute_async("kafka")

    def written() -> list[dict[str, Any]]:
        return [json.loads(line) for file in sorted(out.glob("*.json")) for line in file.open()]

    client = start()
    wait_for(lambda: len(written()) == 5)
    kafka.add_partitions(topic, 3)
    kafka.send(topic, ["c0", "c1"], partition=2)  # while it runs
    wait_for(
        lambda: len(written()) == 7,
        lambda: f"{written()}, {client.get_job_status().result()}, {client.get_metrics()}",
    )
    kafka.send(topic, ["a3", "a-poison"], partition=0)
    with pytest.raises(UserFunctionError, match="choked"):
        client.get_job_execution_result().result(240)

    flag.unlink()
    kafka.send(topic, ["b2"], partition=1)  # while it was down
    client = start()
    try:
        wait_for(lambda: len(written()) >= 10)
    finally:
        client.cancel().result(60)
    lines = "a0 a1 a2 a3 a-poison b0 b1 b2 c0 c1"
    assert Counter(record["line"] for record in written()) == Counter(lines.split())
    numbers: dict[str, list[int]] = {}
    for record in written():
        numbers.setdefault(record["line"][0], []).append(record["number"])
    assert all(sorted(n) == list(range(1, len(n) + 1)) for n in numbers.values()), numbers


def test_a_lagging_partition_loses_nothing_and_an_idle_one_holds_nobody_up(
    make_env: Make, wait_for: Wait, kafka: KafkaServer, tmp_path: Path
) -> None:
    topic, out = kafka.create_topic(3), tmp_path / "out"  # nobody ever writes to the third
    env = make_env({"execution.checkpointing.interval": "100 ms"})
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_seconds(15))
    stream = env.from_source(builder(kafka, topic).build(), strategy, "kafka").uid("kafka")
    counts = (
        stream.map(lambda line: (line[0], 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    counts.map(lambda pair: {"who": pair[0], "count": pair[1]}).sink_to(FileSink.json(str(out)))
    client = env.execute_async("windows")

    def written() -> list[tuple[str, int]]:
        lines = (json.loads(line) for file in out.glob("*.json") for line in file.open())
        return sorted((line["who"], line["count"]) for line in lines)

    def read() -> int:
        operators: dict[str, Any] = client.get_metrics().get("operators", {})
        return int(operators.get("kafka", {}).get("numRecordsOut", 0))

    def has_read(count: int) -> bool:
        return read() == count

    try:
        # the first partition is far ahead; the second has records of the first second
        times = [10_000 + n * 500 for n in range(20)]
        kafka.send(topic, [{"value": "a", "timestamp": stamp} for stamp in times], partition=0)
        wait_for(lambda: read() == 20)
        for number in range(3):  # it is late, but never so long away that it counts as idle
            kafka.send(topic, [{"value": "b", "timestamp": 10_700}], partition=1)
            wait_for(partial(has_read, 21 + number))
        # all of them come to rest, so that the first partition alone says what time it is
        wait_for(lambda: ("b", 3) in written())
        assert written() == sorted([("a", 2)] * 9 + [("b", 3)])
    finally:
        client.cancel().result(60)


def hold(gate: str, line: str) -> str:
    """The fifth line waits until the file is there."""
    while line == "good 4" and not Path(gate).exists():
        time.sleep(0.02)
    return line


def test_bad_messages_are_counted_and_the_lag_is_shown(
    make_env: Make, wait_for: Wait, kafka: KafkaServer, tmp_path: Path
) -> None:
    topic, gate = kafka.create_topic(2), tmp_path / "gate"
    kafka.send(topic, [f"good {n}" for n in range(7)] + [b"\xff"] * 3, partition=0)
    env = make_env({"source.max-records-per-batch": 2})
    source = builder(kafka, topic).skip_bad_records().build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").uid("kafka")
    stream.map(partial(hold, str(gate))).sink_to(DiscardingSink())
    client = env.execute_async("skipping")
    lags: set[int] = set()

    def counts() -> dict[str, Any]:
        found: dict[str, Any] = client.get_metrics()["operators"]
        lags.add(found.get("kafka/source", {}).get("pendingRecords", -1))
        return dict(found.get("kafka", {}))

    try:
        wait_for(lambda: counts() and lags & {2, 4, 6, 8})
        gate.touch()
        wait_for(lambda: counts().get("numRecordsInErrors") == 3)
        assert counts()["numRecordsOut"] == 7
    finally:
        client.cancel().result(60)


def test_transactions_and_a_broker_that_restarts(
    make_env: Make, wait_for: Wait, kafka: KafkaServer, tmp_path: Path
) -> None:
    topic, out = kafka.create_topic(1), tmp_path / "out"
    env = make_env({"source.max-records-per-batch": 3})
    stream = env.from_source(
        builder(kafka, topic).build(), WatermarkStrategy.no_watermarks(), "kafka"
    )
    stream.map(lambda line: {"line": line}).sink_to(FileSink.json(str(out)))

    def written() -> list[str]:
        return [
            json.loads(line)["line"] for file in sorted(out.glob("*.json")) for line in file.open()
        ]

    client = env.execute_async("transactions")
    try:
        for number, commits in enumerate((True, False, True)):
            producer = Producer(
                {"bootstrap.servers": kafka.bootstrap, "transactional.id": f"{topic}-{number}"}
            )
            producer.init_transactions(30)
            producer.begin_transaction()
            for n in range(5):
                producer.produce(topic, f"{number}-{n}")
            producer.flush(30)
            if commits:
                producer.commit_transaction(30)
            else:
                producer.abort_transaction(30)
            if number == 1:
                kafka.stop()
                time.sleep(1)
                kafka.start()
        wait_for(lambda: len(written()) >= 10)
    finally:
        client.cancel().result(60)
    assert sorted(written()) == [f"{number}-{n}" for number in (0, 2) for n in range(5)]
