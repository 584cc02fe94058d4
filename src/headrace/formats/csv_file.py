"""Pieces of CSV files to columns, by the rules of Spark's reader.

    piece ── well quoted ──▶ cells, by Arrow ──┐
          └─ otherwise ────▶ cells, by csv_text.py ──▶ columns (file_values.py), bad records

Arrow only cuts records into cells here; a piece that it refuses is halved until the record is found
that is to blame.  In: bytes that begin with a record.  Out: `FileRows`.
Next: connectors/files/readers.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from headrace.common.typeinfo import Types
from headrace.data.codec import codec_for
from headrace.errors import TypeMismatchError, UnsupportedStepError
from headrace.formats.csv_text import CsvText
from headrace.formats.file_values import column_of, converter_of, decimal_texts
from headrace.formats.json_file import FileRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.formats.csv_reader import CsvSchema

__all__ = ["HEAD_BYTES", "CsvFileReader", "CsvPiece", "line_end_of"]

_SMALL = 64
_COMMENTS = re.compile(rb"(?m)^#[^\n]*\n?")
_COMMENT = re.compile(rb"(?m)^#")
_MARK = b"\xef\xbb\xbf"
# Spark's parser looks for the first line end in so much of a file.
HEAD_BYTES = 1 << 20


def line_end_of(head: bytes) -> bytes:
    r"""What ends the records of a file, as Spark's parser finds out: its first line end."""
    found = re.search(rb"\n|\r\n?", head[:HEAD_BYTES])
    return b"\n" if found is None else found[0]


@dataclass(frozen=True, slots=True)
class CsvPiece:
    """Whole records.

    Attributes:
        data: their bytes.
        ends: where each of them ends, comments and empty lines counted as well.
        plain: whether every quote stands where one should, so that Arrow sees the same cells.
    """

    data: bytes
    ends: Any
    plain: bool


