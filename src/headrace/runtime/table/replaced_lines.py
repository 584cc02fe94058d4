"""Which lines of a batch replace the one line that is kept of their key, and what changes by that.

    rank       5  7  3 │ 3  9         kept before: 6 │ none
    earliest   -U 6 +U 5, -U 5 +U 3 │ +I 3

In: lines, and the kept ones of their keys (kept_lines.py).  Out: changes, and what is kept now.
Next: runtime/table/deduplicate.py, runtime/table/top_lines.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.runtime.table.lines import INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.runtime.table.ordering import equal_values
from headrace.runtime.table.segments import KeySegments, sorted_by_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.runtime.table.kept_lines import FoundLines
    from headrace.runtime.table.lines import Lines


class ReplacedLines:
    """The lines of a batch by key, and which of them replace the one before.

    Args:
        lines: the lines.
        found: the lines that are kept so far, at most one a key.
    """

    def __init__(self, lines: Lines, found: FoundLines) -> None:
        self._lines = lines
        order, starts, keys = sorted_by_code(found.codes.numbers, found.codes.count)
        # for each key the place of the line that was kept: behind the lines of the batch
        self._known = np.full(found.codes.count, -1)
        self._known[found.owners] = len(lines) + np.arange(len(found.owners))
        self._segments = KeySegments(order, starts, keys, self._known[keys] < 0)
        self.columns = found.behind(lines.columns)

    def take_by_time(self, times: NDArray[np.int64], *, keep_last: bool) -> None:
        """Take lines as late as the latest so far, or those earlier than the earliest.

        Args:
            times: of all lines of `columns`.
            keep_last: which of both.
        """
        segments = self._segments
        # so that both are looking for the highest: times turned round
        ranks = times if keep_last else -times
        values = ranks[segments.order]
        initial = ranks[self._known[segments.keys]]  # where there is none, any
        running = values.copy()
        segments.fold_initial(np.maximum, running, initial, ~segments.fresh)
        segments.scan(np.maximum, running)
        before = np.empty_like(running)
        before[1:] = running[:-1]
        before[segments.starts] = np.where(segments.fresh, np.iinfo(np.int64).min, initial)
        self._taken = values >= before if keep_last else values > before
        self._taken[segments.starts[segments.fresh]] = True
        self._find_before()

    def take_others(self, *, even_equal: bool) -> None:
        """Every line is taken, or every one that differs from the one before it."""
        self._taken = np.ones(self._segments.lines, dtype=np.bool_)
        self._find_before()
        if even_equal:
            return
        behind = np.flatnonzero(self._before >= 0)
        mine, its = pa.array(self._segments.order[behind]), pa.array(self._before[behind])
        same = np.ones(len(behind), dtype=np.bool_)
        for column in self.columns:
            same &= equal_values(column.take(mine), column.take(its))
        self._taken[behind[same]] = False

    def _find_before(self) -> None:
        """For each sorted line the place of the one it would replace; -1 for none."""
        segments = self._segments
        marks = np.where(self._taken, np.arange(segments.lines), -1)
        last = np.empty_like(marks)
        last[0] = -1
        last[1:] = np.maximum.accumulate(marks)[:-1]
        inside = last >= segments.spread(segments.starts)
        known = segments.spread(self._known[segments.keys])
        self._before = np.where(inside, segments.order[last], known)

    def kept(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(number of the key, place of the line) for each key whose line is another now."""
        segments = self._segments
        marks = np.where(self._taken, np.arange(segments.lines), -1)
        last = np.maximum.reduceat(marks, segments.starts)
        changed = last >= 0
        return segments.keys[changed], segments.order[last[changed]]

    def changes(self, *, before: bool, told: bool) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """The places in `columns` of what goes out, and the kinds, in the order of lines."""
        segments = self._segments
        taken = np.flatnonzero(self._taken)
        taken = taken[np.argsort(segments.order[taken], kind="stable")]
        mine, its = segments.order[taken], self._before[taken]
        fresh = its < 0
        kinds = np.where(fresh & told, INSERT, UPDATE_AFTER)
        if not before:
            return mine, kinds.astype(np.int8)
        # two for each line, of which those that replace nothing have no first
        places = np.stack([its, mine], axis=1).reshape(-1)
        both = np.stack([np.full(len(mine), UPDATE_BEFORE), kinds], axis=1).reshape(-1)
        chosen = places >= 0
        return places[chosen], both[chosen].astype(np.int8)
