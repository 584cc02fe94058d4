"""The builder of KafkaSource: PyFlink's setters, and ours behind them.

In: calls.  Out: a checked `KafkaSource`.  Next: source.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.api.output_tag import OutputTag
from headrace.common.serialization import DeserializationSchema
from headrace.connectors.kafka.client import ClientSettings, checked_property
from headrace.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from headrace.connectors.kafka.planner import Subscription
from headrace.connectors.kafka.schema import KafkaDecoder, KafkaRecordDeserializationSchema
from headrace.connectors.kafka.source import KafkaSource, SourceSettings
from headrace.errors import InvalidArgumentError
from headrace.spi.decoding import Decoding, OnError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KafkaSourceBuilder"]

_WHERE = "KafkaSource.builder()"


class KafkaSourceBuilder:
    """Collects what a `KafkaSource` needs: brokers, what to read, and how to decode it."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._subscription: Subscription | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._bounded = False
        self._schema: KafkaRecordDeserializationSchema | None = None
        self._on_error = OnError.FAIL
        self._tag: OutputTag | None = None
        self._max_records_per_partition: int | None = None
        self._max_bytes_per_batch: int | None = None

    def build(self) -> KafkaSource:
        """The source.

        Raises:
            InvalidArgumentError: something is missing.
            ConfigurationError: a property cannot be used.
            EnvironmentSetupError: the client library is not installed.
        """
        if "bootstrap.servers" not in self._properties:
            raise _wrong("there are no bootstrap servers", 'set_bootstrap_servers("host:9092")')
        if self._subscription is None:
            raise _wrong("nothing is read", "call set_topics, set_topic_pattern or set_partitions")
        if self._schema is None:
            raise _wrong(
                "there is no deserializer", "set_value_only_deserializer(SimpleStringSchema())"
            )
        client = ClientSettings.of_source(self._properties, _WHERE)
        self._check_group(client)
        client.check(_WHERE, reads=True)
        return KafkaSource(
            SourceSettings(
                client=client,
                subscription=self._subscription,
                starting=self._starting,
                stopping=self._stopping,
                bounded=self._bounded,
                decoding=Decoding(KafkaDecoder(self._schema), self._on_error, self._tag),
                max_records_per_partition=self._max_records_per_partition,
                max_bytes_per_batch=self._max_bytes_per_batch,
            )
        )

    def _check_group(self, client: ClientSettings) -> None:
        used = [self._starting, *([self._stopping] if self._stopping is not None else [])]
        if any(each.kind == "committed" for each in used) and "group.id" not in client.librdkafka:
            raise _wrong("committed offsets are those of a group", 'set_group_id("my-group")')

    # --- PyFlink's ---------------------------------------------------------------------------

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """The brokers to ask first: ``host:port``, several with commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The consumer group whose offsets are committed, for those who watch it."""
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read these topics."""
        if not topics or not all(isinstance(topic, str) and topic for topic in topics):
            raise _wrong(f"topics are names, not {topics!r}", 'set_topics("clicks", "orders")')
        return self._subscribe(Subscription(topics=tuple(dict.fromkeys(topics))))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose whole name matches a regular expression, new ones included."""
        try:
            re.compile(topic_pattern)
        except (re.error, TypeError) as error:
            raise _wrong(
                f"{topic_pattern!r} is no regular expression: {error}",
                'set_topic_pattern("log-.*")',
            ) from None
        return self._subscribe(Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read these partitions and no others."""
        chosen = frozenset(partitions)
        if not chosen or not all(isinstance(each, KafkaTopicPartition) for each in chosen):
            raise _wrong(
                f"partitions are KafkaTopicPartitions, not {partitions!r}",
                'set_partitions({KafkaTopicPartition("clicks", 0)})',
            )
        return self._subscribe(Subscription(partitions=chosen))

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise _wrong(
                f"{self._subscription} is read already",
                "call one of set_topics, set_topic_pattern and set_partitions, once",
            )
        self._subscription = subscription
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Where a job without a checkpoint begins: at the earliest records by default."""
        self._starting = _initializer(starting_offsets_initializer)
        return self

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Read up to these offsets and no further; the job goes on, as an unbounded one."""
        return self._stop(stopping_offsets_initializer, bounded=False)

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Read up to these offsets and end, which also BATCH mode can do."""
        return self._stop(stopping_offsets_initializer, bounded=True)

    def _stop(self, offsets: KafkaOffsetsInitializer, *, bounded: bool) -> KafkaSourceBuilder:
        self._stopping = _initializer(offsets)
        self._bounded = bounded
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """Records are made of the messages' values; messages without one are left out."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise _wrong(
                f"{deserialization_schema!r} is no DeserializationSchema",
                "set_value_only_deserializer(SimpleStringSchema())",
            )
        if type(deserialization_schema).is_end_of_stream is not (
            DeserializationSchema.is_end_of_stream
        ):
            raise _wrong(
                f"{type(deserialization_schema).__name__} has an is_end_of_stream, but Kafka's "
                "partitions are read up to offsets that are chosen before anything is read",
                "remove it, and say with set_bounded where reading ends",
            )
        self._schema = KafkaRecordDeserializationSchema.value_only(deserialization_schema)
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """How the names of all clients of this source begin."""
        return self.set_property("client.id.prefix", prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """A property of the client: any of librdkafka's, or one of Flink's."""
        name, text = checked_property(key, value)
        self._properties[name] = text
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Several properties."""
        for key, value in props.items():
            self.set_property(key, value)
        return self

    # --- ours ----------------------------------------------------------------------------------

    def set_deserializer(
        self, record_deserializer: KafkaRecordDeserializationSchema
    ) -> KafkaSourceBuilder:
        """Records are made of whole messages: key, headers, place and timestamp. Java's setter."""
        if not isinstance(record_deserializer, KafkaRecordDeserializationSchema):
            raise _wrong(
                f"{record_deserializer!r} is no KafkaRecordDeserializationSchema",
                "for values alone: set_value_only_deserializer(SimpleStringSchema())",
            )
        self._schema = record_deserializer
        return self

    def skip_bad_records(self) -> KafkaSourceBuilder:
        """Leave out messages that cannot be decoded, and count them: numRecordsInErrors. Ours."""
        self._on_error, self._tag = OnError.SKIP, None
        return self

    def set_bad_records_side_output(self, output_tag: OutputTag) -> KafkaSourceBuilder:
        """Send messages that cannot be decoded to a side output of the source's stream. Ours.

        Args:
            output_tag: of type `KafkaSource.BAD_RECORD_TYPE`, or without a type.
        """
        if not isinstance(output_tag, OutputTag):
            raise _wrong(
                f"{output_tag!r} is no OutputTag", 'OutputTag("bad", KafkaSource.BAD_RECORD_TYPE)'
            )
        self._on_error, self._tag = OnError.SIDE_OUTPUT, output_tag
        return self

    def set_max_records_per_partition(self, records: int) -> KafkaSourceBuilder:
        """How many messages of one partition a batch takes at most. Ours."""
        self._max_records_per_partition = _positive("set_max_records_per_partition", records)
        return self

    def set_max_bytes_per_batch(self, size_bytes: int) -> KafkaSourceBuilder:
        """How many bytes of keys and values a batch takes, more or less. Ours.

        The driver knows offsets, not sizes: every ten seconds it takes some messages of each
        partition as a sample.
        """
        self._max_bytes_per_batch = _positive("set_max_bytes_per_batch", size_bytes)
        return self


def _initializer(offsets: Any) -> KafkaOffsetsInitializer:
    if not isinstance(offsets, KafkaOffsetsInitializer):
        raise _wrong(
            f"{offsets!r} is no KafkaOffsetsInitializer", "KafkaOffsetsInitializer.latest()"
        )
    return offsets


def _positive(setter: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _wrong(f"{setter} takes a positive number, not {value!r}", f"{setter}(100_000)")
    return value


def _wrong(what: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(what, where=_WHERE, fix=fix)
