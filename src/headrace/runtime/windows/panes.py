"""Contents of aligned windows by pane: a stretch of time that no window begins or ends within.

    tumbling        |---------|---------|      a pane is a window
    sliding 5 by 2  |-|--|-|--|-|--|           a window is several panes, a pane serves several

A pane holds one entry a key, and it is always read and dropped whole.  So it is stored as a log:
each batch appends *chunks* with the entries it touched, newer ones win, and what comes and goes
within a batch is never stored.  A paged table (runtime/pages/table.py) would look for the page of
every entry, which costs ten times as much.  Next: windows/aligned.py
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import TYPE_CHECKING, Any

from headrace.data.pickling import dumps, loads
from headrace.errors import StateError
from headrace.runtime.pages.table import NO_ENTRY
from headrace.spi.state import Layout, StateSpec, Target, register_layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.runtime.pages.store import PageStore
    from headrace.spi.state import ListedPages

_FORMAT = b"\x01"  # first byte of everything stored: the layout's version
CHUNK_ENTRIES = 20_000
# a pane with more chunks than this beyond the full ones is written anew
SPARE_CHUNKS = 32
# entries that stay in memory between batches
KEPT_ENTRIES = 500_000


class Pane:
    """The entries of one pane: those that this batch touched, and those stored before it."""

    __slots__ = ("_panes", "_stored", "entries", "first", "next", "start", "written")

    def __init__(self, panes: Panes, start: int, first: int = 0, following: int = 0) -> None:
        self._panes = panes
        self.start = start
        # survives restart: the numbers of the chunks, the last one excluded
        self.first, self.next = first, following
        # how many entries the chunks hold, as far as this process knows
        self.written = 0
        # newer than what is stored
        self.entries: dict[Any, Any] = {}
        self._stored: dict[Any, Any] | None = None

    @property
    def stored(self) -> dict[Any, Any]:
        """What the store holds; only to be read."""
        if self._stored is None:
            chunks = [self._panes.read_chunk(self, number) for number in self.numbers]
            self.written = sum(map(len, chunks))
            self._stored = chunks[0] if chunks else {}
            for chunk in chunks[1:]:
                self._stored.update(chunk)
        return self._stored

    @property
    def numbers(self) -> range:
        """The numbers of the stored chunks."""
        return range(self.first, self.next)

    def find(self, key: Any) -> Any:
        """The entry of a key, or NO_ENTRY."""
        found = self.entries.get(key, NO_ENTRY)
        return self.stored.get(key, NO_ENTRY) if found is NO_ENTRY else found

    def contents(self) -> dict[Any, Any]:
        """The entries of all keys; only to be read."""
        if not self.stored:
            return self.entries
        return {**self.stored, **self.entries} if self.entries else self.stored

    def read(self) -> dict[Any, Any]:
        """Like `contents`, without keeping in memory what was not there."""
        cold = self._stored is None
        contents = self.contents()
        if cold:
            self.release()
        return contents

    def settle(self) -> None:
        """What was touched is stored now."""
        if self._stored:
            self._stored.update(self.entries)
        elif self._stored is not None:
            self._stored = self.entries
        self.entries = {}

    def release(self) -> None:
        """Let go of what can be read again."""
        self._stored = None

    @property
    def in_memory(self) -> int:
        """How many entries are in memory that could be read again."""
        return 0 if self._stored is None else len(self._stored)


class Panes:
    """All panes of one operator in one subtask that some window still needs.

    Args:
        store: where they survive.
        name: under which name.
        grid: size, slide and offset of the windows; panes of another grid are not read.
    """

    def __init__(self, store: PageStore, name: str, grid: tuple[int, int, int]) -> None:
        self._store = store
        self._name = name
        self._grid = grid
        self.reload()

    def reload(self) -> None:
        """Start from what the store holds."""
        # survives restart: which panes are stored, and in which chunks
        stored = self._store.get(index_key(self._name))
        grid, index = (self._grid, []) if stored is None else _unpack(stored)
        if grid != self._grid:
            raise StateError(
                f"the stored windows have size, slide and offset {_in_words(grid)}, those of the "
                f"program {_in_words(self._grid)}",
                fix="change the windows back, or give the step another uid to start with empty "
                "windows",
            )
        self.live: dict[int, Pane] = {
            start: Pane(self, start, first, following) for start, first, following in index
        }
        # rebuilt
        self._sorted: list[int] | None = None
        self._index_dirty = False

    def open(self, start: int) -> Pane:
        """The pane that begins at a time; a new one if there is none."""
        pane = self.live.get(start)
        if pane is None:
            pane = self.live[start] = Pane(self, start)
            self._sorted = None
        return pane

    def starts(self) -> list[int]:
        """Where the panes begin, in order."""
        if self._sorted is None:
            self._sorted = sorted(self.live)
        return self._sorted

    def between(self, start: int, end: int) -> list[Pane]:
        """The panes that begin in a stretch of time, in order."""
        starts = self.starts()
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        return [self.live[number] for number in starts[first:last]]

    def drop(self, start: int) -> None:
        """Forget a pane for good."""
        pane = self.live.pop(start)
        self._sorted = None
        self._delete(pane, pane.numbers)

    def flush(self, rested: int) -> None:
        """Write what changed; panes that begin before `rested` are the first to leave memory."""
        for pane in self.live.values():
            if pane.entries:
                self._write(pane)
        self._release(rested)
        self._release(self.starts()[-1] + 1 if self.live else rested)
        if self._index_dirty:
            self._write_index()

    def _release(self, before: int) -> None:
        """Let panes that begin before a time go, if too much is in memory."""
        if sum(pane.in_memory for pane in self.live.values()) > KEPT_ENTRIES:
            for pane in self.live.values():
                if pane.start < before:
                    pane.release()

    def _write(self, pane: Pane) -> None:
        self._append(pane, pane.entries)
        pane.settle()
        spare = len(pane.numbers) - pane.written // CHUNK_ENTRIES
        if spare > SPARE_CHUNKS or pane.written > 2 * len(pane.stored) + CHUNK_ENTRIES:
            old, pane.first, pane.written = pane.numbers, pane.next, 0
            self._append(pane, pane.stored)
            self._delete(pane, old)

    def _append(self, pane: Pane, entries: dict[Any, Any]) -> None:
        rest = iter(entries.items())
        for _ in range(0, len(entries), CHUNK_ENTRIES):
            chunk = dict(islice(rest, CHUNK_ENTRIES)) if len(entries) > CHUNK_ENTRIES else entries
            self._store.put(self._chunk_key(pane, pane.next), _FORMAT + dumps(chunk))
            pane.next += 1
        pane.written += len(entries)
        self._index_dirty = True

    def _delete(self, pane: Pane, numbers: range) -> None:
        for number in numbers:
            self._store.delete(self._chunk_key(pane, number))
            self._index_dirty = True

    def _write_index(self) -> None:
        self._index_dirty = False
        index = [(p.start, p.first, p.next) for p in self.live.values() if p.numbers]
        if index:
            self._store.put(index_key(self._name), _FORMAT + dumps((self._grid, index)))
        else:
            self._store.delete(index_key(self._name))

    def read_chunk(self, pane: Pane, number: int) -> dict[Any, Any]:
        """A stored chunk of a pane."""
        content = self._store.get(self._chunk_key(pane, number))
        if content is None:
            raise StateError(
                f"a part of the stored windows is missing: chunk {number} of {pane.start}",
                fix="restore from an older checkpoint or from a savepoint",
            )
        entries: dict[Any, Any] = _unpack(content)
        return entries

    def _chunk_key(self, pane: Pane, number: int) -> bytes:
        return f"{self._name}/{pane.start}/{number}".encode()

    def __len__(self) -> int:
        """How many entries there are, over all keys and panes."""
        return sum(len(pane.contents()) for pane in self.live.values())


def index_key(name: str) -> bytes:
    """Where the store keeps which panes there are; nothing is there if there are none."""
    return f"{name}/index".encode()


def stored_grid(index: bytes) -> tuple[int, int, int]:
    """Size, slide and offset of the windows whose panes an index lists."""
    grid: tuple[int, int, int] = _unpack(index)[0]
    return grid


def _unpack(content: bytes) -> Any:
    if content[:1] != _FORMAT:
        raise StateError(
            f"stored windows have format {content[0]}, which this version cannot read",
            fix="restore with the version of headrace that wrote them, or from a savepoint",
        )
    return loads(memoryview(content)[1:])


def _in_words(grid: tuple[int, int, int]) -> str:
    return ", ".join(f"{length} ms" for length in grid)


# --- in savepoints -------------------------------------------------------------------------------


class PaneLayout(Layout):
    """Entries of panes: the namespace is (start of the pane, size, slide, offset of windows)."""

    spread = True
    columns = ("namespace",)

    def entries(self, store: ListedPages, name: str) -> Iterator[tuple[Any, ...]]:
        """The entries of all panes."""
        index = store.get(index_key(name))
        if index is None:
            return
        grid = stored_grid(index)
        panes = Panes(store, name, grid)
        for start in panes.starts():
            pane = panes.live[start]
            for key, value in pane.contents().items():
                yield key, (start, *grid), value
            pane.release()

    def target(self, store: PageStore, name: str) -> Target:
        """Takes them back."""
        return _PaneTarget(store, name)


class _PaneTarget(Target):
    def __init__(self, store: PageStore, name: str) -> None:
        self._store = store
        self._name = name
        self._panes: Panes | None = None  # the first entry tells the grid

    def put(self, key: Any, namespace: Any, value: Any) -> None:
        start, size, slide, offset = namespace
        if self._panes is None:
            self._panes = Panes(self._store, self._name, (size, slide, offset))
        self._panes.open(start).entries[key] = value

    def flush(self) -> None:
        if self._panes is not None:
            self._panes.flush(_END_OF_TIME)


_END_OF_TIME = 1 << 62

register_layout(PaneLayout("panes"))

PANES = StateSpec("panes", "panes")
