"""Kafka as a sink: none, at least once, or exactly once with transactions that the driver commits.

In: records.  Out: messages in topics.  Next: writer.py (workers), committer.py (driver),
transactions.py (the rules).  PyFlink's names; what is written how: serialization.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka.client import ClientSettings, checked_property
from headrace.connectors.kafka.committer import KafkaCommitter, NothingToCommit
from headrace.connectors.kafka.decision_log import DecisionLog
from headrace.connectors.kafka.producers import ProducerPool, SinkProducer, shared
from headrace.connectors.kafka.serialization import KafkaRecordSerializationSchema
from headrace.connectors.kafka.transaction_admin import TransactionAdmin
from headrace.connectors.kafka.transactions import SinkTransactions
from headrace.connectors.kafka.writer import MessageWriter, PlainWriter, TransactionalWriter
from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.spi.sink import Committer, CommitterContext, Sink, WriterContext
from headrace.spi.source import DeliveryGuarantee, SupportsPreprocessing

if TYPE_CHECKING:
    from headrace.spi.source import StreamTransformer

__all__ = ["KafkaSink", "KafkaSinkBuilder"]

# The longest that brokers allow unless they are told otherwise.  A driver that is away for longer
# than this, between the decision and the commit, loses what was decided.
TRANSACTION_TIMEOUT_MS = 15 * 60 * 1000
_LONGEST_PREFIX_BYTES = 6400


class KafkaSink(Sink, SupportsPreprocessing):
    """Writes records to Kafka; make one with `builder`.

    - ``DeliveryGuarantee.NONE`` (the default, as in Flink): does not wait for Kafka's answer.
    - ``AT_LEAST_ONCE``: a batch ends when Kafka has all its messages; after a failure some are
      there twice.
    - ``EXACTLY_ONCE``: each batch is written in transactions, which the driver commits together
      with the checkpoint. Readers need ``isolation.level=read_committed``.

    Needs ``pip install 'headrace[kafka]'``. The guarantees in detail: docs/kafka-sink.md

    Example:
        >>> from headrace.common.serialization import SimpleStringSchema
        >>> sink = (
        ...     KafkaSink.builder()
        ...     .set_bootstrap_servers("127.0.0.1:9092")
        ...     .set_record_serializer(
        ...         KafkaRecordSerializationSchema.builder()
        ...         .set_topic("words")
        ...         .set_value_serialization_schema(SimpleStringSchema())
        ...         .build()
        ...     )
        ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        ...     .set_transactional_id_prefix("word-count")
        ...     .build()
        ... )

        In a program: ``words.sink_to(sink).uid("words")``.
    """

    def __init__(
        self,
        client: ClientSettings,
        schema: KafkaRecordSerializationSchema,
        guarantee: DeliveryGuarantee,
        prefix: str,
    ) -> None:
        self._client = client
        self._schema = schema
        self._guarantee = guarantee
        self._prefix = prefix
        self._opened = False

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """A builder; brokers and a record serializer are needed."""
        return KafkaSinkBuilder()

    def get_transformer(self) -> StreamTransformer | None:
        """None: topics are chosen in the writer, not in a step before it."""
        return None

    def create_writer(self, context: WriterContext) -> MessageWriter:
        """A writer for one subtask and batch; its producer lives on in the process."""
        if not self._opened:
            self._schema.open()
            self._opened = True
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return TransactionalWriter(self._schema, context, self._pool(context))
        key = "plain", self._client.fingerprint
        producer = shared(key, lambda: SinkProducer(self._client))
        return PlainWriter(self._schema, context, producer, self._guarantee)

    def create_committer(self, context: CommitterContext) -> Committer:
        """The committer; commits what an earlier run decided and aborts what it left open."""
        log = DecisionLog(context)
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            names = SinkTransactions(self._prefix, context.job_id, context.sink_uid)
            overlap = context.epochs_overlap
            return KafkaCommitter(self._admin(), log, names, epochs_overlap=overlap)
        decided = log.read()
        if decided is not None and decided.stage == "decided":
            KafkaCommitter(self._admin(), log, None).close()  # the sink was another one then
        return NothingToCommit()

    def _admin(self) -> TransactionAdmin:
        return TransactionAdmin(self._client)

    def _pool(self, context: WriterContext) -> ProducerPool:
        names = SinkTransactions(self._prefix, context.job_id, context.sink_uid)

        def make(transactional_id: str) -> SinkProducer:
            return SinkProducer(self._client, transactional_id)

        pool: ProducerPool = shared(
            (names.of_job, self._client.fingerprint),
            lambda: ProducerPool(make, self._admin(), names.of_job),
        )
        return pool

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_opened": False}  # a schema is opened in every process

    def __repr__(self) -> str:
        return f"KafkaSink({self._client.bootstrap!r}, {self._guarantee.name})"


class KafkaSinkBuilder:
    """Says where and how a `KafkaSink` writes."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._schema: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None

    def build(self) -> KafkaSink:
        """The sink.

        Raises:
            InvalidArgumentError: something is missing.
            ConfigurationError: a property that librdkafka does not know.
        """
        if not self._properties.get("bootstrap.servers"):
            raise InvalidArgumentError(
                "the Kafka sink has no brokers", fix='call set_bootstrap_servers("host:9092")'
            )
        if self._schema is None:
            raise InvalidArgumentError(
                "the Kafka sink has no record serializer",
                fix="call set_record_serializer with KafkaRecordSerializationSchema.builder()...",
            )
        where = f"KafkaSink to {self._properties['bootstrap.servers']}"
        properties = dict(self._properties)
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            self._check_exactly_once(where)
            properties.setdefault("transaction.timeout.ms", str(TRANSACTION_TIMEOUT_MS))
        elif self._guarantee is DeliveryGuarantee.AT_LEAST_ONCE:
            properties.setdefault("enable.idempotence", "true")
        client = ClientSettings.of_sink(properties, where)
        client.check(where, reads=False)
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            client.second_client(where)  # for what it refuses
        return KafkaSink(client, self._schema, self._guarantee, self._prefix or "")

    def _check_exactly_once(self, where: str) -> None:
        if self._prefix is None:
            raise InvalidArgumentError(
                "exactly once needs a prefix for transactional ids",
                where=where,
                fix='call set_transactional_id_prefix("my-job"): stable over restarts, and not '
                "that of another application on this cluster",
            )
        if self._properties.get("enable.idempotence", "true").lower() != "true":
            raise InvalidArgumentError(
                "exactly once needs enable.idempotence",
                where=where,
                fix="leave the property out, or use AT_LEAST_ONCE",
            )

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """The brokers to begin with: ``host:9092,other:9092``."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """What the sink promises when the job fails; NONE by default, as in Flink."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise ArgumentTypeError(
                f"{delivery_guarantee!r} ({type(delivery_guarantee).__name__}) is no guarantee",
                fix="pass DeliveryGuarantee.EXACTLY_ONCE, AT_LEAST_ONCE or NONE",
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """How the ids of transactions begin; needed for exactly once.

        Keep it stable: at its start a job aborts what is open under it. Two jobs that run at the
        same time on one cluster need different ones.
        """
        if not isinstance(transactional_id_prefix, str) or not transactional_id_prefix:
            raise ArgumentTypeError(
                f"{transactional_id_prefix!r} ({type(transactional_id_prefix).__name__}) is no "
                "prefix of transactional ids",
                fix='pass a text: set_transactional_id_prefix("my-job")',
            )
        if len(transactional_id_prefix.encode()) > _LONGEST_PREFIX_BYTES:
            raise InvalidArgumentError(
                f"the prefix has {len(transactional_id_prefix.encode())} bytes",
                fix=f"use at most {_LONGEST_PREFIX_BYTES}",
            )
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(
        self, record_serializer: KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """How records become messages."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise ArgumentTypeError(
                f"{record_serializer!r} ({type(record_serializer).__name__}) is no "
                "KafkaRecordSerializationSchema",
                fix="make one with KafkaRecordSerializationSchema.builder()",
            )
        self._schema = record_serializer
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """A property of the producer, by its name in librdkafka, such as ``compression.type``."""
        name, text = checked_property(key, value)
        self._properties[name] = text
        return self
