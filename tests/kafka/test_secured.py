"""Brokers behind TLS and passwords: source and sink get in, and say why when they do not."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import SimpleStringSchema, WatermarkStrategy
from headrace.connectors.kafka.producers import SinkProducer
from headrace.connectors.kafka.reader import reader_of
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaTopicPartition,
)
from headrace.errors import ConnectorError
from headrace.testing import collect_locally
from headrace.testing.connectors import SinkDriver
from kafka_sinks import new_prefix, numbers, text_sink, unfinished
from secured_kafka import SCRAM, SECRET
from services import make_certificate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafka_broker import KafkaServer

WRONG = "not the password of the shop"
# Generous for a shared machine; the patience with brokers that are away is a minute.
SECONDS = 20


def source(server: KafkaServer, topic: str, **properties: str) -> KafkaSource:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(server.bootstrap)
        .set_topics(topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .set_properties({**server.login, **named})
        .build()
    )


def read(found: KafkaSource) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(found, WatermarkStrategy.no_watermarks(), "kafka").uid("kafka")
    return sorted(collect_locally(stream))


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM])
def test_a_source_reads_behind_tls_and_password(secured_kafka: KafkaServer, mechanism: str) -> None:
    topic = secured_kafka.create_topic(2)
    secured_kafka.send(topic, ["a", "b", "c"])
    assert read(source(secured_kafka, topic, sasl_mechanisms=mechanism)) == ["a", "b", "c"]


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM])
def test_a_sink_writes_exactly_once_behind_tls_and_password(
    secured_kafka: KafkaServer, mechanism: str
) -> None:
    topic, prefix = secured_kafka.create_topic(), new_prefix()
    sink = text_sink(secured_kafka, topic, prefix, sasl_mechanisms=mechanism)
    job = SinkDriver(sink)
    for batch in range(3):
        job.run(batch, [2 * batch, 2 * batch + 1])
    writer = job.writer(3)
    writer.write([99], None)
    writer.prepare_commit()  # and the driver dies: the next run aborts it
    SinkDriver(sink).run(3, [6])
    assert unfinished(secured_kafka, prefix) == {}
    assert numbers(secured_kafka, topic) == [0, 1, 2, 3, 4, 5, 6]


def test_names_and_texts_of_the_java_client_log_in_as_well(secured_kafka: KafkaServer) -> None:
    authority = secured_kafka.folder / "cert.pem"
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    topic = secured_kafka.create_topic()
    secured_kafka.login, before = (
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{module} required username="shop" password="{SECRET}";',
            "ssl.truststore.certificates": authority.read_text(),
        },
        secured_kafka.login,
    )
    try:
        sink, reading = text_sink(secured_kafka, topic), source(secured_kafka, topic)
    finally:
        secured_kafka.login = before
    SinkDriver(sink).run(0, [1])
    assert read(reading) == ["1"]


# --- those who do not get in ---------------------------------------------------------------------


def wrong_password(_folder: Path) -> dict[str, str]:
    return {"sasl_password": WRONG}


def another_authority(folder: Path) -> dict[str, str]:
    return {"ssl_ca_location": str(make_certificate(folder)[0])}


def read_as_driver(server: KafkaServer, wrong: dict[str, str]) -> None:
    read(source(server, "any", **wrong))


def read_pattern(server: KafkaServer, wrong: dict[str, str]) -> None:
    found = KafkaSource.builder().set_topic_pattern("any.*")
    found.set_bootstrap_servers(server.bootstrap).set_bounded(KafkaOffsetsInitializer.latest())
    found.set_value_only_deserializer(SimpleStringSchema()).set_properties(server.login)
    for name, value in wrong.items():
        found.set_property(name.replace("_", "."), value)
    read(found.build())


def read_as_worker(server: KafkaServer, wrong: dict[str, str]) -> None:
    client = source(server, "any", **wrong)._settings.client
    list(reader_of(client, KafkaTopicPartition("any", 0)).read(0, 1))


def commit_as_driver(server: KafkaServer, wrong: dict[str, str]) -> None:
    _ = SinkDriver(text_sink(server, "any", **wrong)).committer


def write_as_worker(server: KafkaServer, wrong: dict[str, str]) -> None:
    SinkProducer(text_sink(server, "any", **wrong)._client, "any")


def write_at_least_once(server: KafkaServer, wrong: dict[str, str]) -> None:
    guarantee = DeliveryGuarantee.AT_LEAST_ONCE
    SinkDriver(text_sink(server, "any", None, guarantee, **wrong)).run(0, [1])


@pytest.mark.parametrize(
    "act",
    [
        *(read_as_driver, read_pattern, read_as_worker),
        *(commit_as_driver, write_as_worker, write_at_least_once),
    ],
)
@pytest.mark.parametrize(
    ("mistake", "reason"),
    [(wrong_password, "invalid credentials"), (another_authority, "certificate verify failed")],
)
def test_who_is_not_let_in_is_told_so_within_seconds_without_the_password(
    secured_kafka: KafkaServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    act: Callable[[KafkaServer, dict[str, str]], None],
    mistake: Callable[[Path], dict[str, str]],
    reason: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = mistake(tmp_path)
    began = time.monotonic()
    with pytest.raises(ConnectorError) as caught:
        act(secured_kafka, {"sasl_mechanisms": "SCRAM-SHA-512", **wrong})
    assert time.monotonic() - began < SECONDS
    text = str(caught.value)
    assert reason in text
    assert secured_kafka.bootstrap in text
    assert "sasl.password" in str(caught.value.fix)
    assert "ssl.ca.location" in str(caught.value.fix)
    for secret in (SECRET, WRONG):
        assert secret not in text + repr(caught.value) + caplog.text
