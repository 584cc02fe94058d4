"""A table of keyed entries that is stored in pages: many keys to a page, only changed ones written.

A round trip to Spark's state store costs about 0.1 ms, so keys share pages; a page is read and
written whole, so pages stay small.

    key ─▶ cells ─────────────────────────────▶ value     in memory: hot_region's, and recently used
            └─ none ─▶ directory ─▶ page ─▶ bucket ─▶ cell      packed: pages read or written lately
                                     └─ not in memory ─▶ store

A flush writes pages many of whose entries changed; single changed entries of many pages go to the
hot region instead, and large values to records of their own.  Next: directory.py (which page),
packed.py (what a page holds), hot.py, own_records.py, cells.py (how much stays in memory), large.py
(lists and maps too large for one entry)
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from headrace.data.pickling import dumps, loads
from headrace.errors import StateError
from headrace.runtime.pages.cells import (
    CELL_BYTES,
    NO_ENTRY,
    NOT_READ,
    PROCESS_MEMORY,
    UNPACKED,
    Cell,
)
from headrace.runtime.pages.directory import Directory
from headrace.runtime.pages.hot import HotRegion
from headrace.runtime.pages.limits import LIMITS
from headrace.runtime.pages.own_records import AT_ONCE, Elsewhere, OwnRecords, dump_entries
from headrace.runtime.pages.packed import (
    Page,
    any_hash,
    any_hashes,
    pack,
    page_hash,
    page_hashes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.runtime.pages.cells import Memory
    from headrace.runtime.pages.hot import Lane
    from headrace.runtime.pages.limits import Limits
    from headrace.runtime.pages.packed import Bucket
    from headrace.runtime.pages.store import PageStore

    Entry = tuple[int, Any, Any]  # hash, key, value

__all__ = ["NO_ENTRY", "Cell", "PagedTable"]

# First byte of everything stored: the layout's version. Version 2 had no values elsewhere; it is
# read, and what is written over it is version 3.
FORMAT = b"\x03"
_READABLE = (b"\x02", FORMAT)
_LENGTH_2 = 4  # of a directory in version 2
_SAMPLE = 256
_SWEPT_RECORDS = 256
_MANY_READS = 256
_NEVER = -1  # `seen` of cells that have not been stored yet


class PagedTable:
    """Entries by key for one state of one operator in one subtask.

    Hot loops reach an entry without a call, and tell of a change once per key and batch:

        cell = table.cells.get(key) or table.find(key)
        cell.value = changed(cell.value)    # NO_ENTRY: there is none
        if cell.clean:
            table.touch(cell)
    """

    def __init__(
        self,
        store: PageStore,
        name: str | bytes,
        *,
        limits: Limits = LIMITS,
        memory: Memory = PROCESS_MEMORY,
        any_keys: bool = False,
    ) -> None:
        self.name = name
        self.prefix = (name if isinstance(name, bytes) else name.encode()) + b"\0"
        self.limits = limits
        self._store = store
        self.memory = memory
        self._reported = (0, 0)
        # keys of the stream have a stable hash, keys of a user's map need not
        self._hash_of = any_hash if any_keys else page_hash
        self._hashes_of = any_hashes if any_keys else page_hashes
        memory.add(self)
        # some entries: all hot ones, all changed ones, and others that were used lately
        self.cells: dict[Any, Cell] = {}
        self.now = 0  # how often this table was flushed
        self.entry_bytes = CELL_BYTES  # what an entry takes in memory, about
        self._swept, self._rounds = -1, 0
        self._reset()

    def _reset(self) -> None:
        self.opened = False  # whether anybody asked for an entry
        # survives restart: the directory and the numbers of the hot segments
        self.directory = Directory()
        self.hot = HotRegion(
            self._put_segment, self._delete_segment, self.directory.new_number, self.limits
        )
        self.own = OwnRecords(self._store, self.prefix, FORMAT, self.limits.own_record_bytes)
        self._stored_segments: Any = self.hot.stored_form()
        self._stored_bound = 0
        # rebuilt: pages read or written lately, and what happened since the last flush
        self._pages: dict[int, Page] = {}
        self._packed_bytes = 0
        self._asleep: dict[Any, Cell] = {}  # hot cells of large values that are not in memory
        self._changed: list[Cell] = []
        self._absent: list[Cell] = []
        self._misses = 0
        self._reads = 0
        self._cold = 0  # entries that the store was read for
        self._reads_ahead = False  # there were many of them in the batch before

    # --- one entry ---------------------------------------------------------------------------

    def cell(self, key: Any) -> Cell:
        """The cell of a key, for those who are in no hurry."""
        return self.cells.get(key) or self.find(key)

    def get(self, key: Any, default: Any = None) -> Any:
        """The entry of a key."""
        value = (self.cells.get(key) or self.find(key)).value
        return default if value is NO_ENTRY else value

    def put(self, key: Any, value: Any) -> None:
        """Set the entry of a key."""
        cell = self.cells.get(key) or self.find(key)
        cell.value = value
        if cell.clean:
            self.touch(cell)

    def remove(self, key: Any) -> None:
        """Forget a key; unknown keys are ignored."""
        cell = self.cells.get(key) or self.find(key)
        if cell.value is not NO_ENTRY:
            cell.value = NO_ENTRY
            if cell.clean:
                self.touch(cell)

    def __contains__(self, key: Any) -> bool:
        return (self.cells.get(key) or self.find(key)).value is not NO_ENTRY

    def find(self, key: Any) -> Cell:
        """The cell of a key that is not in memory yet; its value may be NO_ENTRY."""
        cells = self.cells
        if not self.opened:
            self._open()
            if key in cells:
                return cells[key]
        self._missed()
        before = self.reads
        cell = self._found(key)
        self._cold += self.reads - before
        return cell

    def _found(self, key: Any) -> Cell:
        cells = self.cells
        if key in self._asleep:
            return self._wake(key)
        bucket = self._bucket(key)
        value, record = NO_ENTRY, 0
        if not bucket.unpacked:
            entries = bucket.entries()
            value = entries.get(key, NO_ENTRY)
            if self.memory.roomy:
                self._unpack(bucket, entries)
                if key in cells:
                    return cells[key]
            if type(value) is Elsewhere:
                record = int(value)
                value = self.own.read(record)
        cell = cells[key] = Cell(key, value, bucket, self.now, record)
        if value is NO_ENTRY:
            cell.seen = _NEVER
            self._absent.append(cell)
        return cell

    def _wake(self, key: Any) -> Cell:
        """Read the large value of a hot cell."""
        cell = self.cells[key] = self._asleep.pop(key)
        cell.value = self.own.read(cell.record)
        cell.seen = self.now
        return cell

    def _unpack(self, bucket: Bucket, entries: dict[Any, Any]) -> None:
        """Make cells of the entries of a bucket that are in it; hot ones have a newer cell."""
        cells, now = self.cells, self.now
        unpacked = True
        for key, value in entries.items():
            cell = cells.get(key)
            if cell is not None:
                if not cell.home.hot:
                    cell.home = bucket  # its page had left memory and is back
            elif type(value) is Elsewhere or key in self._asleep:
                unpacked = False
            else:
                cells[key] = Cell(key, value, bucket, now)
        bucket.unpacked = unpacked

    def touch(self, cell: Cell) -> None:
        """A clean cell got another value."""
        if self.cells.get(cell.key) is not cell:  # evicted while the caller held it
            value = cell.value
            cell = self.find(cell.key)
            cell.value = value
            if not cell.clean:
                return
        cell.clean = False
        self._changed.append(cell)

    def some_changed(self, count: int) -> list[Any]:
        """A few of the values that were set since the last flush."""
        return [c.value for c in self._changed[:count] if c.value is not NO_ENTRY]

    def _missed(self) -> None:
        self._misses += 1
        if self._misses % self.memory.misses == 0:
            self._report()

    @property
    def reads(self) -> int:
        """How often something was read from the store."""
        return self._reads + self.own.reads

    def read_ahead(self, keys: Iterable[Any]) -> None:
        """Read the entries of keys that will be asked for, many at a time.

        A read of its own for each takes four times as long. Nothing happens unless there were many
        such reads in the batch before: most tables have what they need in memory.
        """
        if not self._reads_ahead:
            return
        if not self.opened:
            self._open()
        missing = [key for key in dict.fromkeys(keys) if key not in self.cells]
        records = [self._asleep[key].record for key in missing if key in self._asleep]
        by_page: dict[int, list[tuple[int, Any]]] = {}
        for hashed, key in zip(self._hashes_of(missing), missing, strict=True):
            if key not in self._asleep:
                by_page.setdefault(self.directory.page_of(hashed), []).append((hashed, key))
        numbers = list(by_page)
        for start in range(0, len(numbers), AT_ONCE):
            some = numbers[start : start + AT_ONCE]
            absent = [number for number in some if number not in self._pages]
            self._read_pages(absent)
            self._cold += sum(len(by_page[number]) for number in absent)
            for number in some:
                records += self._records_of(self._page(number), by_page[number])
        self.own.read_ahead(records)
        self._cold += len(records)

    def _records_of(self, page: Page, keys: list[tuple[int, Any]]) -> list[int]:
        """The records of large values of a page; other entries become cells."""
        records: list[int] = []
        for hashed, key in keys:
            value = page.bucket(hashed).entries().get(key) if self.own.used else None
            if type(value) is Elsewhere:
                records.append(int(value))
            elif key not in self.cells:  # the look for another key may have brought it along
                self._found(key)
        return records

    # --- all entries -------------------------------------------------------------------------

    def items(self) -> list[tuple[Any, Any]]:
        """Every entry of the table."""
        return list(self.scan())

    def scan(self) -> Iterator[tuple[Any, Any]]:
        """Every entry, page by page; entries may be changed and removed meanwhile.

        A change that comes before its entry is reached is seen; a new key may be missed.
        """
        if not self.opened:
            self._open()
        shown = {*self.cells, *self._asleep}
        for key in [*self.cells, *self._asleep]:
            value = self._entry(key, NO_ENTRY)
            if value is not NO_ENTRY:
                yield key, value
        for number in list(self.directory.depths):
            for key, stored in self._page(number).items():
                if key in shown:
                    continue
                value = self._entry(key, stored)
                if value is not NO_ENTRY:
                    yield key, value

    def _entry(self, key: Any, stored: Any) -> Any:
        """The entry of a key of which its page says `stored`; brings nothing into memory."""
        cell = self.cells.get(key) or self._asleep.get(key)
        if cell is not None:
            return self.own.read(cell.record) if cell.value is NOT_READ else cell.value
        return self.own.read(stored) if type(stored) is Elsewhere else stored

    def size(self) -> tuple[int, int] | None:
        """(entries, stored bytes) of a table that was flushed, if it is no more than one page."""
        if not self.opened:
            self._open()
        if len(self.directory.depths) > 1 or self.hot.lanes:
            return None
        page = self._page(*self.directory.depths)
        if self.own.used and page.count:
            return None  # what its large values take is not known
        return page.count, page.size

    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return next(self.scan(), None) is None

    def sweep(self, purge: Callable[[Any, Any], Any], pages: int) -> None:
        """Let `purge` look at (key, entry) of the next few pages; what it gives back stays.

        Goes round all pages and hot lanes of the table over time; `purge` returns NO_ENTRY for what
        should go.
        """
        if not self.opened:
            self._open()
        places: list[int | Lane] = [*sorted(self.directory.depths), *self.hot.lanes]
        for _ in range(min(pages, len(places))):
            self._swept += 1
            if self._swept >= len(places):
                self._swept, self._rounds = 0, self._rounds + 1
            for key, stored in self._some_of(self._entries_at(places[self._swept])):
                entry = self._entry(key, stored)
                if entry is NO_ENTRY:
                    continue
                left = purge(key, entry)
                if left is NO_ENTRY:
                    self.remove(key)
                elif left is not entry:
                    self.put(key, left)

    def _entries_at(self, place: int | Lane) -> Iterable[tuple[Any, Any]]:
        if isinstance(place, int):
            return self._page(place).items()
        return [(cell.key, cell.value) for cell in place.residents()]

    def _some_of(self, entries: Iterable[tuple[Any, Any]]) -> Iterable[tuple[Any, Any]]:
        """All of them, but of large values, each of which is a read, others in every round."""
        if not self.own.used:
            return entries
        found = list(entries)
        first = self._rounds * _SWEPT_RECORDS % max(1, len(found))
        some = (found[first:] + found[:first])[:_SWEPT_RECORDS]
        cold = [int(v) for key, v in some if type(v) is Elsewhere and key not in self.cells]
        self.own.read_ahead(cold)
        return some

    # --- writing -----------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what changed since the last flush."""
        if not self.opened:
            return
        self.now += 1
        self._reads_ahead = self._cold >= _MANY_READS
        self._cold = 0
        if self._changed:
            self._write_changes()
            self.memory.settle()
        self._let_go(self._absent)
        self._absent = []
        segments = self.hot.stored_form()
        bound = self.own.bound
        if self.directory.dirty or segments != self._stored_segments or bound != self._stored_bound:
            stored = (*self.directory.stored_form(), segments, bound)
            self._store.put(self.prefix + b"d", FORMAT + dumps(stored))
            self.directory.dirty = False
            self._stored_segments, self._stored_bound = segments, bound
        self.own.end_batch()
        self._report()

    def _write_changes(self) -> None:
        changed, self._changed = self._changed, []
        if self.own.used or self.own.any_large([cell.value for cell in changed]):
            changed = self._write_large(changed)
        hot: list[Cell] = []
        cold: list[Cell] = []
        removed: list[Cell] = []
        now = self.now
        for cell in changed:
            cell.clean = True
            if cell.value is NO_ENTRY:
                removed.append(cell)
                if cell.seen == _NEVER:
                    continue  # came and went between two flushes
            cell.seen = now
            (hot if cell.home.hot else cold).append(cell)
        pages = self._by_page(cold)
        lanes = self._take_sparse(pages)
        for cell in hot:
            lanes.setdefault(cell.home.lane, []).append(cell)  # type: ignore[union-attr]
        self._write_pages(pages)
        for lane, cells in lanes.items():
            lane.write(cells)
        while self.hot.full:
            self._write_to_pages(self.hot.leave_full_lane(now))
        self._write_to_pages(self.hot.leave_idle(now))
        self._let_go(removed)

    def _write_large(self, changed: list[Cell]) -> list[Cell]:
        """Write large values into their records; the cells whose pages have to be written."""
        left: list[Cell] = []
        for cell in changed:
            before = cell.record
            if cell.value is not NO_ENTRY:
                cell.record = self.own.keep(before, cell.value)
            elif before:
                self.own.delete(before)
                cell.record = 0
            if before and cell.record:  # the page has that number already
                cell.clean, cell.seen = True, self.now
            else:
                left.append(cell)
        return left

    def _lighten(self, bucket: Bucket) -> None:
        """Give large values of a bucket that has grown heavy records of their own."""
        entries = bucket.entries()
        for key, value in entries.items():
            cell = self.cells.get(key) or self._asleep.get(key)
            # what is hot overrules this entry, and nobody would delete its record
            if type(value) is not Elsewhere and (cell is None or not cell.home.hot):
                record = self.own.keep(0, value)
                if record:
                    entries[key] = Elsewhere(record)
                    if cell is not None:
                        cell.record = record
        bucket.content = dump_entries(entries)

    def _by_page(self, cells: list[Cell]) -> list[Page]:
        """The pages of changed cells, with the cells in their buckets."""
        buckets: list[Bucket] = []
        for cell in cells:
            bucket: Any = cell.home
            if bucket.page is None:  # the page left memory, or was split
                bucket = cell.home = self._bucket(cell.key)
            if not bucket.changed:
                buckets.append(bucket)
            bucket.changed.append(cell)
        pages: list[Page] = []
        for bucket in buckets:
            if not bucket.page.dirty:
                pages.append(bucket.page)
            bucket.page.dirty.append(bucket)
            bucket.page.touched += len(bucket.changed)
        return pages

    def _take_sparse(self, pages: list[Page]) -> dict[Lane, list[Cell]]:
        """Take pages with few changes out of `pages`; their changed cells by hot lane."""
        limits = self.limits
        sparse = [page for page in pages if page.touched * limits.sparse_share < page.count]
        changes = sum(page.touched for page in sparse)
        if len(sparse) < limits.sparse_pages or changes * 2 > limits.hot_entries:
            return {}
        pages[:] = [page for page in pages if page.touched * limits.sparse_share >= page.count]
        lanes: dict[Lane, list[Cell]] = {}
        for page in sparse:
            lane = lanes.setdefault(self.hot.lane_of(page.number), [])
            for bucket in page.take_dirty():
                lane += bucket.changed
                bucket.changed = []
        return lanes

    def _write_to_pages(self, cells: list[Cell]) -> None:
        """Put cells that left the hot region into their pages."""
        for cell in cells:
            cell.home = self._bucket(cell.key)
            self._asleep.pop(cell.key, None)
        self._write_pages(self._by_page(cells))
        self._let_go(cells)

    def _write_pages(self, pages: list[Page]) -> None:
        heavy = 2 * self.limits.bucket_entries * self.limits.own_record_bytes
        for page in pages:
            before = page.count
            for bucket in page.take_dirty():
                page.count += bucket.take_changes()
                if len(bucket.content) > heavy:
                    self._lighten(bucket)
            self._write_page(page)
            if page.count < before:
                self._join_if_small(page)

    def _write_page(self, page: Page) -> None:
        if page.count > 2 * self.limits.bucket_entries * len(page.buckets):
            self._fill(page, self._hashed(page.items()))
        else:
            self._store_page(page)

    def _store_page(self, page: Page, entries: list[Entry] | None = None) -> None:
        if page.count == 0:
            self._store.delete(self._page_key(page.number))
            self._resize(page, 0)
            return
        content = FORMAT + page.stored_form()
        if self._is_too_large(page, len(content), page.count):
            self._split(page, entries or self._hashed(page.items()))
            return
        self._store.put(self._page_key(page.number), content)
        self._resize(page, len(content))

    def _is_too_large(self, page: Page, size: int, count: int) -> bool:
        return size > self.limits.page_bytes and count > 1 and self.directory.may_split(page.number)

    def _hashed(self, entries: Iterable[tuple[Any, Any]]) -> list[Entry]:
        found = list(entries)
        hashes = self._hashes_of([key for key, _ in found])
        return [(hashed, *entry) for hashed, entry in zip(hashes, found, strict=True)]

    def _fill(self, page: Page, entries: list[Entry]) -> None:
        """Give a page other entries, and the cells of these their new home."""
        page.retire()
        if len(entries) > _SAMPLE:  # do not pack what will surely be split again
            sample = len(dumps([(key, value) for _, key, value in entries[:_SAMPLE]])) // _SAMPLE
            if self._is_too_large(page, sample * len(entries) // 2, len(entries)):
                self._split(page, entries)
                return
        page.count = len(entries)
        page.set_contents(pack(entries, len(entries), self.limits.bucket_entries))
        unpacked = True
        for hashed, key, _ in entries:
            cell = self.cells.get(key)
            if cell is None:
                unpacked = False
            elif not cell.home.hot:
                cell.home = page.bucket(hashed)
        for bucket in page.buckets:
            bucket.unpacked = unpacked
        self._store_page(page, entries)

    def _split(self, page: Page, entries: list[Entry]) -> None:
        bit, number = self.directory.split(page.number)
        sister = self._pages[number] = Page(number, 0, [b""], self.now)
        self._fill(sister, [entry for entry in entries if entry[0] & bit])
        self._fill(page, [entry for entry in entries if not entry[0] & bit])

    def _join_if_small(self, page: Page) -> None:
        """Let a page that shrank and its sister become one."""
        # a page whose changes wait to be written in this flush has its own turn
        while page.size * 8 < self.limits.page_bytes and not page.touched:
            number = self.directory.sister_of(page.number)
            if number is None:
                return
            sister = self._page(number)
            if page.count and (
                sister.touched or page.size + sister.size > self.limits.page_bytes // 2
            ):
                return
            entries = [*page.items(), *sister.items()] if page.count else []
            self.directory.join(page.number, number)
            self._store.delete(self._page_key(page.number))
            self.evict_page(page)
            if entries:
                self._fill(sister, self._hashed(entries))
            page = sister

    def _let_go(self, cells: list[Cell]) -> None:
        """Drop those of some cells that stand for nothing stored."""
        for cell in cells:
            if cell.value is NO_ENTRY and cell.clean and not cell.home.hot:
                self.cells.pop(cell.key, None)

    def drop(self) -> None:
        """Remove the whole table from the store."""
        if not self.opened:
            self._open()
        if self.own.used:
            self._drop_records()
        for number in self.directory.depths:
            self._store.delete(self._page_key(number))
        for segment in self.hot.segments():
            self._delete_segment(segment.number)
        self._store.delete(self.prefix + b"d")
        self.forget()

    def _drop_records(self) -> None:
        """Delete all large values; pages may also name records that are gone already."""
        records = {cell.record for cells in (self.cells, self._asleep) for cell in cells.values()}
        for number in list(self.directory.depths):
            records |= {int(v) for _, v in self._page(number).items() if type(v) is Elsewhere}
        for record in records - {0}:
            self.own.delete(record)

    def forget(self) -> None:
        """Drop everything read from the store; the next touch reads again."""
        self.cells.clear()
        for page in self._pages.values():
            page.retire()
        self._reset()
        self._report()

    # --- memory ------------------------------------------------------------------------------

    def _report(self) -> None:
        before_cells, before_pages = self._reported
        cells, pages = self.measure()
        self.memory.report(cells - before_cells, pages - before_pages)

    def __del__(self) -> None:
        # else the tables of a task that was closed would leave less room for those of the next
        self.memory.dismiss(*self._reported)

    def measure(self) -> tuple[int, int]:
        """The bytes that cells and packed pages take, about."""
        self._reported = (len(self.cells) * self.entry_bytes, self._packed_bytes)
        return self._reported

    def pages(self) -> list[Page]:
        """The pages in memory that may leave it."""
        return [page for page in self._pages.values() if not page.touched]

    def evict_cells(self, last: int, size: int | None = None) -> int:
        """Let go of cells not used since the flush `last`; the bytes that this freed, about.

        With `size`, only so many bytes of them. Cells are found again in their pages.
        """
        cells = self.cells
        old = (
            c
            for c in cells.values()
            if _NEVER < c.seen <= last and c.clean and (c.record or not c.home.hot)
        )
        victims = list(old if size is None else islice(old, size // self.entry_bytes))
        for cell in victims:
            del cells[cell.key]
            if cell.home.hot:
                self._asleep[cell.key] = cell.home.put_to_sleep(cell)  # type: ignore[union-attr]
            else:
                cell.home.unpacked = False  # type: ignore[union-attr]
        return len(victims) * self.entry_bytes

    def evict_page(self, page: Page) -> None:
        """Let go of a packed page; the store has it."""
        page.retire()
        self._packed_bytes -= self._pages.pop(page.number).size

    # --- the store ---------------------------------------------------------------------------

    def _open(self) -> None:
        self.opened = True
        stored = self._read(self.prefix + b"d")
        if stored is None:
            return  # one page holds all until it splits; it may be stored without a directory
        *places, segments, bound = stored[0] if len(stored[0]) > _LENGTH_2 else (*stored[0], 0)
        self.directory.restore(places)
        self.own.restore(bound)
        self._stored_segments, self._stored_bound = segments, bound
        for cell in self.hot.restore(segments, self._read_segment, self.now):
            (self._asleep if cell.record else self.cells)[cell.key] = cell

    def start_empty(self) -> None:
        """Begin a table of which the store has nothing, without asking it."""
        self.opened = True
        self._pages[0] = Page(0, 0, [b""], self.now)

    def _bucket(self, key: Any) -> Bucket:
        hashed = self._hash_of(key)
        return self._page(self.directory.page_of(hashed)).bucket(hashed)

    def _page(self, number: int) -> Page:
        if number not in self._pages:
            self._read_pages([number])
        return self._pages[number]

    def _read_pages(self, numbers: list[int]) -> None:
        self._reads += len(numbers)
        stored = self._store.get_many([self._page_key(number) for number in numbers])
        for number, content in zip(numbers, stored, strict=True):
            count, contents = (0, [b""]) if content is None else unpack(content)
            page = self._pages[number] = Page(number, count, contents, self.now)
            self._resize(page, len(content or b""))

    def _resize(self, page: Page, size: int) -> None:
        self._packed_bytes += size - page.size
        page.size = size
        page.seen = self.now
        if page.count:
            found = CELL_BYTES + UNPACKED * (size // page.count + self.own.typical_bytes)
            self.entry_bytes += (found - self.entry_bytes) // 4

    def _read(self, name: bytes) -> tuple[Any, int] | None:
        content = self._store.get(name)
        return None if content is None else (unpack(content), len(content))

    def _read_segment(self, number: int) -> tuple[Any, int]:
        found = self._read(self._segment_key(number))
        if found is None:
            raise StateError(
                f"a part of the stored state is missing: segment {number} of {self.prefix!r}",
                fix="restore from an older checkpoint or from a savepoint",
            )
        return found

    def _put_segment(self, number: int, content: bytes) -> None:
        self._store.put(self._segment_key(number), FORMAT + content)

    def _delete_segment(self, number: int) -> None:
        self._store.delete(self._segment_key(number))

    def _page_key(self, number: int) -> bytes:
        return self.prefix + number.to_bytes(4, "big")

    def _segment_key(self, number: int) -> bytes:
        return self.prefix + b"h" + number.to_bytes(4, "big")


def unpack(content: bytes) -> Any:
    """What a stored record holds."""
    if content[:1] not in _READABLE:
        raise StateError(
            f"stored state has format {content[0]}, which this version cannot read",
            fix="restore with the version of headrace that wrote it, or from a savepoint",
        )
    return loads(memoryview(content)[1:])
