"""The one interface between headrace's state and whatever stores it durably (spi/state.py).

Implementations: DictStore here (tests, local runner), hosts/spark/microbatch/state_store.py
(Spark's state store).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.spi.state import PageStore

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DictStore", "PageStore"]


class DictStore:
    """A PageStore in memory; `snapshot` and a new instance stand for a restart."""

    def __init__(self, content: dict[bytes, bytes] | None = None) -> None:
        self.content = dict(content or {})
        self.reads = 0
        self.writes = 0

    def get(self, key: bytes) -> bytes | None:
        """The stored content, or None."""
        self.reads += 1
        return self.content.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The stored contents of several keys."""
        return list(map(self.get, keys))

    def put(self, key: bytes, content: bytes) -> None:
        """Store or replace."""
        self.writes += 1
        self.content[key] = content

    def delete(self, key: bytes) -> None:
        """Remove; unknown keys are ignored."""
        self.content.pop(key, None)

    def clear(self) -> None:
        """Remove everything."""
        self.content.clear()

    def snapshot(self) -> dict[bytes, bytes]:
        """A copy of everything stored."""
        return dict(self.content)
