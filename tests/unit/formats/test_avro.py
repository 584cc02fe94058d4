"""Avro messages and files."""

from __future__ import annotations

import datetime as dt
import decimal
import doctest
import json
import pickle
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Configuration
from headrace.common.type_json import from_json, to_json
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.connectors.files.sink import FileSink
from headrace.data.codec import codec_for
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import BucketAssigner
from headrace.datastream.connectors.sink import CommitterContext, WriterContext
from headrace.datastream.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from headrace.errors import BadMessageError, InvalidArgumentError, TypeMismatchError
from headrace.formats import avro_schema
from headrace.formats.avro_schema import conversion_of
from headrace.testing.source_contract import SourceContract

if TYPE_CHECKING:
    from pathlib import Path


def record(*fields: tuple[str, Any], name: str = "R") -> str:
    parts = [{"name": field, "type": kind} for field, kind in fields]
    return json.dumps({"type": "record", "name": name, "fields": parts})


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


EVERYTHING = record(
    ("long", "long"),
    ("text", ["null", "string"]),
    ("double", "double"),
    ("float", "float"),
    ("flag", "boolean"),
    ("bytes", "bytes"),
    ("fixed", {"type": "fixed", "name": "Two", "size": 2}),
    ("colour", {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}),
    ("again", ["null", "Colour"]),
    ("day", logical("int", "date")),
    ("time", logical("int", "time-millis")),
    ("micros", logical("long", "time-micros")),
    ("at", ["null", logical("long", "timestamp-millis")]),
    ("exactly", logical("long", "timestamp-micros")),
    ("local", logical("long", "local-timestamp-micros")),
    ("price", logical("bytes", "decimal", precision=9, scale=2)),
    ("id", logical("string", "uuid")),
    ("list", {"type": "array", "items": ["null", "string"]}),
    ("moments", {"type": "array", "items": logical("long", "timestamp-millis")}),
    ("map", {"type": "map", "values": "long"}),
    ("inner", ["null", json.loads(record(("x", "int"), ("y", "string"), name="Inner"))]),
    ("inners", {"type": "map", "values": "Inner"}),
    ("any", ["string", "long", "null"]),
)
VALUES: dict[str, Any] = {
    "long": 1,
    "text": "ü",
    "double": 0.1,
    "float": 0.5,
    "flag": True,
    "bytes": b"\x00\xff",
    "fixed": b"ab",
    "colour": "RED",
    "again": "BLUE",
    "day": dt.date(2020, 1, 31),
    "time": dt.time(12, 30, 1, 5000),
    "micros": dt.time(12, 30, 1, 5),
    "at": dt.datetime(2020, 1, 31, 12, 30, 0, 5000),
    "exactly": dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    "local": dt.datetime(2020, 6, 1, 2, 3, 4, 5),
    "price": decimal.Decimal("1.50"),
    "id": "12345678-1234-5678-1234-567812345678",
    "list": ["a", None],
    "moments": [dt.datetime(2020, 1, 1)],
    "map": {"a": 1},
    "inner": Row(x=1, y="a"),
    "inners": {"k": Row(x=2, y="b")},
    "any": 5,
}


def schemas(text: str) -> tuple[AvroRowSerializationSchema, AvroRowDeserializationSchema]:
    return (
        AvroRowSerializationSchema(avro_schema_string=text),
        AvroRowDeserializationSchema(avro_schema_string=text),
    )


def test_the_examples_run() -> None:
    assert doctest.testmod(avro_schema).failed == 0


def test_every_type_comes_back_whatever_the_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        writer, reader = schemas(EVERYTHING)
        row = Row(**VALUES)
        for given_record in (row, Row(*VALUES.values()), VALUES, tuple(VALUES.values())):
            assert reader.deserialize(writer.serialize(given_record)) == row
    finally:
        monkeypatch.undo()
        time.tzset()


def test_rows_fit_their_type_and_travel_as_columns() -> None:
    writer, reader = schemas(EVERYTHING)
    found = reader.deserialize(writer.serialize(VALUES))
    codec = codec_for(reader.get_produced_type())
    assert codec.decode(codec.encode([found])) == [found]


