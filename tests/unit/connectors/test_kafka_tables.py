"""Tables of Kafka without a broker: options, and messages as lines and back."""

from __future__ import annotations

import datetime
import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.changes import Changes
from headrace.common.data_types import DataType, DataTypes, RowType
from headrace.connectors.kafka.schema import RAW_RECORD, RAW_VALUE, ConsumerRecord, KafkaDecoder
from headrace.connectors.kafka.sink import KafkaSink
from headrace.connectors.kafka.source import KafkaSource
from headrace.connectors.kafka.table_messages import LineMessages
from headrace.connectors.tables import connector_of
from headrace.data.codec import codec_for
from headrace.errors import (
    ConfigurationError,
    RecordError,
    TypeMismatchError,
    UnsupportedStepError,
)
from headrace.rel.connected_tables import origin_of, target_of
from headrace.spi.table_connector import TableDefinition, TableMetadataColumn
from table_runs import row_type, table

if TYPE_CHECKING:
    from headrace.connectors.kafka.serialization import ProducerRecord

UTC = datetime.UTC
COLUMNS = row_type(id=DataTypes.INT(), name=DataTypes.STRING())


def kafka(columns: RowType = COLUMNS, connector: str = "kafka", **more: Any) -> TableDefinition:
    options = {
        "topic": "orders",
        "properties.bootstrap.servers": "127.0.0.1:9",
        "properties.group.id": "g",
        **({"format": "json"} if connector == "kafka" else {}),
        **more.pop("options", {}),
    }
    return table(connector, columns, options=options, **more)


def source_of(definition: TableDefinition) -> KafkaSource:
    found = connector_of(definition).source(definition).source
    assert isinstance(found, KafkaSource)
    return found


def lines_of(definition: TableDefinition, *records: ConsumerRecord) -> list[Any]:
    """The lines of messages, as the step behind the source makes them."""
    source = pickle.loads(pickle.dumps(source_of(definition)))
    decoder = source.decoding().decoder
    assert isinstance(decoder, KafkaDecoder)
    decoder.open()
    lines = [line for record in records for line in decoder.decode(record)]
    codec = codec_for(decoder.produced_type())
    assert codec.decode(codec.encode(lines)) == lines
    return lines


def message(value: Any, key: Any = None, **more: Any) -> ConsumerRecord:
    known: dict[str, Any] = {
        "topic": "orders", "partition": 1, "offset": 42, "timestamp": 1500, "timestamp_type": 1,
        "headers": (),
    }  # fmt: skip
    known.update(more)
    return ConsumerRecord(
        key=None if key is None else json.dumps(key).encode(),
        value=None if value is None else json.dumps(value).encode(),
        **known,
    )


def messages_of(definition: TableDefinition, *lines: tuple[Any, ...]) -> list[ProducerRecord]:
    sink = connector_of(definition).sink(definition).sink
    assert isinstance(sink, KafkaSink)
    schema = pickle.loads(pickle.dumps(sink._schema))
    assert isinstance(schema, LineMessages)
    schema.open()
    found = [schema.serialize(line, None, None) for line in lines]
    return [record for record in found if record is not None]


def metadata(**columns: tuple[str, DataType]) -> tuple[TableMetadataColumn, ...]:
    return tuple(TableMetadataColumn(name, key, kind) for name, (key, kind) in columns.items())


def test_values_alone_are_read_as_columns() -> None:
    source = source_of(kafka())
    assert source.produced_type() is RAW_VALUE
    values = [b'{"id": 1, "name": "a"}', b'{"name": "b"}']
    raw = codec_for(RAW_VALUE).encode([(value, "orders", 0, n) for n, value in enumerate(values)])
    decoder = source.decoding().decoder
    columns = decoder.decode_columns(raw)
    assert columns is not None
    codec = codec_for(decoder.produced_type())
    assert codec.decode(columns.cast(codec.schema)) == [(1, "a"), (None, "b")]
    assert lines_of(kafka(), message({"id": 1}), message([{"id": 2}, {"id": 3}])) == [
        (1, None), (2, None), (3, None)
    ]  # fmt: skip
    assert lines_of(kafka(), message(None)) == []


