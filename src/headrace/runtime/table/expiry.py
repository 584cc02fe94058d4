"""State that ends some time after it was written last: ``table.exec.state.ttl``.

An entry is stored as (when it was written, value).  It is over ``ttl_ms`` after that, on the wall
clock, and is never seen again; reading does not prolong it.  An entry that was written while there
was no limit has the time 0: its time begins when it is next written.
Next: runtime/state/ttl.py has the same for states of users
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.runtime.pages.table import NO_ENTRY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.runtime.pages.table import PagedTable

SWEPT_PAGES = 2  # per table and batch: a round trip each, about 0.2 ms


class ExpiringTable:
    """A table of entries that end by themselves.

    Args:
        table: holds them.
        ttl_ms: how long they last; 0 for ever.
        clock: the wall clock.
    """

    def __init__(self, table: PagedTable, ttl_ms: int, clock: Callable[[], int]) -> None:
        self.table = table
        self.ttl_ms = ttl_ms
        self._clock = clock

    def now(self) -> int:
        """The time that entries are written with; 0 where they never end."""
        return self._clock() if self.ttl_ms else 0

    def is_over(self, written: int, now: int) -> bool:
        """Whether an entry that was written at a time is no more at another."""
        return bool(self.ttl_ms and written) and written + self.ttl_ms <= now

    def get(self, key: Any, default: Any = None) -> Any:
        """The entry of a key, if it is not over."""
        stored = self.table.cell(key).value
        if stored is NO_ENTRY or self.is_over(stored[0], self.now()):
            return default
        return stored[1]

    def put(self, key: Any, value: Any) -> None:
        """Set the entry of a key; its time begins anew."""
        self.table.put(key, (self.now(), value))

    def remove(self, key: Any) -> None:
        """Forget a key; unknown keys are ignored."""
        self.table.remove(key)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Every (key, value) that is not over."""
        now = self.now()
        for key, (written, value) in self.table.scan():
            if not self.is_over(written, now):
                yield key, value

    def sweep(self) -> None:
        """Drop what is over in some pages, whether or not anybody asks for it."""
        if self.ttl_ms:
            now = self.now()
            self.table.sweep(
                lambda key, entry: NO_ENTRY if self.is_over(entry[0], now) else entry, SWEPT_PAGES
            )