def test_the_types_are_those_that_flink_gives() -> None:
    kind = conversion_of(AvroSchema(EVERYTHING)).type_info
    types = dict(zip(kind.get_field_names(), kind.get_field_types(), strict=True))
    assert types["colour"] == types["text"] == Types.STRING()
    assert types["day"] == Types.SQL_DATE()
    assert types["time"] == types["micros"] == Types.SQL_TIME()
    assert types["at"] == types["exactly"] == Types.SQL_TIMESTAMP()
    assert types["price"] == Types.BIG_DEC()
    assert types["fixed"] == types["bytes"] == Types.PRIMITIVE_ARRAY(Types.BYTE())
    assert types["list"] == Types.OBJECT_ARRAY(Types.STRING())
    assert types["any"] == Types.PICKLED_BYTE_ARRAY()


def test_a_type_of_avro_records_is_a_row_type_for_state_and_streams() -> None:
    kind = GenericRecordAvroTypeInfo(AvroSchema(record(("x", "long"))))
    assert from_json(to_json(kind)).schema_equals(kind)  # type: ignore[attr-defined]
    assert codec_for(kind).decode(codec_for(kind).encode([{"x": 1}])) == [Row(x=1)]
    assert pickle.loads(pickle.dumps(kind)).schema == kind.schema


@given(st.integers(-(2**63), 2**63 - 1), st.text(), st.floats(allow_nan=False))
def test_what_is_written_is_avro(number: int, text: str, real: float) -> None:
    schema = record(("l", "long"), ("s", "string"), ("d", "double"))
    writer, reader = schemas(schema)
    data = writer.serialize(Row(number, text, real))
    import io

    parsed = fastavro.parse_schema(json.loads(schema))
    assert fastavro.schemaless_reader(io.BytesIO(data), parsed, None) == {
        "l": number,
        "s": text,
        "d": real,
    }
    assert reader.deserialize(data) == Row(l=number, s=text, d=real)


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x02\x08ab", b"\xff" * 11])
def test_a_message_that_is_no_record_says_so(data: bytes) -> None:
    _, reader = schemas(record(("l", "long"), ("s", "string")))
    with pytest.raises(BadMessageError, match="cannot be read as Avro"):
        reader.deserialize(data)


@pytest.mark.parametrize(
    "given_record", [Row("x"), Row(1, 2), {"l": 1, "other": 2}, {}, 5, Row(l=None)]
)
def test_a_record_that_does_not_fit_says_so(given_record: Any) -> None:
    writer, _ = schemas(record(("l", "long")))
    with pytest.raises(TypeMismatchError, match="does not fit the Avro schema"):
        writer.serialize(given_record)


def test_rows_of_a_type_without_names_are_taken_in_order() -> None:
    """As PyFlink's example kafka_avro_format does."""
    writer, reader = schemas(record(("id", "int"), ("name", "string")))
    unnamed = Types.ROW([Types.INT(), Types.STRING()])
    codec = codec_for(unnamed)
    (sent,) = codec.decode(codec.encode([(1, "hi")]))
    assert sent.get_fields_by_names(["f0", "f1"]) == [1, "hi"]
    assert reader.deserialize(writer.serialize(sent)) == Row(id=1, name="hi")


def test_fields_are_found_by_name_where_there_are_names() -> None:
    writer, reader = schemas(record(("f1", "int"), ("f0", "int")))
    assert reader.deserialize(writer.serialize(Row(f0=1, f1=2))) == Row(f1=2, f0=1)
    with pytest.raises(TypeMismatchError, match=r"the row has no field \['f1', 'f0'\]"):
        writer.serialize(Row(a=1, b=2))


