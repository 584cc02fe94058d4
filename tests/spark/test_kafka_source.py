"""KafkaSource on Spark and a real broker: nothing lost, nothing twice."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import SimpleStringSchema, Types, WatermarkStrategy
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import UserFunctionError

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment
    from headrace.datastream.connectors.kafka import KafkaSourceBuilder
    from kafka_broker import KafkaServer

Make = "Callable[..., StreamExecutionEnvironment]"
Wait = "Callable[[Callable[[], Any]], None]"


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
    wait_for(lambda: len(written()) == 7)
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