def test_keys_and_what_kafka_knows_become_columns() -> None:
    columns = row_type(k_id=DataTypes.INT(), name=DataTypes.STRING())
    told = metadata(
        at=("timestamp", DataTypes.TIMESTAMP_LTZ(3)),
        place=("partition", DataTypes.INT()),
        number=("offset", DataTypes.BIGINT()),
        topic=("topic", DataTypes.STRING()),
        how=("timestamp-type", DataTypes.STRING()),
        heads=("headers", DataTypes.MAP(DataTypes.STRING(), DataTypes.BYTES())),
    )
    definition = kafka(
        columns,
        metadata=told,
        options={
            "key.format": "json",
            "key.fields": "k_id",
            "key.fields-prefix": "k_",
            "value.fields-include": "EXCEPT_KEY",
        },
    )
    assert source_of(definition).produced_type() is RAW_RECORD
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, UTC)
    found = lines_of(
        definition, message({"name": "a", "k_id": 9}, {"id": 1}, headers=(("h", b"x"), ("n", None)))
    )
    assert found == [(1, "a", moment, 1, 42, "orders", "CreateTime", {"h": b"x"})]
    all_included = kafka(
        row_type(id=DataTypes.INT(), name=DataTypes.STRING()),
        options={"key.format": "json", "key.fields": "id"},
    )
    assert lines_of(all_included, message({"name": "a", "id": 9}, {"id": 1})) == [(9, "a")]


def test_an_upsert_table_has_one_line_for_each_key() -> None:
    definition = kafka(
        connector="upsert-kafka",
        primary_key=("id",),
        options={"key.format": "json", "value.format": "json"},
    )
    origin = origin_of(definition)
    assert origin.changes == Changes.UPSERT
    assert origin.primary_key == (0,)
    assert source_of(definition).settings.starting.kind == "earliest"
    found = lines_of(
        definition, message({"id": 1, "name": "a"}, {"id": 1}), message(None, {"id": 1})
    )
    assert found == [(1, "a", 2), (1, None, 3)]
    assert target_of(definition).accepts(Changes.ALL) == Changes.UPSERT
    written = messages_of(definition, (1, "a", 0), (1, "b", 2), (1, "b", 3))
    assert [(record.key, record.value) for record in written] == [
        (b'{"id":1}', b'{"id":1,"name":"a"}'),
        (b'{"id":1}', b'{"id":1,"name":"b"}'),
        (b'{"id":1}', None),
    ]


def test_debezium_changes_with_their_metadata() -> None:
    told = metadata(
        db=("value.source.database", DataTypes.STRING()),
        at=("value.source.timestamp", DataTypes.TIMESTAMP_LTZ(3)),
        number=("offset", DataTypes.BIGINT()),
    )
    definition = kafka(options={"format": "debezium-json"}, metadata=told)
    source = {"db": "shop", "ts_ms": 1500}
    change = {"before": {"id": 1}, "after": {"id": 1, "name": "b"}, "op": "u", "source": source}
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, UTC)
    assert lines_of(definition, message(change)) == [
        (1, None, "shop", moment, 42, 1),
        (1, "b", "shop", moment, 42, 2),
    ]
    assert origin_of(definition).changes == Changes.ALL
    plain = kafka(options={"format": "debezium-json"})
    assert lines_of(plain, message(change)) == [(1, None, 1), (1, "b", 2)]
    assert lines_of(plain, message(None)) == []
    assert target_of(plain).accepts(Changes.ALL) == Changes.ALL
    assert target_of(kafka()).accepts(Changes.ALL) == Changes.INSERT
    written = messages_of(plain, (1, "a", 0), (1, "a", 1))
    assert [record.value for record in written] == [
        b'{"before":null,"after":{"id":1,"name":"a"},"op":"c"}',
        b'{"before":{"id":1,"name":"a"},"after":null,"op":"d"}',
    ]


