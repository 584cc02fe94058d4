"""The format ``csv`` of tables: a line of cells a line.

In: messages, or lines.  Out: the other.  Next: formats/csv_values.py cuts lines into cells,
formats/bulk_writers.py puts cells together
"""

from __future__ import annotations

import base64
import decimal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from headrace.common import data_types as d
from headrace.data.line_values import decimal_fitting
from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.formats import java_parsing as parse
from headrace.formats.bad_messages import bad_message
from headrace.formats.bulk_writers import CsvDialect, CsvLines
from headrace.formats.csv_values import CsvSyntax, cells_of
from headrace.formats.tables import times
from headrace.formats.tables.json_lines import cut_to
from headrace.spi.table_connector import option
from headrace.spi.table_format import FormatOptions, LineReader, LineWriter, TableFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Read = Callable[[str], Any]

DELIMITER = option("field-delimiter", default=",", doc="between two cells")
NO_QUOTE = option("disable-quote-character", "boolean", default=False, doc="no quotes")
QUOTE = option("quote-character", default='"', doc="around cells")
COMMENTS = option("allow-comments", "boolean", default=False, doc="lines with # are skipped")
IGNORE_ERRORS = option("ignore-parse-errors", "boolean", default=False, doc="bad cells are NULL")
ARRAY = option("array-element-delimiter", default=";", doc="between elements of a cell")
ESCAPE = option("escape-character", doc="takes the meaning of the next character away")
NULL = option("null-literal", doc="stands for NULL")
SCIENTIFIC = option(
    "write-bigdecimal-in-scientific-notation", "boolean", default=True, doc="1E+2, else 100"
)
TRIM = option("trim-spaces", "boolean", default=False, doc="blanks around cells do not count")
EMPTY_IS_NULL = option("empty-string-as-null", "boolean", default=False, doc="'' is NULL")
MORE_CELLS = option(
    "headrace.ignore-more-cells",
    "boolean",
    default=False,
    doc="cells behind those of the columns are passed over, as by Flink's old CSV format",
)
_ALL = (
    DELIMITER, NO_QUOTE, QUOTE, COMMENTS, IGNORE_ERRORS, ARRAY, ESCAPE, NULL, SCIENTIFIC, TRIM,
    EMPTY_IS_NULL, MORE_CELLS,
)  # fmt: skip
_NO_QUOTE = "\0"


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How CSV is read and written.

    Attributes:
        syntax: of lines that are read.
        dialect: of lines that are written.
        ignore_errors: cells that cannot be read are NULL, lines that cannot be read are left out.
        scientific: whether decimals may have exponents.
        trim: whether blanks around cells do not count.
        empty_is_null: whether a cell without anything is NULL.
        more_cells: whether lines may have more cells than there are columns.
    """

    syntax: CsvSyntax
    dialect: CsvDialect
    ignore_errors: bool
    scientific: bool
    trim: bool
    empty_is_null: bool
    more_cells: bool = False


def csv_form(options: FormatOptions) -> CsvForm:
    """How a table's options want CSV."""
    separator = _character(options, DELIMITER.key, _unescaped(str(options.get(DELIMITER))))
    quote = None if options.get(NO_QUOTE) else _character(options, QUOTE.key, options.get(QUOTE))
    escape, null = options.get(ESCAPE), options.get(NULL)
    escape = None if escape is None else _character(options, ESCAPE.key, escape)
    elements = _unescaped(str(options.get(ARRAY)))
    return CsvForm(
        CsvSyntax(
            separator, quote or _NO_QUOTE, escape, elements, null, bool(options.get(COMMENTS))
        ),
        CsvDialect(separator, quote, escape, "", null or "", elements),
        ignore_errors=bool(options.get(IGNORE_ERRORS)),
        scientific=bool(options.get(SCIENTIFIC)),
        trim=bool(options.get(TRIM)),
        empty_is_null=bool(options.get(EMPTY_IS_NULL)),
        more_cells=bool(options.get(MORE_CELLS)),
    )


def _unescaped(text: str) -> str:
    r"""A delimiter as Java's escapes say it: ``\t`` is a tabulator."""
    return text.encode().decode("unicode_escape") if "\\" in text else text


def _character(options: FormatOptions, key: str, text: str) -> str:
    if len(text) == 1:
        return text
    raise ConfigurationError(
        f"option {options.prefix + key!r} is {text!r}",
        where=options.where,
        fix="use a single character",
    )


