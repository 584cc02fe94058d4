"""Large values, each in a record of its own.

A page is read and written whole, so a value that is much of a page would be read and written with
every change of its neighbours.  Such a value gets a record and its page holds only `Elsewhere`, the
record's number.  When the value changes its record is overwritten, and no page.

    page:  {key: 7, key: Elsewhere(12), ...}          <name> v 12:  the value

Numbers grow, so new values lie behind each other in the store: nothing has to be sorted in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.data.pickling import dumps, loads
from headrace.errors import StateError
from headrace.runtime.pages.cells import NO_ENTRY

if TYPE_CHECKING:
    from headrace.runtime.pages.store import PageStore

# The directory stores a number that is ahead, so that it is not written for each new value.
_NUMBERS_AT_ONCE = 1 << 16
# of so many changed values some tell whether there are large ones
_SAMPLE = 32
# so many records or pages are read at a time, and so many bytes before somebody asks for them
AT_ONCE = 64
_AHEAD_BYTES = 64 << 20
_ALWAYS_SMALL = frozenset((int, float, bool, type(None), type(NO_ENTRY)))


class Elsewhere(int):
    """Stands in a page for a value that is in the record of this number."""


def dump_entries(entries: dict[Any, Any]) -> bytes:
    """The stored form of entries; plain numbers stand for values elsewhere."""
    if Elsewhere not in set(map(type, entries.values())):
        return dumps(entries)
    apart = {key: int(value) for key, value in entries.items() if type(value) is Elsewhere}
    return dumps(({key: entries[key] for key in entries if key not in apart}, apart))


def load_entries(content: bytes) -> dict[Any, Any]:
    """What `dump_entries` stored."""
    found = loads(content)
    if type(found) is tuple:
        found, apart = found
        found.update({key: Elsewhere(number) for key, number in apart.items()})
    return found  # type: ignore[no-any-return]


class OwnRecords:
    """The records of the large values of one table."""

    def __init__(self, store: PageStore, prefix: bytes, header: bytes, least_bytes: int) -> None:
        self._store = store
        self._prefix = prefix + b"v"
        self._header = header
        self._least_bytes = least_bytes
        # survives restart, with the directory: no record has this number or a larger one
        self.bound = 0
        self._next = 1
        self.typical_bytes = 0  # of the values read and written lately
        self.reads = 0
        self._ahead: dict[int, bytes] = {}  # read, but nobody has asked for them yet

    def restore(self, bound: int) -> None:
        """Go on behind all numbers that may have been given away."""
        self.bound = bound
        self._next = max(1, bound)

    @property
    def used(self) -> bool:
        """Whether there was ever a large value."""
        return self.bound > 0

    def any_large(self, values: list[Any]) -> bool:
        """Whether some of these values belong here, by a sample."""
        return any(map(self._is_large, values[:: 1 + len(values) // _SAMPLE]))

    def _is_large(self, value: Any) -> bool:
        kind = type(value)
        if kind in _ALWAYS_SMALL:
            return False
        size = len(value) if kind is bytes or kind is str else len(dumps(value))
        return size >= self._least_bytes

    def keep(self, number: int, value: Any) -> int:
        """Store a value that has this record (0: none) if it is large; its record from now on."""
        content = dumps(value)
        # one that shrinks a little stays, so that no value goes back and forth
        if len(content) < (self._least_bytes // 2 if number else self._least_bytes):
            if number:
                self.delete(number)
            return 0
        if not number:
            number = self._next
            self._next += 1
            if number >= self.bound:
                self.bound = number + _NUMBERS_AT_ONCE
        self._store.put(self._key(number), self._header + content)
        self._note(len(content))
        return number

    def read(self, number: int) -> Any:
        """The value in a record."""
        content = self._ahead.pop(number, None)
        if content is None:
            self.reads += 1
            content = self._store.get(self._key(number))
        if content is None:
            raise StateError(
                f"a part of the stored state is missing: value {number} of {self._prefix!r}",
                fix="restore from an older checkpoint or from a savepoint",
            )
        self._note(len(content))
        return loads(memoryview(content)[len(self._header) :])

    def read_ahead(self, numbers: list[int]) -> None:
        """Read records that will be asked for in this batch, many at a time."""
        size = sum(map(len, self._ahead.values()))
        for start in range(0, len(numbers), AT_ONCE):
            if size > _AHEAD_BYTES:
                return
            some = numbers[start : start + AT_ONCE]
            self.reads += len(some)
            for number, content in zip(
                some, self._store.get_many(list(map(self._key, some))), strict=True
            ):
                if content is not None:
                    self._ahead[number] = content
                    size += len(content)

    def end_batch(self) -> None:
        """What was read ahead may be changed by another process from now on."""
        self._ahead.clear()

    def delete(self, number: int) -> None:
        """Remove a record."""
        self._store.delete(self._key(number))

    def _note(self, size: int) -> None:
        self.typical_bytes += (size - self.typical_bytes) // 16

    def _key(self, number: int) -> bytes:
        return self._prefix + number.to_bytes(8, "big")
