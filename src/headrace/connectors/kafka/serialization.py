"""From a record to a message of Kafka's: topic, partition, timestamp, key, value, headers.

In: records with their event times.  Out: `ProducerRecord`s, which writer.py produces.
PyFlink's names, and what its Java builder has beside them: headers, partitioner, own schemas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.common.serialization import SerializationSchema
from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence

    # No Iterable: a dict is one, too, and mypy could not tell what a dict of both has to hold.
    HeaderValue = bytes | str | None
    HeaderPair = tuple[str, HeaderValue]
    HeaderPairs = Sequence[HeaderPair] | Iterator[HeaderPair] | ItemsView[str, HeaderValue]
    Headers = Mapping[str, HeaderValue] | HeaderPairs | None

__all__ = [
    "KafkaPartitioner",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSinkContext",
    "KafkaTopicSelector",
    "ProducerRecord",
]


class ProducerRecord(NamedTuple):
    """A message on its way to Kafka; not in PyFlink, where it is Java's.

    Attributes:
        topic: where it goes.
        value: its content; None deletes the key of a compacted topic.
        key: decides the partition, unless that is given.
        partition: of the topic; None leaves it to the producer.
        timestamp: epoch milliseconds; None for the time at which it is written.
        headers: names with values.
    """

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: Headers = None


class KafkaSinkContext(ABC):
    """What a schema of your own can ask for."""

    @property
    @abstractmethod
    def parallel_instance_id(self) -> int:
        """Which subtask this is, from 0."""

    @property
    @abstractmethod
    def number_of_parallel_instances(self) -> int:
        """How many subtasks the sink has."""

    @abstractmethod
    def partitions_for_topic(self, topic: str) -> list[int]:
        """The numbers of a topic's partitions."""


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The topic of a record."""


class KafkaPartitioner(ABC):
    """Chooses the partition of each message; Java's interface of this name, not in PyFlink.

    Coming from Flink: as with its ``KafkaSink``, no partitioner means that the producer decides: by
    the hash of the key (Java's), and without a key whatever fills batches best.
    """

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:  # noqa: B027
        """Called before the first message of a batch."""

    @abstractmethod
    def partition(
        self,
        record: Any,
        key: bytes | None,
        value: bytes | None,
        target_topic: str,
        partitions: list[int],
    ) -> int:
        """One of ``partitions``."""


class KafkaRecordSerializationSchema(ABC):
    """Makes messages of records; take `builder`, or write a subclass for anything else.

    Example:
        >>> from headrace.common.serialization import SimpleStringSchema
        >>> schema = (
        ...     KafkaRecordSerializationSchema.builder()
        ...     .set_topic_selector(lambda order: f"orders-{order['country']}")
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> schema.serialize({"country": "fr"}, None, 1_700_000_000_000).topic
        'orders-fr'
    """

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """A builder for what most need: a topic, a value, perhaps a key."""
        return KafkaRecordSerializationSchemaBuilder()

    def open(self) -> None:  # noqa: B027
        """Called before the first record."""

    @abstractmethod
    def serialize(
        self, element: Any, context: KafkaSinkContext | None, timestamp: int | None
    ) -> ProducerRecord | None:
        """The message of a record; None to write none.

        Args:
            element: the record.
            context: the sink's.
            timestamp: the record's event time in epoch milliseconds, if it has one.
        """

    def serialize_many(
        self, elements: list[Any], context: KafkaSinkContext | None, timestamps: list[int] | None
    ) -> Iterator[ProducerRecord | None]:
        """The messages of many records; one by one, unless a subclass has a faster way."""
        times: Iterable[int | None] = timestamps or [None] * len(elements)
        for element, timestamp in zip(elements, times, strict=True):
            yield self.serialize(element, context, timestamp)


@dataclass(frozen=True, slots=True)
class BuiltSchema(KafkaRecordSerializationSchema):
    """What the builder builds; writer.py has a short way for one topic and a value alone."""

    topic: str | None
    selector: Callable[[Any], str] | None
    value: SerializationSchema
    key: SerializationSchema | None = None
    headers: Callable[[Any], Headers] | None = None
    partitioner: KafkaPartitioner | None = None

    @property
    def is_plain(self) -> bool:
        """Whether messages have one topic and nothing but value and timestamp."""
        parts = (self.selector, self.key, self.headers, self.partitioner)
        return all(part is None for part in parts)

    def open(self) -> None:
        self.value.open()
        if self.key is not None:
            self.key.open()

    def serialize(
        self, element: Any, context: KafkaSinkContext | None, timestamp: int | None
    ) -> ProducerRecord:
        key = None if self.key is None else self.key.serialize(element)
        return self._record(element, key, self.value.serialize(element), context, timestamp)

    def serialize_many(
        self, elements: list[Any], context: KafkaSinkContext | None, timestamps: list[int] | None
    ) -> Iterator[ProducerRecord]:
        """Keys and values many at once, which JSON and CSV do several times faster."""
        values = self.value.serialize_many(elements)
        keys = None if self.key is None else self.key.serialize_many(elements)
        for n, element in enumerate(elements):
            key = None if keys is None else keys[n]
            timestamp = None if timestamps is None else timestamps[n]
            yield self._record(element, key, values[n], context, timestamp)

    def _record(
        self,
        element: Any,
        key: bytes | None,
        value: bytes,
        context: KafkaSinkContext | None,
        timestamp: int | None,
    ) -> ProducerRecord:
        topic = self.selector(element) if self.selector is not None else self.topic
        assert topic is not None  # the builder asks for one of the two
        partition = None
        if self.partitioner is not None and context is not None:
            partitions = context.partitions_for_topic(topic)
            partition = self.partitioner.partition(element, key, value, topic, partitions)
        headers = None if self.headers is None else self.headers(element)
        return ProducerRecord(topic, value, key, partition, timestamp, headers)


class KafkaRecordSerializationSchemaBuilder:
    """Says how records become messages; a topic and a value are needed."""

    def __init__(self) -> None:
        self._topic: str | None = None
        self._selector: Callable[[Any], str] | None = None
        self._value: SerializationSchema | None = None
        self._key: SerializationSchema | None = None
        self._headers: Callable[[Any], Headers] | None = None
        self._partitioner: KafkaPartitioner | None = None

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema.

        Raises:
            InvalidArgumentError: topic or value are missing.
        """
        if self._topic is None and self._selector is None:
            raise InvalidArgumentError(
                "the record serializer has no topic",
                fix='call set_topic("orders") or set_topic_selector(...)',
            )
        if self._value is None:
            raise InvalidArgumentError(
                "the record serializer has nothing that makes the value of a message",
                fix="call set_value_serialization_schema(SimpleStringSchema()), say",
            )
        return BuiltSchema(
            self._topic, self._selector, self._value, self._key, self._headers, self._partitioner
        )

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """One topic for all records; takes the place of a selector."""
        if not isinstance(topic, str) or not topic:
            raise ArgumentTypeError(
                f"{topic!r} ({type(topic).__name__}) is no name of a topic",
                fix='pass a text: set_topic("orders")',
            )
        self._topic, self._selector = topic, None
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """A topic for each record, from a function or a `KafkaTopicSelector`."""
        if isinstance(topic_selector, KafkaTopicSelector):
            self._selector = topic_selector.apply
        elif callable(topic_selector):
            self._selector = topic_selector
        else:
            raise ArgumentTypeError(
                f"{topic_selector!r} ({type(topic_selector).__name__}) selects no topic",
                fix="pass a function or a KafkaTopicSelector; for one topic: set_topic",
            )
        self._topic = None
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Makes the key of a message; without it messages have none."""
        self._key = _schema(key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Makes the value of a message."""
        self._value = _schema(value_serialization_schema)
        return self

    def set_header_provider(
        self, header_provider: Callable[[Any], Headers]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Makes the headers of a message: a dict, or pairs where a name comes twice.

        As Java's builder has it; not in PyFlink.
        """
        if not callable(header_provider):
            raise ArgumentTypeError(
                f"{header_provider!r} ({type(header_provider).__name__}) is no function",
                fix='pass a function: lambda order: {"source": b"shop"}',
            )
        self._headers = header_provider
        return self

    def set_partitioner(
        self, partitioner: KafkaPartitioner
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Chooses the partition of each message. As Java's builder has it; not in PyFlink."""
        if not isinstance(partitioner, KafkaPartitioner):
            raise ArgumentTypeError(
                f"{partitioner!r} ({type(partitioner).__name__}) is no KafkaPartitioner",
                fix="subclass KafkaPartitioner and write its method partition",
            )
        self._partitioner = partitioner
        return self


def _schema(given: Any) -> SerializationSchema:
    if not isinstance(given, SerializationSchema):
        raise ArgumentTypeError(
            f"{given!r} ({type(given).__name__}) is no SerializationSchema",
            fix="pass SimpleStringSchema(), JsonRowSerializationSchema, or a subclass of your own",
        )
    return given
