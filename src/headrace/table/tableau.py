"""Lines as a table of text, as Flink prints it.

    +----+-------------+
    | op |           a |
    +----+-------------+
    | +I |           1 |
    +----+-------------+
    1 row in set

In: rows and their types.  Out: text.  Next: table/cell_texts.py writes single values
"""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING, TextIO

from headrace.common import data_types as t
from headrace.table.cell_texts import cell_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.common.data_types import DataType
    from headrace.common.types import Row
    from headrace.table.resolved import ResolvedSchema

MAX_WIDTH = 30
_NULL = "<NULL>"
# how wide values of a type can be, as Flink reckons
_WIDTHS: dict[type[DataType], int] = {
    t.BooleanType: 6,  # <NULL> is wider than false
    t.TinyIntType: 6,
    t.SmallIntType: 6,
    t.IntType: 11,
    t.BigIntType: 20,
    t.DateType: 10,
}


class Tableau:
    """Prints rows as a table.

    Args:
        names: of the columns.
        types: of the columns.
        widths: of the columns.
        kinds: whether the kind of change is a column.
    """

    def __init__(
        self, names: Sequence[str], types: Sequence[DataType], widths: Sequence[int], *, kinds: bool
    ) -> None:
        self._names, self._types, self._kinds = list(names), list(types), kinds
        self._widths = list(widths)

    @staticmethod
    def for_stream(
        schema: ResolvedSchema, *, kinds: bool, zone: str = "UTC", max_width: int = MAX_WIDTH
    ) -> Tableau:
        """A table whose widths come from types: lines are printed as they come."""
        types = schema.get_column_data_types()
        names = schema.get_column_names()
        widths = [
            _type_width(name, kind, max_width) for name, kind in zip(names, types, strict=True)
        ]
        made = Tableau(names, types, widths, kinds=kinds)
        made._zone = zone
        return made

    @staticmethod
    def for_known(schema: ResolvedSchema, rows: Sequence[Row]) -> Tableau:
        """A table whose widths come from its lines."""
        types, names = schema.get_column_data_types(), schema.get_column_names()
        made = Tableau(names, types, [0] * len(names), kinds=False)
        made._null = ""
        made.fit([made._cells(row) for row in rows])
        return made

    def fit(self, lines: Sequence[Sequence[str]], max_width: int | None = None) -> None:
        """Give every column the width of its widest cell, of lines without kinds.

        Args:
            lines: the texts of the cells.
            max_width: no column of text becomes wider, but for its title.
        """
        for place, name in enumerate(self._names):
            widest = max((_width(cells[place]) for cells in lines), default=0)
            shown = widest if max_width is None else min(widest, max_width)
            self._widths[place] = max(_width(name), shown)

    _zone, _null = "UTC", _NULL

    def print(self, rows: Iterable[Row], out: TextIO | None = None) -> None:
        """Print the lines as they come."""
        out = sys.stdout if out is None else out
        border, count = self.border(), 0
        for row in rows:
            if not count:
                print(self.header(), file=out)
            print(self.line(self._cells(row)), file=out)
            count += 1
        if not count:
            print("Empty set", file=out)
            return
        print(border, file=out)
        print(f"{count} row{'s' if count > 1 else ''} in set", file=out)

    def _titles(self) -> list[str]:
        return ["op", *self._names] if self._kinds else self._names

    def _all_widths(self) -> list[int]:
        return [2, *self._widths] if self._kinds else self._widths

    def header(self) -> str:
        """The titles between two borders."""
        border = self.border()
        return f"{border}\n{self.line(self._titles())}\n{border}"

    def border(self) -> str:
        """The line above and below the titles, and at the end."""
        return "+" + "+".join("-" * (width + 2) for width in self._all_widths()) + "+"

    def _cells(self, row: Row) -> list[str]:
        cells = [
            self._null if value is None else cell_text(value, kind, self._zone)
            for value, kind in zip(row, self._types, strict=True)
        ]
        return [str(row.get_row_kind()), *cells] if self._kinds else cells

    def texts(self, row: Row) -> list[str]:
        """The cells of a row as texts, without its kind."""
        return self._cells(row)[1 if self._kinds else 0 :]

    def line(self, cells: Sequence[str]) -> str:
        """A line of cells, in the widths of the columns."""
        shown = [
            _padded(cell, width) for cell, width in zip(cells, self._all_widths(), strict=True)
        ]
        return "| " + " | ".join(shown) + " |"


def _type_width(name: str, kind: DataType, max_width: int = MAX_WIDTH) -> int:
    return max(_width(name), _value_width(kind, max_width))


def _value_width(kind: DataType, max_width: int) -> int:
    if isinstance(kind, t.DecimalType):
        return min(max_width, max(6, kind.precision + 2))
    if isinstance(kind, t.TimeType):
        return 8 if kind.precision == 0 else 9 + kind.precision
    if isinstance(kind, t.TimestampType | t.LocalZonedTimestampType):
        return 19 if kind.precision == 0 else 20 + kind.precision
    return _WIDTHS.get(type(kind), max_width)


def _width(text: str) -> int:
    """How many places a text takes: letters of East Asia take two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def _padded(text: str, width: int) -> str:
    if _width(text) > width:
        kept = ""
        for sign in text:
            if _width(kept + sign) > width - 3:
                break
            kept += sign
        text = kept + "..."
    return " " * (width - _width(text)) + text
