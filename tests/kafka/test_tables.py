"""Tables of Kafka with a broker: written and read again, on the local host."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from headrace.common.changes import Changes
from headrace.common.data_types import DataTypes
from headrace.spi.table_connector import TableMetadataColumn
from table_runs import read, row_type, table, write

if TYPE_CHECKING:
    from kafka_broker import KafkaServer

COLUMNS = row_type(id=DataTypes.INT(), name=DataTypes.STRING(), at=DataTypes.TIMESTAMP(3))
MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)


def test_lines_come_back_from_a_topic(kafka: KafkaServer) -> None:
    topic = kafka.create_topic(2)
    options = {
        "topic": topic,
        "properties.bootstrap.servers": kafka.bootstrap,
        "format": "json",
        "key.format": "raw",
        "key.fields": "name",
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset",
    }
    lines = [(1, "a", MOMENT), (2, "b", None), (3, "a", None)]
    write(table("kafka", COLUMNS, options=options), lines)
    assert sorted(read(table("kafka", COLUMNS, options=options)), key=lambda line: line[0]) == lines
    metadata = (TableMetadataColumn("place", "topic", DataTypes.STRING(), virtual=True),)
    with_topic = read(table("kafka", COLUMNS, options=options, metadata=metadata))
    assert {line[-1] for line in with_topic} == {topic}


def test_the_last_line_of_each_key_comes_back_from_an_upsert_topic(kafka: KafkaServer) -> None:
    topic = kafka.create_topic(2)
    options = {
        "topic": topic,
        "properties.bootstrap.servers": kafka.bootstrap,
        "key.format": "json",
        "value.format": "json",
        "scan.bounded.mode": "latest-offset",
    }
    definition = table("upsert-kafka", COLUMNS, options=options, primary_key=("id",))
    changes = [(1, "a", MOMENT, 0), (2, "b", None, 0), (1, "c", None, 2), (2, "b", None, 3)]
    write(definition, changes, changes=Changes.UPSERT)
    found: dict[int, tuple[object, ...] | None] = {}
    for kind, line in read(definition):
        found[line[0]] = None if kind == "-D" else line
    assert found == {1: (1, "c", None), 2: None}
