"""What Kafka's clients log goes to Python's logging, and never to stderr by itself."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from headrace.connectors.kafka.local_broker import free_port
from headrace.connectors.kafka.reader import reader_of
from headrace.datastream.connectors.kafka import KafkaTopicPartition
from headrace.errors import ConnectorError
from headrace.testing.connectors import SinkDriver
from kafka_sinks import text_sink

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.datastream.connectors.kafka import KafkaSourceBuilder
    from kafka_broker import KafkaServer

    Reading = Callable[..., KafkaSourceBuilder]

# As in a program of a user's that configures no logging: a source and an exactly-once sink, whose
# clients stay open when the job is over, as those of Spark's worker processes do.
PROGRAM = """
import sys, time
from headrace.common import SimpleStringSchema, WatermarkStrategy
from headrace.connectors.kafka import producers, reader
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import *
from headrace.testing import collect_locally
from headrace.testing.connectors import SinkDriver

bootstrap, topic = sys.argv[1:]
source = (
    KafkaSource.builder().set_bootstrap_servers(bootstrap).set_topics(topic)
    .set_bounded(KafkaOffsetsInitializer.latest())
    .set_value_only_deserializer(SimpleStringSchema()).build()
)
schema = (
    KafkaRecordSerializationSchema.builder().set_topic(topic)
    .set_value_serialization_schema(SimpleStringSchema()).build()
)
sinks = [
    KafkaSink.builder().set_bootstrap_servers(bootstrap).set_record_serializer(schema)
    .set_delivery_guarantee(guarantee).set_transactional_id_prefix("quiet").build()
    for guarantee in DeliveryGuarantee
]
jobs = [SinkDriver(sink) for sink in sinks]
for job in jobs:
    job.run(0, ["a"])
env = StreamExecutionEnvironment.get_execution_environment()
found = collect_locally(env.from_source(source, WatermarkStrategy.no_watermarks(), "in").uid("in"))
assert found == ["a"] * 3, found
assert len(producers._pools) == 3 and len(reader._readers) == 1
print("over", flush=True)
sys.stdin.readline()
for held in producers._pools.values():  # a later batch of another job would look at its client
    for each in [held, *getattr(held, "_prepared", []), *getattr(held, "_free", [])]:
        if hasattr(each, "client"):
            each.client.poll(0)
list(reader._readers.values())[0]._consumer.consume(1, 0.1)
print("quiet", flush=True)
"""


def test_clients_that_outlive_a_job_and_their_brokers_write_nothing_to_stderr(
    kafka: KafkaServer,
) -> None:
    topic = kafka.create_topic(1)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, kafka.bootstrap, topic],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        kafka.stop()
        time.sleep(2)  # librdkafka tries again every 100 ms, later every 10 s
        out, err = process.communicate("\n", timeout=60)
    finally:
        process.kill()
        if kafka.process is None:
            kafka.start()
    assert (first + out, err) == ("over\nquiet\n", "")
    assert process.returncode == 0


def test_what_clients_log_is_in_the_log_by_its_level(
    reading: Reading, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    builder = reading("any").set_bootstrap_servers(f"127.0.0.1:{free_port()}")
    source = builder.set_property("default.api.timeout.ms", "1000").build()
    with pytest.raises(ConnectorError):
        list(reader_of(source._settings.client, KafkaTopicPartition("any", 0)).read(0, 1))
    found = [each for each in caplog.records if each.name == "headrace.kafka"]
    assert any(each.levelno == logging.ERROR and "refused" in each.message for each in found)
    assert capfd.readouterr().err == ""


def test_a_property_that_does_nothing_is_in_the_log_only(
    kafka: KafkaServer, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.create_topic()
    job = SinkDriver(text_sink(kafka, topic, fetch_wait_max_ms="1"))  # of consumers
    job.run(0, [1])
    job.restart()
    assert capfd.readouterr().err == ""
