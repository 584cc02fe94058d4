"""Messages of Kafka as lines of a table, and lines as messages: key, value, and what Kafka knows.

    key │ value │ timestamp, headers …   ◀──▶   columns of the key │ of the value │ of metadata

In: `ConsumerRecord`s and lines.  Out: lines and `ProducerRecord`s.  Next: table.py (the connector),
schema.py and serialization.py (what sources and sinks take)
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as d
from headrace.common.serialization import DeserializationSchema
from headrace.connectors.kafka.schema import (
    ConsumerRecord,
    KafkaRecordDeserializationSchema,
    ValueOnly,
)
from headrace.connectors.kafka.serialization import (
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaSinkContext,
    ProducerRecord,
)
from headrace.errors import TypeMismatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pyarrow as pa

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.common.typeinfo import TypeInformation
    from headrace.spi.table_format import LineReader, LineWriter

    Line = tuple[Any, ...]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")
_UPDATE_AFTER, _DELETE = 2, 3
_HEADERS = d.DataTypes.MAP(
    d.DataTypes.STRING(nullable=False), d.DataTypes.BYTES(nullable=False), nullable=False
)
READABLE: dict[str, d.DataType] = {
    "topic": d.DataTypes.STRING(nullable=False),
    "partition": d.DataTypes.INT(nullable=False),
    "headers": _HEADERS,
    "offset": d.DataTypes.BIGINT(nullable=False),
    "timestamp": d.DataTypes.TIMESTAMP_LTZ(3, nullable=False),
    "timestamp-type": d.DataTypes.STRING(nullable=False),
}
WRITABLE: dict[str, d.DataType] = {
    "topic": d.DataTypes.STRING(nullable=False),
    "headers": _HEADERS.nullable(),
    "timestamp": d.DataTypes.TIMESTAMP_LTZ(3),
}


def _metadata_of(record: ConsumerRecord, key: str) -> Any:
    if key == "headers":
        return {name: value for name, value in record.headers if value is not None}
    if key == "timestamp":
        return _EPOCH + dt.timedelta(milliseconds=record.timestamp)
    if key == "timestamp-type":
        return _TYPES[record.timestamp_type]
    return getattr(record, key)


# --- reading -------------------------------------------------------------------------------------


class ValueLines(ValueOnly):
    """Lines that are made of values alone: many messages at once, where the format can."""

    def __init__(self, reader: LineReader, lines: RowDataTypeInfo) -> None:
        super().__init__(_LineSchema(reader, lines))
        self._reader = reader

    def open(self) -> None:
        self._reader.open()

    def deserialize(self, record: ConsumerRecord) -> Iterable[Line]:
        """The lines of a value; a message without one has none."""
        return () if record.value is None else self._reader.read(record.value)


class _LineSchema(DeserializationSchema):
    """What `ValueOnly` asks for columns and the type."""

    def __init__(self, reader: LineReader, lines: RowDataTypeInfo) -> None:
        self._reader = reader
        self._lines = lines

    def deserialize(self, message: bytes) -> Any:
        """The first line of a message."""
        return next(iter(self._reader.read(message)), None)

    def deserialize_columns(self, messages: pa.BinaryArray) -> pa.RecordBatch | None:
        if messages.null_count:
            return None
        return self._reader.read_columns(messages)

    def get_produced_type(self) -> TypeInformation:
        return self._lines


@dataclass(frozen=True)
class MessageParts:
    """Which part of a message has which columns.

    Attributes:
        width: how many physical columns there are.
        key: the places of columns that the key has.
        value: the places of columns that the value has.
    """

    width: int
    key: tuple[int, ...]
    value: tuple[int, ...]


class MessageLines(KafkaRecordDeserializationSchema):
    """Lines that are made of whole messages.

    Args:
        lines: their type.
        parts: which columns stand where.
        key: reads keys; None if there are none.
        value: reads values; its lines have their own metadata behind the columns.
        metadata: for each metadata column its key; those of the format begin with ``value.``.
        upsert: whether a message without a value deletes its key, and others replace it.
    """

    def __init__(
        self,
        lines: RowDataTypeInfo,
        parts: MessageParts,
        key: LineReader | None,
        value: LineReader,
        metadata: tuple[str, ...],
        *,
        upsert: bool = False,
    ) -> None:
        self._lines = lines
        self._parts = parts
        self._key = key
        self._value = value
        self._metadata = metadata
        self._upsert = upsert

    def open(self) -> None:
        self._value.open()
        if self._key is not None:
            self._key.open()

    def get_produced_type(self) -> TypeInformation:
        return self._lines

    def deserialize(self, record: ConsumerRecord) -> Iterable[Line]:
        """The lines of a message."""
        if record.value is None and not self._upsert:
            return
        key: Line = ()
        if self._key is not None and record.key is not None:
            key = next(iter(self._key.read(record.key)), ())
        if record.value is None:
            yield self._line(record, key, (), (_DELETE,))
            return
        has_kind = self._lines.changes and not self._upsert
        for line in self._value.read(record.value):
            kind = line[-1:] if has_kind else (_UPDATE_AFTER,) if self._upsert else ()
            yield self._line(record, key, line, kind)

    def _line(self, record: ConsumerRecord, key: Line, value: Line, kind: Line) -> Line:
        parts = self._parts
        cells: list[Any] = [None] * parts.width
        for place, cell in zip(parts.key, key, strict=False):
            cells[place] = cell
        for place, cell in zip(parts.value, value, strict=False):
            cells[place] = cell
        told = iter(value[len(parts.value) :])
        more = (
            next(told, None) if name.startswith("value.") else _metadata_of(record, name)
            for name in self._metadata
        )
        return (*cells, *more, *kind)


# --- writing -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LineMessages(KafkaRecordSerializationSchema):
    """Messages of lines.

    Attributes:
        topics: where they may go; one unless a metadata column names it.
        parts: which columns stand where.
        key: writes keys; None if there are none.
        value: writes values.
        metadata: keys of the metadata columns, which stand behind the physical ones.
        partitioner: chooses partitions; None leaves it to the producer.
        upsert: whether a deletion is a message without a value.
    """

    topics: tuple[str, ...]
    parts: MessageParts
    key: LineWriter | None
    value: LineWriter
    metadata: tuple[str, ...] = ()
    partitioner: KafkaPartitioner | None = None
    upsert: bool = False

    def open(self) -> None:
        self.value.open()
        if self.key is not None:
            self.key.open()

    def serialize(
        self, element: Line, context: KafkaSinkContext | None, timestamp: int | None
    ) -> ProducerRecord | None:
        """The message of a line."""
        width = self.parts.width + len(self.metadata)
        kind = element[width] if len(element) > width else 0
        key = None
        if self.key is not None:
            key = self.key.write(tuple([element[place] for place in self.parts.key]))
        value = None
        if not (self.upsert and kind in (1, _DELETE)):
            cells = tuple([element[place] for place in self.parts.value])
            value = self.value.write(cells, kind)
        told = dict(zip(self.metadata, element[self.parts.width : width], strict=True))
        topic = self._topic(told)
        return ProducerRecord(
            topic,
            value,
            key,
            self._partition(element, key, value, topic, context),
            _millis(told.get("timestamp")),
            told.get("headers"),
        )

    def _topic(self, told: Mapping[str, Any]) -> str:
        if "topic" not in told:
            return self.topics[0]
        topic = told["topic"]
        if topic is None or (self.topics and topic not in self.topics):
            raise TypeMismatchError(
                f"a line names the topic {topic!r}",
                fix=f"name one of {', '.join(self.topics)}, which the option 'topic' lists",
            )
        return str(topic)

    def _partition(
        self,
        element: Line,
        key: bytes | None,
        value: bytes | None,
        topic: str,
        context: KafkaSinkContext | None,
    ) -> int | None:
        if self.partitioner is None or context is None:
            return None
        if isinstance(self.partitioner, FixedPartitioner):
            self.partitioner.open(
                context.parallel_instance_id, context.number_of_parallel_instances
            )
        partitions = context.partitions_for_topic(topic)
        return self.partitioner.partition(element, key, value, topic, partitions)


def _millis(moment: dt.datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // dt.timedelta(milliseconds=1)


class FixedPartitioner(KafkaPartitioner):
    """Every subtask writes to one partition: ``'sink.partitioner' = 'fixed'``."""

    def __init__(self) -> None:
        self._subtask = 0

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self._subtask = parallel_instance_id

    def partition(
        self,
        record: Any,
        key: bytes | None,
        value: bytes | None,
        target_topic: str,
        partitions: list[int],
    ) -> int:
        return partitions[self._subtask % len(partitions)]


class RoundRobinPartitioner(KafkaPartitioner):
    """One partition after the other: ``'sink.partitioner' = 'round-robin'``."""

    def __init__(self) -> None:
        self._next = 0

    def partition(
        self,
        record: Any,
        key: bytes | None,
        value: bytes | None,
        target_topic: str,
        partitions: list[int],
    ) -> int:
        self._next += 1
        return partitions[(self._next - 1) % len(partitions)]


PARTITIONERS: dict[str, Callable[[], KafkaPartitioner | None]] = {
    "default": lambda: None,
    "fixed": FixedPartitioner,
    "round-robin": RoundRobinPartitioner,
}
