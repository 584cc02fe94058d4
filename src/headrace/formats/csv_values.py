"""One CSV line to values of a declared row type, by Flink's rules.

In: the text of a message.  Out: a record, or a `ValueError` with the field.
Next: java_parsing.py (texts), csv_deserialization.py (messages)

Checked cell by cell against Flink in tests/unit/formats/test_against_flink.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ClassTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    _ElementTypeInfo,
)
from headrace.common.types import Row
from headrace.data.record_shapes import ClassShape
from headrace.errors import InvalidArgumentError
from headrace.formats import java_parsing as parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.common.typeinfo import TypeInformation

    Converter = Callable[[str], Any]

__all__ = ["CsvSyntax", "cells_of", "record_maker"]


@dataclass(frozen=True, slots=True)
class CsvSyntax:
    """How lines look that are read.

    Attributes:
        separator: between two cells.
        quote: around cells; twice for itself.
        escape: takes the meaning of the next character away.
        array_separator: between the elements of a cell that holds an array.
        null_text: stands for None.
        comments: whether lines that begin with # are skipped.
    """

    separator: str = ","
    quote: str = '"'
    escape: str | None = None
    array_separator: str = ";"
    null_text: str | None = None
    comments: bool = False


_LINE = re.compile(r"[^\r\n]+")

# --- cells ----------------------------------------------------------------------------------------


def cells_of(text: str, syntax: CsvSyntax) -> list[str]:
    """The cells of the first line; what follows does not matter, as in Flink.

    Raises:
        ValueError: there is no line, or a quote does not end.
    """
    start = _first_line(text) if syntax.comments else 0
    if start >= len(text):
        raise ValueError("there is no line")
    if syntax.quote not in text and (syntax.escape is None or syntax.escape not in text):
        line = _LINE.match(text, start)
        return line[0].split(syntax.separator) if line else [""]
    cells, at = [], start
    while True:
        cell, at = _cell(text, at, syntax)
        cells.append(cell)
        if at >= len(text) or text[at] != syntax.separator:
            return cells
        at += 1


def _first_line(text: str) -> int:
    """Where the first line begins that is neither a comment nor blank."""
    for line in _LINE.finditer(text):
        if not line[0].startswith("#") and parse.trimmed(line[0]):
            return line.start()
    return len(text)


def _cell(text: str, at: int, syntax: CsvSyntax) -> tuple[str, int]:
    """The cell that begins at a place, and where it ends."""
    if text.startswith(syntax.quote, at):
        return _quoted_cell(text, at + 1, syntax)
    found: list[str] = []
    while at < len(text) and text[at] not in (syntax.separator, "\n", "\r"):
        if text[at] == syntax.escape:
            found.append(_escaped(text, at + 1))
            at += 1
        else:
            found.append(text[at])
        at += 1
    return "".join(found), at


def _quoted_cell(text: str, at: int, syntax: CsvSyntax) -> tuple[str, int]:
    found: list[str] = []
    while True:
        if at >= len(text):
            raise ValueError("a quote does not end")
        if text[at] == syntax.escape:
            found.append(_escaped(text, at + 1))
            at += 2
        elif text[at] != syntax.quote:
            found.append(text[at])
            at += 1
        elif text.startswith(syntax.quote, at + 1):
            found.append(syntax.quote)
            at += 2
        else:
            return "".join(found), _after_quote(text, at + 1, syntax)


def _after_quote(text: str, at: int, syntax: CsvSyntax) -> int:
    while at < len(text) and text[at] not in (syntax.separator, "\n", "\r"):
        if text[at] > " ":
            raise ValueError(f"{text[at]!r} stands behind a closing quote")
        at += 1
    return at


_ESCAPES = {"0": "\0", "n": "\n", "r": "\r", "t": "\t"}


def _escaped(text: str, at: int) -> str:
    if at >= len(text):
        raise ValueError("the last character is an escape")
    return _ESCAPES.get(text[at], text[at])


# --- values ---------------------------------------------------------------------------------------

_BASIC: dict[BasicType, Converter] = {
    BasicType.STRING: str,
    BasicType.BOOLEAN: parse.boolean,
    BasicType.BYTE: parse.whole_number(8),
    BasicType.SHORT: parse.whole_number(16),
    BasicType.INT: parse.whole_number(32),
    BasicType.LONG: parse.whole_number(64),
    BasicType.FLOAT: lambda text: parse.single(parse.double(text)),
    BasicType.DOUBLE: parse.double,
    BasicType.BIG_INT: parse.whole_number(None),
    BasicType.BIG_DEC: parse.big_decimal,
}
_LOCAL: dict[LocalTimeTypeInfo.TimeType, Converter] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: parse.sql_date,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: parse.sql_time,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: parse.sql_timestamp,
}
_BY_CLASS: dict[type, Converter] = {
    DateTypeInfo: parse.sql_date,
    TimeTypeInfo: parse.sql_time,
    TimestampTypeInfo: parse.sql_timestamp,
}


def record_maker(
    row: RowTypeInfo, syntax: CsvSyntax, *, ignore_errors: bool
) -> Callable[[list[str]], Any]:
    """A function from the cells of a line to a record.

    Raises:
        InvalidArgumentError: a cell cannot hold a field of the type.
    """
    return _Maker(row, syntax, ignore_errors=ignore_errors).record


class _Maker:
    def __init__(self, row: RowTypeInfo, syntax: CsvSyntax, *, ignore_errors: bool) -> None:
        self._syntax = syntax
        self._ignore_errors = ignore_errors
        self._names = row.get_field_names()
        self._fields = [self._field(kind) for kind in row.get_field_types()]
        self._shape = ClassShape(row) if isinstance(row, ClassTypeInfo) else None

    def record(self, cells: list[str]) -> Any:
        """The record; a blank cell too many is allowed at the end, as in Flink."""
        count = len(self._fields)
        if len(cells) == count + 1 and not parse.trimmed(cells[-1]):
            cells = cells[:-1]
        if len(cells) > count or (len(cells) < count and not self._ignore_errors):
            raise ValueError(f"{count} cells were expected, not {len(cells)}")
        values = [*self._values(cells), *[None] * (count - len(cells))]
        if self._shape is not None:
            return self._shape.put_together([[value] for value in values], 1)[0]
        return Row.of_values(tuple(values), self._names)

    def _values(self, cells: list[str]) -> Iterator[Any]:
        for name, field, cell in zip(self._names, self._fields, cells, strict=False):
            try:
                yield field(cell)
            except (ValueError, ArithmeticError) as error:
                raise ValueError(f"field {name!r}: {error}") from None

    def _field(self, kind: TypeInformation) -> Converter:
        """The converter of a cell, with nulls and errors minded."""
        if isinstance(kind, ExternalTypeInfo):
            return self._field(kind.type_info)
        if isinstance(kind, RowTypeInfo):
            return self._nested_row(kind)
        if isinstance(kind, PrimitiveArrayTypeInfo) and kind.element_type == BasicTypeInfo(
            BasicType.BYTE
        ):
            return self._minded(parse.base64_bytes)
        if isinstance(kind, _ElementTypeInfo):
            return self._array(self._minded(_scalar(kind.element_type)))
        return self._minded(_scalar(kind))

    def _minded(self, convert: Converter) -> Converter:
        null, ignore = self._syntax.null_text, self._ignore_errors

        def minded(text: str) -> Any:
            if text == null:
                return None
            try:
                return convert(text)
            except (ValueError, ArithmeticError):
                if ignore:
                    return None
                raise

        return minded

    def _array(self, element: Converter) -> Converter:
        return lambda text: [element(part) for part in self._parts(text)]

    def _nested_row(self, kind: RowTypeInfo) -> Converter:
        names, fields = kind.get_field_names(), list(map(self._field, kind.get_field_types()))

        def convert(text: str) -> Row | None:
            parts = self._parts(text)
            if not parts:
                return None
            if len(parts) != len(fields) and not self._ignore_errors:
                raise ValueError(f"{len(fields)} elements were expected, not {len(parts)}")
            found = [field(part) for field, part in zip(fields, parts, strict=False)]
            return Row.of_values((*found, *[None] * (len(fields) - len(found))), names)

        return convert

    def _parts(self, text: str) -> list[str]:
        return text.split(self._syntax.array_separator) if parse.trimmed(text) else []


def _scalar(kind: TypeInformation) -> Converter:
    found: Converter | None
    if isinstance(kind, BasicTypeInfo):
        found = _BASIC.get(kind.basic_type)
    elif isinstance(kind, LocalTimeTypeInfo):
        found = _LOCAL[kind.time_type]
    else:
        found = _BY_CLASS.get(type(kind))
    if found is not None:
        return found
    raise InvalidArgumentError(
        f"a cell of a CSV line cannot hold a {kind}",
        where="CsvRowDeserializationSchema",
        fix="declare texts, numbers, booleans, dates, times, or arrays and rows of those",
    )
