"""What the Kafka sink tells Kafka's clients, and what their errors mean in our words.

In: properties as a user sets them.  Out: settings of librdkafka's producer (workers) and of
kafka-python's admin client (driver), and `ConnectorError`s.  Next: producers.py and
transaction_admin.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import ConfigurationError, ConnectorError
from headrace.io.server_calls import client_library

if TYPE_CHECKING:
    from collections.abc import Mapping

# Of the Java client; librdkafka has another name, or does it another way.
_JAVA_NAMES = {
    "buffer.memory": "queue.buffering.max.kbytes, which counts kilobytes",
    "key.serializer": "set_key_serialization_schema of the record serializer",
    "max.block.ms": "message.timeout.ms",
    "max.request.size": "message.max.bytes",
    "partitioner.class": "partitioner, or set_partitioner of the record serializer",
    "sasl.jaas.config": "sasl.username and sasl.password",
    "ssl.keystore.location": "ssl.certificate.location and ssl.key.location (PEM files)",
    "ssl.keystore.password": "ssl.key.password",
    "ssl.truststore.location": "ssl.ca.location (a PEM file)",
    "ssl.truststore.password": "nothing: a PEM file of certificates has no password",
    "value.serializer": "set_value_serialization_schema of the record serializer",
}
# The engine sets them; a user who sets them too would break what they stand for.
_OURS = {
    "delivery.report.only.error": "headrace asks for failed messages only",
    "on_delivery": "headrace reads the delivery reports",
    "transactional.id": "use set_transactional_id_prefix: every producer needs an id of its own",
}
# From librdkafka's names to those of kafka-python.
_ADMIN_NAMES = {
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.password": "sasl_plain_password",
    "sasl.username": "sasl_plain_username",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.crl.location": "ssl_crlfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
}
_ADMIN_REFUSES = ("ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem", "ssl.keystore.location")

_PRODUCER_DEFAULTS = {
    # the hash of the Java client, so that a key is in the partition where other producers put it
    "partitioner": "murmur2_random",
    "linger.ms": "5",
    # the kilobytes are the limit that matters; a wait for small messages costs a round trip each
    "queue.buffering.max.messages": "1000000",
    # what librdkafka would write to the stderr of workers comes as errors, too
    "log_level": "2",
}


def producer_library() -> Any:
    """confluent_kafka; imported late, because only users of Kafka need it."""
    return client_library("confluent_kafka", extra="kafka")


def producer_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """All settings of a producer, but for what makes it transactional."""
    settings: dict[str, Any] = {**_PRODUCER_DEFAULTS, **properties}
    settings["delivery.report.only.error"] = True
    return settings


def check_properties(properties: Mapping[str, str], where: str) -> None:
    """Refuses, before the job runs, what librdkafka does not know and what headrace sets itself.

    Raises:
        ConfigurationError: names the property and what to write instead.
    """
    for name in properties:
        if name in _OURS:
            raise ConfigurationError(
                f"the property {name!r} cannot be set", where=where, fix=_OURS[name]
            )
        if name in _JAVA_NAMES:
            raise ConfigurationError(
                f"the property {name!r} is of Kafka's Java client",
                where=where,
                fix=f"librdkafka writes here; use {_JAVA_NAMES[name]}",
            )
    library = producer_library()
    offline = {k: v for k, v in producer_settings(properties).items() if k != "bootstrap.servers"}
    try:
        library.Producer(offline)  # without servers: reads the settings and connects to nobody
    except library.KafkaException as error:
        raise ConfigurationError(
            f"librdkafka refuses the properties: {_text_of(error)}",
            where=where,
            fix="use the names and values of librdkafka's CONFIGURATION.md",
        ) from None
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"librdkafka refuses the properties: {error}", where=where, fix="pass texts"
        ) from None


def admin_settings(properties: Mapping[str, str], where: str) -> dict[str, Any]:
    """The settings of kafka-python's client, which ends transactions, for the same brokers.

    Raises:
        ConfigurationError: a way to log in that only librdkafka knows.
    """
    unknown = [name for name in _ADMIN_REFUSES if name in properties]
    mechanism = properties.get("sasl.mechanism", properties.get("sasl.mechanisms", ""))
    if mechanism == "OAUTHBEARER":
        unknown.append(f"sasl.mechanism={mechanism}")
    if unknown:
        raise ConfigurationError(
            f"exactly once cannot log in with {', '.join(unknown)}: transactions are ended by a "
            "second client, which does not know it",
            where=where,
            fix="use PEM files (ssl.ca.location, ssl.certificate.location, ssl.key.location) and "
            "PLAIN, SCRAM or GSSAPI, or AT_LEAST_ONCE",
        )
    settings: dict[str, Any] = {
        ours: properties[theirs] for theirs, ours in _ADMIN_NAMES.items() if theirs in properties
    }
    settings["bootstrap_servers"] = properties["bootstrap.servers"].split(",")
    settings["security_protocol"] = properties.get("security.protocol", "plaintext").upper()
    if properties.get("ssl.endpoint.identification.algorithm") == "none":
        settings["ssl_check_hostname"] = False
    settings["client_id"] = properties.get("client.id", "headrace-sink")
    return settings


def _text_of(error: Exception) -> str:
    inner = error.args[0] if error.args else error
    text = inner.str() if hasattr(inner, "str") else str(inner)
    return str(text)


def explained(error: Exception, what: str, where: str) -> ConnectorError:
    """An error of librdkafka in three parts."""
    inner = error.args[0] if error.args else None
    name = inner.name() if inner is not None and hasattr(inner, "name") else ""
    return ConnectorError(
        f"cannot {what}: {_text_of(error)} ({name})" if name else f"cannot {what}: {error}",
        where=where,
        fix=_FIXES.get(name, _FIX),
    )


def undelivered(failures: list[tuple[str, int, Any]], where: str) -> ConnectorError:
    """Messages that Kafka did not take: how many, the first one's topic, partition and reason."""
    topic, partition, error = failures[0]
    more = "" if len(failures) == 1 else f", and {len(failures) - 1:,} more messages"
    place = topic if partition < 0 else f"{topic}, partition {partition}"
    return ConnectorError(
        f"a message to topic {place} was not delivered: {error.str()} ({error.name()}){more}",
        where=where,
        fix=_FIXES.get(error.name(), _FIX),
    )


