"""Lines of a batch, sorted by key, so that running results of all keys are computed at once.

    lines      a1 b1 a2 a3 b2            order     0 2 3 │ 1 4
    sorted     a1 a2 a3 │ b1 b2          starts    0       3
    running    totals within each segment, from where the key's state left off

A segment is a run of lines of one key.  A key has several in a batch if its count fell to zero in
between: what comes behind that begins anew.
In: codes of keys (keying.py).  Out: arrays in sorted order.  Next: runtime/table/accumulators.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Places = NDArray[np.int64]

# A segment that is longer than this is scanned by itself; shorter ones all at once, line by line.
_LONG = 64


class KeySegments:
    """Runs of sorted lines.

    Attributes:
        order: the place of each sorted line in its batch.
        starts: where each segment begins, in sorted order.
        keys: for each segment the number of its key.
        fresh: for each segment whether there is no state that it goes on from.
        ends_only: whether only the values behind the last line of segments are asked for.
    """

    def __init__(
        self,
        order: Places,
        starts: Places,
        keys: Places,
        fresh: NDArray[np.bool_],
        *,
        ends_only: bool = False,
    ) -> None:
        self.order = order
        self.starts = starts
        self.keys = keys
        self.fresh = fresh
        self.ends_only = ends_only
        self.lengths: Places = np.diff(starts, append=len(order))
        self._ids: Places | None = None

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return len(self.order)

    @property
    def ids(self) -> Places:
        """For each line the number of its segment."""
        if self._ids is None:
            self._ids = np.repeat(np.arange(len(self)), self.lengths)
        return self._ids

    @property
    def ends(self) -> Places:
        """The last line of each segment."""
        return self.starts + self.lengths - 1

    def spread(self, values: Array) -> Array:
        """One value a segment as one value a line."""
        return np.repeat(values, self.lengths)

    def totals(self, values: Array, initial: Array) -> Array:
        """Running sums of integers, which wrap as Java's do; each segment begins with `initial`."""
        running = np.cumsum(values, dtype=np.int64)
        before = np.zeros(len(self), dtype=np.int64)
        inner = self.starts > 0
        before[inner] = running[self.starts[inner] - 1]
        return running + self.spread(initial - before)

    def lowest(self, values: Array) -> Array:
        """The lowest value of each line and those before it in its segment."""
        return self.scan(np.minimum, values.copy())

    def scan(self, function: np.ufunc, values: Array) -> Array:
        """Apply a function of two along each segment, from left to right, in place.

        The order of operations is that of a loop, so results of floats are those of a loop.
        """
        long = self.lengths > _LONG
        for start, length in zip(
            self.starts[long].tolist(), self.lengths[long].tolist(), strict=True
        ):
            part = values[start : start + length]
            function.accumulate(part, out=part)
        for lines in self._steps(~long):
            values[lines] = function(values[lines - 1], values[lines])
        return values

    def _steps(self, chosen: NDArray[np.bool_]) -> Iterator[Places]:
        """The second lines of chosen segments, then the third ones, and so on."""
        lengths = self.lengths[chosen]
        longest_first = np.argsort(-lengths, kind="stable")
        starts, lengths = self.starts[chosen][longest_first], lengths[longest_first]
        longest = int(lengths[0]) if len(lengths) else 0
        active = np.searchsorted(-lengths, -np.arange(1, longest), side="left")
        for step, count in enumerate(active.tolist(), start=1):
            yield starts[:count] + step

    def fold_initial(
        self, function: np.ufunc, values: Array, initial: Array, given: NDArray[np.bool_]
    ) -> None:
        """Let the first line of segments, where `given`, go on from a value."""
        first = self.starts[given]
        values[first] = function(initial[given], values[first])


def sorted_by_code(codes: Places, count: int) -> tuple[Places, Places, Places]:
    """(order, starts, codes of the segments) of lines by the numbers of their keys.

    Args:
        codes: the number of each line's key.
        count: how many keys there are.
    """
    if count <= 1:
        order = np.arange(len(codes))
        return order, np.zeros(min(1, len(codes)), dtype=np.int64), np.arange(count)
    # NumPy sorts numbers of 16 bits by radix, which takes a fifth of the time
    narrow = codes.astype(np.uint16) if count <= 1 << 16 else codes
    order = np.argsort(narrow, kind="stable")
    lengths = np.bincount(codes, minlength=count)
    present = np.flatnonzero(lengths)
    starts = np.zeros(len(present), dtype=np.int64)
    np.cumsum(lengths[present][:-1], out=starts[1:])
    return order, starts, present
