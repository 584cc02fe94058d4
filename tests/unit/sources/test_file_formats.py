"""Descriptions of files: what builders collect, without reading any."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from headrace.common.typeinfo import Types
from headrace.connectors.files.source import FileEnumeratorProvider, FileSource
from headrace.datastream.connectors.base import Boundedness
from headrace.errors import InvalidArgumentError
from headrace.formats.csv_reader import CORRUPT_FIELD, CsvReaderFormat, CsvSchema
from headrace.formats.file_format import MalformedRecords, StreamFormat
from headrace.formats.json_reader import JsonReaderFormat
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat

PERSON = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


def test_a_file_source_is_bounded_until_it_is_monitored() -> None:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/a", "/b")
    assert builder.build().boundedness() is Boundedness.BOUNDED
    endless = builder.monitor_continuously(timedelta(seconds=2)).build()
    assert endless.boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    assert endless.discovery_interval_ms == 2000
    assert endless.describe() == "FileSource(text, /a, /b, monitored)"
    assert builder.process_static_file_set().build().is_bounded()


def test_relative_paths_are_those_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would look for them where its JVM was started."""
    monkeypatch.chdir(tmp_path)
    lines = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(lines, "in", "s3a://b/in", Path("x")).build()
    assert source.paths == (str(tmp_path / "in"), "s3a://b/in", str(tmp_path / "x"))


def test_settings_of_the_builder_reach_the_source() -> None:
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/a")
        .set_file_enumerator(FileEnumeratorProvider.default_non_splittable_file_enumerator())
        .set_name_filter("*.log")
        .build()
    )
    assert source.splittable is False
    assert source.options == {"pathGlobFilter": "*.log"}


def test_a_schema_collects_columns_and_syntax() -> None:
    base = CsvSchema.builder().add_number_column("id", number_type=Types.INT()).build()
    builder = (
        CsvSchema.builder()
        .add_columns_from(base)
        .add_string_column("name")
        .add_boolean_column("ok")
        .add_array_column("tags", ",")
        .set_column_separator("|")
        .set_null_value("-")
        .set_allow_comments()
        .set_use_header()
    )
    schema = builder.build()
    assert len(builder) == len(schema) == schema.size() == 4
    assert schema.to_type_info().schema_equals(
        Types.ROW_NAMED(
            ["id", "name", "ok", "tags"],
            [Types.INT(), Types.STRING(), Types.BOOLEAN(), Types.LIST(Types.STRING())],
        )
    )
    options = CsvReaderFormat.for_schema(schema).reader_options()
    assert options["sep"] == "|"
    assert options["escape"] == '"'
    assert options["enforceSchema"] == "true"
    assert options["nullValue"] == "-"
    assert options["mode"] == "PERMISSIVE"
    assert builder.clear_columns().build().size() == 0


def test_a_separator_is_one_character() -> None:
    with pytest.raises(InvalidArgumentError, match="column separator must be one character"):
        CsvSchema.builder().set_column_separator("||")


def test_kept_bad_lines_add_a_field() -> None:
    kept = JsonReaderFormat.for_type_info(PERSON, malformed=MalformedRecords.KEEP)
    assert kept.produced_type().get_field_names() == ["id", "name", CORRUPT_FIELD]
    assert JsonReaderFormat.for_type_info(PERSON).produced_type() == PERSON


def test_formats_of_rows_need_a_row_type() -> None:
    with pytest.raises(InvalidArgumentError, match="hold rows"):
        ParquetColumnarRowInputFormat(Types.INT())
    with pytest.raises(InvalidArgumentError, match="become rows"):
        JsonReaderFormat.for_type_info(Types.INT())  # type: ignore[arg-type]


def test_a_charset_whose_line_ends_cannot_be_found_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="UTF-16"):
        StreamFormat.text_line_format("UTF-16")
