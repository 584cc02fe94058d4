"""The file formats a sink can write: settings that travel to workers and make writers there.

In: choices of datastream/formats/ and connectors/files/sink.py.  Out: `BulkWriter`s.
Next: bulk_writers.py, compaction.py

A factory has `create(out, type_info)`. It may have `merge_files()`, how its files are merged, and
`concatenable`, whether writing them one after the other gives a valid file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from headrace.common.serialization import BulkWriterFactory, Encoder
from headrace.errors import InvalidArgumentError, TypeMismatchError
from headrace.formats.bulk_writers import (
    BulkWriter,
    CsvDialect,
    CsvLines,
    CsvWriter,
    LinesWriter,
    ParquetWriter,
    json_line,
)
from headrace.formats.compaction import ConcatenateFiles, MergeFiles, MergeParquet
from headrace.formats.record_fields import declared_names, fields_with, only_inserts, to_arrow
from headrace.formats.text_form import shortest_floats, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from headrace.common.typeinfo import RowTypeInfo, TypeInformation


@dataclass(frozen=True, slots=True)
class ParquetWriters(BulkWriterFactory):
    """Parquet files.

    Attributes:
        schema: the columns; by default those of `row_type`, of the stream, or of the first records.
        row_type: the type of the records, where it is not the stream's.
        compression: pyarrow's name of a codec.
    """

    schema: pa.Schema | None = None
    row_type: TypeInformation | None = None
    compression: str = "snappy"
    concatenable = False

    def create(self, out: IO[bytes], type_info: TypeInformation | None) -> BulkWriter:
        columns = to_arrow(self.row_type or type_info, self.schema)
        return ParquetWriter(out, columns, compression=self.compression)

    def merge_files(self) -> MergeFiles:
        return MergeParquet()


@dataclass(frozen=True, slots=True)
class CsvWriters(BulkWriterFactory):
    """CSV files.

    Attributes:
        dialect: separators and quotes.
        row_type: the type of the rows; by default the stream's.
    """

    dialect: CsvDialect
    row_type: RowTypeInfo | None = None

    @classmethod
    def with_options(cls, *, header: bool, separator: str) -> CsvWriters:
        return cls(CsvDialect(separator=_one_character("separator", separator), header=header))

    @property
    def concatenable(self) -> bool:
        return not self.dialect.header

    def create(self, out: IO[bytes], type_info: TypeInformation | None) -> BulkWriter:
        lines = csv_lines(self.dialect, self.row_type or type_info)
        return CsvWriter(out, lines, header=self.dialect.header)

    def merge_files(self) -> MergeFiles:
        header_end = self.dialect.line_end.encode() if self.dialect.header else None
        return ConcatenateFiles(header_end=header_end)


def csv_lines(dialect: CsvDialect, type_info: TypeInformation | None) -> CsvLines:
    """Turns records of a type into the lines of a CSV file."""
    names, shorten = declared_names(type_info), shortest_floats(type_info)
    fields = only_inserts(fields_with(names))
    return CsvLines(dialect, names, lambda value: fields(shorten(value)))


@dataclass(frozen=True, slots=True)
class JsonLines(BulkWriterFactory):
    """One JSON object, or value, a line."""

    concatenable = True

    def create(self, out: IO[bytes], type_info: TypeInformation | None) -> BulkWriter:
        return LinesWriter(out, json_line(only_inserts(fields_with(declared_names(type_info)))))

    def merge_files(self) -> MergeFiles:
        return ConcatenateFiles()


@dataclass(frozen=True, slots=True)
class TextLines(BulkWriterFactory):
    """One record a line, in the notation that Flink's simple string encoder has.

    Attributes:
        charset: Python's name of the encoding.
    """

    charset: str = "utf-8"
    concatenable = True

    def create(self, out: IO[bytes], type_info: TypeInformation | None) -> BulkWriter:
        text = text_of(type_info)
        charset = self.charset
        return LinesWriter(out, lambda value: f"{text(value)}\n".encode(charset))

    def merge_files(self) -> MergeFiles:
        return ConcatenateFiles()


@dataclass(frozen=True, slots=True)
class EncodedRows(BulkWriterFactory):
    """Whatever an encoder of the user makes of a record.

    Attributes:
        encode: from record to bytes or text, its line end included.
    """

    encode: Callable[[Any], bytes | str]
    concatenable = True

    @staticmethod
    def of(encoder: Any) -> EncodedRows | TextLines:
        """The factory for an encoder object or function."""
        if isinstance(encoder, Encoder) and encoder.function is str:
            # The simple string encoder: only here is it known whether the stream has a type.
            return TextLines(encoder.charset)
        # Texts and classes may have a method of that name, too.
        named = not isinstance(encoder, str | type) and hasattr(encoder, "encode")
        encode = encoder.encode if named else encoder
        if not callable(encode):
            raise InvalidArgumentError(
                f"{encoder!r} ({type(encoder).__name__}) is not an encoder",
                where="FileSink.for_row_format",
                fix="pass Encoder.simple_string_encoder(), an object with encode(value) -> bytes, "
                "or such a function",
            )
        return EncodedRows(encode)

    def create(self, out: IO[bytes], type_info: TypeInformation | None) -> BulkWriter:
        return LinesWriter(out, self._as_bytes)

    def merge_files(self) -> MergeFiles:
        return ConcatenateFiles()

    def _as_bytes(self, value: Any) -> bytes:
        encoded = self.encode(value)
        if isinstance(encoded, str):
            return encoded.encode()
        if not isinstance(encoded, bytes | bytearray | memoryview):
            raise TypeMismatchError(
                f"the encoder returned {encoded!r} ({type(encoded).__name__}) for {value!r}",
                where="FileSink.for_row_format",
                fix="return the record's bytes or text, with its line end",
            )
        return bytes(encoded)


def _one_character(name: str, text: str) -> str:
    if len(text) != 1:
        raise InvalidArgumentError(
            f"the CSV {name} is {text!r}",
            where="CSV writer",
            fix=f"use a {name} of one character",
        )
    return text
