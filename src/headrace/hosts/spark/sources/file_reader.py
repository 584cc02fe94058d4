"""Spark's file streams behind `FileSource`.

In: a `FileSource`.  Out: a streaming DataFrame with the columns of its type, or with the paths of
files that workers read themselves (layouts.py).
Next: nothing; the rest is Spark's. `explain_read_failure` turns its errors into ours.
"""

from __future__ import annotations

import os
import re
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark.sql.functions as sf
import pyspark.sql.types as st

from headrace.common.typeinfo import RowTypeInfo, Types
from headrace.connectors.files.listing import has_wildcards, missing_path
from headrace.connectors.files.parquet_parts import is_plain
from headrace.connectors.files.source import FileSource
from headrace.errors import ConnectorError, HeadraceError, TypeMismatchError
from headrace.formats.csv_reader import CORRUPT_FIELD, CsvReaderFormat
from headrace.formats.file_format import MalformedRecords, TextLineFormat
from headrace.formats.json_reader import JsonReaderFormat
from headrace.hosts.spark.sources.adapter import OpenedSource, SourceAdapter, SourceRequest
from headrace.hosts.spark.sources.csv_escapes import LINES, without_escapes
from headrace.hosts.spark.sources.file_pieces import in_pieces
from headrace.hosts.spark.sources.layouts import PATHS, ROWS
from headrace.hosts.spark.types import spark_schema_of
from headrace.io.storage import local_path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.formats.csv_reader import CsvSchema

__all__ = [
    "FileAdapter",
    "check_header_order",
    "ensure_path_exists",
    "explain_read_failure",
    "open_file_source",
    "whole_file_settings",
]

# Spark's default of 7 days silently ignores a file that arrives with an old date, for example one
# copied with its times. Flink remembers every file, too.
_REMEMBER_FILES = "36500d"

# Around the line in the message of Spark's error.
_BAD_LINE, _END = "headrace: bad line in ", " :end of bad line "


class FileAdapter(SourceAdapter[FileSource]):
    """Lets Spark read files, or only list them where workers read Parquet faster themselves."""

    def open(self, source: FileSource, request: SourceRequest) -> OpenedSource:
        by_workers = not request.columns and is_read_by_workers(source)
        source = _cut(source, request)
        opened, layout = (open_file_paths, PATHS) if by_workers else (open_file_source, ROWS)
        files = request.options.max_files_per_batch
        return OpenedSource(opened(source, request.spark, max_files_per_batch=files), layout)

    def streams(self, source: FileSource) -> int:
        return len(source.paths)


def _cut(source: FileSource, request: SourceRequest) -> FileSource:
    """The source to read in the place of one with large files, where a preview asks for pieces."""
    writers, here = request.options.piece_writers, local_path(request.job_dir)
    if writers is None or here is None:
        return source
    found, own = in_pieces(source, here / "sources" / request.source_id, here / "query")
    writers.extend(own)
    return found


def open_file_source(
    source: FileSource, spark: SparkSession, *, max_files_per_batch: int | None
) -> DataFrame:
    """The streaming DataFrame of a file source; several paths are a union.

    Raises:
        ConnectorError: a path does not exist.
    """
    for path in source.paths:
        ensure_path_exists(spark, path)
    frames = [_open_path(source, spark, path, max_files_per_batch) for path in source.paths]
    return reduce(lambda one, other: one.unionAll(other), frames)


_BINARY_FILE = "path string, modificationTime timestamp, length long, content binary"
# What only says which files there are, and leaves how they are read alone.
_LISTING_OPTIONS = {
    "maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst", "fileNameOnly", "maxFileAge",
    "recursiveFileLookup", "pathGlobFilter", "modifiedBefore", "modifiedAfter", "cleanSource",
    "sourceArchiveDir", "maxCachedFiles",
}  # fmt: skip
# A larger file is worth being read by several tasks, which only Spark's reader can do.
_WHOLE_FILE_BYTES = 256 * 1024 * 1024


def is_read_by_workers(source: FileSource) -> bool:
    """Whether Spark only needs to list the files: Parquet of plain columns on a local disk."""
    row_type = source.produced_type()
    return (
        source.file_format.reader_name() == "parquet"
        and isinstance(row_type, RowTypeInfo)
        and is_plain(row_type)
        and _LISTING_OPTIONS.issuperset(source.options)
        and all(_has_small_files(path) for path in source.paths)
    )


def _has_small_files(path: str) -> bool:
    if "://" in path or has_wildcards(path):
        return False
    place = Path(path.removeprefix("file:"))
    below = (Path(folder, name) for folder, _, names in os.walk(place) for name in names)
    return all(map(_is_small, below if place.is_dir() else [place]))


def _is_small(file: Path) -> bool:
    try:
        return file.stat().st_size <= _WHOLE_FILE_BYTES
    except FileNotFoundError:  # gone since it was listed
        return True


