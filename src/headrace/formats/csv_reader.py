"""CSV files: their columns and how to read them.

In: a `CsvSchema`.  Out: `CsvReaderFormat` for `FileSource`.  Next:
hosts/spark/sources/file_reader.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from headrace.common.type_inference import infer_type
from headrace.common.typeinfo import ListTypeInfo, RowTypeInfo, TypeInformation, Types
from headrace.errors import InvalidArgumentError
from headrace.formats.file_format import MalformedRecords, StreamFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CORRUPT_FIELD", "CsvReaderFormat", "CsvSchema", "CsvSchemaBuilder"]

CORRUPT_FIELD = "_corrupt_record"


@dataclass(frozen=True)
class CsvSchema:
    """Columns and syntax of a CSV file; make one with `builder`.

    Attributes:
        names: the columns, in the order of the file.
        types: their types.
        array_separators: what separates the elements of an array column, by column name; an empty
            text means that the whole cell is one element.
        decimals: the digits and those behind the point of decimal columns that say so; cells with
            more are rounded.
    """

    names: tuple[str, ...] = ()
    types: tuple[TypeInformation, ...] = ()
    array_separators: Mapping[str, str] = field(default_factory=dict)
    decimals: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    column_separator: str = ","
    quote_char: str | None = '"'
    escape_char: str | None = None
    line_separator: str = "\n"
    null_value: str | None = None
    allow_comments: bool = False
    use_header: bool = False
    strict_headers: bool = False
    skip_first_data_row: bool = False

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """An empty schema to add columns to."""
        return CsvSchemaBuilder()

    def to_type_info(self) -> RowTypeInfo:
        """The type of a record: a row with one field a column."""
        return Types.ROW_NAMED(list(self.names), list(self.types))

    def size(self) -> int:
        """The number of columns."""
        return len(self.names)

    def __len__(self) -> int:
        return len(self.names)


class CsvSchemaBuilder:
    """Collects the columns and the syntax of a CSV file."""

    def __init__(self) -> None:
        self._columns: list[tuple[str, TypeInformation, str | None]] = []
        self._decimals: dict[str, tuple[int, int]] = {}
        self._syntax = CsvSchema()

    def build(self) -> CsvSchema:
        """The schema."""
        return replace(
            self._syntax,
            names=tuple(name for name, _, _ in self._columns),
            types=tuple(kind for _, kind, _ in self._columns),
            array_separators={n: sep for n, _, sep in self._columns if sep is not None},
            decimals=dict(self._decimals),
        )

    def add_array_column(
        self, name: str, separator: str = ";", element_type: Any = None
    ) -> CsvSchemaBuilder:
        """A column whose cells hold several values, texts unless ``element_type`` says more."""
        element = Types.STRING() if element_type is None else as_type_info(element_type)
        return self._add(name, ListTypeInfo(element), separator)

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """A column of ``true`` and ``false``."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """A column of numbers, ``Types.LONG()`` unless ``number_type`` says otherwise."""
        if hasattr(number_type, "precision"):  # DataTypes.DECIMAL(4, 2)
            self._decimals[name] = (number_type.precision, number_type.scale)
        return self._add(name, Types.LONG() if number_type is None else as_type_info(number_type))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """A column of text."""
        return self._add(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """All columns of another schema, after those added so far."""
        for name, kind in zip(schema.names, schema.types, strict=True):
            self._add(name, kind, schema.array_separators.get(name))
        self._decimals.update(schema.decimals)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forgets the columns."""
        self._columns.clear()
        self._decimals.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Skips lines that begin with ``#``."""
        return self._with(allow_comments=allow)

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Takes every cell of an array column as one element."""
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Takes every cell of the array column at ``index`` as one element."""
        name, kind, _ = self._columns[index]
        self._columns[index] = (name, kind, "")
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """What separates the elements, for all array columns added so far."""
        self._columns = [
            (name, kind, None if old is None else separator) for name, kind, old in self._columns
        ]
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """What separates columns; a comma by default."""
        return self._with(column_separator=_single("column separator", char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """No escape character, the default."""
        return self._with(escape_char=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """The character that takes the meaning of the next one away."""
        return self._with(escape_char=_single("escape character", char))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        r"""What a writer puts at the end of a line; readers know ``\n``, ``\r`` and ``\r\n``."""
        return self._with(line_separator=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """The text that stands for None. Empty cells are None as well then."""
        return self._with(null_value=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Takes quotes as ordinary characters."""
        return self._with(quote_char=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """The character around cells that contain separators; ``"`` by default."""
        return self._with(quote_char=_single("quote character", char))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Skips the first line of every file."""
        return self._with(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """A header must have the names of the columns, in their order."""
        return self._with(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """The first line of every file is a header; what its names are counts if strict only."""
        return self._with(use_header=use)

    def size(self) -> int:
        """The number of columns so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def _add(
        self, name: str, kind: TypeInformation, separator: str | None = None
    ) -> CsvSchemaBuilder:
        self._columns.append((name, kind, separator))
        return self

    def _with(self, **changes: Any) -> CsvSchemaBuilder:
        self._syntax = replace(self._syntax, **changes)
        return self


class CsvReaderFormat(StreamFormat):
    """Reads CSV files, each by one reader from start to end, so that quoted cells may span lines.

    An empty cell is an empty text in a text column and None in any other.

    Example:
        >>> schema = (
        ...     CsvSchema.builder()
        ...     .add_number_column("id", number_type=Types.INT())
        ...     .add_string_column("name")
        ...     .set_use_header()
        ...     .build()
        ... )
        >>> source = FileSource.for_record_stream_format(
        ...     CsvReaderFormat.for_schema(schema), "/data/people"
        ... ).build()

    With an escape character every file is read as a whole, so it must fit into a worker's memory.

    Coming from Flink: a header that has the names of the columns in another order is refused; a
    cell that is no number fails with the file's name; ``malformed`` is ours.
    """

    def __init__(
        self, schema: CsvSchema, *, malformed: MalformedRecords = MalformedRecords.FAIL
    ) -> None:
        if not len(schema):
            raise InvalidArgumentError(
                "a CSV schema without columns", fix="add columns with CsvSchema.builder()"
            )
        if schema.use_header and schema.skip_first_data_row:
            raise InvalidArgumentError(
                "a CSV file cannot have both a header and a first row to skip",
                fix="use set_use_header() alone: it skips the header line",
            )
        self.schema = schema
        self.malformed = malformed

    @staticmethod
    def for_schema(
        schema: CsvSchema, *, malformed: MalformedRecords = MalformedRecords.FAIL
    ) -> CsvReaderFormat:
        """A format that reads these columns.

        Args:
            schema: columns and syntax.
            malformed: what happens to a line that does not fit them. Ours.
        """
        return CsvReaderFormat(schema, malformed=malformed)

    def reader_name(self) -> Literal["csv"]:
        """Spark's CSV reader."""
        return "csv"

    def produced_type(self) -> RowTypeInfo:
        """A row with one field a column, and the bad line's text if those are kept."""
        return with_corrupt_field(self.schema.to_type_info(), self.malformed)

    def reader_options(self) -> Mapping[str, str]:
        """The syntax in Spark's words."""
        schema = self.schema
        options = {
            "sep": schema.column_separator,
            "quote": schema.quote_char or "",
            # A quote inside quotes is written twice; for escape characters there is
            # hosts/spark/sources/csv_escapes.py
            "escape": schema.quote_char or "",
            "header": str(schema.use_header or schema.skip_first_data_row).lower(),
            "enforceSchema": str(not (schema.use_header and schema.strict_headers)).lower(),
            "multiLine": "true",
            **malformed_options(self.malformed),
        }
        if schema.null_value is not None:
            options["nullValue"] = schema.null_value
        if schema.allow_comments:
            options["comment"] = "#"
        return options


def with_corrupt_field(row: RowTypeInfo, malformed: MalformedRecords) -> RowTypeInfo:
    """``row`` with the field for the text of bad lines, if those are kept."""
    if malformed is not MalformedRecords.KEEP:
        return row
    names, types = row.get_field_names(), row.get_field_types()
    return Types.ROW_NAMED([*names, CORRUPT_FIELD], [*types, Types.STRING()])


def malformed_options(malformed: MalformedRecords) -> dict[str, str]:
    """The choice in Spark's words."""
    # Not FAILFAST: its error names neither the line nor, always, the file. The host has the text
    # of bad lines kept, and fails on the first of them itself.
    mode = "DROPMALFORMED" if malformed is MalformedRecords.DROP else "PERMISSIVE"
    return {"mode": mode, "columnNameOfCorruptRecord": CORRUPT_FIELD}


def as_type_info(kind: Any) -> TypeInformation:
    """A type given as ``Types.INT()``, as ``DataTypes.INT()``, or as a class with type hints."""
    if hasattr(kind, "to_type_info"):
        converted: TypeInformation = kind.to_type_info()
        return converted
    found = infer_type(kind)
    if found is not None:
        return found
    raise InvalidArgumentError(
        f"{kind!r} is not a type",
        fix="use one of headrace.common.Types, such as Types.INT(), a dataclass or a NamedTuple",
    )


def _single(what: str, char: str) -> str:
    if len(char) != 1:
        raise InvalidArgumentError(
            f"a {what} must be one character, not {char!r}", fix="pass a text of length one"
        )
    return char
