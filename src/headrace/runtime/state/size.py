"""How much an operator keeps: an estimate from the pages that it reads and writes.

In: every page, by its key.  Out: bytes.  Stores do not tell how large what they hold is, so the
sizes of pages are remembered as they pass: of all, and when those are too many, of every second,
fourth, ... key, each counting for as many.  The store of a task keeps the sums beside its pages.
Next: runtime/state/kept.py
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.runtime.pages.store import PageStore

__all__ = ["SizedStore", "StateSize", "store_sizes", "stored_sizes"]

# where a store says how large the state of each operator is
_SIZES_KEY = b"task/sizes"

# about 5 MB; the error of an estimate from so many pages is below one percent
_MOST_KEYS = 50_000


class StateSize:
    """The size of one operator's state in one subtask.

    Args:
        stored: the size that was told last, when the state was left by another process.
    """

    def __init__(self, stored: int = 0) -> None:
        self._base = stored
        self._mask = 0  # a key counts if these bits of its hash are 0
        self._sizes: dict[bytes, int] = {}
        self._grown = 0  # of the keys that count, since `base`
        self.written_bytes = 0

    @property
    def total_bytes(self) -> int:
        """All that is kept, about."""
        return max(0, self._base + self._grown * (self._mask + 1))

    def take_written(self) -> int:
        """What was written since the last call."""
        written, self.written_bytes = self.written_bytes, 0
        return written

    def saw(self, key: bytes, content: bytes | None) -> None:
        """A page was read: it is a part of what was there."""
        if content is not None and crc32(key) & self._mask == 0 and key not in self._sizes:
            self._remember(key, len(content))

    def put(self, key: bytes, content: bytes) -> None:
        """A page is stored or replaced."""
        size = len(content)
        self.written_bytes += size
        if crc32(key) & self._mask == 0:
            self._grown += size - self._sizes.get(key, 0)
            self._remember(key, size)

    def delete(self, key: bytes) -> None:
        """A page is gone."""
        self._grown -= self._sizes.pop(key, 0)

    def _remember(self, key: bytes, size: int) -> None:
        self._sizes[key] = size
        if len(self._sizes) > _MOST_KEYS:
            self._base = self.total_bytes
            self._grown = 0
            self._mask = self._mask << 1 | 1
            self._sizes = {k: s for k, s in self._sizes.items() if crc32(k) & self._mask == 0}


class SizedStore:
    """A PageStore that passes everything on, and counts how much there is.

    Args:
        store: of the task.
    """

    def __init__(self, store: PageStore) -> None:
        self._store = store
        self.size = StateSize()

    def put(self, key: bytes, content: bytes) -> None:
        """Store or replace."""
        self.size.put(key, content)
        self._store.put(key, content)

    def get(self, key: bytes) -> bytes | None:
        """The stored content, or None."""
        content = self._store.get(key)
        self.size.saw(key, content)
        return content

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The stored contents of several keys."""
        contents = self._store.get_many(keys)
        for key, content in zip(keys, contents, strict=True):
            self.size.saw(key, content)
        return contents

    def delete(self, key: bytes) -> None:
        """Remove; unknown keys are ignored."""
        self.size.delete(key)
        self._store.delete(key)


def stored_sizes(store: PageStore) -> dict[str, int]:
    """How large the state of each operator is, as the store of their task says."""
    content = store.get(_SIZES_KEY)
    sizes: dict[str, int] = {} if content is None else json.loads(content)
    return sizes


def store_sizes(store: PageStore, sizes: Mapping[str, int]) -> None:
    """Say it, for the process that goes on with the store."""
    store.put(_SIZES_KEY, json.dumps(sizes).encode())
