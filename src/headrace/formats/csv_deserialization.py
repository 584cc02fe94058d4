"""Messages with one CSV line each to rows.

In: bytes, such as the values of a Kafka topic.  Out: rows of the declared type.
Next: csv_values.py (record by record), csv_columns.py (many at once)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.common.serialization import DeserializationSchema
from headrace.errors import InvalidArgumentError
from headrace.formats.bad_messages import bad_message
from headrace.formats.csv_columns import CsvColumns
from headrace.formats.csv_values import CsvSyntax, cells_of, record_maker
from headrace.formats.json_deserialization import row_type

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from headrace.common.typeinfo import RowTypeInfo, TypeInformation

__all__ = ["CsvRowDeserializationSchema"]


class CsvRowDeserializationSchema(DeserializationSchema):
    """Turns messages with one CSV line each into rows; make one with its ``Builder``.

    Example:
        >>> from headrace.common.typeinfo import Types
        >>> row = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> schema = CsvRowDeserializationSchema.Builder(row).set_field_delimiter("|").build()
        >>> schema.deserialize(b"1|tea")
        Row(id=1, name='tea')
    """

    def __init__(
        self, type_info: RowTypeInfo, syntax: CsvSyntax, *, ignore_parse_errors: bool
    ) -> None:
        self._type_info = type_info
        self._syntax = syntax
        self._ignore_errors = ignore_parse_errors
        # rebuilt on first use: closures do not travel to workers
        self._make: Callable[[list[str]], Any] | None = None
        self._columns: CsvColumns | bool | None = False
        record_maker(type_info, syntax, ignore_errors=ignore_parse_errors)  # refuses bad types now

    def deserialize(self, message: bytes) -> Any:
        """The row; None for a bad line if those are ignored."""
        if self._make is None:
            self._make = record_maker(
                self._type_info, self._syntax, ignore_errors=self._ignore_errors
            )
        try:
            return self._make(cells_of(str(message, "utf-8-sig"), self._syntax))
        except (ValueError, ArithmeticError) as error:
            if self._ignore_errors:
                return None
            raise bad_message(
                message, "CSV", error, type(self), "set_ignore_parse_errors(True)"
            ) from error

    def deserialize_columns(self, messages: pa.BinaryArray) -> pa.RecordBatch | None:
        """The rows as columns; None if Arrow's reader cannot take these lines or this type."""
        if self._columns is False:
            self._columns = CsvColumns.of(self._type_info, self._syntax)
        return self._columns.read(messages) if isinstance(self._columns, CsvColumns) else None

    def get_produced_type(self) -> TypeInformation:
        """The declared row."""
        return self._type_info

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_make": None, "_columns": False}

    class Builder:
        """Collects the syntax.

        Args:
            type_info: the type of the rows. A dataclass, NamedTuple or TypedDict is taken too, and
                its instances are made (ours).
        """

        def __init__(self, type_info: TypeInformation) -> None:
            self._type_info = row_type(
                type_info,
                "CsvRowDeserializationSchema.Builder",
                "CsvRowDeserializationSchema.Builder",
            )
            self._syntax = CsvSyntax()
            self._ignore_parse_errors = False

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """What stands between two cells; a comma by default."""
            return self._with(separator=_character("field delimiter", delimiter))

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Whether lines that begin with ``#`` are skipped."""
            return self._with(comments=allow_comments)

        def set_array_element_delimiter(
            self, delimiter: str
        ) -> CsvRowDeserializationSchema.Builder:
            """What stands between the elements of a cell that holds an array; a semicolon."""
            if not delimiter:
                raise InvalidArgumentError(
                    "the delimiter of array elements is empty", fix="pass a text such as ';'"
                )
            return self._with(array_separator=delimiter)

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """What stands around cells that contain separators; ``"`` by default."""
            return self._with(quote=_character("quote character", c))

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """What takes the meaning of the next character away; nothing by default."""
            return self._with(escape=_character("escape character", c))

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """The text that stands for None; by default there is none."""
            return self._with(null_text=null_literal)

        def set_ignore_parse_errors(
            self, ignore_parse_errors: bool
        ) -> CsvRowDeserializationSchema.Builder:
            """Whether bad lines are skipped, and cells that cannot be read are None."""
            self._ignore_parse_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """The schema."""
            return CsvRowDeserializationSchema(
                self._type_info, self._syntax, ignore_parse_errors=self._ignore_parse_errors
            )

        def _with(self, **changes: Any) -> CsvRowDeserializationSchema.Builder:
            self._syntax = replace(self._syntax, **changes)
            return self


def _character(what: str, c: str) -> str:
    if len(c) != 1 or c in "\r\n":
        raise InvalidArgumentError(
            f"a {what} is one character other than a line end, got {c!r}",
            where="CsvRowDeserializationSchema.Builder",
            fix="pass a text of length one",
        )
    return c
