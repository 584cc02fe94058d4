"""Pages in their stored form: buckets of a few pickled entries each, so that one can be read alone.

A page is what travels to the store and back (16 KB: that takes about two round trips' time); a
bucket is what gets unpickled for one key (16 entries: 3 microseconds) and pickled again when one of
them changes.  Kept packed, an entry takes a tenth of the memory it takes as a cell.  Large values
are `Elsewhere` (own_records.py).
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.data.pickling import dumps, loads
from headrace.errors import KeyTypeError
from headrace.runtime.key_groups import _mix, _mix_array, stable_hash
from headrace.runtime.pages.cells import NO_ENTRY
from headrace.runtime.pages.own_records import Elsewhere, dump_entries, load_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from headrace.runtime.pages.cells import Cell

HASH_BITS = 32
_SECOND = 0x51ED27


def page_hash(key: Any) -> int:
    """Where an entry lies: low bits choose the page, high bits the bucket within it."""
    # A second mix: key groups took the first, so within a subtask its low bits are not random.
    return _mix(stable_hash(key) + _SECOND)


def any_hash(key: Any) -> int:
    """The same for keys of any type: those without a stable hash all lie in one bucket."""
    try:
        return page_hash(key)
    except KeyTypeError:
        return 0


def any_hashes(keys: list[Any]) -> list[int]:
    """`any_hash` of many keys."""
    try:
        return page_hashes(keys)
    except KeyTypeError:
        return list(map(any_hash, keys))


def page_hashes(keys: list[Any]) -> list[int]:
    """`page_hash` of many keys: a fifth of the time where all are texts."""
    first: NDArray[np.int64]
    try:
        crcs = map(zlib.crc32, map(str.encode, keys))
        first = _mix_array(np.fromiter(crcs, np.int64, len(keys)) + 1).astype(np.int64)
    except (TypeError, UnicodeEncodeError):  # other keys, or texts that are not quite Unicode
        first = np.fromiter(map(stable_hash, keys), np.int64, len(keys))
    return _mix_array(first + _SECOND).tolist()  # type: ignore[no-any-return]


class Bucket:
    """Some entries of a page, pickled."""

    __slots__ = ("changed", "content", "page", "unpacked")
    hot = False

    def __init__(self, page: Page | None, content: bytes = b"") -> None:
        self.page = page  # None once the bucket no longer stands for anything stored
        self.content = content
        self.unpacked = not content  # all its entries are in memory as cells
        self.changed: list[Cell] = []  # filled and emptied within a flush

    def entries(self) -> dict[Any, Any]:
        """The entries as they were stored last."""
        return load_entries(self.content) if self.content else {}

    def take_changes(self) -> int:
        """Put the changed cells into the content; by how many entries it grew."""
        # Unpickling the other entries is faster than collecting their cells from all over memory.
        entries = loads(self.content) if self.content else {}
        dump: Callable[[Any], bytes] = dumps
        if type(entries) is tuple:  # some are elsewhere
            entries, dump = self.entries(), dump_entries
        before = len(entries)
        for cell in self.changed:
            value = cell.value
            if value is NO_ENTRY:
                entries.pop(cell.key, None)
            elif cell.record:
                entries[cell.key], dump = Elsewhere(cell.record), dump_entries
            else:
                entries[cell.key] = value
        self.changed = []
        self.content = dump(entries) if entries else b""
        return len(entries) - before


class Page:
    """Entries whose hashes share their low bits, in buckets by their high bits."""

    __slots__ = ("buckets", "count", "dirty", "number", "seen", "shift", "size", "touched")

    def __init__(self, number: int, count: int, contents: list[bytes], seen: int) -> None:
        self.number = number
        self.count = count
        self.size = 0
        self.seen = seen
        self.set_contents(contents)
        # filled and emptied within a flush
        self.dirty: list[Bucket] = []
        self.touched = 0

    def set_contents(self, contents: list[bytes]) -> None:
        """Start again with these buckets."""
        self.buckets = [Bucket(self, content) for content in contents]
        self.shift = HASH_BITS - (len(contents) - 1).bit_length()

    def retire(self) -> None:
        """The page leaves memory or is replaced: nobody may write into its buckets any more."""
        for bucket in self.buckets:
            bucket.page, bucket.content, bucket.unpacked = None, b"", False

    def bucket(self, hashed: int) -> Bucket:
        """The bucket of a hash."""
        return self.buckets[hashed >> self.shift]

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Every stored entry; one bucket at a time is unpickled."""
        # taken now: the page may leave memory while somebody looks at its entries
        for content in [bucket.content for bucket in self.buckets]:
            if content:
                yield from load_entries(content).items()

    def take_dirty(self) -> list[Bucket]:
        """The buckets with changes; they are the caller's now."""
        dirty, self.dirty, self.touched = self.dirty, [], 0
        return dirty

    def stored_form(self) -> bytes:
        """What the store keeps."""
        return dumps((self.count, [bucket.content for bucket in self.buckets]))


def pack(hashed: Iterable[tuple[int, Any, Any]], count: int, per_bucket: int) -> list[bytes]:
    """The buckets for (hash, key, value) entries, about half full."""
    bits = max(0, (count // per_bucket).bit_length())
    shift = HASH_BITS - bits
    found: list[dict[Any, Any]] = [{} for _ in range(1 << bits)]
    for number, key, value in hashed:
        found[number >> shift][key] = value
    return [dump_entries(entries) if entries else b"" for entries in found]