class CsvTables(TableFormat):
    """Cells with separators between them."""

    name: ClassVar[str] = "csv"
    options = _ALL
    file_suffix = ".csv"

    def reader(
        self, columns: d.RowType, options: FormatOptions, metadata: Sequence[str] = ()
    ) -> LineReader:
        reader = CsvLineReader(columns, csv_form(options), options.prefix)
        reader.fields()  # refuses now what could never be read
        return reader

    def writer(self, columns: d.RowType, options: FormatOptions) -> LineWriter:
        for kind in columns.field_types():
            cell_value(kind, scientific=True)
        return CsvLineWriter(columns, csv_form(options))


class CsvLineReader(LineReader):
    """Reads a line from each message."""

    def __init__(self, columns: d.RowType, form: CsvForm, prefix: str) -> None:
        self._columns = columns
        self._form = form
        self._prefix = prefix
        self._fields: list[Read] | None = None  # rebuilt on first use: closures

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fields": None}

    def fields(self) -> list[Read]:
        """What reads the cells."""
        if self._fields is None:
            self._fields = [self._field(kind) for kind in self._columns.field_types()]
        return self._fields

    def read(self, message: bytes) -> Sequence[tuple[Any, ...]]:
        cells: list[str] = []
        try:
            cells = cells_of(str(message, "utf-8-sig"), self._form.syntax)
            return [self._line(cells)]
        except (ValueError, ArithmeticError) as error:
            if self._form.ignore_errors:
                return ()
            lenient = f"'{self._prefix}{IGNORE_ERRORS.key}' = 'true'"
            bad = bad_message(message, "CSV", error, type(self), lenient)
            if self._is_header(cells):
                bad.fix = (
                    "this line names the columns, and Flink's CSV has no such line: remove it, or "
                    f"have all that cannot be read left out with {lenient}"
                )
            raise bad from error

    def _is_header(self, cells: list[str]) -> bool:
        names = [name.casefold() for name in self._columns.names]
        return [cell.strip().casefold() for cell in cells] == names

    def _line(self, cells: list[str]) -> tuple[Any, ...]:
        fields = self.fields()
        count = len(fields)
        if len(cells) == count + 1 and not parse.trimmed(cells[-1]):
            cells = cells[:-1]
        if self._form.more_cells:
            cells = cells[:count]
        if len(cells) > count or (len(cells) < count and not self._form.ignore_errors):
            msg = f"{count} cells were expected, not {len(cells)}"
            raise ValueError(msg)
        values: list[Any] = []
        for name, field, cell in zip(self._columns.names, fields, cells, strict=False):
            try:
                values.append(field(cell))
            except (ValueError, ArithmeticError) as error:
                msg = f"field {name!r}: {error}"
                raise ValueError(msg) from None
        return (*values, *[None] * (count - len(values)))

    def _field(self, kind: d.DataType) -> Read:
        if isinstance(kind, d.ArrayType):
            element = self._minded(cell_reader(kind.element_type))
            return lambda text: [element(part) for part in self._parts(text)]
        if isinstance(kind, d.RowType):
            return self._nested_row(kind)
        return self._minded(cell_reader(kind))

    def _nested_row(self, kind: d.RowType) -> Read:
        fields = [self._minded(cell_reader(part)) for part in kind.field_types()]

        def read(text: str) -> tuple[Any, ...] | None:
            parts = self._parts(text)
            if not parts:
                return None
            if len(parts) < len(fields) and not self._form.ignore_errors:
                msg = f"{len(fields)} elements were expected, not {len(parts)}"
                raise ValueError(msg)
            found = [field(part) for field, part in zip(fields, parts, strict=False)]
            return (*found, *[None] * (len(fields) - len(found)))

        return read

    def _parts(self, text: str) -> list[str]:
        return text.split(self._form.syntax.array_separator) if parse.trimmed(text) else []

    def _minded(self, convert: Read) -> Read:
        form = self._form
        null, ignore = form.syntax.null_text, form.ignore_errors

        def minded(text: str) -> Any:
            if form.trim:
                text = parse.trimmed(text)
            if text == null or (form.empty_is_null and not text):
                return None
            try:
                return convert(text)
            except (ValueError, ArithmeticError):
                if ignore:
                    return None
                raise

        return minded


