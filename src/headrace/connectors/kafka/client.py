"""What Kafka's clients are told: properties as users write them, as each client wants them.

In: properties, with names of librdkafka, of Kafka's Java client and of Flink among them.  Out:
`ClientSettings`, which has the settings of librdkafka's consumers, producers and admin clients, and
of kafka-python's, which ends transactions.  What they log goes to the logger ``headrace.kafka``.
Next: client_errors.py (their errors in our words), planner.py, reader.py, producers.py,
transaction_admin.py (who use them)
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentTypeError, ConfigurationError
from headrace.io.server_calls import client_library
from headrace.io.waiting import at_most

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT_LOG = logging.getLogger("headrace.kafka")
# Without it, Python itself would write warnings to the stderr of programs that configure no log.
CLIENT_LOG.addHandler(logging.NullHandler())

PATIENCE_OPTION = "default.api.timeout.ms"

# --- the table -----------------------------------------------------------------------------------

# Of the Java client: librdkafka calls the same otherwise.
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "sasl.mechanism": "sasl.mechanisms",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
# librdkafka's producers have a property of this name, which means something else.
_RENAMED_FOR_READING = {"request.timeout.ms": "socket.timeout.ms"}
_PEM = "use ssl.ca.location, a file of certificates in PEM"
_COMMITS = "offsets are committed with checkpoints; see commit.offsets.on.checkpoint"
# Of the Java client, or against what the engine does: what to do instead.
_REFUSED = {
    "allow.auto.create.topics": "create topics before the job starts",
    "auto.commit.interval.ms": _COMMITS,
    "buffer.memory": "use queue.buffering.max.kbytes, which counts kilobytes",
    "delivery.report.only.error": "headrace asks for failed messages only",
    "enable.auto.commit": _COMMITS,
    "enable.auto.offset.store": "headrace keeps offsets in its checkpoints",
    "enable.partition.eof": "headrace needs to know where a partition ends",
    "group.instance.id": "headrace assigns partitions itself and never joins the group",
    "interceptor.classes": "use a step behind the source, or before the sink",
    "key.deserializer": "use set_deserializer of the source's builder",
    "key.serializer": "use set_key_serialization_schema of the record serializer",
    "log.queue": "what clients log goes to the logger headrace.kafka",
    "max.block.ms": "use message.timeout.ms",
    "max.poll.records": "use set_max_records_per_partition of the source's builder",
    "metric.reporters": "see job.metrics()",
    "partition.assignment.strategy": "headrace assigns partitions itself",
    "partitioner.class": "use partitioner, or set_partitioner of the record serializer",
    "register.consumer.metrics": "see job.metrics()",
    "ssl.keystore.type": "use ssl.certificate.location and ssl.key.location, files in PEM; "
    "ssl.keystore.location is a file in PKCS#12",
    "ssl.truststore.location": _PEM,
    "ssl.truststore.password": "a PEM file of certificates has no password",
    "ssl.truststore.type": _PEM,
    "transactional.id": "use set_transactional_id_prefix of the sink's builder: every producer "
    "needs an id of its own",
    "value.deserializer": "use set_value_only_deserializer of the source's builder",
    "value.serializer": "use set_value_serialization_schema of the record serializer",
}
_HARMLESS_IF_FALSE = ("allow.auto.create.topics", "enable.auto.commit")
# Flink's, and read here.
_OF_SOURCES = (
    *("auto.offset.reset", "commit.offsets.on.checkpoint", "partition.discovery.interval.ms"),
)
# What kafka-python takes as it is; TLS is a context that `_tls` makes.
_SECOND_CLIENT = {
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.password": "sasl_plain_password",
    "sasl.username": "sasl_plain_username",
}
_SECOND_CLIENT_TLS = (
    *("ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.cipher.suites"),
    *("ssl.crl.location", "ssl.endpoint.identification.algorithm"),
    *("ssl.key.location", "ssl.key.password"),
)
_SECOND_CLIENT_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI")
# The families of properties that all clients know, not only consumers.
_OF_CONNECTIONS = (
    *("bootstrap.", "broker.", "client.", "debug", "enable.s", "https.", "metadata.", "reconnect."),
    *("retry.", "sasl.", "security.", "socket.", "ssl."),
)
_SECRET = re.compile(r"password|secret|key\.pem|keystore\.key|jaas|token|assertion")
_JAAS = re.compile(r"""\b(username|password)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")

