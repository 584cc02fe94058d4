"""Files of a table as lines: their content, their partition, and what is known of the file.

    /data/day=2020-01-02/part-0.json  ──▶  columns of the line │ day │ file.path …

In: a `LineReader` or the columns of Parquet or Avro files.  Out: a source of lines, whose splits
are files.  Next: python_reader.py (which files, how far), table.py (the connector)
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as d
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.connectors.files.absent_columns import (
    absent_columns,
    names_in_avro,
    names_in_parquet,
    names_of,
)
from headrace.connectors.files.content import opened, reading, unpacked_anew
from headrace.connectors.files.listing import files_of
from headrace.connectors.files.partition_values import partition_texts, partition_value
from headrace.connectors.files.python_reader import DONE, FilesInPython
from headrace.connectors.files.readers import FileReader, min_offset
from headrace.connectors.files.source import FileSource
from headrace.data.row_data import RowDataCodec, column_of
from headrace.errors import ConnectorError, HeadraceError
from headrace.formats.avro_schema import fastavro
from headrace.formats.file_format import BulkFormat, FileFormat, StreamFormat
from headrace.formats.tables.avro_lines import AvroForm, avro_schema, from_avro

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.common.typeinfo import TypeInformation
    from headrace.spi.python_source import Offset
    from headrace.spi.table_format import LineReader

# of a column, then of fields in it
FieldNames = tuple[str, ...]
DEFAULT_PARTITION = "__DEFAULT_PARTITION__"
METADATA: dict[str, d.DataType] = {
    "file.path": d.DataTypes.STRING(nullable=False),
    "file.name": d.DataTypes.STRING(nullable=False),
    "file.size": d.DataTypes.BIGINT(nullable=False),
    "file.modification-time": d.DataTypes.TIMESTAMP_LTZ(3, nullable=False),
}


class LineColumnsFormat(BulkFormat):
    """Parquet files that are read as columns of lines."""

    def __init__(self, columns: d.RowType) -> None:
        self._type = RowDataTypeInfo(columns)

    def reader_name(self) -> Literal["parquet"]:
        return "parquet"

    def produced_type(self) -> TypeInformation:
        return self._type


class AvroRecordReader(FileReader):
    """Records of Avro files, counted from 0."""

    def __init__(self, columns: d.RowType, form: AvroForm) -> None:
        self._columns = columns
        self._form = form
        self._counts: dict[str, int] = {}

    def batches(self, path: str, start: int, end: Offset) -> Iterator[pa.RecordBatch]:
        codec = RowDataCodec(RowDataTypeInfo(self._columns))
        convert = from_avro(self._columns)
        schema = fastavro().parse_schema(avro_schema(self._columns, self._form))
        stop = None if end == DONE else int(end)
        with reading(path), opened(path) as file:
            records = map(convert, islice(fastavro().reader(file, schema), start, stop))
            while some := list(islice(records, 10_000)):
                yield codec.encode(some)

    def _count(self, path: str) -> int:
        if path not in self._counts:
            with reading(path), opened(path) as file:
                blocks = fastavro().block_reader(file)
                self._counts[path] = sum(block.num_records for block in blocks)
        return self._counts[path]

    def count(self, path: str, size_bytes: int, start: int, end: Offset) -> int:
        return (self._count(path) if end == DONE else int(end)) - start

    def after(self, path: str, start: int, end: Offset, records: int) -> Offset:
        if start + records >= self._count(path):
            return end
        return min_offset(start + records, end)


@dataclass(frozen=True)
class FileTable:
    """What a table of files is made of.

    Attributes:
        columns: the physical columns, those of the partition among them.
        lines: what the source gives: the columns, metadata, and the kind if there are changes.
        partition: names of the columns that stand in the path.
        metadata: keys of what is told of files.
        content: reads messages, each a line of a file; None for Parquet and Avro.
        avro: how Avro files are read; None for others.
        default_name: stands in a path for NULL.
        pattern: paths must fit it.
        taken: the columns, and fields of columns, that are read, each by its names; None for all.
    """

    columns: d.RowType
    lines: RowDataTypeInfo
    partition: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    content: LineReader | None = None
    avro: AvroForm | None = None
    default_name: str = DEFAULT_PARTITION
    pattern: str | None = None
    taken: tuple[FieldNames, ...] | None = None

    @property
    def has_columns(self) -> bool:
        """Whether files hold columns, of which some can be read and others left alone."""
        return self.content is None and self.avro is None and not self.metadata

    def narrowed(self, paths: tuple[FieldNames, ...]) -> FileTable:
        """The table with some columns only, and fields of columns as columns of their own."""
        kinds = [_type_at(self.columns, path) for path in paths]
        names = [".".join(path) for path in paths]
        fields = [d.RowField(name, kind) for name, kind in zip(names, kinds, strict=True)]
        lines = RowDataTypeInfo(d.RowType(fields).not_null(), self.lines.changes)
        read = paths
        if all(path[0] in self.partition for path in paths):
            read = (*paths, (self.stored().names[0],))  # lines are counted by a column of the file
        return replace(self, columns=_only(self.columns, read), lines=lines, taken=paths)

    def stored(self) -> d.RowType:
        """The columns that stand in files."""
        return d.RowType([f for f in self.columns if f.name not in self.partition])

    def file_format(self) -> FileFormat:
        """What files are made of: lines, or columns."""
        if self.content is not None:
            return StreamFormat.text_line_format()
        return LineColumnsFormat(self.stored())


def _type_at(row: d.RowType, path: FieldNames) -> d.DataType:
    """The type of a column, or of a field in one: NULL where the row around it is."""
    kind: d.DataType = row.fields[row.names.index(path[0])].data_type
    for name in path[1:]:
        assert isinstance(kind, d.RowType)
        found = kind.fields[kind.names.index(name)].data_type
        kind = found.nullable() if kind.is_nullable else found
    return kind


def _only(row: d.RowType, paths: Iterable[FieldNames]) -> d.RowType:
    """A row with the fields that paths lead to, and rows in it with those that theirs lead to."""
    below: dict[str, list[FieldNames]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    fields = []
    for field in row.fields:
        rest = below.get(field.name)
        if rest is None:
            continue
        kind = field.data_type
        if () not in rest:
            assert isinstance(kind, d.RowType)
            kind = _only(kind, rest)
        fields.append(d.RowField(field.name, kind))
    made = d.RowType(fields)
    return made if row.is_nullable else made.not_null()


def _array_at(array: pa.Array, path: FieldNames) -> pa.Array:
    return pc.struct_field(array, list(path)) if path else array


class TableFilesSource(FilesInPython):
    """Reads the files of a table.

    Args:
        table: what they hold.
        path: of a file or folder.
        interval_ms: how often new files are looked for; None to read what is there, and end.
    """

    def __init__(self, table: FileTable, path: str, interval_ms: int | None) -> None:
        self._table = table
        source = FileSource(
            table.file_format(),
            (path,),
            discovery_interval_ms=interval_ms,
            options={},
            splittable=None,
        )
        super().__init__(source)

    def _made_reader(self, source: FileSource) -> FileReader:
        if self._table.avro is not None:
            return AvroRecordReader(self._table.stored(), self._table.avro)
        return super()._made_reader(source)

    def _look(self) -> None:
        super()._look()
        self._found = {path: file for path, file in self._found.items() if self._fits(path)}

    def _fits(self, path: str) -> bool:
        pattern = self._table.pattern
        return pattern is None or re.fullmatch(pattern, path) is not None

    def doubts(self) -> list[str]:
        """Columns of the table that its newest file does not have."""
        if self._table.content is not None:
            return []
        columns = RowDataCodec(RowDataTypeInfo(self._table.stored())).schema
        read = names_in_parquet if self._table.avro is None else names_in_avro
        files = (file for path in self._source.paths for file in files_of(path) or ())
        fitting = (file for file in files if self._fits(file.path))
        return absent_columns(names_of(columns), fitting, read)

    def produced_type(self) -> TypeInformation:
        return self._table.lines

    def kind_name(self) -> str:
        return "TableFilesSource"

    def describe(self) -> str:
        return f"TableFilesSource({', '.join(self._source.paths)})"

    def read_columns(self, split: str, start: Offset, end: Offset) -> Iterator[pa.RecordBatch]:
        codec = RowDataCodec(self._table.lines)
        for batch in super().read_columns(split, start, end):
            found = batch if self._table.content is None else self._decoded(batch, split)
            if found.num_rows:
                yield self._completed(found, split, codec.schema)

    def _decoded(self, batch: pa.RecordBatch, split: str) -> pa.RecordBatch:
        """Lines of text as columns of lines."""
        reader = self._table.content
        assert reader is not None
        messages = batch.column(0).cast(pa.binary())
        columns = None
        try:
            columns = reader.read_columns(messages)
        except Exception:  # one by one it turns out which line it is
            columns = None
        if columns is not None:
            return columns
        changes = self._table.lines.changes
        lines = [line for message in messages.to_pylist() for line in _read(reader, message, split)]
        codec = RowDataCodec(RowDataTypeInfo(self._table.stored(), changes))
        return codec.encode(lines)

    def _completed(self, batch: pa.RecordBatch, split: str, schema: pa.Schema) -> pa.RecordBatch:
        """The columns of the file with those of its partition and its metadata, in order."""
        table, count = self._table, batch.num_rows
        stored = dict(zip(table.stored().names, batch.columns, strict=False))
        values = partition_texts(split, table.partition, table.default_name)
        arrays = [
            stored[f.name]
            if f.name not in table.partition
            else _constant(values.get(f.name), f.data_type, count)
            for f in table.columns
        ]
        if table.taken is not None:
            named = dict(zip(table.columns.names, arrays, strict=True))
            arrays = [_array_at(named[path[0]], path[1:]) for path in table.taken]
        arrays += [_constant(value, kind, count) for kind, value in self._metadata(split)]
        if table.lines.changes:
            arrays.append(batch.column(batch.num_columns - 1))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _metadata(self, split: str) -> Iterator[tuple[d.DataType, Any]]:
        if not self._table.metadata:
            return
        files = files_of(split)
        if not files:
            raise ConnectorError(f"the file {split} is gone", where=split)
        found = files[0]
        moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(
            milliseconds=found.modified_ns // 1_000_000
        )
        known: dict[str, Any] = {
            "file.path": split,
            "file.name": split.rpartition("/")[2],
            "file.size": found.size_bytes,
            "file.modification-time": moment,
        }
        for key in self._table.metadata:
            yield METADATA[key], known[key]


def _read(reader: LineReader, message: bytes, split: str) -> Any:
    try:
        return reader.read(message)
    except HeadraceError as error:
        number = _line_that_is(split, message)
        error.where = split if number is None else f"{split}:{number}"
        raise


def _line_that_is(path: str, message: bytes) -> int | None:
    """The first line of a file that is the message: an equal one before it would have failed."""
    with unpacked_anew(path) as file:
        for number, line in enumerate(file, 1):
            if line.rstrip(b"\r\n") == message:
                return number
    return None  # other ends of lines than these


def _constant(value: Any, kind: d.DataType, count: int) -> pa.Array:
    if isinstance(value, str):
        value = partition_value(value, kind)
    single = column_of(kind).to_arrow([value])
    return pa.nulls(count, single.type) if value is None else pa.repeat(single[0], count)
