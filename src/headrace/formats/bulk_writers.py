"""Writes records to an open file: Parquet, CSV, JSON lines, or whatever an encoder makes.

In: lists of records (connectors/files/writer.py).
Out: bytes in a stream, at most one chunk held in memory.  Public: datastream/formats/
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import TypeMismatchError
from headrace.formats.record_fields import has_fields, plain
from headrace.formats.text_form import java_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.formats.record_fields import ToArrow

# A row group is written when this much Arrow data waits: large enough to read fast, small enough
# that a writer with many buckets open stays within a worker's memory.
ROW_GROUP_BYTES = 16 << 20


class BulkWriter(ABC):
    """Writes one file. A subclass of your own makes any format a file sink."""

    @abstractmethod
    def write(self, values: list[Any]) -> None:
        """Appends records."""

    @abstractmethod
    def size_bytes(self) -> int:
        """About how large the file would be if it were finished now."""

    @abstractmethod
    def finish(self) -> None:
        """Writes what is left (footer, buffers). Does not close the stream."""

    def shape(self) -> str:
        """Files of the same shape may be merged; columns and types, for formats that have them."""
        return ""


class Out(Protocol):
    """The stream that a writer writes to."""

    def write(self, data: bytes, /) -> Any:
        """Appends bytes."""

    def tell(self) -> int:
        """How many bytes were written."""


class ParquetWriter(BulkWriter):
    """Parquet, in row groups of about 16 MB of Arrow data."""

    def __init__(self, out: IO[bytes], columns: ToArrow, *, compression: str) -> None:
        self._out = out
        self._columns = columns
        self._compression = compression
        self._file: pq.ParquetWriter | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0

    def write(self, values: list[Any]) -> None:
        self.write_arrow(self._columns.batch(values))

    def takes(self, schema: pa.Schema) -> bool:
        """Whether `write_arrow` may be used for batches of this schema."""
        return self._columns.schema is not None and self._columns.schema.equals(schema)

    def write_arrow(self, batch: pa.RecordBatch) -> None:
        """Appends records that already are columns of the right schema."""
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def size_bytes(self) -> int:
        return self._out.tell() + self._held_bytes

    def finish(self) -> None:
        self._flush()
        if self._file is not None:
            self._file.close()

    def shape(self) -> str:
        return "" if self._columns.schema is None else str(self._columns.schema)

    def _flush(self) -> None:
        if not self._held:
            return
        table = pa.Table.from_batches(self._held)
        if self._file is None:
            self._file = pq.ParquetWriter(self._out, table.schema, compression=self._compression)
        self._file.write_table(table)
        self._held, self._held_bytes = [], 0


class LinesWriter(BulkWriter):
    """Any format where a record is some bytes and files are records one after the other."""

    def __init__(self, out: Out, encode: Callable[[Any], bytes]) -> None:
        self._out = out
        self._encode = encode

    def write(self, values: list[Any]) -> None:
        self._out.write(b"".join(map(self._encode, values)))

    def size_bytes(self) -> int:
        return self._out.tell()

    def finish(self) -> None:
        """Nothing is held back."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a CSV file looks.

    Attributes:
        separator: between two fields.
        quote: around texts that may need it; None never quotes.
        escape: before a special character where quotes are off; in quotes it is written twice.
        line_end: after each record.
        null_text: stands for None.
        array_separator: between the elements of a list inside a field.
        array_separators: the same for single columns, as pairs of name and separator.
        header: whether the file begins with the column names.
    """

    separator: str = ","
    quote: str | None = '"'
    escape: str | None = None
    line_end: str = "\n"
    null_text: str = ""
    array_separator: str = ";"
    array_separators: tuple[tuple[str, str], ...] = ()
    header: bool = False


# Longer texts are quoted unseen.
_LOOKED_AT = 24


class CsvLines:
    """Turns records into CSV lines; the columns are given or those of the first record.

    Quotes stand where Flink's writer puts them, which looks for no more than small characters: a
    text has quotes if one of its first characters is not above the separator, the quote and the
    line end.  With ``|`` between fields that is nearly every text.
    """

    def __init__(
        self,
        dialect: CsvDialect,
        names: list[str] | None,
        to_fields: Callable[[Any], dict[str, Any]],
    ) -> None:
        self._dialect = dialect
        self._to_fields = to_fields
        self._separators = dict(dialect.array_separators)
        special = dialect.separator + (dialect.quote or "") + dialect.line_end
        escape = re.escape(dialect.escape or "")
        self._needs_quotes = re.compile(f"[\\0-{re.escape(max(special))}{escape}]").search
        self._special = re.compile(f"[{re.escape(dialect.separator)}{escape}\\r\\n]")
        self.names = names

    def encode(self, values: list[Any]) -> bytes:
        """The lines of some records."""
        return "".join(self.lines(values)).encode()

    def lines(self, values: list[Any]) -> list[str]:
        """The line of each record."""
        end = self._dialect.line_end
        return [self._line(self._cells(value)) + end for value in values]

    def header(self) -> bytes:
        """The line of column names."""
        names = map(self._text, self.names or [])
        return (self._line(names) + self._dialect.line_end).encode()

    def _line(self, cells: Iterable[str]) -> str:
        return self._dialect.separator.join(cells)

    def _text(self, text: str) -> str:
        """A text as it stands in the file."""
        quote, escape = self._dialect.quote, self._dialect.escape
        if quote is None:
            return self._escaped(text)
        if len(text) <= _LOOKED_AT and not self._needs_quotes(text):
            return text
        if escape is not None:
            text = text.replace(escape, escape * 2)
        return f"{quote}{text.replace(quote, quote * 2)}{quote}"

    def _escaped(self, text: str) -> str:
        escape = self._dialect.escape
        if escape is not None:
            return self._special.sub(lambda found: escape + found[0], text)
        if self._special.search(text):
            raise TypeMismatchError(
                f"a record cannot be written as CSV: {text!r:.100} needs a quote or an escape",
                where="file sink",
                fix="allow a quote or an escape character in the CSV schema",
            )
        return text

    def _cells(self, value: Any) -> list[str]:
        fields = self._to_fields(value)
        if self.names is None:
            self.names = list(fields)
        if not fields.keys() <= set(self.names):
            raise TypeMismatchError(
                f"the record {value!r} has the fields {', '.join(fields)}, but the columns of the "
                f"file are {', '.join(self.names)}",
                where="file sink",
                fix="give all records the same fields, or declare the stream's type",
            )
        return [self._cell(name, fields.get(name)) for name in self.names]

    def _cell(self, name: str, value: Any) -> str:
        if value is None:
            return self._dialect.null_text
        if isinstance(value, bool | int | float | decimal.Decimal):
            return java_text(value)
        return self._text(self._plain(name, value))

    def _plain(self, name: str, value: Any) -> str:
        """A value as text, without quotes."""
        if value is None:
            return self._dialect.null_text
        if isinstance(value, list):
            separator = self._separators.get(name, self._dialect.array_separator)
            return separator.join(self._plain(name, item) for item in value)
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        if isinstance(value, dict):
            return json.dumps(value, default=json_value, ensure_ascii=False)
        return java_text(value) if isinstance(value, bool | float) else str(value)


class CsvWriter(BulkWriter):
    """CSV, with or without a header line."""

    def __init__(self, out: Out, lines: CsvLines, *, header: bool) -> None:
        self._out = out
        self._lines = lines
        self._header_due = header

    def write(self, values: list[Any]) -> None:
        body = self._lines.encode(values)
        # After the body: an untyped stream has its column names from the first record.
        if self._header_due:
            self._header_due = False
            self._out.write(self._lines.header())
        self._out.write(body)

    def size_bytes(self) -> int:
        return self._out.tell()

    def finish(self) -> None:
        """Nothing is held back."""

    def shape(self) -> str:
        return ",".join(self._lines.names or [])


def json_value(value: Any) -> Any:
    """What JSON writes for a value that the json module does not know.

    Raises:
        TypeMismatchError: there is no JSON form.
    """
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, set | frozenset):
        return sorted(value)
    # numpy scalars and arrays, and whatever else turns itself into plain Python
    plain_form = getattr(value, "tolist", None)
    if plain_form is not None:
        return plain_form()
    raise TypeMismatchError(
        f"{value!r} ({type(value).__name__}) has no JSON form",
        where="JSON writer",
        fix="convert the field to text, a number, a list or a dict before the sink",
    )


def json_line(to_fields: Callable[[Any], dict[str, Any]]) -> Callable[[Any], bytes]:
    """A function from record to one line of JSON: an object for records with fields.

    Args:
        to_fields: makes an object of a record that has fields.
    """
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_json_or_decimal)

    def encode(value: Any) -> bytes:
        text = encoder.encode(to_fields(value) if has_fields(value) else plain(value))
        if _DECIMAL_MARK in text:
            text = _MARKED_DECIMAL.sub(r"\1", text)
        return (text + "\n").encode()

    return encode


# The json module writes no number but int and float, and a float would lose digits of a decimal.
# So a decimal is written as marked text first; \x00 cannot come from ordinary text.
_DECIMAL_MARK = "\\u0000decimal:"
_MARKED_DECIMAL = re.compile(r'"\\u0000decimal:([-+.0-9eE]+)\\u0000"')


def _json_or_decimal(value: Any) -> Any:
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return f"\x00decimal:{value}\x00"
    return json_value(value)
