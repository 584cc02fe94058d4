"""Messages of Kafka to records: by their value alone, or with all that Kafka knows of them.

In: raw columns of the source (reader.py).  Out: records.  `KafkaDecoder` is what the step behind
the source runs (runtime/operators/decode.py).  Next: common/serialization.py, schemas of values
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.common.types import Row
from headrace.errors import HeadraceError, RecordError
from headrace.spi.decoding import Decoder

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from headrace.common.serialization import DeserializationSchema

__all__ = [
    "BAD_RECORD_TYPE",
    "RAW_RECORD",
    "RAW_VALUE",
    "ConsumerRecord",
    "KafkaDecoder",
    "KafkaRecordDeserializationSchema",
]

_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
_HEADER = Types.ROW_NAMED(["key", "value"], [Types.STRING(), _BYTES])
_PLACE = {"topic": Types.STRING(), "partition": Types.INT(), "offset": Types.LONG()}
_WHOLE = {
    "value": _BYTES,
    **_PLACE,
    "key": _BYTES,
    "timestamp": Types.LONG(),
    "timestamp_type": Types.INT(),
    "headers": Types.LIST(_HEADER),
}


def _row(fields: dict[str, TypeInformation]) -> RowTypeInfo:
    return Types.ROW_NAMED(list(fields), list(fields.values()))


# What the source hands over: columns, of which Python makes objects only if a schema asks.
RAW_VALUE = _row({"value": _BYTES, **_PLACE})
RAW_RECORD = _row(_WHOLE)
# What a side output gets of a message that cannot be decoded.
BAD_RECORD_TYPE = _row(
    {**_PLACE, "timestamp": Types.LONG(), "value": _BYTES, "error": Types.STRING()}
)


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """A message of Kafka with all that Kafka knows of it.

    Attributes:
        topic: where it stands.
        partition: of the topic.
        offset: in the partition.
        timestamp: epoch milliseconds, of its producer or of the broker.
        timestamp_type: 1 if the producer set it, 2 if the broker did, 0 if there is none.
        key: bytes, or None.
        value: bytes, or None for a tombstone.
        headers: pairs of name and bytes (or None), in order; a name may come again.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class KafkaRecordDeserializationSchema(ABC):
    """Turns a message with its key, headers, place and timestamp into records.

    Example:
        >>> class WithKey(KafkaRecordDeserializationSchema):
        ...     def deserialize(self, record):
        ...         if record.value is not None:
        ...             yield record.key.decode(), record.value.decode()
        ...
        ...     def get_produced_type(self):
        ...         return Types.TUPLE([Types.STRING(), Types.STRING()])

    Coming from Flink: Java's interface, which PyFlink does not let you implement; results are
    yielded instead of handed to a collector.
    """

    def open(self) -> None:  # noqa: B027
        """Called once before the first message."""

    @abstractmethod
    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        """The records of a message: none, one or many."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""

    @staticmethod
    def value_only(
        deserialization_schema: DeserializationSchema,
    ) -> KafkaRecordDeserializationSchema:
        """Only the value counts; messages without one (tombstones) are left out."""
        return ValueOnly(deserialization_schema)


class ValueOnly(KafkaRecordDeserializationSchema):
    """What `KafkaRecordDeserializationSchema.value_only` gives."""

    def __init__(self, schema: DeserializationSchema) -> None:
        self.schema = schema

    def open(self) -> None:
        """Opens the schema of the value."""
        self.schema.open()

    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        """The record of the value; nothing if the schema gives None."""
        if record.value is None:
            return ()
        found = self.schema.deserialize(record.value)
        return () if found is None else (found,)

    def get_produced_type(self) -> TypeInformation:
        """The type of the schema's records."""
        return self.schema.get_produced_type()


class KafkaDecoder(Decoder):
    """Runs a schema over the raw columns of the source."""

    def __init__(self, schema: KafkaRecordDeserializationSchema) -> None:
        self.schema = schema

    def open(self) -> None:
        self.schema.open()

    def produced_type(self) -> TypeInformation:
        return self.schema.get_produced_type()

    def decode_columns(self, raw: pa.RecordBatch) -> pa.RecordBatch | None:
        if not isinstance(self.schema, ValueOnly):
            return None
        decoded = self.schema.schema.deserialize_columns(raw.column(0))
        if decoded is not None and decoded.num_rows != raw.num_rows:
            return None  # a message is a record here; else nobody knows which is whose
        return decoded

    def messages(self, raw: pa.RecordBatch) -> list[Any]:
        columns = [column.to_pylist() for column in raw.columns]
        if raw.num_columns == len(_PLACE) + 1:
            return [
                ConsumerRecord(topic, partition, offset, -1, 0, None, value, ())
                for value, topic, partition, offset in zip(*columns, strict=True)
            ]
        return [_consumer_record(*cells) for cells in zip(*columns, strict=True)]

    def decode(self, message: ConsumerRecord) -> Iterable[Any]:
        return self.schema.deserialize(message)

    def failure(self, message: ConsumerRecord, error: Exception) -> RecordError:
        schema = self.schema.schema if isinstance(self.schema, ValueOnly) else self.schema
        reason = f"{type(error).__name__}: {error}; the message: {message.value!r:.200}"
        remedy: str | None = None
        if isinstance(error, HeadraceError):  # it shows the message, and has a remedy
            reason, remedy = error.message, error.fix
        return RecordError(
            f"{type(schema).__name__} cannot read the message at offset {message.offset} of "
            f"partition {message.partition} of topic {message.topic!r}: {reason}",
            fix=f"{remedy or 'correct the schema'}; or say what happens to such messages: "
            "skip_bad_records() or set_bad_records_side_output(tag) of the source's builder",
        )

    def bad_record(self, message: ConsumerRecord, error: Exception, timestamp: int | None) -> Row:
        return Row(
            topic=message.topic,
            partition=message.partition,
            offset=message.offset,
            timestamp=timestamp,
            value=message.value,
            error=f"{type(error).__name__}: {error}",
        )


def _consumer_record(
    value: bytes | None,
    topic: str,
    partition: int,
    offset: int,
    key: bytes | None,
    timestamp: int,
    timestamp_type: int,
    headers: list[dict[str, Any]] | None,
) -> ConsumerRecord:
    pairs = tuple((header["key"], header["value"]) for header in headers or ())
    return ConsumerRecord(topic, partition, offset, timestamp, timestamp_type, key, value, pairs)