_FIX = (
    "check that the brokers run and can be reached from driver and workers; the batch is repeated "
    "when the job starts again"
)
_UNKNOWN_TOPIC = "create the topic, or correct its name: kafka-topics.sh --create --topic ..."
_TOO_LARGE = (
    "raise message.max.bytes of the sink (set_property) and of the topic (max.message.bytes), or "
    "write smaller messages"
)
_TIMED_OUT = (
    "are the brokers away, or is the batch longer than transaction.timeout.ms? Raise it (brokers "
    "allow transaction.max.timeout.ms, 15 minutes by default) or make batches smaller"
)
_DENIED = "give the user the right: WRITE on the topic, and WRITE on the transactional id prefix"
_FIXES = {
    "_UNKNOWN_TOPIC": _UNKNOWN_TOPIC,
    "UNKNOWN_TOPIC_OR_PART": _UNKNOWN_TOPIC,
    "_UNKNOWN_PARTITION": "let the partitioner return one of the topic's partitions",
    "MSG_SIZE_TOO_LARGE": _TOO_LARGE,
    "_MSG_TIMED_OUT": _TIMED_OUT,
    "_FENCED": "another run of the job has taken over; if it should not have, stop one of the two",
    "INVALID_TRANSACTION_TIMEOUT": "lower transaction.timeout.ms (set_property) to what brokers "
    "allow: their transaction.max.timeout.ms, 15 minutes by default",
    "TOPIC_AUTHORIZATION_FAILED": _DENIED,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": _DENIED,
    "CLUSTER_AUTHORIZATION_FAILED": _DENIED,
    "_AUTHENTICATION": "check sasl.username and sasl.password, and security.protocol",
}
