"""Lists and maps of any size under one key.

A small list or map is the entry of its key, as any other value.  A large one is stored in parts: a
map as a paged table of its own, a list as numbered chunks of which only the last is open.  Its
key's entry is then a *marker*, a tuple that says where the parts are, so that a change or a lookup
touches one part and never the whole:

    list, dict                        the content itself
    ("map", number)                   a table: <name> m <number>
    ("list", number, first, last)     chunks: <name> l <number> <first>, ..., <last>

When they are written decides their form, so within a batch any of them may grow in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.data.pickling import dumps
from headrace.runtime.pages.table import FORMAT, NO_ENTRY, PagedTable, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.runtime.pages.cells import Cell
    from headrace.runtime.pages.store import PageStore

    Marker = tuple[Any, ...]
    # the items of a chunk -> those that are left of it, those to be shown
    Revised = Callable[[list[Any]], tuple[list[Any], list[Any]]]

# Fewer entries than this stay together whatever their size: it saves a look at each small map.
_LOOK_AT_SIZE = 8
_KEPT_OPEN = 1000


class LargeMap:
    """A map in pages of its own."""

    def __init__(self, table: LargeTable, number: int) -> None:
        self._number = number
        self.entries = PagedTable(
            table.store,
            table.prefix + b"m" + number.to_bytes(4, "big"),
            limits=table.limits,
            memory=table.memory,
            any_keys=True,
        )
        self._limits = table.limits

    @staticmethod
    def new(table: LargeTable, content: dict[Any, Any]) -> LargeMap:
        """A map that has grown large."""
        found = LargeMap(table, table.directory.new_number())
        found.entries.start_empty()
        for key, value in content.items():
            found.entries.put(key, value)
        return found

    def marker(self) -> Marker:
        """What stands for the map in its key's entry."""
        return ("map", self._number)

    def flush(self) -> None:
        """Write what changed."""
        self.entries.flush()

    def is_small(self) -> bool:
        """Whether the map should become an entry again."""
        size = self.entries.size()
        if size is None:
            return False
        count, stored = size
        return count * 4 <= self._limits.inline_entries and stored * 2 <= self._limits.inline_bytes

    def content(self) -> dict[Any, Any]:
        """The whole map."""
        return dict(self.entries.scan())

    def drop(self) -> None:
        """Remove it from the store."""
        self.entries.drop()

    def forget(self) -> None:
        """Drop what was read from the store."""
        self.entries.forget()


