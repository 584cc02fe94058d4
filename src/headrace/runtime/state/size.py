"""How much an operator keeps: an estimate from the pages that it reads and writes.

In: every page, by its key.  Out: bytes.  Stores do not tell how large what they hold is, so the
sizes of pages are remembered as they pass: of all, and when those are too many, of every second,
fourth, ... key, each counting for as many.  Next: runtime/state/kept.py
"""

from __future__ import annotations

from zlib import crc32

__all__ = ["StateSize"]

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
