"""Entries of state as they stand in memory, and the bound on how many of them stand there.

A *cell* is one key's entry while it is in memory; paged tables (table.py) make cells from stored
pages and write changed ones back.  `Memory` is shared by all tables of a process: when their cells
or the packed pages behind them grow past its limits, those not used for longest are dropped.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.runtime.pages.hot import Segment
    from headrace.runtime.pages.packed import Bucket
    from headrace.runtime.pages.table import PagedTable

NO_ENTRY: Any = object()  # the value of a cell whose key has no entry
NOT_READ: Any = object()  # the value of a hot cell that sleeps: it is in its record only

# A cell, its key, a tuple of two numbers and the place in the dict: 320 bytes as measured.
CELL_BYTES = 330
# Unpickled values take about this many times their stored size beyond that.
UNPACKED = 4


class Cell:
    """The entry of one key.

    Read `value`; to change it, set `value` and then call ``table.touch(cell)`` if it is `clean`.
    """

    __slots__ = ("clean", "home", "key", "record", "seen", "value")

    def __init__(
        self, key: Any, value: Any, home: Bucket | Segment, seen: int, record: int = 0
    ) -> None:
        self.key = key
        self.value = value
        self.home = home  # where the entry is stored: a bucket of a page, or a hot segment
        self.clean = True  # as stored
        self.seen = seen  # the flush after which it was read, or that wrote it last
        self.record = record  # the number of the value's own record; 0: it is stored at home


class Memory:
    """Bounds what the tables of a process keep in memory between and within batches.

    What a batch has changed and not yet written comes on top, and so do the hot regions.
    """

    def __init__(
        self, cell_bytes: int = 256 << 20, page_bytes: int = 96 << 20, *, misses: int = 256
    ) -> None:
        self.cell_bytes = cell_bytes
        self.page_bytes = page_bytes
        # a table looks after its memory after each flush, and when so many entries were not in it
        self.misses = misses
        # in use, as far as tables have reported it
        self._cells = 0
        self._pages = 0
        self._futile = 0
        self._tables: weakref.WeakSet[PagedTable] = weakref.WeakSet()

    def add(self, table: PagedTable) -> None:
        """Watch a table from now on."""
        self._tables.add(table)

    @property
    def roomy(self) -> bool:
        """Whether neighbours of a wanted entry may be unpacked along with it."""
        return self._cells * 2 < self.cell_bytes

    def report(self, cells: int, pages: int) -> None:
        """A table's cells and packed pages take so many bytes more or less than before."""
        self._cells += cells
        self._pages += pages
        if self._cells > max(self.cell_bytes, self._futile) or self._pages > self.page_bytes:
            self._trim()

    def dismiss(self, cells: int, pages: int) -> None:
        """A table is no more, and these bytes of its with it."""
        # No look at the limits: this comes at any moment, also while a table is being read.
        self._cells -= cells
        self._pages -= pages

    def settle(self) -> None:
        """A table wrote its changes, so that more cells can leave."""
        self._futile = 0

    def _trim(self) -> None:
        """Let go of the oldest cells and pages."""
        tables = list(self._tables)
        self._count(tables)
        if self._cells > self.cell_bytes:
            self._trim_cells(tables)
        if self._pages > self.page_bytes:
            self._trim_pages(tables)
        self._count(tables)
        # Changed cells cannot leave before they are written: do not look again and again.
        self._futile = self._cells + self.cell_bytes // 8

    def _count(self, tables: list[PagedTable]) -> None:
        self._cells = self._pages = 0
        for table in tables:
            cells, pages = table.measure()
            self._cells += cells
            self._pages += pages

    def _trim_cells(self, tables: list[PagedTable]) -> None:
        """Go down to three quarters, so that the walk over all cells is rarely made."""
        surplus = self._cells - self.cell_bytes * 3 // 4
        step = 1 + sum(len(table.cells) for table in tables) // 10_000  # a sample tells the ages
        ages = sorted(
            (cell.seen - table.now, table.entry_bytes)
            for table in tables
            for cell in list(table.cells.values())[::step]
        )
        cutoff, found = 0, 0
        for age, size in ages:
            if found >= surplus:
                break
            cutoff = age
            found += size * step
        for table in tables:
            surplus -= table.evict_cells(table.now + cutoff - 1)
        for table in tables:  # in a large batch most are equally young
            surplus -= table.evict_cells(table.now + cutoff, max(0, surplus))

    def _trim_pages(self, tables: list[PagedTable]) -> None:
        surplus = self._pages - self.page_bytes * 3 // 4
        pages = [(page.seen - table.now, table, page) for table in tables for page in table.pages()]
        for _, table, page in sorted(pages, key=lambda found: found[0]):
            if surplus <= 0:
                break
            surplus -= page.size
            table.evict_page(page)


PROCESS_MEMORY = Memory()
