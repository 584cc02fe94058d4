"""``'connector' = 'kafka'`` and ``'upsert-kafka'``: tables of topics.

In: the options of a table, Flink's.  Out: a `KafkaSource` and a `KafkaSink` of lines.
Next: table_messages.py (messages and lines), formats/tables/registry.py (formats)
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from headrace.common.changes import Changes
from headrace.common.data_types import RowField, RowType
from headrace.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from headrace.connectors.kafka.sink import KafkaSink
from headrace.connectors.kafka.source import KafkaSource
from headrace.connectors.kafka.table_messages import (
    PARTITIONERS,
    READABLE,
    WRITABLE,
    LineMessages,
    MessageLines,
    MessageParts,
    ValueLines,
)
from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.formats.tables.registry import TABLE_FORMATS, format_of
from headrace.spi.source import DeliveryGuarantee
from headrace.spi.table_connector import TableConnector, TableSink, TableSource, option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.config_options import ConfigOption
    from headrace.common.data_types import DataType
    from headrace.common.opaque import OptionValue
    from headrace.connectors.kafka.schema import KafkaRecordDeserializationSchema
    from headrace.connectors.kafka.serialization import KafkaPartitioner
    from headrace.connectors.kafka.source_builder import KafkaSourceBuilder
    from headrace.spi.table_connector import TableDefinition, TableOptions
    from headrace.spi.table_format import FormatOptions, TableFormat

_PROPERTIES = "properties."
SERVERS = option("properties.bootstrap.servers", doc="the brokers: host:9092,other:9092")
TOPIC = option("topic", doc="names of topics, with ; between them")
TOPIC_PATTERN = option("topic-pattern", doc="a pattern of the names of topics")
FORMAT = option("format", doc="of values")
VALUE_FORMAT = option("value.format", doc="of values")
KEY_FORMAT = option("key.format", doc="of keys")
KEY_FIELDS = option("key.fields", doc="the columns of the key, with ; between them")
KEY_PREFIX = option("key.fields-prefix", default="", doc="in front of the names of key columns")
INCLUDE = option(
    "value.fields-include", "enum", "ALL", "whether values have the key, too", ("ALL", "EXCEPT_KEY")
)
STARTUP = option(
    "scan.startup.mode", "enum", "group-offsets", "where reading begins",
    ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
)  # fmt: skip
STARTUP_OFFSETS = option("scan.startup.specific-offsets", doc="partition:0,offset:42;…")
STARTUP_TIME = option("scan.startup.timestamp-millis", "int", doc="epoch milliseconds")
BOUNDED = option(
    "scan.bounded.mode", "enum", "unbounded", "where reading ends",
    ("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
)  # fmt: skip
BOUNDED_OFFSETS = option("scan.bounded.specific-offsets", doc="partition:0,offset:42;…")
BOUNDED_TIME = option("scan.bounded.timestamp-millis", "int", doc="epoch milliseconds")
DISCOVERY = option(
    "scan.topic-partition-discovery.interval", "duration", 300_000, "how often to look for new ones"
)
SCAN_PARALLELISM = option("scan.parallelism", "int", doc="how many subtasks read")
PARTITIONER = option("sink.partitioner", default="default", doc="default, fixed or round-robin")
GUARANTEE = option(
    "sink.delivery-guarantee", "enum", "at-least-once", "what is promised when a job fails",
    ("exactly-once", "at-least-once", "none"),
)  # fmt: skip
PREFIX = option("sink.transactional-id-prefix", doc="of transactions, for exactly-once")
SINK_PARALLELISM = option("sink.parallelism", "int", doc="how many subtasks write")
FLUSH_ROWS = option("sink.buffer-flush.max-rows", "int", 0, "accepted without effect")
FLUSH_TIME = option("sink.buffer-flush.interval", "duration", 0, "accepted without effect")
_SCAN = (
    BOUNDED, BOUNDED_OFFSETS, BOUNDED_TIME, DISCOVERY, SCAN_PARALLELISM,
)  # fmt: skip
_SINK = (GUARANTEE, PREFIX, SINK_PARALLELISM)
_OFFSET = re.compile(r"\s*partition\s*:\s*(\d+)\s*,\s*offset\s*:\s*(\d+)\s*")


class _Formats:
    """The formats of keys and values, and which columns each has."""

    def __init__(self, definition: TableDefinition, *, key_columns: tuple[str, ...]) -> None:
        given = definition.options
        name = given.get("value.format") or given.get("format")
        if name is None:
            raise ConfigurationError(
                f"table {definition.name} has no format",
                where=f"table {definition.name}",
                fix="add 'format' = 'json' to WITH, or 'value.format'",
            )
        prefix = "value." if "value.format" in given else ""
        self.value, self.value_options = format_of(definition.name, name, given, prefix)
        self.key: TableFormat | None = None
        self.key_options: FormatOptions | None = None
        if "key.format" in given:
            self.key, self.key_options = format_of(
                definition.name, given["key.format"], given, "key."
            )
            if not self.key.reads.only_inserts:
                raise ConfigurationError(
                    f"keys cannot have the format {self.key.name!r}, which tells changes",
                    where=f"table {definition.name}",
                    fix="use a format such as 'json' for keys",
                )
        names = definition.columns.field_names()
        keys = tuple(names.index(column) for column in key_columns)
        without = given.get("value.fields-include") == "EXCEPT_KEY"
        values = tuple(i for i in range(len(names)) if not (without and i in keys))
        self.parts = MessageParts(len(names), keys if self.key is not None else (), values)
        fields, key_prefix = definition.columns.fields, given.get("key.fields-prefix", "")
        self.value_columns = RowType([fields[i] for i in values])
        self.key_columns = RowType(
            [
                RowField(fields[i].name.removeprefix(key_prefix), fields[i].data_type)
                for i in self.parts.key
            ]
        )


class KafkaTables(TableConnector):
    """Tables of topics: every message is a change of its own."""

    name: ClassVar[str] = "kafka"
    upsert: ClassVar[bool] = False
    prefixes = (_PROPERTIES,)
    required: ClassVar[tuple[ConfigOption[OptionValue], ...]] = (SERVERS,)
    optional: ClassVar[tuple[ConfigOption[OptionValue], ...]] = (
        TOPIC, TOPIC_PATTERN, FORMAT, VALUE_FORMAT, KEY_FORMAT, KEY_FIELDS, KEY_PREFIX, INCLUDE,
        STARTUP, STARTUP_OFFSETS, STARTUP_TIME, *_SCAN, PARTITIONER, *_SINK,
    )  # fmt: skip

    def summary(self) -> str:
        return "Topics of Kafka"

    def readable_metadata(self, definition: TableDefinition) -> Mapping[str, DataType]:
        name = definition.options.get("value.format") or definition.options.get("format")
        told = {} if name is None else TABLE_FORMATS.new(name).readable_metadata()
        return {**READABLE, **{f"value.{key}": kind for key, kind in told.items()}}

    def writable_metadata(self, definition: TableDefinition) -> Mapping[str, DataType]:
        return WRITABLE

    # --- reading ---------------------------------------------------------------------------------

    def source(self, definition: TableDefinition) -> TableSource:
        options, formats = self._opened(definition)
        changes = Changes.UPSERT if self.upsert else formats.value.reads
        builder = KafkaSource.builder().set_deserializer(self._schema(definition, formats, changes))
        self._subscribe(builder, options)
        for key, value in options.below(_PROPERTIES).items():
            builder.set_property(key, value)
        if options.has(DISCOVERY.key):
            every = str(options.get(DISCOVERY))
            builder.set_property("partition.discovery.interval.ms", every)
        builder.set_starting_offsets(self._starting(options))
        ending = _offsets(options, BOUNDED, BOUNDED_OFFSETS, BOUNDED_TIME)
        if ending is not None:
            builder.set_bounded(ending)
        return TableSource(builder.build(), changes, parallelism=options.get(SCAN_PARALLELISM))

    def _starting(self, options: TableOptions) -> KafkaOffsetsInitializer:
        found = _offsets(options, STARTUP, STARTUP_OFFSETS, STARTUP_TIME)
        assert found is not None
        return found

    def _subscribe(self, builder: KafkaSourceBuilder, options: TableOptions) -> None:
        topics, pattern = _topics(options), options.get(TOPIC_PATTERN)
        if bool(topics) == (pattern is not None):
            raise ConfigurationError(
                "a table of Kafka's has either 'topic' or 'topic-pattern'",
                where=f"table {options.table}",
                fix="add 'topic' = 'orders' to WITH",
            )
        if pattern is not None:
            builder.set_topic_pattern(str(pattern))
        else:
            builder.set_topics(*topics)

    def _schema(
        self, definition: TableDefinition, formats: _Formats, changes: Changes
    ) -> KafkaRecordDeserializationSchema:
        lines = definition.lines(changes)
        metadata = tuple(column.key for column in definition.metadata)
        told = [key.removeprefix("value.") for key in metadata if key.startswith("value.")]
        value = formats.value.reader(formats.value_columns, formats.value_options, told)
        if not formats.parts.key and not metadata and not self.upsert:
            return ValueLines(value, lines)
        key = None
        if formats.key is not None and formats.key_options is not None:
            key = formats.key.reader(formats.key_columns, formats.key_options)
        return MessageLines(lines, formats.parts, key, value, metadata, upsert=self.upsert)

    # --- writing ---------------------------------------------------------------------------------

    def sink(self, definition: TableDefinition) -> TableSink:
        options, formats = self._opened(definition)
        topics = _topics(options)
        metadata = tuple(column.key for column in definition.written_metadata())
        if not topics or (len(topics) > 1 and "topic" not in metadata):
            raise ConfigurationError(
                f"lines can be written to one topic, not to {', '.join(topics) or 'a pattern'}",
                where=f"table {definition.name}",
                fix="name one in 'topic', or add a column: topic STRING METADATA",
            )
        guarantee = DeliveryGuarantee[str(options.get(GUARANTEE)).upper().replace("-", "_")]
        builder = (
            KafkaSink.builder()
            .set_record_serializer(self._messages(definition, formats, topics, metadata, options))
            .set_delivery_guarantee(guarantee)
        )
        for key, value in options.below(_PROPERTIES).items():
            builder.set_property(key, value)
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            builder.set_transactional_id_prefix(str(options.need(PREFIX)))
        writes = Changes.UPSERT if self.upsert else formats.value.writes
        return TableSink(
            builder.build(),
            lambda changes: changes & writes,
            parallelism=options.get(SINK_PARALLELISM),
        )

    def _messages(
        self,
        definition: TableDefinition,
        formats: _Formats,
        topics: tuple[str, ...],
        metadata: tuple[str, ...],
        options: TableOptions,
    ) -> LineMessages:
        key = None
        if formats.key is not None and formats.key_options is not None and formats.parts.key:
            key = formats.key.writer(formats.key_columns, formats.key_options)
        return LineMessages(
            topics,
            formats.parts,
            key,
            formats.value.writer(formats.value_columns, formats.value_options),
            metadata,
            self._partitioner(options),
            self.upsert,
        )

    def _partitioner(self, options: TableOptions) -> KafkaPartitioner | None:
        name = str(options.get(PARTITIONER))
        if name not in PARTITIONERS:
            raise UnsupportedStepError(
                f"the partitioner {name!r} is a Java class, and there is no Java here",
                where=f"table {options.table}",
                fix=f"use one of {', '.join(PARTITIONERS)}",
            )
        return PARTITIONERS[name]()

    # --- both ------------------------------------------------------------------------------------

    def _opened(self, definition: TableDefinition) -> tuple[TableOptions, _Formats]:
        given = definition.options
        prefixes = []
        for key, before in (("format", ""), ("value.format", "value."), ("key.format", "key.")):
            if key in given:
                TABLE_FORMATS.find(given[key])  # a wrong name is told before its options
                prefixes.append(f"{before}{given[key]}.")
        options = self.checked(definition, prefixes)
        keys = self._key_columns(definition, options)
        return options, _Formats(_with_subjects(definition), key_columns=keys)

    def _key_columns(self, definition: TableDefinition, options: TableOptions) -> tuple[str, ...]:
        named = tuple(filter(None, str(options.get(KEY_FIELDS) or "").split(";")))
        if bool(named) != options.has(KEY_FORMAT.key):
            raise ConfigurationError(
                f"'{KEY_FORMAT.key}' and '{KEY_FIELDS.key}' come together",
                where=f"table {definition.name}",
                fix="set both, or neither",
            )
        prefix = str(options.get(KEY_PREFIX))
        for name in named:
            if name not in definition.columns.field_names() or not name.startswith(prefix):
                raise ConfigurationError(
                    f"'{KEY_FIELDS.key}' has {name!r}, which is no column that begins with "
                    f"{prefix!r}",
                    where=f"table {definition.name}",
                    fix=f"the columns are {', '.join(definition.columns.field_names())}",
                )
        return named


class UpsertKafkaTables(KafkaTables):
    """Tables of topics with one line for each key: a message replaces the line of its key."""

    name: ClassVar[str] = "upsert-kafka"
    upsert = True
    required = (SERVERS, TOPIC, KEY_FORMAT, VALUE_FORMAT)
    optional = (KEY_PREFIX, INCLUDE, *_SCAN, *_SINK, FLUSH_ROWS, FLUSH_TIME)

    def summary(self) -> str:
        return "Topics of Kafka, one line for each key"

    def _starting(self, options: TableOptions) -> KafkaOffsetsInitializer:
        return KafkaOffsetsInitializer.earliest()

    def _partitioner(self, options: TableOptions) -> KafkaPartitioner | None:
        return None  # by the key, so that a key's messages stay in order

    def _key_columns(self, definition: TableDefinition, options: TableOptions) -> tuple[str, ...]:
        if not definition.primary_key:
            raise ConfigurationError(
                "a table of upsert-kafka needs a primary key",
                where=f"table {definition.name}",
                fix="add PRIMARY KEY (...) NOT ENFORCED",
            )
        formats = TABLE_FORMATS.new(definition.options["value.format"])
        if not formats.reads.only_inserts:
            raise ConfigurationError(
                f"values of upsert-kafka cannot have the format {formats.name!r}, which tells "
                "changes",
                where=f"table {definition.name}",
                fix="use the connector 'kafka' for it, or a format such as 'json'",
            )
        return definition.primary_key


def _with_subjects(definition: TableDefinition) -> TableDefinition:
    """Schemas of a registry are kept under the topic's name, unless the table says otherwise."""
    given, topic = definition.options, definition.options.get("topic")
    subjects = {
        f"{before}avro-confluent.subject": f"{topic}-{part}"
        for key, before, part in (
            ("format", "", "value"),
            ("value.format", "value.", "value"),
            ("key.format", "key.", "key"),
        )
        if given.get(key) == "avro-confluent" and topic is not None
    }
    return replace(definition, options={**subjects, **given}) if subjects else definition