def open_file_paths(
    source: FileSource, spark: SparkSession, *, max_files_per_batch: int | None
) -> DataFrame:
    """The paths of a source's files as a stream; progress is kept as if they were read here."""
    frames = []
    for path in source.paths:
        ensure_path_exists(spark, path)
        reader = spark.readStream.format("binaryFile").schema(_BINARY_FILE)
        options = _listing_options(source, max_files_per_batch)
        frames.append(reader.options(**options).load(path).select("path"))
    return reduce(lambda one, other: one.unionAll(other), frames)


def _listing_options(source: FileSource, max_files: int | None) -> dict[str, str]:
    options = {
        "recursiveFileLookup": "true",
        "maxFileAge": _REMEMBER_FILES,
        **source.file_format.reader_options(),
        **source.options,
    }
    if max_files is not None:
        options.setdefault("maxFilesPerTrigger", str(max_files))
    return options


def whole_file_settings() -> dict[str, str]:
    """Session settings under which Spark reads every file in one piece, one task a file.

    Spark has no such option for a single reader. They must be set on the session before the query
    starts, for a source that asks for `default_non_splittable_file_enumerator`.
    """
    # A partition is filled up to the first; each file counts the second on top of its size.
    return {
        "spark.sql.files.maxPartitionBytes": str(2**40),
        "spark.sql.files.openCostInBytes": str(2**40),
    }


def _open_path(
    source: FileSource, spark: SparkSession, path: str, max_files: int | None
) -> DataFrame:
    options = _listing_options(source, max_files)
    if isinstance(source.file_format, CsvReaderFormat):
        check_header_order(source.file_format.schema, path)
        if source.file_format.schema.escape_char is not None:
            return _shape(source, _read_escaped(source, spark, path, options))
    reader = spark.readStream.format(source.file_format.reader_name()).options(**options)
    frame = reader.schema(_file_schema(source)).load(path)
    if _fails_on_bad_lines(source):
        frame = _fail_on_bad_lines(frame, sf.input_file_name())
    return _shape(source, frame)


def _read_escaped(
    source: FileSource, spark: SparkSession, path: str, options: dict[str, str]
) -> DataFrame:
    """The cells of CSV files with an escape character: whole files, then Spark's parser."""
    file_format = source.file_format
    assert isinstance(file_format, CsvReaderFormat)
    listing = {key: options[key] for key in options if key in _LISTING_OPTIONS}
    reader = spark.readStream.format("text").options(wholetext="true", **listing)
    files = reader.load(path).select("value", "_metadata.file_path")
    lines = files.mapInArrow(without_escapes(file_format.schema), LINES)
    parsing = {**options, "quote": '"', "escape": '"', "mode": "PERMISSIVE"}
    schema = _file_schema(source)
    drops = file_format.malformed is MalformedRecords.DROP
    if drops:
        schema = st.StructType([*schema.fields, st.StructField(CORRUPT_FIELD, st.StringType())])
    columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in schema)
    cells = sf.from_csv(lines["line"], columns, parsing)
    frame = lines.select(cells.alias("cells"), "file").select("cells.*", "file")
    if drops:
        return frame.filter(frame[CORRUPT_FIELD].isNull()).drop(CORRUPT_FIELD)
    return _fail_on_bad_lines(frame, frame["file"]) if _fails_on_bad_lines(source) else frame


def check_header_order(schema: CsvSchema, path: str) -> None:
    """Refuses files whose header has the names of the columns in another order.

    As in Flink a header's names do not count unless they are strict, but then cells would land in
    the wrong columns.  Only files of this machine that are there already are looked at.

    Raises:
        ConnectorError: the header of a file names the columns in another order.
    """
    if not schema.use_header or "://" in path or has_wildcards(path):
        return
    place = Path(path.removeprefix("file:"))
    for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if not file.is_file() or file.name.startswith((".", "_")):
            continue
        with file.open(encoding="utf-8", errors="replace", newline="") as lines:
            quote = schema.quote_char or ""
            line = lines.readline().rstrip("\r\n")
            header = [name.strip(quote) for name in line.split(schema.column_separator)]
        if header != [*schema.names] and sorted(header) == sorted(schema.names):
            raise ConnectorError(
                f"the header of {file} is {header}, but the columns are {list(schema.names)}",
                where=str(file),
                fix="add the columns to the schema in the order of the file",
            )


def _file_schema(source: FileSource) -> st.StructType:
    """The columns as the file has them: an array in a CSV file is a text."""
    schema = spark_schema_of(source.produced_type())
    other: dict[str, st.DataType] = {}
    if isinstance(source.file_format, CsvReaderFormat):
        columns = source.file_format.schema
        other.update(dict.fromkeys(columns.array_separators, st.StringType()))
        other.update((name, st.DecimalType(*digits)) for name, digits in columns.decimals.items())
    if _fails_on_bad_lines(source):
        schema = st.StructType([*schema.fields, st.StructField(CORRUPT_FIELD, st.StringType())])
    return st.StructType(
        [st.StructField(field.name, other.get(field.name, field.dataType)) for field in schema]
    )