def test_other_formats_of_changes() -> None:
    canal = kafka(options={"format": "canal-json", "canal-json.table.include": "or.*"})
    update = {
        "data": [{"id": 1, "name": "b"}], "old": [{"name": "a"}], "type": "UPDATE",
        "table": "orders",
    }  # fmt: skip
    assert lines_of(canal, message(update)) == [(1, "a", 1), (1, "b", 2)]
    assert lines_of(canal, message({**update, "table": "other"})) == []
    maxwell = kafka(options={"format": "maxwell-json"})
    assert lines_of(
        maxwell, message({"data": {"id": 1, "name": "b"}, "old": {"name": None}, "type": "update"})
    ) == [(1, None, 1), (1, "b", 2)]
    ogg = kafka(options={"format": "ogg-json"})
    assert lines_of(ogg, message({"before": {"id": 1}, "op_type": "D"})) == [(1, None, 3)]
    with pytest.raises(RecordError, match="REPLICA IDENTITY"):
        lines_of(kafka(options={"format": "debezium-json"}), message({"after": {}, "op": "u"}))


def test_lines_are_written_with_key_headers_and_timestamp() -> None:
    told = metadata(
        at=("timestamp", DataTypes.TIMESTAMP_LTZ(3)),
        heads=("headers", DataTypes.MAP(DataTypes.STRING(), DataTypes.BYTES())),
        to=("topic", DataTypes.STRING()),
    )
    definition = kafka(
        metadata=told,
        options={
            "topic": "a;b",
            "key.format": "raw",
            "key.fields": "name",
            "sink.partitioner": "fixed",
        },
    )
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, UTC)
    (record,) = messages_of(definition, (1, "tea", moment, {"h": b"x"}, "b"))
    assert record == ("b", b'{"id":1,"name":"tea"}', b"tea", None, 1500, {"h": b"x"})
    with pytest.raises(TypeMismatchError, match="names the topic 'c'"):
        messages_of(definition, (1, "tea", moment, None, "c"))


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, "committed"),
        ({"scan.startup.mode": "earliest-offset"}, "earliest"),
        ({"scan.startup.mode": "latest-offset"}, "latest"),
        ({"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "5"}, "timestamp"),
        (
            {
                "scan.startup.mode": "specific-offsets",
                "scan.startup.specific-offsets": "partition:0,offset:42;partition:1,offset:300",
            },
            "offsets",
        ),
    ],
)
def test_where_reading_begins(options: dict[str, str], kind: str) -> None:
    settings = source_of(kafka(options=options)).settings
    assert settings.starting.kind == kind
    assert not settings.bounded
    if kind == "offsets":
        assert settings.starting.given is not None
        assert sorted(settings.starting.given.values()) == [42, 300]


def test_where_reading_ends() -> None:
    definition = kafka(options={"scan.bounded.mode": "latest-offset"})
    assert origin_of(definition).bounded
    assert not origin_of(kafka()).bounded


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scan.startup.mod": "earliest-offset"}, "no option 'scan.startup.mod'"),
        ({"scan.startup.mode": "earliest"}, "scan.startup.mode"),
        ({"scan.startup.mode": "timestamp"}, "needs the option 'scan.startup.timestamp-millis'"),
        ({"key.format": "json"}, "come together"),
        ({"key.format": "json", "key.fields": "nope"}, "no column"),
        ({"format": "jason"}, "no table format 'jason'"),
        ({"json.ignore-parse-error": "true"}, "no option 'json.ignore-parse-error'"),
        ({"topic-pattern": "a.*"}, "either 'topic' or 'topic-pattern'"),
        ({"scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": "x"}, "'x'"),
    ],
)
def test_options_are_checked(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        origin_of(kafka(options=options))


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(UnsupportedStepError, match="Java class"):
        target_of(kafka(options={"sink.partitioner": "org.Mine"}))
    with pytest.raises(ConfigurationError, match="one topic"):
        target_of(kafka(options={"topic": "a;b"}))
    with pytest.raises(ConfigurationError, match=r"sink\.transactional-id-prefix"):
        target_of(kafka(options={"sink.delivery-guarantee": "exactly-once"}))
    with pytest.raises(ConfigurationError, match="primary key"):
        origin_of(
            kafka(connector="upsert-kafka", options={"key.format": "json", "value.format": "json"})
        )
