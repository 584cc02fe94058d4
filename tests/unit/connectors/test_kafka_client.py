"""What Kafka's clients are told: one table for source and sink, and secrets that stay secret."""

from __future__ import annotations

import logging
import pickle
import ssl
from concurrent.futures import Future
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import cloudpickle
import pytest
from confluent_kafka import KafkaError, KafkaException

from golden.compare import assert_golden
from headrace.common import SimpleStringSchema, WatermarkStrategy
from headrace.connectors.kafka import planner
from headrace.connectors.kafka.client import ClientSettings
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from headrace.errors import ConfigurationError, HeadraceError
from services import make_certificate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = "hunter2"
JAAS = f'org.apache.ScramLoginModule required username="me" password="{SECRET}";'
LOGIN = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": JAAS,
}


def source(**properties: str) -> KafkaSourceBuilder:
    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:9").set_topics("clicks")
    builder.set_value_only_deserializer(SimpleStringSchema())
    return builder.set_properties(dotted(properties))


def sink(guarantee: str = "NONE", **properties: str) -> KafkaSinkBuilder:
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic("clicks")
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    builder = KafkaSink.builder().set_bootstrap_servers("127.0.0.1:9")
    builder.set_record_serializer(schema).set_transactional_id_prefix("p")
    builder.set_delivery_guarantee(DeliveryGuarantee[guarantee])
    for name, value in dotted(properties).items():
        builder.set_property(name, value)
    return builder


def dotted(properties: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in properties.items()}


def told(make: Callable[[], Any]) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        make()
    return caught.value


# --- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("buffer.memory", "1"), ("enable.auto.commit", "true"), ("group.instance.id", "a")],
        *[("key.deserializer", "a"), ("key.serializer", "a"), ("max.block.ms", "1")],
        *[("partitioner.class", "a"), ("ssl.truststore.location", "a.jks")],
        *[("ssl.truststore.password", "a"), ("transactional.id", "a"), ("no.such", "a")],
        *[("sasl.jaas.config", "Krb5LoginModule required;"), ("log.queue", "true")],
    ],
)
def test_source_and_sink_refuse_the_same_with_the_same_words(name: str, value: str) -> None:
    first = told(lambda: source().set_property(name, value).build())
    second = told(lambda: sink().set_property(name, value).build())
    assert (first.message, first.fix) == (second.message, second.fix)
    assert name in first.message


@pytest.mark.parametrize(
    ("properties", "librdkafka"),
    [
        ({"sasl.jaas.config": JAAS}, {"sasl.username": "me", "sasl.password": SECRET}),
        (
            {"sasl.jaas.config": "X required username='a b' password=c;", "sasl.username": "d"},
            {"sasl.username": "d", "sasl.password": "c"},
        ),
        ({"sasl.mechanism": "PLAIN"}, {"sasl.mechanisms": "PLAIN"}),
        ({"max.request.size": "5000"}, {"message.max.bytes": "5000"}),
        ({"fetch.max.wait.ms": "9"}, {"fetch.wait.max.ms": "9"}),
        ({"ssl.truststore.certificates": "x"}, {"ssl.ca.pem": "x"}),
        (
            {"ssl.endpoint.identification.algorithm": ""},
            {"ssl.endpoint.identification.algorithm": "none"},
        ),
        ({"enable.auto.commit": "false"}, {}),
        ({"default.api.timeout.ms": "5", "client.id.prefix": "a"}, {}),
    ],
)
def test_names_of_the_java_client_mean_the_same_to_source_and_sink(
    properties: dict[str, str], librdkafka: dict[str, str]
) -> None:
    assert ClientSettings.of_source(properties, "here").librdkafka == librdkafka
    assert ClientSettings.of_sink(properties, "here").librdkafka == librdkafka


def test_a_sink_refuses_what_is_about_reading() -> None:
    error = told(lambda: sink(partition_discovery_interval_ms="1").build())
    assert "property of sources" in str(error.fix)


@pytest.mark.parametrize("builder", [source, sink])
def test_values_are_texts(builder: Callable[[], Any]) -> None:
    assert "has the value 5 (int)" in told(lambda: builder().set_property("linger.ms", 5)).message


# --- the second client ---------------------------------------------------------------------------


def test_the_second_client_logs_in_like_the_first() -> None:
    found = ClientSettings.of_sink({**LOGIN, "bootstrap.servers": "a:1,b:2"}, "here")
    assert found.second_client("here") == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "me",
        "sasl_plain_password": SECRET,
        "client_id": "headrace-transactions",
    }


def tls(**properties: str) -> ssl.SSLContext:
    said = {"security.protocol": "ssl", "bootstrap.servers": "a:1", **dotted(properties)}
    found = ClientSettings.of_sink(said, "here").second_client("here")["ssl_context"]
    assert isinstance(found, ssl.SSLContext)
    return found