_SCALARS: dict[type[d.DataType], Read] = {
    d.NullType: lambda _: None,
    d.CharType: str,
    d.VarCharType: str,
    d.BooleanType: parse.boolean,
    d.TinyIntType: parse.whole_number(8),
    d.SmallIntType: parse.whole_number(16),
    d.IntType: parse.whole_number(32),
    d.BigIntType: parse.whole_number(64),
    d.YearMonthIntervalType: parse.whole_number(32),
    d.DayTimeIntervalType: parse.whole_number(64),
    d.FloatType: lambda text: parse.single(parse.double(text)),
    d.DoubleType: parse.double,
    d.BinaryType: parse.base64_bytes,
    d.VarBinaryType: parse.base64_bytes,
    d.DateType: parse.sql_date,
    d.TimeType: times.read_iso_time,
}


def cell_reader(kind: d.DataType) -> Read:
    """What reads the text of a cell that is neither an array nor a row."""
    if isinstance(kind, d.DecimalType):
        fit = decimal_fitting(kind.precision, kind.scale)
        return lambda text: fit(parse.big_decimal(text))
    if isinstance(kind, d.TimestampType | d.LocalZonedTimestampType):
        zoned = isinstance(kind, d.LocalZonedTimestampType)
        read, cut = times.timestamp_reader("SQL", zoned=zoned), cut_to(kind.precision)
        return lambda text: cut(read(parse.trimmed(text)))
    found = _SCALARS.get(type(kind))
    if found is None:
        raise _no_form(kind)
    return found


def _no_form(kind: d.DataType) -> UnsupportedStepError:
    return UnsupportedStepError(
        f"a cell of a CSV line cannot hold a {kind}",
        fix="declare texts, numbers, booleans, dates, times, or arrays and rows of those; or use "
        "the format 'json'",
    )


class CsvLineWriter(LineWriter):
    """Writes a line as cells, without a line end."""

    def __init__(self, columns: d.RowType, form: CsvForm) -> None:
        self._columns = columns
        self._form = form
        self._lines: CsvLines | None = None  # rebuilt on first use: closures

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lines": None}

    def write(self, values: tuple[Any, ...], kind: int = 0) -> bytes:
        if self._lines is None:
            self._lines = self._made()
        return self._lines.encode([values])

    def _made(self) -> CsvLines:
        # names may come twice in a line, but not in the dicts that lines are made of
        names = [str(place) for place in range(len(self._columns))]
        forms = [
            cell_value(kind, scientific=self._form.scientific)
            for kind in self._columns.field_types()
        ]

        def fields(values: tuple[Any, ...]) -> dict[str, Any]:
            return {
                name: None if value is None else form(value)
                for name, form, value in zip(names, forms, values, strict=False)
            }

        return CsvLines(self._form.dialect, names, fields)


def cell_value(kind: d.DataType, *, scientific: bool) -> Callable[[Any], Any]:
    """What a cell is made of: a text, a number, or a list of these."""
    if isinstance(kind, d.ArrayType):
        inner = cell_value(kind.element_type, scientific=scientific)
        return lambda values: [None if value is None else inner(value) for value in values]
    if isinstance(kind, d.RowType):
        parts = [cell_value(part, scientific=scientific) for part in kind.field_types()]
        return lambda values: [
            None if value is None else part(value)
            for part, value in zip(parts, values, strict=True)
        ]
    if isinstance(kind, d.DecimalType):
        return _stripped if scientific else lambda value: f"{value:f}"
    if isinstance(kind, d.TimestampType | d.LocalZonedTimestampType):
        zoned = isinstance(kind, d.LocalZonedTimestampType)
        return times.timestamp_writer("SQL", zoned=zoned)
    if isinstance(kind, d.BinaryType | d.VarBinaryType):
        return lambda value: base64.b64encode(value).decode()
    cell_reader(kind)
    return _FORMS.get(type(kind), _same)


def _same(value: Any) -> Any:
    return value


def _stripped(value: decimal.Decimal) -> decimal.Decimal:
    return value.normalize(decimal.Context(prec=100)) or decimal.Decimal(0)


def _single(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(str(np.float32(value)))


_FORMS: dict[type[d.DataType], Callable[[Any], Any]] = {
    d.FloatType: _single,
    d.DateType: str,
    d.TimeType: times.write_time,
}