class CsvFileReader:
    """Reads files of one schema whose records end with one text.

    Args:
        schema: columns and syntax.
        line_end: of the file, from `line_end_of`.

    Raises:
        UnsupportedStepError: a column cannot be read from CSV.
    """

    def __init__(self, schema: CsvSchema, line_end: bytes = b"\n") -> None:
        arrow = codec_for(schema.to_type_info()).schema
        assert arrow is not None
        self._schema = arrow
        self._csv = schema
        self._text = CsvText(schema, line_end.decode())
        self._line_end = line_end
        self._fields = [self._field(field) for field in arrow]
        syntax = schema.column_separator + (schema.quote_char or "")
        self._by_arrow = syntax.isascii() and schema.escape_char is None and line_end != b"\r"
        self._parse = pv.ParseOptions(newlines_in_values=True)
        if self._by_arrow:
            self._parse.delimiter = schema.column_separator
            self._parse.quote_char = schema.quote_char or False
        texts = dict.fromkeys(arrow.names, pa.string())
        self._convert = pv.ConvertOptions(column_types=texts, strings_can_be_null=False)

    # --- records ------------------------------------------------------------------------------

    def header(self, data: bytes, *, final: bool) -> tuple[list[str | None], int] | None:
        """The cells of the first record, and where it ends; None if more has to be read."""
        text = data.decode("utf-8", "surrogateescape")
        for cells, _, end in self._text.records(text, final=final):
            return cells, _bytes(text[:end])
        return ([], len(data)) if final else None

    def cut(self, data: bytes, *, final: bool) -> CsvPiece:
        """The records that ``data`` holds as a whole; what is left waits for more.

        Args:
            data: begins with a record.
            final: nothing comes after it.
        """
        ends = self._plain_ends(data, final=final)
        if ends is not None:
            return CsvPiece(data[: ends[-1]] if len(ends) else b"", ends, plain=True)
        text, found, at = data.decode("utf-8", "surrogateescape"), [], 0
        size = 0
        for _, _, end in self._text.records(text, final=final):
            size += _bytes(text[at:end])
            found.append(size)
            at = end
        if final and (not found or found[-1] < len(data)):
            found.append(len(data))  # comments, empty lines
        return CsvPiece(data[: found[-1]] if found else b"", np.array(found, np.int64), plain=False)

    def _plain_ends(self, data: bytes, *, final: bool) -> Any | None:
        """Where records end; None if a quote or a line end stands where Arrow sees it otherwise."""
        if not self._by_arrow or not self._ends_alike(data, final=final):
            return None
        content: Any = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(content == 10) + 1
        quote = self._csv.quote_char
        if quote is not None and quote.encode() in data:
            quotes = np.flatnonzero(content == ord(quote))
            ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
            if not self._well_quoted(content, quotes, quote, final=final):
                return None
        if final and len(data) and (not len(ends) or ends[-1] < len(data)):
            ends = np.append(ends, len(data))
        return ends

    def _ends_alike(self, data: bytes, *, final: bool) -> bool:
        """Whether every line end is the one of the file."""
        if self._line_end == b"\n":
            return b"\r" not in data
        back = data.count(b"\r") - (not final and data.endswith(b"\r"))
        return back == data.count(b"\n") == data.count(b"\r\n")

    def _well_quoted(self, content: Any, quotes: Any, quote: str, *, final: bool) -> bool:
        """Whether quotes stand around whole cells, and twice inside of them."""
        if final and len(quotes) % 2:
            return False
        opening, closing = quotes[0::2], quotes[1::2]
        ends = np.array([ord(self._csv.column_separator), 10, 13, ord(quote)], np.uint8)
        before = content[opening[opening > 0] - 1]
        behind = content[closing[closing < len(content) - 1] + 1]
        # Every second quote opens: one right behind a closing one is the second half of `""`.
        return bool(np.isin(before, ends).all() and np.isin(behind, ends).all())

    # --- rows ---------------------------------------------------------------------------------

    def rows(self, piece: CsvPiece) -> Iterator[FileRows]:
        """The records of a piece, in order."""
        if not piece.data:
            return
        if not piece.plain:
            yield self._by_text(piece.data)
            return
        columns = self._by_arrow_columns(piece.data)
        if columns is not None:
            yield self._built(columns, [], lambda row: self._texts_of(piece)[row])
        elif len(piece.ends) <= _SMALL:
            yield self._by_text(piece.data)
        else:
            half = len(piece.ends) // 2
            middle = int(piece.ends[half - 1])
            yield from self.rows(CsvPiece(piece.data[:middle], piece.ends[:half], plain=True))
            rest = piece.ends[half:] - middle
            yield from self.rows(CsvPiece(piece.data[middle:], rest, plain=True))

    def _by_arrow_columns(self, data: bytes) -> list[pa.Array] | None:
        quote, null = self._csv.quote_char, self._csv.null_value
        quoted = quote is not None and quote.encode() in data
        if self._line_end == b"\r\n":
            data = data.replace(b"\r\n", b"\n")
        if self._csv.allow_comments and _COMMENT.search(data):
            if quoted:
                return None
            data = _COMMENTS.sub(b"", data)
        if quote is not None and null is not None and quoted and (quote * 2).encode() in data:
            return None  # an empty text in quotes is none of the nulls then
        if data.startswith(_MARK):
            return None
        if not data.strip(b"\n"):
            return [pa.array([], pa.string()) for _ in self._schema]
        options = pv.ReadOptions(
            use_threads=False, block_size=len(data) + 2, column_names=self._schema.names
        )
        try:
            table = pv.read_csv(pa.BufferReader(data), options, self._parse, self._convert)
        except pa.ArrowException:
            return None
        columns = [column.combine_chunks() for column in table.columns]
        return [self._with_nulls(column, empty=True) for column in columns]

    def _texts_of(self, piece: CsvPiece) -> list[str]:
        begins = [0, *piece.ends[:-1].tolist()]
        pairs = zip(begins, piece.ends.tolist(), strict=True)
        texts = (_record_text(piece.data[begin:end]) for begin, end in pairs)
        comments = self._csv.allow_comments
        return [text for text in texts if text and not (comments and text.startswith("#"))]

    def _by_text(self, data: bytes) -> FileRows:
        text = data.decode("utf-8", "surrogateescape")
        records = [
            (cells, text[begin:end]) for cells, begin, end in self._text.records(text, final=True)
        ]
        clean = _unescaped if _has_surrogates(text) else _same
        cleaned = [([clean(cell) for cell in cells], text) for cells, text in records]
        return self._from_cells(cleaned)

    def rows_of_cells(self, records: list[tuple[list[str], str]]) -> FileRows:
        """Records that somebody else has cut into cells: (cells, text) each."""
        return self._from_cells(
            [([cell or None for cell in cells], text) for cells, text in records]
        )

    def _from_cells(self, records: list[tuple[list[str | None], str]]) -> FileRows:
        width = len(self._schema)
        columns = [
            pa.array(
                [cells[at] if at < len(cells) else None for cells, _ in records],
                pa.string(),
            )
            for at in range(width)
        ]
        columns = [self._with_nulls(column, empty=False) for column in columns]
        misfits = [row for row, (cells, _) in enumerate(records) if len(cells) != width]
        return self._built(
            columns, misfits, lambda row: _record_text(records[row][1].encode(*_LOSSLESS))
        )

    def _with_nulls(self, column: pa.StringArray, *, empty: bool) -> pa.StringArray:
        """Null where a cell stands for it; an empty one in quotes does unless a text is said to."""
        null = self._csv.null_value
        for text in ([""] if empty or null is None else []) + ([] if null is None else [null]):
            is_null = pc.equal(column, text)
            if pc.any(is_null).as_py():
                column = pc.if_else(is_null, pa.scalar(None, pa.string()), column)
        return column

    def _built(self, columns: list[pa.Array], misfits: list[int], text_of: Any) -> FileRows:
        bad = set(misfits)
        arrays = []
        for column, convert in zip(columns, self._fields, strict=True):
            array, misfit = convert(column)
            arrays.append(array)
            bad.update(misfit)
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        return FileRows(batch, tuple((row, text_of(row)) for row in sorted(bad)))

    # --- fields -------------------------------------------------------------------------------

    def _field(self, field: pa.Field) -> Any:
        """What makes a column of cells: (values, places of cells that are none)."""
        schema, name = self._csv, field.name
        if name in schema.array_separators:
            return _array_maker(field.type, schema.array_separators[name], name)
        if name in schema.decimals:
            digits = schema.decimals[name]
            return lambda cells: decimal_texts(cells, *digits)
        kind = dict(zip(schema.names, schema.types, strict=True))[name]
        if kind == Types.STRING() and schema.null_value is None:
            return lambda cells: (cells.fill_null(""), ())
        _check(field.type, name)
        return lambda cells: column_of(cells, field.type)


