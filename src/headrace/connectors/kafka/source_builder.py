"""The builder of KafkaSource: PyFlink's setters, and ours behind them.

In: calls.  Out: a checked `KafkaSource`.  Next: source.py; reading_builder.py (what builders share)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.connectors.kafka.client import ClientSettings
from headrace.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from headrace.connectors.kafka.planner import Subscription
from headrace.connectors.kafka.reading_builder import ReadingBuilder
from headrace.connectors.kafka.source import KafkaSource, SourceSettings

if TYPE_CHECKING:
    from headrace.connectors.kafka.schema import KafkaRecordDeserializationSchema

__all__ = ["KafkaSourceBuilder"]


class KafkaSourceBuilder(ReadingBuilder):
    """Collects what a `KafkaSource` needs: brokers, what to read, and how to decode it."""

    where = "KafkaSource.builder()"

    def __init__(self) -> None:
        super().__init__()
        self._subscription: Subscription | None = None
        self._max_bytes_per_batch: int | None = None

    def build(self) -> KafkaSource:
        """The source.

        Raises:
            InvalidArgumentError: something is missing.
            ConfigurationError: a property cannot be used.
            EnvironmentSetupError: the client library is not installed.
        """
        if "bootstrap.servers" not in self._properties:
            raise self._wrong(
                "there are no bootstrap servers", 'set_bootstrap_servers("host:9092")'
            )
        if self._subscription is None:
            raise self._wrong(
                "nothing is read", "call set_topics, set_topic_pattern or set_partitions"
            )
        decoding = self._decoding()
        client = ClientSettings.of_source(self._properties, self.where)
        self._check_group(client)
        client.check(self.where, reads=True)
        return KafkaSource(
            SourceSettings(
                client=client,
                subscription=self._subscription,
                starting=self._starting,
                stopping=self._stopping,
                bounded=self._bounded,
                decoding=decoding,
                max_records_per_partition=self._max_records_per_partition,
                max_bytes_per_batch=self._max_bytes_per_batch,
            )
        )

    # --- PyFlink's ---------------------------------------------------------------------------

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """The brokers to ask first: ``host:port``, several with commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read these topics."""
        if not topics or not all(isinstance(topic, str) and topic for topic in topics):
            raise self._wrong(f"topics are names, not {topics!r}", 'set_topics("clicks", "orders")')
        return self._subscribe(Subscription(topics=tuple(dict.fromkeys(topics))))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose whole name matches a regular expression, new ones included."""
        try:
            re.compile(topic_pattern)
        except (re.error, TypeError) as error:
            raise self._wrong(
                f"{topic_pattern!r} is no regular expression: {error}",
                'set_topic_pattern("log-.*")',
            ) from None
        return self._subscribe(Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read these partitions and no others."""
        chosen = frozenset(partitions)
        if not chosen or not all(isinstance(each, KafkaTopicPartition) for each in chosen):
            raise self._wrong(
                f"partitions are KafkaTopicPartitions, not {partitions!r}",
                'set_partitions({KafkaTopicPartition("clicks", 0)})',
            )
        return self._subscribe(Subscription(partitions=chosen))

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise self._wrong(
                f"{self._subscription} is read already",
                "call one of set_topics, set_topic_pattern and set_partitions, once",
            )
        self._subscription = subscription
        return self

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Read up to these offsets and no further; the job goes on, as an unbounded one."""
        return self._stop(stopping_offsets_initializer, bounded=False)

    # --- ours ----------------------------------------------------------------------------------

    def set_deserializer(
        self, record_deserializer: KafkaRecordDeserializationSchema
    ) -> KafkaSourceBuilder:
        """Records are made of whole messages: key, headers, place and timestamp. Java's setter."""
        self._take_schema(record_deserializer)
        return self

    def set_max_bytes_per_batch(self, size_bytes: int) -> KafkaSourceBuilder:
        """How many bytes of keys and values a batch takes, more or less. Ours.

        The driver knows offsets, not sizes: every ten seconds it takes some messages of each
        partition as a sample.
        """
        self._max_bytes_per_batch = self._positive("set_max_bytes_per_batch", size_bytes)
        return self
