"""A whole job that writes to Kafka and is killed again and again: every record counts once."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from kafka_sinks import end_offset_is_stable, new_prefix, unfinished
from killing import kill_again_and_again

if TYPE_CHECKING:
    from pathlib import Path

    from kafka_broker import KafkaServer

NUMBERS = 3_000
PROGRAM = """
import sys, time
from headrace.common import Configuration, SimpleStringSchema, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from headrace.datastream.state import ValueStateDescriptor

class Total(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + int(value))
        yield f"{value} {self.total.value()}"

def from_kafka(topic):
    from headrace.common import WatermarkStrategy
    from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(brokers)
        .set_topics(topic)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")

folder, source, brokers, topic, prefix, mode = sys.argv[1:]
configuration = Configuration()
configuration.set_string("headrace.execution.host", "local")
configuration.set_string("headrace.execution.mode", mode)
if mode == "continuous":
    configuration.set_string("execution.checkpointing.interval", "50 ms")
configuration.set_string("execution.checkpointing.dir", f"{folder}/checkpoint")
configuration.set_string("headrace.checkpoint.lease", "1 s")
configuration.set_string("source.max-records-per-batch", "40")
env = StreamExecutionEnvironment.get_execution_environment(configuration)
env.set_parallelism(2)
numbers = env.from_sequence(1, int(source)) if source.isdigit() else from_kafka(source)
numbers = numbers.uid("numbers")

def slowly(number):
    time.sleep(0.005)
    return number

if mode == "continuous":  # or all would be in its buffers before the first epoch ends
    numbers = numbers.map(slowly).uid("slowly")
totals = numbers.key_by(lambda n: int(n) % 3).process(Total(), Types.STRING()).uid("total")
schema = (
    KafkaRecordSerializationSchema.builder()
    .set_topic(topic)
    .set_value_serialization_schema(SimpleStringSchema())
    .build()
)
sink = (
    KafkaSink.builder()
    .set_bootstrap_servers(brokers)
    .set_record_serializer(schema)
    .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    .set_transactional_id_prefix(prefix)
    .build()
)
totals.sink_to(sink).uid("out")
env.execute("totals")
"""


@pytest.mark.parametrize("mode", ["micro-batch", "continuous"])
def test_a_job_that_is_killed_writes_every_record_once(
    tmp_path: Path, kafka: KafkaServer, mode: str
) -> None:
    write_with_kills(str(NUMBERS), tmp_path, kafka, mode)


@pytest.mark.parametrize("mode", ["micro-batch", "continuous"])
def test_a_job_that_is_killed_takes_every_record_from_kafka_to_kafka_once(
    tmp_path: Path, kafka: KafkaServer, mode: str
) -> None:
    source = kafka.create_topic(4)
    kafka.send(source, [str(n) for n in range(1, NUMBERS + 1)])
    write_with_kills(source, tmp_path, kafka, mode)


def write_with_kills(source: str, tmp_path: Path, kafka: KafkaServer, mode: str) -> None:
    """Totals of the numbers of a source, in a process that is killed four times."""
    topic, prefix = kafka.create_topic(2), new_prefix()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(tmp_path), source]
    command += [kafka.bootstrap, topic, prefix, mode]
    kill_again_and_again(command, lambda: _batches(tmp_path), seed=7)

    assert unfinished(kafka, prefix) == {}
    assert end_offset_is_stable(kafka, topic)
    found = [tuple(map(int, m.value().split())) for m in kafka.read(topic)]
    assert sorted(value for value, _ in found) == list(range(1, NUMBERS + 1))
    for key in range(3):
        total = 0
        mine = sorted((told, value) for value, told in found if value % 3 == key)
        for told, value in mine:
            total += value
            assert told == total


def _batches(folder: Path) -> int:
    """The newest batch that the sink has decided on."""
    for file in (folder / "checkpoint").rglob("kafka-transactions-*.json"):
        return int(json.loads(file.read_text())["batch_id"])
    return -1