def _fails_on_bad_lines(source: FileSource) -> bool:
    file_format = source.file_format
    return (
        isinstance(file_format, CsvReaderFormat | JsonReaderFormat)
        and file_format.malformed is MalformedRecords.FAIL
    )


def _fail_on_bad_lines(frame: DataFrame, file: Column) -> DataFrame:
    """Lets good lines pass; the first bad one becomes an error that names it and its file."""
    bad, first = frame[CORRUPT_FIELD], frame[f"`{frame.columns[0]}`"]
    # Spark refuses a query that needs no column but the bad line, as a count() would: hence first.
    message = sf.concat(sf.lit(_BAD_LINE), file, sf.lit(": "), bad, sf.lit(_END), first.isNull())
    is_good = sf.when(bad.isNull(), sf.lit(True)).otherwise(  # noqa: FBT003
        sf.raise_error(message).cast("boolean")
    )
    return frame.filter(is_good).drop(CORRUPT_FIELD)


def _shape(source: FileSource, frame: DataFrame) -> DataFrame:
    file_format = source.file_format
    if isinstance(file_format, TextLineFormat) and file_format.charset != "UTF-8":
        return frame.select(
            sf.decode(frame["value"].cast("binary"), file_format.charset).alias("value")
        )
    if not isinstance(file_format, CsvReaderFormat):
        return frame
    schema, arrays = spark_schema_of(source.produced_type()), file_format.schema.array_separators
    blank_is_text = file_format.schema.null_value is None
    texts = _text_columns(file_format) if blank_is_text else set()
    columns: list[Column] = []
    for field in schema:
        column = frame[field.name]
        if field.name in arrays:
            column = _split(column, arrays[field.name]).cast(field.dataType)
        elif field.name in texts:
            # Spark reads an empty cell as null.
            column = sf.coalesce(column, sf.lit(""))
        elif field.name in file_format.schema.decimals:
            column = column.cast(field.dataType)
        columns.append(column.alias(field.name))
    return frame.select(*columns)


def _text_columns(file_format: CsvReaderFormat) -> set[str]:
    schema = file_format.schema
    pairs = zip(schema.names, schema.types, strict=True)
    return {name for name, kind in pairs if kind == Types.STRING()}


def _split(column: Column, separator: str) -> Column:
    return sf.split(column, f"\\Q{separator}\\E") if separator else sf.array(column)


def ensure_path_exists(spark: SparkSession, path: str) -> None:
    """Looks for the path, or for one file that fits its wildcards, before the query is built.

    Raises:
        ConnectorError: there is none, or its file system cannot be reached.
    """
    if not has_wildcards(path) and "://" not in path:
        if not Path(path.removeprefix("file:")).exists():
            raise missing_path(path)
        return
    try:
        found = _look_with_hadoop(spark, path)
    except Exception as error:
        raise ConnectorError(
            f"cannot look for {path!r}: {_first_line(error)}",
            fix="check the URI; the session needs the jar and the credentials of its file system",
        ) from error
    if not found:
        raise missing_path(path)


def _look_with_hadoop(spark: SparkSession, path: str) -> bool:
    jvm = spark._jvm
    assert jvm is not None
    hadoop_path = jvm.org.apache.hadoop.fs.Path(path)
    files = hadoop_path.getFileSystem(spark._jsc.hadoopConfiguration())
    if not has_wildcards(path):
        return bool(files.exists(hadoop_path))
    statuses = files.globStatus(hadoop_path)
    return statuses is not None and len(statuses) > 0


def explain_read_failure(error: BaseException) -> HeadraceError | None:
    """Our error for a failure of Spark's file readers; None if it is about something else."""
    text = str(error)
    bad = re.search(rf"{_BAD_LINE}(\S+): (.*?){_END}", text, re.DOTALL)
    if bad:
        return TypeMismatchError(
            f"a line does not fit the declared type: {bad.group(2)!r:.300}",
            where=bad.group(1),
            fix="correct the file, or pass malformed=MalformedRecords.DROP or KEEP to the format",
        )
    if "FAILED_READ_FILE" in text or "PARQUET_COLUMN_DATA_TYPE_MISMATCH" in text:
        file = re.search(r"reading file:? *(\S+?)[.,]?\s", text)
        return ConnectorError(
            f"a file could not be read: {text[max(text.find('[FAILED_READ_FILE'), 0) :]:.400}",
            where=file.group(1) if file else None,
            fix="restore the file, or declare the type that its columns have",
        )
    return None


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), repr(error))[:300]