# Of all clients.
_DEFAULTS = {
    # Each try leaves a line for the log with a client that nobody asks while brokers are away:
    # 20 a second with librdkafka's 100 ms, 4 with this.
    "reconnect.backoff.ms": 500,
    "logger": CLIENT_LOG,
}
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
}
_PRODUCER = {"delivery.report.only.error": True}
_PRODUCER_DEFAULTS = {
    # the hash of the Java client, so that a key is in the partition where other producers put it
    "partitioner": "murmur2_random",
    "linger.ms": "5",
    # the kilobytes are the limit that matters; a wait for small messages costs a round trip each
    "queue.buffering.max.messages": "1000000",
}


class Secret(str):
    """A text that is used like any other, and hidden where values are shown or logged."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


# --- libraries -----------------------------------------------------------------------------------


def kafka_library() -> Any:
    """confluent_kafka; imported late, because only users of Kafka need it."""
    return client_library("confluent_kafka", extra="kafka")


def admin_library() -> Any:
    """The part of it that asks brokers."""
    return client_library("confluent_kafka.admin", extra="kafka")


def second_library(module: str = "kafka") -> Any:
    """kafka-python, or a module of it."""
    found = client_library(module, extra="kafka")
    log = logging.getLogger("kafka")  # where it logs
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    return found


# --- settings ------------------------------------------------------------------------------------


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
    def of_source(properties: Mapping[str, str], where: str) -> ClientSettings:
        """What the properties of a source say.

        Raises:
            ConfigurationError: one cannot be used here, or its value is none.
        """
        rest = _accepted(properties, where)
        discovery_ms = _whole(rest.pop("partition.discovery.interval.ms", 300_000), where)
        commits = _truth(rest.pop("commit.offsets.on.checkpoint", "true"))
        skips_lost = _reset(rest.pop("auto.offset.reset", "none"), where)
        return ClientSettings(
            patience_s=_patience(rest, where),
            client_prefix=str(rest.pop("client.id.prefix", "headrace")),
            librdkafka=_renamed(rest, _RENAMED | _RENAMED_FOR_READING),
            discovery_s=discovery_ms / 1000 if discovery_ms > 0 else None,
            commits=commits and "group.id" in rest,
            skips_lost=skips_lost,
        )

    @staticmethod
    def of_sink(properties: Mapping[str, str], where: str) -> ClientSettings:
        """What the properties of a sink say.

        Raises:
            ConfigurationError: one cannot be used here, or its value is none.
        """
        rest = _accepted(properties, where)
        for key in _OF_SOURCES:
            if key in rest:
                raise _refused(key, where, "it is a property of sources: leave it out")
        return ClientSettings(
            patience_s=_patience(rest, where),
            client_prefix=str(rest.pop("client.id.prefix", "headrace")),
            librdkafka=_renamed(rest, _RENAMED),
        )

    # --- as librdkafka wants them --------------------------------------------------------------

    def consumer(self, name: str, **more: Any) -> dict[str, Any]:
        """The configuration of a consumer."""
        return {**self._named(name), **_CONSUMER_DEFAULTS, **self.librdkafka, **_CONSUMER, **more}

    def producer(self, **more: Any) -> dict[str, Any]:
        """The configuration of a producer, but for what makes it transactional."""
        named = self._named("writer")
        return {**named, **_PRODUCER_DEFAULTS, **self.librdkafka, **_PRODUCER, **more}

    def admin(self, **more: Any) -> dict[str, Any]:
        """The configuration of an admin client: what is about connections."""
        known = {
            key: value for key, value in self.librdkafka.items() if key.startswith(_OF_CONNECTIONS)
        }
        return {**self._named("driver"), **known, **more}

    def _named(self, name: str) -> dict[str, Any]:
        return {**_DEFAULTS, "client.id": f"{self.client_prefix}-{name}"}

    def check(self, where: str, *, reads: bool) -> None:
        """Has librdkafka look at its properties; connects to nobody.

        Raises:
            ConfigurationError: it does not know one, or its value.
            EnvironmentSetupError: the client library is not installed.
        """
        library = kafka_library()
        settings = self.consumer("check") if reads else self.producer()
        settings.pop("bootstrap.servers", None)
        try:
            if reads:
                library.Consumer(settings).close()
            else:
                library.Producer(settings)
        except library.KafkaException as error:
            raise ConfigurationError(
                f"Kafka's client refuses a property: {error.args[0].str()}",
                where=where,
                fix="properties are librdkafka's: see its CONFIGURATION.md; beside them there are "
                f"{PATIENCE_OPTION}, client.id.prefix, and for sources "
                "partition.discovery.interval.ms and commit.offsets.on.checkpoint",
            ) from None

    # --- as kafka-python wants them ------------------------------------------------------------

    def second_client(self, where: str) -> dict[str, Any]:
        """The settings of kafka-python's admin client, for the same brokers.

        Raises:
            ConfigurationError: a way to log in that only librdkafka knows, or a file is no good.
        """
        properties = self.librdkafka
        protocol = str(properties.get("security.protocol", "plaintext")).upper()
        self._check_second_client(protocol, where)
        settings = {
            theirs: properties[ours]
            for ours, theirs in _SECOND_CLIENT.items()
            if ours in properties
        }
        settings["bootstrap_servers"] = self.bootstrap.split(",")
        settings["client_id"] = properties.get("client.id", f"{self.client_prefix}-transactions")
        settings["security_protocol"] = protocol
        if protocol.endswith("SSL"):
            settings["ssl_context"] = _tls(properties, where)
        return settings

    def _check_second_client(self, protocol: str, where: str) -> None:
        known = (*_SECOND_CLIENT, *_SECOND_CLIENT_TLS)
        unknown = sorted(
            key for key in self.librdkafka if key.startswith(("ssl.", "sasl.")) and key not in known
        )
        mechanism = self.librdkafka.get("sasl.mechanisms", "GSSAPI")
        if protocol.startswith("SASL") and mechanism not in _SECOND_CLIENT_MECHANISMS:
            unknown.insert(0, f"sasl.mechanisms={mechanism}")
        if unknown:
            raise ConfigurationError(
                f"exactly once cannot log in with {', '.join(unknown)}: transactions are ended by "
                "a second client (kafka-python), which does not know it",
                where=where,
                fix=f"use {', '.join(_SECOND_CLIENT_MECHANISMS)}, and PEM files for a certificate "
                "of the client's own (ssl.certificate.location, ssl.key.location), or "
                "AT_LEAST_ONCE",
            )

    # --- for others ----------------------------------------------------------------------------

    @property
    def bootstrap(self) -> str:
        """The brokers that are asked first."""
        return str(self.librdkafka.get("bootstrap.servers", "?"))

    @property
    def where(self) -> str:
        """The cluster, for errors."""
        return f"Kafka at {self.bootstrap}"

    @property
    def patience(self) -> str:
        """How long brokers are waited for, in words."""
        return at_most(self.patience_s, PATIENCE_OPTION)

    @property
    def fingerprint(self) -> str:
        """The same for the same properties; tells nothing of them."""
        text = json.dumps(self.librdkafka, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def committed_only(self) -> bool:
        """Whether records of open and aborted transactions are not seen."""
        level = self.librdkafka.get("isolation.level", _CONSUMER_DEFAULTS["isolation.level"])
        return bool(level == "read_committed")


def checked_property(key: Any, value: Any) -> tuple[str, str]:
    """A property as a user sets it: two texts, a secret one hidden from now on.

    Raises:
        ArgumentTypeError: one of them is no text.
    """
    if not isinstance(key, str) or not isinstance(value, str):
        kind = type(value).__name__
        shown = "***" if _SECRET.search(str(key)) else str(value)
        raise ArgumentTypeError(
            f"the property {key!r} has the value {shown} ({kind})",
            fix=f'pass texts: set_property("{key}", "{shown}")',
        )
    return key, Secret(value) if _SECRET.search(key) else value


# --- from users' names to librdkafka's -----------------------------------------------------------


def _accepted(properties: Mapping[str, str], where: str) -> dict[str, str]:
    """What is left when refused properties have been told, and credentials unpacked."""
    rest = dict(checked_property(*each) for each in properties.items())
    if "sasl.jaas.config" in rest:
        rest = {**_credentials(rest.pop("sasl.jaas.config"), where), **rest}
    for key, instead in _REFUSED.items():
        if key in rest and not (key in _HARMLESS_IF_FALSE and not _truth(rest[key])):
            raise _refused(key, where, instead)
        rest.pop(key, None)
    if rest.get("ssl.endpoint.identification.algorithm") == "":  # as Java has it
        rest["ssl.endpoint.identification.algorithm"] = "none"
    return rest


def _renamed(properties: dict[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in properties.items()}


def _credentials(text: str, where: str) -> dict[str, str]:
    """User and password out of the Java client's text, as librdkafka takes them."""
    found = {
        f"sasl.{name}": re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] in "\"'" else value
        for name, value in _JAAS.findall(text)
    }
    if set(found) != {"sasl.username", "sasl.password"}:
        fix = "use sasl.mechanisms and librdkafka's sasl.* properties"
        raise ConfigurationError(
            "sasl.jaas.config has no username and password", where=where, fix=fix
        )
    return dict(checked_property(*each) for each in found.items())


