"""CSV: the writers.  The reader is in csv_reader.py

In: a `CsvSchema` (csv_reader.py).  Out: a factory for `FileSink.for_bulk_format`, and a schema that
turns single rows into bytes.  Next: formats/bulk_writers.py
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.common.serialization import SerializationSchema
from headrace.common.typeinfo import RowTypeInfo, TimestampTypeInfo, Types
from headrace.errors import InvalidArgumentError
from headrace.formats.bulk_writers import CsvDialect, CsvLines
from headrace.formats.record_fields import declared_names, fields_with
from headrace.formats.text_form import java_text, shortest_floats
from headrace.formats.writer_factories import CsvWriters

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import TypeInformation
    from headrace.formats.csv_reader import CsvSchema

__all__ = ["CsvBulkWriters", "CsvRowSerializationSchema"]


class CsvBulkWriters:
    """Makes factories for CSV files.

    Example:
        >>> from headrace.datastream.connectors.file_system import FileSink
        >>> schema = (
        ...     CsvSchema.builder()
        ...     .add_number_column("id")
        ...     .add_array_column("tags", "#")
        ...     .set_column_separator("|")
        ...     .build()
        ... )
        >>> FileSink.for_bulk_format("/tmp/out", CsvBulkWriters.for_schema(schema)).build()
        FileSink('/tmp/out')
    """

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvWriters:
        """A factory for rows with the columns and the syntax of a schema."""
        dialect = CsvDialect(
            separator=schema.column_separator,
            quote=schema.quote_char,
            escape=schema.escape_char,
            line_end=schema.line_separator,
            null_text=schema.null_value or "",
            array_separators=tuple(schema.array_separators.items()),
            header=schema.use_header,
        )
        return CsvWriters(dialect, schema.to_type_info())


class CsvRowSerializationSchema(SerializationSchema):
    """Turns rows into CSV lines; make one with ``CsvRowSerializationSchema.Builder(type_info)``."""

    def __init__(self, type_info: TypeInformation, dialect: CsvDialect) -> None:
        super().__init__()
        self._type_info = type_info
        self._dialect = dialect
        self._lines: CsvLines | None = None  # rebuilt on open: it holds a buffer

    def serialize(self, element: Any) -> bytes:
        """One row as a line, with its line end."""
        return self.serialize_many([element])[0]

    def serialize_many(self, elements: list[Any]) -> list[bytes]:
        """Many rows, each as a line with its line end."""
        if self._lines is None:
            names, shorten = declared_names(self._type_info), shortest_floats(self._type_info)
            fields, forms = fields_with(names), _message_forms(self._type_info)
            self._lines = CsvLines(
                self._dialect, names, lambda value: _formed(fields(shorten(value)), forms)
            )
        return [line.encode() for line in self._lines.lines(elements)]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lines": None}

    class Builder:
        """Collects the syntax.

        Args:
            type_info: the type of the rows.
        """

        def __init__(self, type_info: TypeInformation) -> None:
            if declared_names(type_info) is None:
                raise InvalidArgumentError(
                    f"CSV lines are made of rows, got the type {type_info!r}",
                    where="CsvRowSerializationSchema.Builder",
                    fix="declare Types.ROW_NAMED(field names, field types)",
                )
            self._type_info = type_info
            self._dialect = CsvDialect()

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """What stands between two fields; a comma by default."""
            return self._with(separator=c)

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """What ends a line; a line feed by default."""
            return self._with(line_end=delimiter)

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """What stands between the elements of a list; a semicolon by default."""
            return self._with(array_separator=delimiter)

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Never quotes; a field that would need it fails unless it can be escaped."""
            return self._with(quote=None)

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """What stands around fields that need it."""
            return self._with(quote=c)

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """What stands before a special character."""
            return self._with(escape=c)

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """What stands for None; empty by default."""
            return self._with(null_text=s)

        def build(self) -> CsvRowSerializationSchema:
            """The schema."""
            return CsvRowSerializationSchema(self._type_info, self._dialect)

        def _with(self, **changes: Any) -> CsvRowSerializationSchema.Builder:
            self._dialect = replace(self._dialect, **changes)
            return self


# In messages Flink writes some values otherwise than in files.


def _message_forms(type_info: TypeInformation) -> dict[str, Callable[[Any], Any]]:
    """What becomes of fields before they are cells, by name."""
    forms: dict[str, Callable[[Any], Any]] = {}
    if isinstance(type_info, RowTypeInfo):
        pairs = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
        for name, kind in pairs:
            if isinstance(kind, TimestampTypeInfo):
                forms[name] = java_text  # 12:30:00.0
            elif isinstance(kind, RowTypeInfo):
                forms[name] = partial(_elements, forms=_message_forms(kind))
            elif kind == Types.BIG_DEC():
                forms[name] = lambda number: number or abs(number)  # there is no -0
    return forms


def _elements(fields: dict[str, Any], forms: dict[str, Callable[[Any], Any]]) -> list[Any]:
    return list(_formed(fields, forms).values())


def _formed(fields: dict[str, Any], forms: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    for name, form in forms.items():
        if fields.get(name) is not None:
            fields[name] = form(fields[name])
    return fields
