"""The writers of datastream/formats, under PyFlink's names."""

from __future__ import annotations

import doctest
import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.connectors.files import sink as file_system
from headrace.connectors.files import sink_options as file_sink_options
from headrace.datastream.connectors.file_system import BucketAssigner
from headrace.datastream.connectors.sink import CommitterContext, WriterContext
from headrace.datastream.formats import csv, json, parquet
from headrace.errors import InvalidArgumentError, TypeMismatchError
from headrace.formats.bulk_writers import CsvDialect
from headrace.formats.writer_factories import csv_lines
from headrace.spi import sink

if TYPE_CHECKING:
    from pathlib import Path

TAGGED = Types.ROW_NAMED(["id", "tags"], [Types.LONG(), Types.LIST(Types.STRING())])


def written(path: Path, writers: Any, records: list[Any], type_info: Any = None) -> Path:
    target = (
        file_system.FileSink.for_bulk_format(str(path), writers)
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    writer = target.create_writer(WriterContext(0, 1, "a", "job", "out", 0, type_info))
    writer.write(records, None)
    target.create_committer(CommitterContext("job", "out")).commit(0, writer.prepare_commit())
    (file,) = (file for file in path.iterdir() if file.is_file())
    return file


@pytest.mark.parametrize("module", [sink, file_sink_options, file_system, csv, json, parquet])
def test_the_examples_run(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def test_parquet_for_a_row_type_or_a_schema(tmp_path: Path) -> None:
    records = [Row(1, ["a", "b"]), Row(2, [])]
    expected = [{"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": []}]
    schema = pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string()))])
    for name, row_type in [("type", TAGGED), ("schema", schema)]:
        writers = parquet.ParquetBulkWriters.for_row_type(row_type)
        file = written(tmp_path / name, writers, records, Types.PICKLED_BYTE_ARRAY())
        assert pq.read_table(file).to_pylist() == expected


def test_csv_for_a_schema(tmp_path: Path) -> None:
    schema = (
        csv.CsvSchema.builder()
        .add_number_column("id")
        .add_array_column("tags", "#")
        .add_boolean_column("on")
        .set_column_separator("|")
        .set_null_value("nil")
        .set_use_header()
        .build()
    )
    records = [Row(1, ["a", "b"], True), Row(2, None, False)]
    file = written(tmp_path, csv.CsvBulkWriters.for_schema(schema), records)
    assert file.read_text() == '"id"|"tags"|"on"\n1|"a#b"|true\n2|nil|false\n'


@pytest.mark.parametrize(
    ("dialect", "text", "written"),
    [
        ({}, "string", "string"),
        ({}, "two words", '"two words"'),
        ({}, 'say "hi"', '"say ""hi"""'),
        ({}, "a-text-that-is-long-enough", '"a-text-that-is-long-enough"'),
        ({}, "", ""),
        ({"separator": "|"}, "string", '"string"'),
        ({"separator": "|", "quote": "`"}, "string", "`string`"),
        ({"escape": "\\"}, "string,", '"string,"'),
        ({"escape": "\\"}, '"string2"', '"""string2"""'),
        ({"escape": "\\"}, "a\\b", '"a\\\\b"'),
        ({"separator": ";", "quote": "'", "escape": "*"}, "123'4*", "'123''4**'"),
        ({"separator": ";", "quote": "'", "escape": "*"}, "BEGIN", "BEGIN"),
        ({"separator": "|", "quote": None}, "a,b,c", "a,b,c"),
    ],
)
def test_csv_quotes_stand_where_flink_puts_them(dialect: Any, text: str, written: str) -> None:
    lines = csv_lines(CsvDialect(**dialect), Types.ROW_NAMED(["t"], [Types.STRING()]))
    assert lines.encode([Row(text)]).decode() == f"{written}\n"


def test_numbers_in_csv_are_javas() -> None:
    kinds = [Types.FLOAT(), Types.DOUBLE(), Types.LIST(Types.FLOAT()), Types.BOOLEAN()]
    lines = csv_lines(CsvDialect(), Types.ROW(kinds))
    narrow = 1.100000023841858  # what 1.1 is after it was a FLOAT
    assert (
        lines.encode([Row(3e38, 2e-308, [narrow, 1.1], True)]) == b"3.0E38,2.0E-308,1.1;1.1,true\n"
    )


def test_csv_refuses_a_row_of_another_length(tmp_path: Path) -> None:
    schema = csv.CsvSchema.builder().add_number_column("id").build()
    with pytest.raises(TypeMismatchError, match="has 2 fields, but the columns are id"):
        written(tmp_path, csv.CsvBulkWriters.for_schema(schema), [Row(1, 2)])


def test_csv_lines() -> None:
    builder = csv.CsvRowSerializationSchema.Builder(TAGGED)
    schema = (
        builder.set_field_delimiter(";")
        .set_array_element_delimiter("#")
        .set_null_literal("nil")
        .set_line_delimiter("\r\n")
        .build()
    )
    assert schema.serialize(Row(1, ["a;b", "c"])) == b'1;"a;b#c"\r\n'
    assert pickle.loads(pickle.dumps(schema)).serialize(Row(None, None)) == b"nil;nil\r\n"
    with pytest.raises(InvalidArgumentError, match="made of rows"):
        csv.CsvRowSerializationSchema.Builder(Types.INT())


def test_csv_without_quotes_needs_an_escape() -> None:
    builder = csv.CsvRowSerializationSchema.Builder(TAGGED).disable_quote_character()
    with pytest.raises(TypeMismatchError, match="cannot be written as CSV"):
        builder.build().serialize(Row(1, ["a,b"]))
    assert builder.set_escape_character("\\").build().serialize(Row(1, ["a,b"])) == b"1,a\\,b\n"


def test_json_objects() -> None:
    schema = json.JsonRowSerializationSchema.builder().with_type_info(TAGGED).build()
    schema.serialize(Row(1, []))
    again = pickle.loads(pickle.dumps(schema))
    assert again.serialize(Row(1, ["ü"])) == '{"id":1,"tags":["ü"]}'.encode()
    assert again.serialize(Row(tags=None, id=2)) == b'{"id":2,"tags":null}'
    with pytest.raises(InvalidArgumentError, match="type of the rows is missing"):
        json.JsonRowSerializationSchema.builder().build()


def test_json_lines(tmp_path: Path) -> None:
    file = written(tmp_path, json.JsonBulkWriters.json_lines(), [Row(1, ["a"])], TAGGED)
    assert file.read_text() == '{"id":1,"tags":["a"]}\n'


def test_readers_are_found_beside_the_writers() -> None:
    assert callable(csv.CsvReaderFormat)
    assert callable(json.JsonReaderFormat)
    assert callable(parquet.ParquetColumnarRowInputFormat)
    for module in (csv, json, parquet):
        with pytest.raises(AttributeError):
            _ = module.NoSuchName