def test_the_second_client_trusts_whom_the_first_trusts(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    for context in (
        tls(ssl_ca_location=str(certificate)),
        tls(ssl_ca_pem=certificate.read_text()),
        tls(ssl_truststore_certificates=certificate.read_text()),
        tls(
            ssl_ca_location=str(certificate),
            ssl_certificate_location=str(certificate),
            ssl_key_location=str(key),
        ),
    ):
        assert len(context.get_ca_certs()) == 1
        assert context.check_hostname
        assert context.verify_mode is ssl.CERT_REQUIRED
    assert not tls(ssl_endpoint_identification_algorithm="none").check_hostname
    assert tls(enable_ssl_certificate_verification="false").verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize(
    "properties",
    [
        {"ssl.key.pem": "x", "ssl.certificate.pem": "y"},
        {"ssl.keystore.location": "a.p12"},
        {"security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER"},
        {"sasl.kerberos.principal": "x"},
    ],
)
def test_what_only_librdkafka_knows_is_refused_for_exactly_once(properties: dict[str, str]) -> None:
    found = ClientSettings.of_sink({**properties, "bootstrap.servers": "a:1"}, "here")
    with pytest.raises(ConfigurationError, match="transactions are ended by a second client"):
        found.second_client("here")


def test_refusals_of_the_second_client_say_what_to_do_as_in_the_golden_file() -> None:
    oauth = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanisms": "OAUTHBEARER"}
    missing = {"security.protocol": "SSL", "ssl.ca.location": "/no/ca.pem"}
    found = ClientSettings.of_sink({**missing, "bootstrap.servers": "a:1"}, "here")
    errors = {
        "oauth": told(lambda: sink("EXACTLY_ONCE", **oauth).build()),
        "missing file": told(lambda: found.second_client("here")),
        "no password": told(lambda: sink(sasl_jaas_config="Krb5LoginModule required;").build()),
    }
    text = "\n".join(f"{name}:\n{error}\n" for name, error in errors.items())
    assert_golden("errors/kafka_client.txt", text)
    sink("AT_LEAST_ONCE", **oauth).build()


# --- secrets -------------------------------------------------------------------------------------


def test_nothing_that_describes_source_or_sink_has_the_password() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    reading = source().set_properties(LOGIN).build()
    writing = sink("EXACTLY_ONCE", **{key.replace(".", "_"): v for key, v in LOGIN.items()})
    stream = env.from_source(reading, WatermarkStrategy.no_watermarks(), "clicks").uid("clicks")
    stream.sink_to(writing.build()).uid("out")
    settings = reading._settings
    shown = [
        *(repr(reading), str(reading), reading.describe(), repr(settings), repr(settings.client)),
        *(repr(writing.build()), repr(vars(writing.build())), repr(vars(reading))),
        *(repr(vars(writing)), repr(settings.client.consumer("x"))),
        *(repr(settings.client.second_client("here")), settings.client.fingerprint),
        *(env.explain(), env.get_execution_plan()),
    ]
    assert [text for text in shown if SECRET in text] == []
    assert "clicks" in shown[-2]


def test_a_password_that_is_no_text_is_refused_and_not_shown() -> None:
    wrong: Any = SECRET.encode()
    error = told(lambda: source().set_property("sasl.password", wrong))
    assert "sasl.password" in str(error)
    assert SECRET not in str(error)


def test_the_second_client_logs_no_password(caplog: pytest.LogCaptureFixture) -> None:
    from kafka.errors import KafkaError

    import kafka

    caplog.set_level(logging.DEBUG, "kafka")
    found = ClientSettings.of_sink({**LOGIN, "bootstrap.servers": "127.0.0.1:9"}, "here")
    with pytest.raises(KafkaError):
        # mypy takes the folder tests/kafka for the library
        kafka.KafkaAdminClient(**found.second_client("here"), bootstrap_timeout_ms=100)  # type: ignore[attr-defined]
    assert "sasl_plain_password" in caplog.text
    assert SECRET not in caplog.text


def test_the_password_reaches_the_workers() -> None:
    built = source().set_properties(LOGIN).build()
    for copied in (cloudpickle.loads(cloudpickle.dumps(built)), built):
        client = copied._settings.client
        assert client.librdkafka["sasl.password"] == SECRET
        assert repr(client.librdkafka["sasl.password"]) == "'***'"
        assert pickle.loads(pickle.dumps(client)) == client


class _Brokers:
    """An admin client whose answers about offsets are what it is given."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    def list_offsets(self, wanted: Any, **_: Any) -> dict[Any, Future[Any]]:
        futures: dict[Any, Future[Any]] = {}
        for place in wanted:
            futures[place] = Future()
            if isinstance(self.outcome, Exception):
                futures[place].set_exception(self.outcome)
            else:
                futures[place].set_result(SimpleNamespace(offset=self.outcome))
        return futures


def test_a_client_that_knows_leaders_of_old_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    outdated = KafkaException(KafkaError(KafkaError.FENCED_LEADER_EPOCH))
    clients = [_Brokers(outdated), _Brokers(7)]
    monkeypatch.setattr(planner.Planner, "_new_admin", lambda _: clients.pop(0))
    monkeypatch.setattr(planner, "_ASKED_EVERY_S", 0.0)
    settings = ClientSettings.of_source({"bootstrap.servers": "127.0.0.1:9"}, "test")
    partition = KafkaTopicPartition("events", 0)

    ends = planner.Planner(settings, planner.Subscription(topics=("events",))).ends([partition])

    assert ends == {partition: 7}
    assert clients == []
