"""Settings of librdkafka's consumers and admin clients, and their errors in our words.

In: properties as a user sets them, with Flink's names among them.  Out: `ClientSettings`, and
`ConnectorError`s.  Next: planner.py (driver), reader.py (workers)
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.errors import ConfigurationError, ConnectorError
from headrace.io.server_calls import client_library

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)

# Of the Java client: librdkafka calls the same otherwise.
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "request.timeout.ms": "socket.timeout.ms",
}
# Of the Java client, or against what the engine does: what to do instead.
_REFUSED = {
    "allow.auto.create.topics": "create topics before the job starts",
    "auto.commit.interval.ms": "offsets are committed with checkpoints; "
    "see commit.offsets.on.checkpoint",
    "enable.auto.commit": "offsets are committed with checkpoints; "
    "see commit.offsets.on.checkpoint",
    "enable.auto.offset.store": "headrace keeps offsets in its checkpoints",
    "enable.partition.eof": "headrace needs to know where a partition ends",
    "group.instance.id": "headrace assigns partitions itself and never joins the group",
    "interceptor.classes": "use a step behind the source",
    "key.deserializer": "use set_deserializer of the builder",
    "max.poll.records": "use set_max_records_per_partition of the builder",
    "metric.reporters": "see job.metrics()",
    "partition.assignment.strategy": "headrace assigns partitions itself",
    "register.consumer.metrics": "see job.metrics()",
    "ssl.truststore.certificates": "use ssl.ca.pem",
    "ssl.truststore.location": "use ssl.ca.location, a file of certificates in PEM",
    "ssl.truststore.password": "a PEM file of certificates has no password",
    "ssl.truststore.type": "use ssl.ca.location, a file of certificates in PEM",
    "value.deserializer": "use set_value_only_deserializer of the builder",
}
_JAAS = re.compile(r"(username|password)\s*=\s*\"((?:[^\"\\]|\\.)*)\"")

_CONSUMER = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    # A position that is gone must be told; librdkafka would go on somewhere else.
    "auto.offset.reset": "error",
}
_CONSUMER_DEFAULTS = {
    "group.id": "headrace",  # librdkafka wants one; nobody joins it
    "isolation.level": "read_committed",
    # For each partition that a worker reads: what waits while the batch before it is worked on.
    "queued.max.messages.kbytes": 16 * 1024,
    # librdkafka's second of rest once its queue was full left a fast reader waiting.
    "fetch.queue.backoff.ms": 5,
    # What it would write to the stderr of workers comes as errors, too.
    "log_level": 2,
}

# The families of properties that all clients know, not only consumers.
_OF_CONNECTIONS = (
    *("bootstrap.", "broker.", "client.", "debug", "enable.s", "https.", "metadata.", "reconnect."),
    *("retry.", "sasl.", "security.", "socket.", "ssl."),
)


def kafka_library() -> Any:
    """confluent_kafka; imported late, because only users of Kafka need it."""
    return client_library("confluent_kafka", extra="kafka")


def admin_library() -> Any:
    """The part of it that asks brokers."""
    return client_library("confluent_kafka.admin", extra="kafka")


@dataclass(frozen=True)
class ClientSettings:
    """What a user said about connections, in librdkafka's words and ours.

    Attributes:
        librdkafka: properties that go to the client as they are.
        patience_s: how long a broker may be away (``default.api.timeout.ms``).
        discovery_s: how often new partitions are looked for; None for never
            (``partition.discovery.interval.ms``).
        commits: whether the group's offsets are committed for those who watch it
            (``commit.offsets.on.checkpoint``).
        client_prefix: of the clients' names (``client.id.prefix``).
        skips_lost: go on at the earliest record where retention was faster
            (``auto.offset.reset`` is ``earliest``).
    """

    librdkafka: dict[str, Any] = field(default_factory=dict)
    patience_s: float = 60.0
    discovery_s: float | None = 300.0
    commits: bool = True
    client_prefix: str = "headrace"
    skips_lost: bool = False

    @staticmethod
    def of(properties: Mapping[str, Any], where: str) -> ClientSettings:
        """What properties say.

        Raises:
            ConfigurationError: one cannot be used here, or its value is none.
        """
        rest = {str(key): value for key, value in properties.items()}
        _take_credentials(rest)
        for key, instead in _REFUSED.items():
            if key in rest and not _says_what_we_do(key, rest[key]):
                raise ConfigurationError(
                    f"the property {key!r} cannot be used here", where=where, fix=instead
                )
            rest.pop(key, None)
        discovery_ms = _whole(rest.pop("partition.discovery.interval.ms", 300_000), where)
        found = ClientSettings(
            patience_s=_whole(rest.pop("default.api.timeout.ms", 60_000), where) / 1000,
            discovery_s=discovery_ms / 1000 if discovery_ms > 0 else None,
            commits=_truth(rest.pop("commit.offsets.on.checkpoint", True)) and "group.id" in rest,
            client_prefix=str(rest.pop("client.id.prefix", "headrace")),
            skips_lost=_reset(rest.pop("auto.offset.reset", "none"), where),
        )
        for key, value in rest.items():
            found.librdkafka[_RENAMED.get(key, key)] = value
        return found

    def consumer(self, name: str, **more: Any) -> dict[str, Any]:
        """The configuration of a consumer."""
        client = {"client.id": f"{self.client_prefix}-{name}"}
        return {**_CONSUMER_DEFAULTS, **client, **self.librdkafka, **_CONSUMER, **more}

    def admin(self) -> dict[str, Any]:
        """The configuration of an admin client: what is about connections."""
        known = {
            key: value for key, value in self.librdkafka.items() if key.startswith(_OF_CONNECTIONS)
        }
        return {"client.id": f"{self.client_prefix}-driver", "log_level": 2, **known}

    @property
    def bootstrap(self) -> str:
        """Where the brokers are, for errors."""
        return str(self.librdkafka.get("bootstrap.servers", "?"))

    @property
    def committed_only(self) -> bool:
        """Whether records of open and aborted transactions are not seen."""
        level = self.librdkafka.get("isolation.level", _CONSUMER_DEFAULTS["isolation.level"])
        return bool(level == "read_committed")

    def check(self, where: str) -> None:
        """Has librdkafka look at its properties; connects to nobody.

        Raises:
            ConfigurationError: it does not know one, or its value.
            EnvironmentSetupError: the client library is not installed.
        """
        library = kafka_library()
        settings = {**self.consumer("check"), "log_level": 0}
        settings.pop("bootstrap.servers", None)
        try:
            library.Consumer(settings).close()
        except library.KafkaException as error:
            raise ConfigurationError(
                f"Kafka's client refuses a property: {error.args[0].str()}",
                where=where,
                fix="properties are librdkafka's: see its CONFIGURATION.md; Flink's own are "
                "partition.discovery.interval.ms, commit.offsets.on.checkpoint, client.id.prefix",
            ) from None


def _take_credentials(properties: dict[str, Any]) -> None:
    """User and password out of the Java client's text, as librdkafka takes them."""
    text = properties.pop("sasl.jaas.config", None)
    if text is not None:
        for name, value in _JAAS.findall(str(text)):
            properties.setdefault(f"sasl.{name}", re.sub(r"\\(.)", r"\1", value))


