"""Remembers what a table outside has answered: by number of keys, and for a time.

In: keys and their lines.  Out: the lines of keys that are known still.
Next: connectors/jdbc/reading.py asks it before the database
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import Record

    Key = tuple[Record, ...]
    Lines = list[tuple[Record, ...]]

__all__ = ["CacheRules", "LookupCache"]


@dataclass(frozen=True, slots=True)
class CacheRules:
    """What is remembered: Flink's ``lookup.partial-cache``.

    Attributes:
        max_rows: how many lines are kept; None for any number.
        after_write_ms: how long a line is known after it was asked for; None for ever.
        after_access_ms: how long a line is known after it was used last; None for ever.
        missing_keys: whether it is remembered, too, that a key has no lines.
    """

    max_rows: int | None = None
    after_write_ms: int | None = None
    after_access_ms: int | None = None
    missing_keys: bool = True


class LookupCache:
    """Lines by key, the one used longest ago going first.

    Args:
        rules: what is remembered.
        clock: seconds that only grow.
    """

    def __init__(self, rules: CacheRules, clock: Callable[[], float] = time.monotonic) -> None:
        self._rules = rules
        self._clock = clock
        self._known: OrderedDict[Key, tuple[float, float, Lines]] = OrderedDict()
        self._rows = 0

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: Key) -> Lines | None:
        """The lines of a key; None if they are not known."""
        found = self._known.get(key)
        if found is None:
            return None
        written, used, lines = found
        now = self._clock()
        if self._is_over(written, used, now):
            self._forget(key)
            return None
        self._known[key] = (written, now, lines)
        self._known.move_to_end(key)
        return lines

    def _is_over(self, written: float, used: float, now: float) -> bool:
        rules = self._rules
        old = rules.after_write_ms is not None and (now - written) * 1000 >= rules.after_write_ms
        unused = rules.after_access_ms is not None and (now - used) * 1000 >= rules.after_access_ms
        return old or unused

    def put(self, key: Key, lines: Lines) -> None:
        """Remember the lines of a key."""
        if not lines and not self._rules.missing_keys:
            return
        self._forget(key)
        now = self._clock()
        self._known[key] = (now, now, lines)
        self._rows += max(len(lines), 1)
        most = self._rules.max_rows
        while most is not None and self._rows > most and self._known:
            self._forget(next(iter(self._known)))

    def _forget(self, key: Key) -> None:
        found = self._known.pop(key, None)
        if found is not None:
            self._rows -= max(len(found[2]), 1)
