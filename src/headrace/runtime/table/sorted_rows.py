"""The lines of a key in an order, in pieces: for those who must keep all lines of a partition.

    index   key           ─▶ [next number, [piece, how many lines, its first line], ...]
    pieces  (key, piece)  ─▶ [line, ...]

A change reads and writes one piece and the index, however many lines a key has.
In: lines of one key.  Out: their numbers, and the lines around them.  Next: runtime/table/rank.py
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.table.ordering import same_line
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.runtime.pages.table import PagedTable
    from headrace.runtime.table.base import KeyedTableOperator
    from headrace.runtime.table.ordering import Ordering

    Line = tuple[Any, ...]

PIECE_LINES = 256
_SWEPT_PAGES = 2
_NUMBER, _COUNT, _FIRST = range(3)


class SortedRows:
    """The sorted lines of all keys of an operator.

    Args:
        operator: whose state it is; it declares `specs`.
        ordering: of the lines; equal ones are in the order in which they came.
        ttl_ms: after which time without a change a key is forgotten; 0 for never.
        name: of its states.
    """

    def __init__(
        self, operator: KeyedTableOperator, ordering: Ordering, ttl_ms: int, name: str = "sorted"
    ) -> None:
        index, pieces = self.specs(name)
        self._index = operator.expiring_table(index.name, ttl_ms)
        self._pieces: PagedTable = operator.states.table(pieces.name)
        self._key = ordering.key

    @staticmethod
    def specs(name: str = "sorted") -> tuple[StateSpec, StateSpec]:
        """Its states."""
        return StateSpec(f"{name}-index", "table"), StateSpec(f"{name}-pieces", "paired")

    def of(self, key: Any) -> RowsOfKey:
        """The lines of a key."""
        return RowsOfKey(self, key)

    def keys(self) -> list[Any]:
        """All keys that have lines."""
        return [key for key, _ in self._index.items()]

    def sweep(self) -> None:
        """Drop pieces of keys whose time is over."""
        if self._index.ttl_ms:
            self._pieces.sweep(
                lambda place, lines: NO_ENTRY if self._index.get(place[0]) is None else lines,
                _SWEPT_PAGES,
            )


class RowsOfKey:
    """The sorted lines of one key, from place 0 on."""

    __slots__ = ("_all", "_entry", "_key")

    def __init__(self, rows: SortedRows, key: Any) -> None:
        self._all = rows
        self._key = key
        # survives restart: [the number of the next piece, [[number, count, first line], ...]]
        self._entry: list[Any] | None = rows._index.get(key)
        if self._entry is None:
            self._forget_pieces()

    def _forget_pieces(self) -> None:
        """A key that begins anew may have pieces left over from a time that is over."""
        stored = self._all._index.table.get(self._key)
        for head in () if stored is None else stored[1][1]:
            self._all._pieces.remove((self._key, head[_NUMBER]))
        if stored is not None:
            self._all._index.remove(self._key)

    @property
    def _heads(self) -> list[list[Any]]:
        return [] if self._entry is None else self._entry[1]

    def __len__(self) -> int:
        return sum(head[_COUNT] for head in self._heads)

    def add(self, row: Line) -> int:
        """Put a line behind its equals; its place."""
        if self._entry is None:
            self._entry = [1, [[0, 1, row]]]
            self._write(0, [row])
            return 0
        wanted = self._all._key(row)
        heads = self._heads
        number = max(bisect_right(heads, wanted, key=self._head_key) - 1, 0)
        lines = self._lines(number)
        place = bisect_right(lines, wanted, key=self._all._key)
        lines.insert(place, row)
        before: int = sum(head[_COUNT] for head in heads[:number])
        self._write(number, lines)
        return before + place

    def remove(self, row: Line) -> int | None:
        """Take the first line that equals a given one away; the place it had, None for none."""
        wanted, before = self._all._key(row), 0
        for number, head in enumerate(self._heads):
            following = self._heads[number + 1 : number + 2]
            if following and self._head_key(following[0]) < wanted:
                before += head[_COUNT]
                continue
            lines = self._lines(number)
            place = bisect_left(lines, wanted, key=self._all._key)
            while place < len(lines) and self._all._key(lines[place]) == wanted:
                if same_line(lines[place], row):
                    del lines[place]
                    self._write(number, lines)
                    return before + place
                place += 1
            if place < len(lines):
                return None
            before += head[_COUNT]
        return None

    def between(self, start: int, end: int) -> list[Line]:
        """The lines from a place up to another one."""
        found: list[Line] = []
        before = 0
        for number, head in enumerate(self._heads):
            after = before + head[_COUNT]
            if before < end and after > start:
                found += self._lines(number)[max(start - before, 0) : end - before]
            if after >= end:
                break
            before = after
        return found

    def __iter__(self) -> Iterator[Line]:
        for number in range(len(self._heads)):
            yield from self._lines(number)

    def _head_key(self, head: list[Any]) -> Any:
        return self._all._key(head[_FIRST])

    def _lines(self, number: int) -> list[Line]:
        place = (self._key, self._heads[number][_NUMBER])
        return list(self._all._pieces.get(place, ()))

    def _write(self, number: int, lines: list[Line]) -> None:
        """Store a piece that changed, in two if it is long, and the index."""
        entry, pieces = self._entry, self._all._pieces
        assert entry is not None
        following, heads = entry
        head = heads[number]
        entry = [following, heads]
        if not lines:
            pieces.remove((self._key, head[_NUMBER]))
            heads = heads[:number] + heads[number + 1 :]
        elif len(lines) > PIECE_LINES:
            half = len(lines) // 2
            pieces.put((self._key, head[_NUMBER]), lines[:half])
            pieces.put((self._key, following), lines[half:])
            parts = [[head[_NUMBER], half, lines[0]], [following, len(lines) - half, lines[half]]]
            heads = heads[:number] + parts + heads[number + 1 :]
            following += 1
        else:
            pieces.put((self._key, head[_NUMBER]), lines)
            heads = [*heads[:number], [head[_NUMBER], len(lines), lines[0]], *heads[number + 1 :]]
        if heads:
            self._entry = [following, heads]
            self._all._index.put(self._key, self._entry)
        else:
            self._entry = None
            self._all._index.remove(self._key)
