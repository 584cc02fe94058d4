"""Lines that wait for event time, by key, each key's in buckets of time.

    index    key            ─▶ (earliest time, [bucket, ...])   in order
    lines    (key, bucket)  ─▶ [(time, line), ...]    as they came

A batch reads and writes only the buckets that it touches.  Who waits wakes by a timer of the key.
In: lines and their times.  Out: those that are due, in the order of time, then of arrival.
Next: runtime/table/over.py, runtime/table/sort.py
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from headrace.runtime.pages.table import PagedTable
    from headrace.runtime.state.provider import StateProvider

    Line = tuple[Any, ...]

BUCKET_MS = 4096
_time = itemgetter(0)
_NONE: tuple[None, tuple[()]] = (None, ())


class WaitingLines:
    """The waiting lines of all keys of an operator."""

    def __init__(self, states: StateProvider, name: str = "waiting") -> None:
        index, lines = self.specs(name)
        # survives restart
        self._index: PagedTable = states.table(index.name)
        self._lines: PagedTable = states.table(lines.name)

    @staticmethod
    def specs(name: str = "waiting") -> tuple[StateSpec, StateSpec]:
        """Its states."""
        return StateSpec(f"{name}-buckets", "table"), StateSpec(f"{name}-lines", "paired")

    def add(self, key: Any, time: int, row: Line) -> bool:
        """Keep a line; whether it is earlier than all others of its key."""
        bucket = time // BUCKET_MS
        earliest, buckets = self._index.get(key, _NONE)
        found = self._lines.get((key, bucket))
        if found is not None:
            found.append((time, row))
        else:
            found = [(time, row)]
            buckets = list(buckets)
            buckets.insert(bisect_left(buckets, bucket), bucket)
            self._index.put(key, (earliest, buckets))
        self._lines.put((key, bucket), found)
        if earliest is not None and earliest <= time:
            return False
        self._index.put(key, (time, buckets))
        return True

    def take(self, key: Any, until: int) -> list[tuple[int, Line]]:
        """Take the lines of a key up to a time out, in the order of time."""
        _, buckets = self._index.get(key, _NONE)
        last = bisect_right(buckets, until // BUCKET_MS)
        if not last:
            return []
        taken: list[tuple[int, Line]] = []
        left = list(buckets[last:])
        for bucket in buckets[:last]:
            found = self._lines.get((key, bucket))
            due = [each for each in found if each[0] <= until]
            taken += sorted(due, key=_time)
            if len(due) == len(found):
                self._lines.remove((key, bucket))
            else:
                self._lines.put((key, bucket), [each for each in found if each[0] > until])
                left.insert(0, bucket)
        if left:
            earliest = min(map(_time, self._lines.get((key, left[0]))))
            self._index.put(key, (earliest, left))
        else:
            self._index.remove(key)
        return taken

    def next_time(self, key: Any) -> int | None:
        """The earliest time among a key's lines."""
        earliest: int | None = self._index.get(key, _NONE)[0]
        return earliest
