"""Records and cells of CSV text, one by one, as Spark's parser sees them.

A quote that stands where none should does no harm: behind the end of a quoted cell it makes the
cell one without quotes, up to the next separator.  In: text.  Out: cells, None for empty ones.
Next: csv_file.py, which is asked first
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.formats.csv_reader import CsvSchema

__all__ = ["CsvText"]


class CsvText:
    """Cuts text into records and cells.

    Args:
        schema: its syntax.
        line_end: what ends a record.
    """

    def __init__(self, schema: CsvSchema, line_end: str) -> None:
        self._separator = schema.column_separator
        self._quote = schema.quote_char
        self._comment = "#" if schema.allow_comments else None
        self._line_end = line_end
        separator, end = re.escape(schema.column_separator), re.escape(line_end)
        self._end = re.compile(f"{separator}|{end}")
        # Where Spark's parser looks at single characters, a line feed always ends a record.
        self._any_end = re.compile(f"{separator}|{end}|\n")
        self._blanks = re.compile(f"(?:(?!{separator}|{end}|\n)[\x00-\x20])*")

    def records(self, text: str, *, final: bool) -> Iterator[tuple[list[str | None], int, int]]:
        """(cells, beginning, end) of every record that the text holds as a whole.

        Args:
            text: begins with a record.
            final: nothing comes after it.
        """
        at = self._next(text, 0, final=final)
        while at is not None and at < len(text):
            found = self._record(text, at, final=final)
            if found is None:
                return
            cells, end = found
            yield cells, at, end
            at = self._next(text, end, final=final)

    def _next(self, text: str, at: int, *, final: bool) -> int | None:
        """Where the next record begins: behind empty lines and comments."""
        while True:
            if text.startswith(self._line_end, at):
                at += len(self._line_end)
            elif text.startswith("\n", at):  # empty, whatever ends lines elsewhere
                at += 1
            elif self._comment is not None and text.startswith(self._comment, at):
                end = text.find(self._line_end, at)
                if end < 0:
                    return len(text) if final else None
                at = end + len(self._line_end)
            else:
                return at

    def _record(self, text: str, at: int, *, final: bool) -> tuple[list[str | None], int] | None:
        cells: list[str | None] = []
        while True:
            found = self._cell(text, at, final=final)
            if found is None:
                return None
            cell, at = found
            cells.append(cell)
            if text.startswith(self._separator, at):
                at += 1
            elif text.startswith(self._line_end, at):
                return cells, at + len(self._line_end)
            else:
                return cells, min(at + 1, len(text))

    def _cell(self, text: str, at: int, *, final: bool) -> tuple[str | None, int] | None:
        """A cell and where it ends; None if that is not in the text yet."""
        if self._quote is not None and text.startswith(self._quote, at):
            return self._quoted(text, at, final=final)
        if text.startswith("\n", at):
            return None, at
        stop = self._stop(self._end, text, at, final=final)
        return None if stop is None else (text[at:stop] or None, stop)

    def _stop(self, end: re.Pattern[str], text: str, at: int, *, final: bool) -> int | None:
        found = end.search(text, at)
        if found is not None:
            return found.start()
        return len(text) if final else None

    def _quoted(self, text: str, begin: int, *, final: bool) -> tuple[str, int] | None:
        quote, at = self._quote, begin + 1
        assert quote is not None
        parts: list[str] = []
        while True:
            found = text.find(quote, at)
            if found < 0:  # it never ends
                cell = self._normal([*parts, text[at:]]) if begin + 1 < len(text) else quote
                return (cell, len(text)) if final else None
            parts.append(text[at:found])
            if text.startswith(quote, found + 1):
                parts.append(quote)
                at = found + 2
                continue
            blanks = self._blanks.match(text, found + 1)
            assert blanks is not None
            behind = blanks.end()
            if behind == len(text) and not final:
                return None
            if behind == len(text) or self._any_end.match(text, behind):
                return self._normal(parts), behind
            stop = self._stop(self._any_end, text, found + 1, final=final)
            if stop is None:
                return None
            return self._normal([quote, *parts, text[found:stop]]), stop

    def _normal(self, parts: list[str]) -> str:
        """A cell in which lines end alike, whatever they end with in the file."""
        return "".join(parts).replace(self._line_end, "\n")