class LargeList:
    """A list in chunks: closed ones, which do not change when items are added, and an open one."""

    def __init__(self, table: LargeTable, number: int, first: int = 0, last: int = 0) -> None:
        self._store = table.store
        self._prefix = table.prefix + b"l" + number.to_bytes(4, "big")
        self._limits = table.limits
        self._number = number
        self._first = first
        self._last = last
        self._tail: list[Any] | None = None  # the open chunk, once it is needed
        self._dirty = False

    @staticmethod
    def new(table: LargeTable, items: list[Any]) -> LargeList:
        """A list that has grown large."""
        found = LargeList(table, table.directory.new_number())
        found._tail, found._dirty = items, True
        return found

    def marker(self) -> Marker:
        """What stands for the list in its key's entry."""
        return ("list", self._number, self._first, self._last)

    def extend(self, items: Iterable[Any]) -> None:
        """Add items at the end."""
        self._open_tail().extend(items)
        self._dirty = True

    def __iter__(self) -> Iterator[Any]:
        for number in range(self._first, self._last):
            yield from self._read(number)
        yield from list(self._open_tail())

    def revise(self, revised: Revised) -> Iterator[Any]:
        """Iterate over what is to be shown; what is left of each chunk replaces it meanwhile."""
        for number in range(self._first, self._last):
            yield from self._revise(number, revised)
        yield from list(self._revise_tail(revised))

    def purge(self, revised: Revised, chunks: int) -> None:
        """Revise a few of the oldest chunks, up to the first of which something is left."""
        for _ in range(chunks):
            first = self._first
            if first == self._last:
                self._revise_tail(revised)
                return
            self._revise(first, revised)
            if self._first == first:
                return

    def _revise(self, number: int, revised: Revised) -> list[Any]:
        items = self._read(number)
        left, shown = revised(items)
        if left is not items:
            self._write(number, left)
        if not left and number == self._first:
            self._first += 1
        return shown

    def _revise_tail(self, revised: Revised) -> list[Any]:
        items = self._open_tail()
        left, shown = revised(items)
        if left is not items:
            self._tail, self._dirty = left, True
        return shown

    def flush(self) -> None:
        """Write the open chunk; what is too much for one closes some."""
        if not self._dirty or self._tail is None:
            return
        size = len(dumps(self._tail))
        if size > self._limits.chunk_bytes:
            each = max(1, len(self._tail) * self._limits.chunk_bytes // size)
            while len(self._tail) > each:
                self._write(self._last, self._tail[:each])
                self._tail = self._tail[each:]
                self._last += 1
        self._write(self._last, self._tail)
        self._dirty = False

    def is_small(self) -> bool:
        """Whether the list should become an entry again."""
        if self._first != self._last or self._tail is None:
            return False
        return (
            len(self._tail) * 4 <= self._limits.inline_entries
            and len(dumps(self._tail)) * 2 <= self._limits.inline_bytes
        )

    def content(self) -> list[Any]:
        """The whole list."""
        return list(self)

    def drop(self) -> None:
        """Remove it from the store."""
        for number in range(self._first, self._last + 1):
            self._store.delete(self._chunk_key(number))
        self._tail, self._dirty, self._first = [], False, self._last

    def forget(self) -> None:
        """Nothing is kept but the open chunk, which goes with the list."""

    def _open_tail(self) -> list[Any]:
        if self._tail is None:
            self._tail = self._read(self._last)
        return self._tail

    def _read(self, number: int) -> list[Any]:
        content = self._store.get(self._chunk_key(number))
        items: list[Any] = [] if content is None else unpack(content)
        return items

    def _write(self, number: int, items: list[Any]) -> None:
        if items:
            self._store.put(self._chunk_key(number), FORMAT + dumps(items))
        else:
            self._store.delete(self._chunk_key(number))

    def _chunk_key(self, number: int) -> bytes:
        return self._prefix + number.to_bytes(4, "big")


Parts = LargeMap | LargeList


class LargeTable(PagedTable):
    """A table whose entries are lists or maps; large ones are markers, and `parts` opens them."""

    def _reset(self) -> None:
        super()._reset()
        self._open_parts: dict[Any, Parts] = {}

    @property
    def store(self) -> PageStore:
        """Where parts are kept, too."""
        return self._store

    def parts(self, cell: Cell) -> Any:
        """The list or map that a marker in a cell stands for."""
        found = self._open_parts.get(cell.key)
        if found is None:
            kind, *place = cell.value
            found = self._open_parts[cell.key] = _KINDS[kind](self, *place)
        return found

    def discard(self, cell: Cell) -> None:
        """Remove the parts of an entry that is about to be replaced or removed."""
        if type(cell.value) is tuple:
            self.parts(cell).drop()
            del self._open_parts[cell.key]

    def content(self, cell: Cell) -> Any:
        """The whole list or map of a cell, as one object; NO_ENTRY if there is none."""
        return self.parts(cell).content() if type(cell.value) is tuple else cell.value

    def flush(self) -> None:
        """Write what changed; what has grown large or small takes its other form."""
        for cell in self._changed:
            if type(cell.value) is not tuple and self._is_large(cell.value):
                self._take_apart(cell)
        for key, parts in list(self._open_parts.items()):
            self._write_parts(key, parts)
        super().flush()
        if len(self._open_parts) > _KEPT_OPEN:
            for parts in self._open_parts.values():
                parts.forget()
            self._open_parts.clear()

    def _is_large(self, content: Any) -> bool:
        if content is NO_ENTRY or len(content) < _LOOK_AT_SIZE:
            return False
        if len(content) > self.limits.inline_entries:
            return True
        # the size of all, judged by one of them before it is measured
        some = next(iter(content.items() if type(content) is dict else content))
        limit = self.limits.inline_bytes
        return len(dumps(some)) * len(content) * 4 > limit and len(dumps(content)) > limit

    def _take_apart(self, cell: Cell) -> None:
        kind: Any = LargeMap if type(cell.value) is dict else LargeList
        parts = self._open_parts[cell.key] = kind.new(self, cell.value)
        cell.value = parts.marker()

    def _write_parts(self, key: Any, parts: Parts) -> None:
        parts.flush()
        if parts.is_small():
            content = parts.content()
            parts.drop()
            del self._open_parts[key]
            if content:
                self.put(key, content)
            else:
                self.remove(key)
        elif self.get(key) != parts.marker():  # chunks came or went
            self.put(key, parts.marker())

    def drop(self) -> None:
        """Remove the whole table and all parts from the store."""
        for key, value in list(self.scan()):
            if type(value) is tuple:
                self.parts(self.cell(key)).drop()
        super().drop()

    def forget(self) -> None:
        """Drop everything read from the store."""
        for parts in self._open_parts.values():
            parts.forget()
        super().forget()


_KINDS: dict[str, Callable[..., Parts]] = {"map": LargeMap, "list": LargeList}