def _says_what_we_do(key: str, value: Any) -> bool:
    return key in ("enable.auto.commit", "allow.auto.create.topics") and not _truth(value)


def _reset(value: Any, where: str) -> bool:
    if value not in ("none", "error", "earliest"):
        raise ConfigurationError(
            f"auto.offset.reset is {value!r}: it says what happens when a position of the "
            "checkpoint is not in the topic any more",
            where=where,
            fix="none (the default) ends the job with an error, earliest leaves out what is lost; "
            "where reading begins is set_starting_offsets",
        )
    return bool(value == "earliest")


def _whole(value: Any, where: str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"{value!r} is no number of milliseconds", where=where, fix="write it as 60000"
        ) from None


def _truth(value: Any) -> bool:
    return str(value).strip().lower() in ("true", "1", "yes")


# --- errors --------------------------------------------------------------------------------------


def passes(error: Any) -> bool:
    """Whether an error of the client may be gone a moment later; takes a KafkaError."""
    codes = kafka_library().KafkaError
    return bool(error.retriable()) or error.code() in (
        codes._ALL_BROKERS_DOWN,
        codes._RESOLVE,
        codes._TIMED_OUT,
        codes._TRANSPORT,
        codes._WAIT_COORD,
        codes.BROKER_NOT_AVAILABLE,
        codes.COORDINATOR_LOAD_IN_PROGRESS,
        codes.COORDINATOR_NOT_AVAILABLE,
        codes.FENCED_LEADER_EPOCH,
        codes.KAFKA_STORAGE_ERROR,
        codes.LEADER_NOT_AVAILABLE,
        codes.NETWORK_EXCEPTION,
        codes.NOT_COORDINATOR,
        codes.NOT_LEADER_FOR_PARTITION,
        codes.OFFSET_NOT_AVAILABLE,
        codes.REPLICA_NOT_AVAILABLE,
        codes.REQUEST_TIMED_OUT,
        codes.UNKNOWN_LEADER_EPOCH,
    )


def explained(error: Any, what: str, settings: ClientSettings) -> ConnectorError:
    """An error of the client in our words.

    Args:
        error: a KafkaError.
        what: the call in words, after "cannot".
        settings: of the client.
    """
    codes = kafka_library().KafkaError
    fix = "check the broker's log; the job reads the same range again when it starts again"
    if error.code() in (codes._AUTHENTICATION, codes.SASL_AUTHENTICATION_FAILED, codes._SSL):
        fix = "check security.protocol, sasl.mechanisms, sasl.username, sasl.password, ssl.*"
    elif error.code() in (codes.TOPIC_AUTHORIZATION_FAILED, codes.GROUP_AUTHORIZATION_FAILED):
        fix = "let the user read and describe the topic, and read the group"
    elif error.code() in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_TOPIC):
        fix = "create the topic, or correct set_topics; names are case sensitive"
    elif passes(error):
        fix = (
            "check that the brokers run and can be reached from driver and workers "
            f"(they were waited for {settings.patience_s:g} s: default.api.timeout.ms); the job "
            "reads the same range again when it starts again"
        )
    return ConnectorError(
        f"cannot {what}: {error.str()}", where=f"Kafka at {settings.bootstrap}", fix=fix
    )