_KINDS = (
    pa.types.is_string, pa.types.is_boolean, pa.types.is_signed_integer, pa.types.is_floating,
    pa.types.is_date, pa.types.is_timestamp,
)  # fmt: skip


def _check(kind: pa.DataType, name: str) -> None:
    if not any(is_kind(kind) for is_kind in _KINDS):
        raise UnsupportedStepError(
            f"column {name!r} of type {kind} cannot be read from a CSV file",
            fix="read it as a text with add_string_column(), and convert it in a map()",
        )


_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def _array_maker(kind: pa.ListType, separator: str, name: str) -> Any:
    element = kind.value_type
    _check(element, name)

    def make(cells: pa.StringArray) -> tuple[pa.Array, tuple[int, ...]]:
        if separator:
            lists = pc.split_pattern(cells, separator)
        else:
            lists = pa.ListArray.from_arrays(pa.array(range(len(cells) + 1), pa.int32()), cells)
        if pa.types.is_string(element):
            return lists.cast(kind), ()
        values = lists.to_pylist()
        try:
            made = [found and [_element(text, element) for text in found] for found in values]
        except (ValueError, ArithmeticError) as error:
            raise TypeMismatchError(
                f"an element of column {name!r} is no {element}: {error}",
                fix="correct the file, or declare an array of texts",
            ) from error
        return pa.array(made, kind), ()

    return make


def _element(text: str | None, kind: pa.DataType) -> Any:
    if text is None:
        return None
    text = text.strip()
    if pa.types.is_boolean(kind):
        lower = text.lower()
        if lower not in _TRUE + _FALSE:
            raise ValueError(text)
        return lower in _TRUE
    return converter_of(kind)(text)


# --- texts ----------------------------------------------------------------------------------------

_LOSSLESS = ("utf-8", "surrogateescape")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(*_LOSSLESS))


def _record_text(record: bytes) -> str:
    """A record for people: without the end of its line."""
    text = record.decode("utf-8", "replace")
    for end in ("\r\n", "\n", "\r"):
        if text.endswith(end):
            return text[: -len(end)]
    return text


def _has_surrogates(text: str) -> bool:
    return not text.isascii() and _SURROGATE.search(text) is not None


def _unescaped(cell: str | None) -> str | None:
    return None if cell is None else cell.encode(*_LOSSLESS).decode("utf-8", "replace")


def _same(cell: str | None) -> str | None:
    return cell
