"""The pages of one subtask, taken out of Spark's state store to be read at leisure.

In: (name, content) pairs in any order.  Out: a PageStore that cannot be written.  Contents go to a
file, so that a state larger than memory can be read; only names and places are kept in memory.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Self

from headrace.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Up to here contents stay in memory.
_IN_MEMORY_BYTES = 64 * 1024 * 1024


class SpooledStore:
    """A PageStore over pairs that were read once. Close it to give its file back."""

    def __init__(self, pages: Iterable[tuple[bytes, bytes]]) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115
        self._places: dict[bytes, tuple[int, int]] = {}
        position = 0
        for name, content in pages:
            self._file.write(content)
            self._places[bytes(name)] = (position, len(content))
            position += len(content)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        """The names, sorted."""
        return iter(sorted(self._places))

    def get(self, key: bytes) -> bytes | None:
        """The stored content, or None."""
        place = self._places.get(key)
        if place is None:
            return None
        self._file.seek(place[0])
        return self._file.read(place[1])

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The stored contents of several keys."""
        return list(map(self.get, keys))

    def put(self, key: bytes, content: bytes) -> None:
        """Not here."""
        raise InternalError("state that was taken out of a checkpoint cannot be written")

    def delete(self, key: bytes) -> None:
        """Not here."""
        raise InternalError("state that was taken out of a checkpoint cannot be written")
