"""Rows and texts to messages, one and many."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    SerializationSchema,
    SimpleStringSchema,
)
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.data.codec import codec_for
from headrace.datastream.formats.csv import CsvRowSerializationSchema
from headrace.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from headrace.errors import BadMessageError, InvalidArgumentError, TypeMismatchError

PAIR = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


def to_json(kind: Any) -> JsonRowSerializationSchema:
    return JsonRowSerializationSchema.builder().with_type_info(kind).build()


def test_many_rows_are_written_as_one_by_one() -> None:
    writer = to_json(PAIR)
    rows = [Row(1, "a"), Row(name="b", id=2), (3, None), {"id": 4, "name": "ü\n"}]
    assert writer.serialize_many(rows) == [writer.serialize(row) for row in rows]
    assert [json.loads(data) for data in writer.serialize_many(rows)] == [
        {"id": 1, "name": "a"},
        {"id": 2, "name": "b"},
        {"id": 3, "name": None},
        {"id": 4, "name": "ü\n"},
    ]
    assert writer.serialize_many([]) == []


def test_percent_signs_and_quotes_in_names_are_just_characters() -> None:
    kind = Types.ROW_NAMED(['50%s "off"', "b"], [Types.STRING(), Types.INT()])
    assert json.loads(to_json(kind).serialize(Row("100%", 1))) == {'50%s "off"': "100%", "b": 1}


def test_numbers_of_numpy_and_whole_numbers_as_doubles_are_written() -> None:
    kind = Types.ROW_NAMED(["i", "d"], [Types.INT(), Types.DOUBLE()])
    assert to_json(kind).serialize_many([Row(np.int64(1), 2), Row(2, np.float64(0.5))]) == [
        b'{"i":1,"d":2.0}',
        b'{"i":2,"d":0.5}',
    ]


@pytest.mark.parametrize("row", [Row("x", "a"), Row(1, 2), Row(1), 5])
def test_a_row_that_does_not_fit_says_why(row: Any) -> None:
    with pytest.raises(TypeMismatchError, match=r"cannot be written as JSON: .* expected"):
        to_json(PAIR).serialize_many([Row(1, "a"), row])


@dataclasses.dataclass
class Order:
    id: int
    item: str | None = None


def test_instances_of_a_class_are_written_and_read() -> None:
    writer: Any = to_json(Order)
    reader: Any = JsonRowDeserializationSchema.builder().type_info(Order).build()  # type: ignore[arg-type]
    orders = [Order(1, "tea"), Order(2)]
    assert [reader.deserialize(data) for data in writer.serialize_many(orders)] == orders


def test_a_type_that_is_none_of_rows_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="String is not a type of rows"):
        to_json(Types.STRING())


texts = st.text(max_size=6)
rows = st.tuples(
    st.one_of(st.none(), texts),
    st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    st.one_of(st.none(), st.booleans()),
    st.one_of(st.none(), st.datetimes()),
    st.one_of(st.none(), st.dates()),
    st.one_of(st.none(), st.lists(st.one_of(st.none(), texts), max_size=3)),
    st.one_of(st.none(), st.dictionaries(texts, st.integers(0, 9), max_size=2)),
    st.one_of(st.none(), st.decimals(allow_nan=False, allow_infinity=False)),
    st.one_of(st.none(), st.binary(max_size=4)),
)
EVERYTHING = Types.ROW_NAMED(
    ["s", "d", "l", "b", "ts", "day", "list", "map", "dec", "bytes"],
    [
        Types.STRING(),
        Types.DOUBLE(),
        Types.LONG(),
        Types.BOOLEAN(),
        Types.SQL_TIMESTAMP(),
        Types.SQL_DATE(),
        Types.LIST(Types.STRING()),
        Types.MAP(Types.STRING(), Types.LONG()),
        Types.BIG_DEC(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
    ],
)


@settings(max_examples=150, deadline=None)
@given(st.lists(rows, max_size=4))
def test_what_is_written_is_read_again(found: list[tuple[Any, ...]]) -> None:
    reader = JsonRowDeserializationSchema.builder().type_info(EVERYTHING).build()
    records = [Row(*values) for values in found]
    messages = to_json(EVERYTHING).serialize_many(records)
    assert [tuple(reader.deserialize(message)) for message in messages] == found


def test_a_schema_travels_after_use() -> None:
    for writer in (to_json(PAIR), CsvRowSerializationSchema.Builder(PAIR).build()):
        before = writer.serialize(Row(1, "a"))
        assert pickle.loads(pickle.dumps(writer)).serialize(Row(1, "a")) == before


def test_csv_lines_of_many_rows_are_those_of_each() -> None:
    writer = CsvRowSerializationSchema.Builder(PAIR).build()
    assert writer.serialize_many([Row(1, "a"), Row(2, "b,c")]) == [b"1,a\n", b'2,"b,c"\n']


def test_texts_and_bytes_have_a_column_form() -> None:
    messages = pa.array([b"a", "ü".encode(), b""], pa.binary())
    for schema in (SimpleStringSchema(), ByteArraySchema()):
        batch = schema.deserialize_columns(messages)
        codec = codec_for(schema.get_produced_type())
        assert batch is not None
        assert batch.schema == codec.schema
        assert codec.decode(batch) == [schema.deserialize(m) for m in messages.to_pylist()]
        assert schema.deserialize_columns(pa.array([None], pa.binary())) is None
    assert SimpleStringSchema("latin-1").deserialize_columns(messages) is None
    with pytest.raises(pa.ArrowInvalid):
        SimpleStringSchema().deserialize_columns(pa.array([b"\xff"], pa.binary()))


def test_schemas_of_users_work_one_by_one() -> None:
    class Lengths(SerializationSchema, DeserializationSchema):
        def serialize(self, element: Any) -> bytes:
            return bytes(b"x" * element)

        def deserialize(self, message: bytes) -> int:
            return len(message)

        def get_produced_type(self) -> Any:
            return Types.INT()

    assert Lengths().serialize_many([1, 2]) == [b"x", b"xx"]
    assert Lengths().deserialize_columns(pa.array([b"x"], pa.binary())) is None


def test_a_bad_message_is_shown_with_its_length() -> None:
    reader = JsonRowDeserializationSchema.builder().type_info(PAIR).build()
    with pytest.raises(BadMessageError) as caught:
        reader.deserialize(b'{"id":"' + b"x" * 1000 + b'"}')
    assert str(caught.value).startswith(
        "[BAD_MESSAGE] a message cannot be read as JSON: field 'id'"
    )
    assert "... (1,009 bytes)" in str(caught.value)
    assert "ignore_parse_errors()" in str(caught.value)


def test_a_json_schema_gives_the_type() -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": ["string", "null"]},
            "size": {"type": "integer"},
            "at": {"type": "string", "format": "date-time"},
            "tags": {"type": "array", "items": {"$ref": "#/definitions/tag"}},
            "blob": {"oneOf": [{"type": "null"}, {"type": "string", "contentEncoding": "base64"}]},
        },
        "definitions": {"tag": {"type": "string"}},
    }
    reader = JsonRowDeserializationSchema.builder().json_schema(json.dumps(schema)).build()
    names = ["name", "size", "at", "tags", "blob"]
    types = [Types.STRING(), Types.BIG_DEC(), Types.SQL_TIMESTAMP()]
    types += [Types.OBJECT_ARRAY(Types.STRING()), Types.PRIMITIVE_ARRAY(Types.BYTE())]
    assert reader.get_produced_type().schema_equals(Types.ROW_NAMED(names, types))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("{", "cannot be read"),
        ('{"type":"object","properties":{"a":{"type":["string","number"]}}}', "several types"),
        ('{"type":"object","properties":{"a":{}}}', "has no type"),
        ('{"type":"object","properties":{"a":{"anyOf":[]}}}', "anyOf"),
        ('{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}', "not there"),
        ('{"type":"object","properties":{"a":{"type":"array"}}}', "array of anything"),
        ('{"type":"string"}', "not a type of rows"),
    ],
)
def test_a_json_schema_that_no_row_can_follow_is_refused(schema: str, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        JsonRowDeserializationSchema.builder().json_schema(schema).build()