def _topics(options: TableOptions) -> tuple[str, ...]:
    return tuple(topic.strip() for topic in str(options.get(TOPIC) or "").split(";") if topic)


_RESETS = {
    "earliest": KafkaOffsetResetStrategy.EARLIEST,
    "latest": KafkaOffsetResetStrategy.LATEST,
    "none": KafkaOffsetResetStrategy.NONE,
}


def _offsets(
    options: TableOptions,
    mode: ConfigOption[OptionValue],
    offsets: ConfigOption[OptionValue],
    time: ConfigOption[OptionValue],
) -> KafkaOffsetsInitializer | None:
    """Where reading begins, or ends."""
    chosen = options.get(mode)
    if chosen == "unbounded":
        return None
    if chosen == "earliest-offset":
        return KafkaOffsetsInitializer.earliest()
    if chosen == "latest-offset":
        return KafkaOffsetsInitializer.latest()
    if chosen == "timestamp":
        return KafkaOffsetsInitializer.timestamp(options.need(time))
    if chosen == "specific-offsets":
        return KafkaOffsetsInitializer.offsets(_specific(options, str(options.need(offsets))))
    reset = options.below(_PROPERTIES).get("auto.offset.reset", "none")
    return KafkaOffsetsInitializer.committed_offsets(
        _RESETS.get(reset, KafkaOffsetResetStrategy.NONE)
    )


def _specific(options: TableOptions, text: str) -> dict[KafkaTopicPartition, int]:
    topics = _topics(options)
    found: dict[KafkaTopicPartition, int] = {}
    for part in filter(str.strip, text.split(";")):
        match = _OFFSET.fullmatch(part)
        if match is None or len(topics) != 1:
            raise ConfigurationError(
                f"{part!r} is no offset of a partition, or there is more than one topic",
                where=f"table {options.table}",
                fix="write 'partition:0,offset:42;partition:1,offset:300', for a single topic",
            )
        found[KafkaTopicPartition(topics[0], int(match[1]))] = int(match[2])
    return found