def _refused(key: str, where: str, instead: str) -> ConfigurationError:
    return ConfigurationError(f"the property {key!r} cannot be used here", where=where, fix=instead)


def _reset(value: str, where: str) -> bool:
    if value not in ("none", "error", "earliest"):
        raise ConfigurationError(
            f"auto.offset.reset is {value!r}: it says what happens when a position of the "
            "checkpoint is not in the topic any more",
            where=where,
            fix="none (the default) ends the job with an error, earliest leaves out what is lost; "
            "where reading begins is set_starting_offsets",
        )
    return value == "earliest"


def _patience(rest: dict[str, str], where: str) -> float:
    return _whole(rest.pop(PATIENCE_OPTION, 60_000), where) / 1000


def _whole(value: Any, where: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigurationError(
            f"{value!r} is no number of milliseconds", where=where, fix="write it as 60000"
        ) from None


def _truth(value: str) -> bool:
    return value.strip().lower() in ("true", "1", "yes")


def _tls(properties: Mapping[str, str], where: str) -> ssl.SSLContext:
    """A context of Python's that says what librdkafka's properties say."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    said = properties.get
    try:
        if said("ssl.endpoint.identification.algorithm") == "none":
            context.check_hostname = False
        if not _truth(said("enable.ssl.certificate.verification", "true")):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _trust(context, properties)
        if "ssl.certificate.location" in properties:
            context.load_cert_chain(
                properties["ssl.certificate.location"],
                said("ssl.key.location"),
                said("ssl.key.password", ""),  # without one, OpenSSL would ask at the terminal
            )
        if "ssl.cipher.suites" in properties:
            context.set_ciphers(properties["ssl.cipher.suites"])
    except OSError as error:  # TLS's errors are some, too
        raise ConfigurationError(
            f"the TLS settings cannot be used: {error}",
            where=where,
            fix="check the files of ssl.ca.location, ssl.certificate.location and "
            "ssl.key.location: PEM, and there on driver and workers",
        ) from None
    return context


def _trust(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    place, text = properties.get("ssl.ca.location", "probe"), properties.get("ssl.ca.pem")
    if text is not None:
        context.load_verify_locations(cadata=str(text))
    elif place == "probe":
        context.load_default_certs()
    elif Path(place).is_dir():
        context.load_verify_locations(capath=place)
    else:
        context.load_verify_locations(cafile=place)
    if "ssl.crl.location" in properties:
        context.load_verify_locations(properties["ssl.crl.location"])
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
