"""A table of keyed entries that is stored in pages: many keys to a page, only dirty pages written.

A round trip to Spark's state store costs about 0.1 ms whatever its size, so keys must share pages;
a page is rewritten whole, so pages must stay small.  Pages are found by extendible hashing: the low
bits of a key's hash index a directory of pages; a page that grows past its limit splits in two, and
two small sisters merge again.  Only the directory and touched pages are ever read.

    directory (2 bits)     pages
    00 ──────────────┐
    10 ──────────┐   └──▶ page 0 (depth 2) {key: value, ...}
    01 ──┬──▶ page 1      ...
    11 ──┘   (depth 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import StateError
from headrace.runtime.key_groups import _mix, stable_hash
from headrace.runtime.pickling import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.runtime.state.backend import PageStore

PAGE_BYTES = 64 * 1024
_FORMAT = b"\x01"  # first byte of everything stored: the codec's version
_MAX_DEPTH = 30
NO_ENTRY = object()


class Page:
    """Some keys of a table. `entries` may be read and written directly, with `dirty` set after."""

    __slots__ = ("depth", "dirty", "entries", "number")

    def __init__(self, number: int, depth: int, entries: dict[Any, Any]) -> None:
        self.number = number
        self.depth = depth
        self.entries = entries
        self.dirty = False


class PagedTable:
    """Entries by key for one state of one operator in one subtask.

    Hot loops use `where.get(key) or locate(key)` to reach the page of a key directly.
    """

    def __init__(self, store: PageStore, name: str, *, page_bytes: int = PAGE_BYTES) -> None:
        self._store = store
        self._prefix = name.encode() + b"\0"
        self._page_bytes = page_bytes
        # rebuilt on open
        self.where: dict[Any, Page] = {}
        self._pages: dict[int, Page] = {}
        # survives restart (the stored directory); written by _split and _merge
        self._directory: list[int] = []
        self._depths: dict[int, int] = {}
        self._next_number = 0
        self._directory_dirty = False
        self._opened = False
        self._swept = -1

    def get(self, key: Any, default: Any = None) -> Any:
        """The entry of a key."""
        page = self.where.get(key) or self.locate(key)
        return page.entries.get(key, default)

    def put(self, key: Any, value: Any) -> None:
        """Set the entry of a key."""
        page = self.where.get(key) or self.locate(key)
        page.entries[key] = value
        page.dirty = True

    def remove(self, key: Any) -> None:
        """Forget a key; unknown keys are no error."""
        page = self.where.get(key) or self.locate(key)
        if page.entries.pop(key, NO_ENTRY) is not NO_ENTRY:
            page.dirty = True
            self.where.pop(key, None)

    def __contains__(self, key: Any) -> bool:
        page = self.where.get(key) or self.locate(key)
        return key in page.entries

    def locate(self, key: Any) -> Page:
        """The page that holds a key or would hold it; read from the store on first touch."""
        if not self._opened:
            self._open()
        number = self._directory[_page_hash(key) & (len(self._directory) - 1)]
        page = self._pages.get(number)
        if page is None:
            page = self._load(number)
        self.where[key] = page
        return page

    def items(self) -> list[tuple[Any, Any]]:
        """Every entry of the table; reads all pages."""
        if not self._opened:
            self._open()
        for number in self._depths:
            if number not in self._pages:
                self._load(number)
        return [item for page in self._pages.values() for item in page.entries.items()]

    def flush(self) -> None:
        """Write what changed since the last flush."""
        if not self._opened:
            return
        for page in [page for page in self._pages.values() if page.dirty]:
            self._write(page)
        if self._directory_dirty:
            stored = (self._directory, self._depths, self._next_number)
            self._store.put(self._prefix + b"d", _FORMAT + dumps(stored))
            self._directory_dirty = False
            self._reindex()

    def _reindex(self) -> None:
        """Point every key at its page again: after splits and merges, absent keys point astray."""
        self.where = {key: page for page in self._pages.values() for key in page.entries}

    def sweep(self, purge: Callable[[Any], Any], pages: int) -> None:
        """Let `purge` look at the entries of the next few pages; what it gives back stays.

        Goes round all pages of the table over time. Entries that were not there when a page was
        stored are looked at, too; `purge` returns NO_ENTRY for what should go.
        """
        if not self._opened:
            self._open()
        numbers = sorted(self._depths)
        for _ in range(min(pages, len(numbers))):
            self._swept = (self._swept + 1) % len(numbers)
            number = numbers[self._swept]
            page = self._pages.get(number) or self._load(number)
            self._purge_page(page, purge)

    def _purge_page(self, page: Page, purge: Callable[[Any], Any]) -> None:
        for key, entry in list(page.entries.items()):
            left = purge(entry)
            if left is entry:
                continue
            page.dirty = True
            if left is NO_ENTRY:
                del page.entries[key]
                self.where.pop(key, None)
            else:
                page.entries[key] = left

    def drop(self) -> None:
        """Remove the whole table from the store."""
        if not self._opened:
            self._open()
        for number in self._depths:
            self._store.delete(self._page_key(number))
        self._store.delete(self._prefix + b"d")
        self.forget()

    def forget(self) -> None:
        """Drop everything read from the store; the next touch reads again."""
        self.where.clear()
        self._pages.clear()
        self._directory, self._depths = [], {}
        self._opened = False

    @property
    def loaded_entries(self) -> int:
        """How many entries are held in memory."""
        return len(self.where)

    def _open(self) -> None:
        stored = self._read(self._prefix + b"d")
        if stored is None:
            # one page holds all until it splits; it may be stored without a directory
            self._directory, self._depths, self._next_number = [0], {0: 0}, 1
        else:
            self._directory, self._depths, self._next_number = stored
        self._opened = True

    def _load(self, number: int) -> Page:
        entries = self._read(self._page_key(number))
        page = Page(number, self._depths[number], {} if entries is None else entries)
        self._pages[number] = page
        self.where.update(dict.fromkeys(page.entries, page))
        return page

    def _read(self, key: bytes) -> Any:
        content = self._store.get(key)
        if content is None:
            return None
        if content[:1] != _FORMAT:
            raise StateError(
                f"stored state has format {content[0]}, which this version cannot read",
                fix="restore with the version of headrace that wrote it, or from a savepoint",
            )
        return loads(memoryview(content)[1:])

    def _page_key(self, number: int) -> bytes:
        return self._prefix + number.to_bytes(4, "big")

    def _write(self, page: Page) -> None:
        page.dirty = False
        if not page.entries:
            self._store.delete(self._page_key(page.number))
            self._merge(page)
            return
        content = _FORMAT + dumps(page.entries)
        if len(content) > self._page_bytes and len(page.entries) > 1 and page.depth < _MAX_DEPTH:
            for half in self._split(page):
                self._write(half)
        else:
            self._store.put(self._page_key(page.number), content)

    def _split(self, page: Page) -> tuple[Page, Page]:
        bit = 1 << page.depth
        page.depth += 1
        sister = Page(self._next_number, page.depth, {})
        self._next_number += 1
        if len(self._directory) < 1 << page.depth:
            self._directory *= 2
        for index, number in enumerate(self._directory):
            if number == page.number and index & bit:
                self._directory[index] = sister.number
        for key in [key for key in page.entries if _page_hash(key) & bit]:
            sister.entries[key] = page.entries.pop(key)
        self._remember(page)
        self._remember(sister)
        return page, sister

    def _remember(self, page: Page) -> None:
        self._pages[page.number] = page
        self._depths[page.number] = page.depth
        self._directory_dirty = True

    def _merge(self, page: Page) -> None:
        """Give an empty page's place in the directory to its sister."""
        if page.depth == 0:
            return
        index = self._directory.index(page.number)
        sister = self._directory[index ^ (1 << (page.depth - 1))]
        if self._depths[sister] != page.depth:
            return
        for place, number in enumerate(self._directory):
            if number == page.number:
                self._directory[place] = sister
        self._depths[sister] -= 1
        if sister in self._pages:
            self._pages[sister].depth -= 1
        del self._depths[page.number], self._pages[page.number]
        self._directory_dirty = True


def _page_hash(key: Any) -> int:
    # A second mix: key groups took the first, so within a subtask its low bits are not random.
    return _mix(stable_hash(key) + 0x51ED27)
