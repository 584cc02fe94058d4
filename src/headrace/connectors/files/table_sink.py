"""Lines of a table as files: what writes them, and into which folder each goes.

    (1, "tea", 2020-01-02)  ──▶  /data/day=2020-01-02/part-….json

In: lines.  Out: factories of writers for `FileSink`, and the folders of partitions.
Next: sink.py (files, exactly once), table.py (the connector)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from headrace.common.row_data_type import RowDataTypeInfo
from headrace.common.serialization import BulkWriterFactory
from headrace.connectors.files.sink_options import BucketAssigner
from headrace.data.row_data import RowDataCodec
from headrace.errors import TypeMismatchError
from headrace.formats.avro_schema import fastavro
from headrace.formats.bulk_writers import BulkWriter, LinesWriter, ParquetWriter
from headrace.formats.compaction import ConcatenateFiles, MergeParquet
from headrace.formats.line_text import value_text
from headrace.formats.tables.avro_lines import AvroForm, avro_schema, to_avro

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.common.data_types import RowType
    from headrace.common.typeinfo import TypeInformation
    from headrace.formats.compaction import MergeFiles
    from headrace.spi.table_format import LineWriter

    Line = tuple[Any, ...]

# What Hive writes as %XX in the names of folders, and Flink as well.
_SPECIAL = frozenset("\"#%'*/:=?\\\x7f{[]^") | frozenset(map(chr, range(1, 32)))


@dataclass(frozen=True)
class LineFiles(BulkWriterFactory):
    """Files of messages, each with a line end.

    Attributes:
        writer: makes messages.
        stored: the places of the columns that stand in files.
    """

    writer: LineWriter
    stored: tuple[int, ...]
    concatenable = True

    def create(self, out: IO[bytes], type_info: TypeInformation | None) -> BulkWriter:
        assert isinstance(type_info, RowDataTypeInfo)
        write, stored, changes = self.writer.write, self.stored, type_info.changes
        self.writer.open()

        def encode(line: Line) -> bytes:
            message = write(tuple([line[place] for place in stored]), line[-1] if changes else 0)
            return b"" if message is None else message + b"\n"

        return LinesWriter(out, encode)

    def merge_files(self) -> MergeFiles:
        return ConcatenateFiles()


class _StoredColumns:
    """Lines as the columns that stand in files: what a `ParquetWriter` asks for."""

    def __init__(self, columns: RowType, stored: tuple[int, ...]) -> None:
        self._codec = RowDataCodec(RowDataTypeInfo(columns))
        self._stored = stored
        self.schema: pa.Schema | None = self._codec.schema

    def batch(self, values: list[Line]) -> pa.RecordBatch:
        """The columns of some lines."""
        stored = self._stored
        return self._codec.encode([tuple([line[place] for place in stored]) for line in values])


@dataclass(frozen=True)
class LineParquetFiles(BulkWriterFactory):
    """Parquet files of lines.

    Attributes:
        columns: those that stand in files.
        stored: their places.
        compression: of pages.
    """

    columns: RowType
    stored: tuple[int, ...]
    compression: str
    concatenable = False

    def create(self, out: IO[bytes], type_info: TypeInformation | None) -> BulkWriter:
        columns = _StoredColumns(self.columns, self.stored)
        return ParquetWriter(out, columns, compression=self.compression)

    def merge_files(self) -> MergeFiles:
        return MergeParquet()


@dataclass(frozen=True)
class LineAvroFiles(BulkWriterFactory):
    """Avro files of lines, with their schema.

    Attributes:
        columns: those that stand in files.
        stored: their places.
        form: how timestamps are kept.
        codec: of blocks.
    """

    columns: RowType
    stored: tuple[int, ...]
    form: AvroForm
    codec: str
    concatenable = False

    def create(self, out: IO[bytes], type_info: TypeInformation | None) -> BulkWriter:
        return _AvroLinesWriter(out, self)


class _AvroLinesWriter(BulkWriter):
    def __init__(self, out: IO[bytes], files: LineAvroFiles) -> None:
        schema = fastavro().parse_schema(avro_schema(files.columns, files.form))
        self._out = out
        self._stored = files.stored
        self._convert = to_avro(files.columns, files.form)
        self._file = fastavro().write.Writer(out, schema, files.codec)
        self._schema = str(schema)

    def write(self, values: list[Line]) -> None:
        for line in values:
            try:
                self._file.write(self._convert(tuple([line[place] for place in self._stored])))
            except Exception as error:  # fastavro raises whatever the first wrong value runs into
                raise TypeMismatchError(
                    f"the line {line!r:.200} does not fit the Avro schema of its table: "
                    f"{type(error).__name__}: {error}",
                    fix="a column that is NOT NULL must have a value",
                ) from error

    def size_bytes(self) -> int:
        return self._out.tell()

    def finish(self) -> None:
        self._file.flush()

    def shape(self) -> str:
        return self._schema


# --- partitions ----------------------------------------------------------------------------------


class PartitionFolders(BucketAssigner):
    """The folder of each line: ``day=2020-01-02/hour=3``.

    Args:
        columns: of the lines.
        keys: names of the columns of the partition.
        default_name: stands for NULL and for a text without characters.
    """

    def __init__(self, columns: RowType, keys: tuple[str, ...], default_name: str) -> None:
        names = columns.field_names()
        self._keys = [(escaped(key), names.index(key), columns[key].data_type) for key in keys]
        self._default = default_name

    def buckets(self, values: list[Line], timestamps: list[int] | None, now_ms: int) -> list[str]:
        texts = [(name, place, value_text(kind)) for name, place, kind in self._keys]
        return [
            "/".join(f"{name}={self._text(line[place], text)}" for name, place, text in texts)
            for line in values
        ]

    def _text(self, value: Any, text: Any) -> str:
        return self._default if value in (None, "") else escaped(text(value))


def escaped(text: str) -> str:
    """A text that may stand in a path."""
    if not _SPECIAL.intersection(text):
        return text
    return "".join(f"%{ord(char):02X}" if char in _SPECIAL else char for char in text)
