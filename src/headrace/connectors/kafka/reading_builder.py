"""What the builders of all Kafka sources have in common: where reading begins, how it decodes.

In: calls.  Out: checked settings.  Next: source_builder.py,
dynamic/builder.py (which build sources)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from headrace.api.output_tag import OutputTag
from headrace.common.serialization import DeserializationSchema
from headrace.connectors.kafka.client import checked_property
from headrace.connectors.kafka.offsets import KafkaOffsetsInitializer
from headrace.connectors.kafka.schema import KafkaDecoder, KafkaRecordDeserializationSchema
from headrace.errors import InvalidArgumentError
from headrace.spi.decoding import Decoding, OnError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.connectors.kafka.client import ClientSettings

__all__ = ["ReadingBuilder"]


class ReadingBuilder:
    """Collects what any source of Kafka's needs but for what it reads."""

    where: ClassVar[str]
    """The call that made it, for errors."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._bounded = False
        self._schema: KafkaRecordDeserializationSchema | None = None
        self._on_error = OnError.FAIL
        self._tag: OutputTag | None = None
        self._max_records_per_partition: int | None = None

    # --- PyFlink's ---------------------------------------------------------------------------

    def set_group_id(self, group_id: str) -> Self:
        """The consumer group whose offsets are committed, for those who watch it."""
        return self.set_property("group.id", group_id)

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Where a job without a checkpoint begins: at the earliest records by default."""
        self._starting = self._initializer(starting_offsets_initializer)
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Read up to these offsets and end, which also BATCH mode can do."""
        return self._stop(stopping_offsets_initializer, bounded=True)

    def _stop(self, offsets: KafkaOffsetsInitializer, *, bounded: bool) -> Self:
        self._stopping = self._initializer(offsets)
        self._bounded = bounded
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> Self:
        """Records are made of the messages' values; messages without one are left out."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise self._wrong(
                f"{deserialization_schema!r} is no DeserializationSchema",
                "set_value_only_deserializer(SimpleStringSchema())",
            )
        if type(deserialization_schema).is_end_of_stream is not (
            DeserializationSchema.is_end_of_stream
        ):
            raise self._wrong(
                f"{type(deserialization_schema).__name__} has an is_end_of_stream, but Kafka's "
                "partitions are read up to offsets that are chosen before anything is read",
                "remove it, and say with set_bounded where reading ends",
            )
        self._schema = KafkaRecordDeserializationSchema.value_only(deserialization_schema)
        return self

    def set_client_id_prefix(self, prefix: str) -> Self:
        """How the names of all clients of this source begin."""
        return self.set_property("client.id.prefix", prefix)

    def set_property(self, key: str, value: str) -> Self:
        """A property of the client: any of librdkafka's, or one of Flink's."""
        name, text = checked_property(key, value)
        self._properties[name] = text
        return self

    def set_properties(self, props: Mapping[str, str]) -> Self:
        """Several properties."""
        for key, value in props.items():
            self.set_property(key, value)
        return self

    # --- ours ----------------------------------------------------------------------------------

    def skip_bad_records(self) -> Self:
        """Leave out messages that cannot be decoded, and count them: numRecordsInErrors. Ours."""
        self._on_error, self._tag = OnError.SKIP, None
        return self

    def set_bad_records_side_output(self, output_tag: OutputTag) -> Self:
        """Send messages that cannot be decoded to a side output of the source's stream. Ours.

        Args:
            output_tag: of type `KafkaSource.BAD_RECORD_TYPE`, or without a type.
        """
        if not isinstance(output_tag, OutputTag):
            raise self._wrong(
                f"{output_tag!r} is no OutputTag", 'OutputTag("bad", KafkaSource.BAD_RECORD_TYPE)'
            )
        self._on_error, self._tag = OnError.SIDE_OUTPUT, output_tag
        return self

    def set_max_records_per_partition(self, records: int) -> Self:
        """How many messages of one partition a batch takes at most. Ours."""
        self._max_records_per_partition = self._positive("set_max_records_per_partition", records)
        return self

    # --- for builders --------------------------------------------------------------------------

    def _take_schema(self, schema: Any) -> None:
        if not isinstance(schema, KafkaRecordDeserializationSchema):
            raise self._wrong(
                f"{schema!r} is no KafkaRecordDeserializationSchema",
                "for values alone: set_value_only_deserializer(SimpleStringSchema())",
            )
        self._schema = schema

    def _decoding(self) -> Decoding:
        if self._schema is None:
            raise self._wrong(
                "there is no deserializer", "set_value_only_deserializer(SimpleStringSchema())"
            )
        return Decoding(KafkaDecoder(self._schema), self._on_error, self._tag)

    def _check_group(self, client: ClientSettings) -> None:
        used = [self._starting, *([self._stopping] if self._stopping is not None else [])]
        if any(each.kind == "committed" for each in used) and "group.id" not in client.librdkafka:
            raise self._wrong("committed offsets are those of a group", 'set_group_id("my-group")')

    def _initializer(self, offsets: Any) -> KafkaOffsetsInitializer:
        if not isinstance(offsets, KafkaOffsetsInitializer):
            raise self._wrong(
                f"{offsets!r} is no KafkaOffsetsInitializer", "KafkaOffsetsInitializer.latest()"
            )
        return offsets

    def _positive(self, setter: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self._wrong(
                f"{setter} takes a positive number, not {value!r}", f"{setter}(100_000)"
            )
        return value

    def _wrong(self, what: str, fix: str) -> InvalidArgumentError:
        return InvalidArgumentError(what, where=self.where, fix=fix)
