"""One timer for each key, as columns: set if there is none, taken when it is due.

    keys    LineStore      which keys have a timer
    due     TimedLines     keys by the time of their timer

In: columns of keys.  Out: those that are due.  Next: runtime/table/joins/interval.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.runtime.table.joins.hashes import hash_lines
from headrace.runtime.table.joins.line_store import LineStore
from headrace.runtime.table.joins.pairs import taken
from headrace.runtime.table.joins.runs import LineShape
from headrace.runtime.table.joins.side_changes import LinesOfSide, identity_groups
from headrace.runtime.table.joins.timed_lines import TimedLines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.runtime.pages.store import PageStore
    from headrace.runtime.table.joins.hashes import Hashes
    from headrace.runtime.table.joins.runs import Places
    from headrace.spi.state import StateSpec


class KeyTimers:
    """The timers of one side of a join.

    Args:
        store: where they survive.
        name: under which name.
        types: of the columns of keys.
    """

    def __init__(self, store: PageStore, name: str, types: Sequence[pa.DataType]) -> None:
        self._keyless = not types
        types = tuple(types) or (pa.int8(),)  # lines need a column
        places = () if self._keyless else tuple(range(len(types)))
        shape = LineShape(types, places, keeps_null=True, unique=())
        # survives restart
        self._with_timer = LineStore(store, f"{name}-keys", shape)
        self._due = TimedLines(store, f"{name}-due", types, places)
        self.stores: tuple[LineStore | TimedLines, ...] = (self._with_timer, self._due)

    @staticmethod
    def specs(name: str) -> tuple[StateSpec, StateSpec]:
        """The states of the timers."""
        return LineStore.spec(f"{name}-keys"), TimedLines.spec(f"{name}-due")

    def numbers_of(self, keys: Sequence[pa.Array], hashes: Hashes) -> Places:
        """For each key a number, the same for equal ones."""
        lines = LinesOfSide(self._columns(keys, len(hashes)), hashes, None, None)
        return identity_groups(self._with_timer, lines)

    def set_missing(self, keys: Sequence[pa.Array], hashes: Hashes, times: Places) -> None:
        """Set a timer for each key that has none; of several lines of a key the first counts."""
        _, first = np.unique(self.numbers_of(keys, hashes), return_index=True)
        first.sort()
        columns, hashes, times = (
            taken(self._columns(keys, len(hashes)), first),
            hashes[first],
            times[first],
        )
        found = self._with_timer.find(columns, hashes)
        missing = np.ones(len(first), np.bool_)
        missing[found.line] = False
        places = np.flatnonzero(missing)
        self.set(taken(columns, places), hashes[places], times[places])

    def set(self, columns: Sequence[pa.Array], hashes: Hashes, times: Places) -> None:
        """Set a timer for keys that have none."""
        self._with_timer.append(columns, hashes)
        self._due.add(times, columns)

    def take_until(self, time: int) -> tuple[list[pa.Array], Hashes] | None:
        """Take the keys out whose timers are due, the earliest first."""
        found = self._due.take_until(time)
        if found is None:
            return None
        times, columns = found
        columns = taken(columns, np.argsort(times, kind="stable"))
        hashes = hash_lines([] if self._keyless else columns, len(times))
        self._with_timer.kill(self._with_timer.find(columns, hashes))
        return columns, hashes

    def first_time(self) -> int | None:
        """When the earliest timer is due."""
        return self._due.first_time()

    def not_before(self) -> int | None:
        """No timer is due before this time."""
        return self._due.not_before()

    def __len__(self) -> int:
        return len(self._due)

    def _columns(self, keys: Sequence[pa.Array], count: int) -> list[pa.Array]:
        return [pa.array(np.zeros(count, np.int8))] if self._keyless else list(keys)
