"""The format ``avro`` of tables: a record in Avro's binary form a line, without its schema.

In: messages, or lines.  Out: the other.  Files have their schema (connectors/files/table.py).
Next: formats/tables/avro_lines.py
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.errors import TypeMismatchError
from headrace.formats.avro_schema import fastavro
from headrace.formats.bad_messages import bad_message
from headrace.formats.tables.avro_lines import AvroForm, avro_schema, from_avro, to_avro
from headrace.spi.table_connector import option
from headrace.spi.table_format import FormatOptions, LineReader, LineWriter, TableFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.data_types import RowType

LEGACY = option(
    "timestamp_mapping.legacy", "boolean", default=True, doc="TIMESTAMP is Avro's timestamp"
)
CODEC = option(
    "codec", "enum", "snappy", "of files", ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
)


class AvroTables(TableFormat):
    """Avro's binary form."""

    name: ClassVar[str] = "avro"
    options = (LEGACY, CODEC)
    file_suffix = ".avro"
    lines_in_files = False

    def reader(
        self, columns: RowType, options: FormatOptions, metadata: Sequence[str] = ()
    ) -> LineReader:
        return AvroLineReader(columns, avro_form(columns, options))

    def writer(self, columns: RowType, options: FormatOptions) -> LineWriter:
        return AvroLineWriter(columns, avro_form(columns, options))


def avro_form(columns: RowType, options: FormatOptions) -> AvroForm:
    """How a table's options want Avro; refuses columns without a form."""
    form = AvroForm(legacy=bool(options.get(LEGACY)))
    avro_schema(columns, form)
    return form


class _AvroLines:
    """What both directions have: the parsed schema, made in the worker."""

    def __init__(self, columns: RowType, form: AvroForm) -> None:
        self._columns = columns
        self._form = form
        self._parsed: Any = None  # rebuilt on first use
        self._convert: Callable[[Any], Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parsed": None, "_convert": None}

    def schema(self) -> Any:
        """The schema, as fastavro has it."""
        if self._parsed is None:
            self._parsed = fastavro().parse_schema(avro_schema(self._columns, self._form))
        return self._parsed


class AvroLineReader(_AvroLines, LineReader):
    """Reads a line from each message."""

    def read(self, message: bytes) -> Sequence[tuple[Any, ...]]:
        if self._convert is None:
            self._convert = from_avro(self._columns)
        try:
            schema = self.schema()
            return [self._convert(fastavro().schemaless_reader(io.BytesIO(message), schema, None))]
        except Exception as error:  # fastavro raises whatever wrong bytes run into
            raise bad_message(message, "Avro", error, type(self)) from error


class AvroLineWriter(_AvroLines, LineWriter):
    """Writes a line as a record."""

    def write(self, values: tuple[Any, ...], kind: int = 0) -> bytes:
        if self._convert is None:
            self._convert = to_avro(self._columns, self._form)
        out = io.BytesIO()
        try:
            fastavro().schemaless_writer(out, self.schema(), self._convert(values))
        except Exception as error:  # fastavro raises whatever the first wrong value runs into
            raise TypeMismatchError(
                f"the line {values!r:.200} does not fit the Avro schema of its table: "
                f"{type(error).__name__}: {error}",
                fix="a column that is NOT NULL must have a value",
            ) from error
        return out.getvalue()