def test_a_dict_may_leave_out_what_has_a_default() -> None:
    text = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "a", "type": "long"},
                {"name": "b", "type": "string", "default": "z"},
            ],
        }
    )
    writer, reader = schemas(text)
    assert reader.deserialize(writer.serialize({"a": 1})) == Row(a=1, b="z")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "cannot be read"),
        ('{"type": "recrod", "name": "R"}', "cannot be read"),
        ('"long"', "messages and files hold records"),
        (record(("next", ["null", "R"])), "contains itself"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        AvroRowDeserializationSchema(avro_schema_string=text)


def test_classes_of_java_are_refused() -> None:
    for schema in (AvroRowDeserializationSchema, AvroRowSerializationSchema):
        with pytest.raises(InvalidArgumentError, match="Java class"):
            schema("com.example.Order")
        with pytest.raises(InvalidArgumentError, match="is missing"):
            schema()


def test_schemas_travel_after_use() -> None:
    writer, reader = schemas(record(("l", "long")))
    reader.deserialize(writer.serialize(Row(1)))
    writer, reader = pickle.loads(pickle.dumps((writer, reader)))
    assert reader.deserialize(writer.serialize(Row(2))) == Row(l=2)


# --- files


def written(path: Path, schema: AvroSchema, records: list[Any]) -> Path:
    sink = (
        FileSink.for_bulk_format(str(path), AvroBulkWriters.for_generic_record(schema))
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    writer = sink.create_writer(WriterContext(0, 1, "a", "job", "out", 0, None))
    writer.write(records, None)
    sink.create_committer(CommitterContext("job", "out")).commit(0, writer.prepare_commit())
    (file,) = (file for file in path.iterdir() if file.is_file())
    return file


def all_of(source: AvroInputFormat) -> list[Any]:
    found = []
    for split in source.splits():
        end = source.latest_offset(split, 0)
        middle = end // 2
        found += [*source.read(split, 0, middle), *source.read(split, middle, end)]
    return found


def test_files_are_written_and_read(tmp_path: Path) -> None:
    schema = AvroSchema(EVERYTHING)
    rows = [Row(**{**VALUES, "long": i}) for i in range(5)]
    file = written(tmp_path / "out", schema, rows)
    with file.open("rb") as data:
        messages: Any = fastavro.reader(data)
        assert [found["long"] for found in messages] == list(range(5))
    assert all_of(AvroInputFormat(str(tmp_path / "out"), schema)) == rows
    assert all_of(AvroInputFormat(str(file), schema)) == rows


def test_files_are_seen_by_the_readers_schema(tmp_path: Path) -> None:
    written(tmp_path / "out", AvroSchema(record(("a", "int"), ("gone", "string"))), [Row(1, "x")])
    fields = [{"name": "new", "type": "string", "default": "d"}, {"name": "a", "type": "long"}]
    newer = AvroSchema(json.dumps({"type": "record", "name": "R", "fields": fields}))
    assert all_of(AvroInputFormat(str(tmp_path / "out"), newer)) == [Row(new="d", a=1)]


def test_a_record_that_does_not_fit_a_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(TypeMismatchError, match="does not fit the Avro schema"):
        written(tmp_path / "out", AvroSchema(record(("a", "int"))), [Row("x")])


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    source = AvroInputFormat(str(tmp_path / "none"), AvroSchema(record(("a", "int"))))
    with pytest.raises(InvalidArgumentError, match="there is no Avro file"):
        source.splits()


def test_a_program_of_pyflinks_documentation_runs(tmp_path: Path) -> None:
    settings = Configuration().set_string("headrace.execution.host", "local")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    schema = AvroSchema.parse_string(record(("array", {"type": "array", "items": "int"})))
    stream = env.from_collection([{"array": [1, 2]}], type_info=Types.PICKLED_BYTE_ARRAY())
    writers = AvroBulkWriters.for_generic_record(schema)
    sink = FileSink.for_bulk_format(str(tmp_path / "out"), writers).build()
    stream.map(lambda e: e, output_type=GenericRecordAvroTypeInfo(schema)).sink_to(sink)
    env.execute()
    assert all_of(AvroInputFormat(str(tmp_path / "out"), schema)) == [Row(array=[1, 2])]


class TestAvroFilesKeepTheContract(SourceContract):
    SCHEMA = AvroSchema(record(("a", "int"), ("s", "string")))

    @pytest.fixture(autouse=True)
    def files(self, tmp_path: Path) -> None:
        self.path = tmp_path / "in"
        written(self.path / "one", self.SCHEMA, [Row(i, "x") for i in range(7)])
        written(self.path / "two", self.SCHEMA, [Row(i, "y") for i in range(3)])
        (self.path / "one" / "_hidden").write_bytes(b"no Avro")

    def make_source(self) -> AvroInputFormat:
        return AvroInputFormat(str(self.path), self.SCHEMA)

    def expected(self) -> list[Any]:
        return [*(Row(a=i, s="x") for i in range(7)), *(Row(a=i, s="y") for i in range(3))]

    def bad_sources(self) -> list[Any]:
        return [lambda: AvroInputFormat(str(self.path / "none"), self.SCHEMA).splits()]
