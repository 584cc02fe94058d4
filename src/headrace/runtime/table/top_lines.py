"""Top-N of lines that are only inserted: the first N of each partition, as columns.

    lines and kept ones ─▶ ranks ─▶ without those behind a full top ─▶ tops, as places of lines
                                                                      └─▶ changes, as places

Lines are places in columns here, and ORDER BY is a number a line, so no line becomes a Python
object.  A line that is not among the first N now never will be.
In: lines.  Out: lines with changes, Flink's.  Next: runtime/table/kept_lines.py
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.runtime.table.joins.line_store import LineStore
from headrace.runtime.table.kept_lines import KeptLines
from headrace.runtime.table.lines import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.runtime.table.ranking import RankOperator
from headrace.runtime.table.replaced_lines import ReplacedLines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.kept_lines import FoundLines
    from headrace.runtime.table.lines import Lines
    from headrace.spi.state import StateSpec

    Places = NDArray[np.int64]


class TopLinesOperator(RankOperator):
    """Inserts only, and as many lines are shown of each partition."""

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), LineStore.spec("top"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart: the first lines of each partition
        self.kept = KeptLines(self, "top", self.spec.ttl_ms)

    def change_lines(self, lines: Lines) -> None:
        if not len(lines):
            return
        found = self.kept.find(lines)
        columns = found.behind(lines.columns)
        ranks = self.ordering.ranks(columns, len(columns[0]))
        if self.spec.is_single:
            self._replace(lines, found, ranks)
            return
        tops = _Tops(lines, found, ranks, self.spec.last, by_number=self.spec.by_number)
        tops.take_lines()
        tops.keep(lines, found)
        self._emit(columns, *tops.out.changes())

    def _replace(self, lines: Lines, found: FoundLines, ranks: Places) -> None:
        """Top-1: a line replaces the one that it comes before."""
        runs = ReplacedLines(lines, found)
        runs.take_by_time(ranks, keep_last=False)
        found.replace(*runs.kept(), lines)
        places, kinds = runs.changes(before=self.spec.before, told=True)
        self._emit(runs.columns, places, kinds, np.ones(len(places), dtype=np.int64))

    def _emit(
        self, columns: Sequence[pa.Array], places: Places, kinds: NDArray[np.int8], numbers: Places
    ) -> None:
        shown = numbers >= self.spec.first
        if not self.spec.before:
            shown &= kinds != UPDATE_BEFORE
        if not shown.all():
            places, kinds, numbers = places[shown], kinds[shown], numbers[shown]
        if not len(places):
            return
        chosen = pa.array(places)
        out = [column.take(chosen) for column in columns]
        if self.spec.with_number:
            out.append(pa.array(numbers, self.out_lines.types[-1]))
        self.emit_columns(out, kinds)


class _Tops:
    """The first lines of the partitions of a batch.

    Args:
        lines: of the batch.
        found: the first lines so far.
        ranks: of the lines, and behind them of those that were found.
        last: how many there are at most.
        by_number: whether a line that moves is an update.
    """

    def __init__(
        self, lines: Lines, found: FoundLines, ranks: Places, last: int, *, by_number: bool
    ) -> None:
        self._count = len(lines)
        self._keys = found.codes.numbers
        self._ranks = ranks
        self._last = last
        self.out: _MovedLines | _LeavingLines = _MovedLines() if by_number else _LeavingLines()
        kept = ranks[self._count :]
        order = np.lexsort((kept, found.owners))
        self._kept_places, self._kept_ranks = order + self._count, kept[order]
        self._kept_keys = found.owners[order]
        self._bounds = self._kept_keys.searchsorted(np.arange(found.codes.count + 1))
        # by key: (ranks, places) in order, of those that a line has changed
        self._changed: dict[int, tuple[list[int], list[int]]] = {}

    def _promising(self) -> Places:
        """The lines that are not behind the last one of a full top: it only gets harder."""
        is_full = np.diff(self._bounds) >= self._last
        if not is_full.any():
            return np.arange(self._count)
        worst = np.full(len(is_full), np.iinfo(np.int64).max)
        worst[is_full] = self._kept_ranks[self._bounds[1:][is_full] - 1]
        return np.flatnonzero(self._ranks[: self._count] < worst[self._keys])

    def take_lines(self) -> None:
        """Let lines take their places, in the order in which they came."""
        chosen = self._promising()
        tops, last, note = self._changed, self._last, self.out.note
        rows = zip(
            chosen.tolist(), self._keys[chosen].tolist(), self._ranks[chosen].tolist(), strict=True
        )
        for place, key, rank in rows:
            top = tops.get(key)
            if top is None:
                top = tops[key] = self._top_of(key)
            ranks, places = top
            spot = bisect_right(ranks, rank)
            if spot >= last:
                continue
            ranks.insert(spot, rank)
            places.insert(spot, place)
            is_full = len(ranks) > last
            note(spot, places, is_full)
            if is_full:
                ranks.pop()
                places.pop()

    def _top_of(self, key: int) -> tuple[list[int], list[int]]:
        begin, end = self._bounds[key], self._bounds[key + 1]
        return self._kept_ranks[begin:end].tolist(), self._kept_places[begin:end].tolist()

    def keep(self, lines: Lines, found: FoundLines) -> None:
        """Write which lines are the first now."""
        now: list[int] = []
        for _, places in self._changed.values():
            now += places
        is_top = np.zeros(self._count + len(self._kept_places), dtype=np.bool_)
        is_top[now] = True
        keys = np.zeros(found.codes.count, dtype=np.bool_)
        added = np.flatnonzero(is_top[: self._count])
        keys[self._keys[added]] = True  # a top without a new line is as it was
        concerned = keys[found.owners]
        found.remove(np.flatnonzero(concerned & ~is_top[self._count :]))
        found.refresh(np.flatnonzero(concerned & is_top[self._count :]))
        found.add(self._keys[added], added, lines)


class _LeavingLines:
    """Changes of tops without numbers: one line leaves, one comes."""

    def __init__(self) -> None:
        self._places: list[int] = []
        self._kinds: list[int] = []

    def note(self, spot: int, places: list[int], is_full: bool) -> None:  # noqa: FBT001
        """A line came to a spot; if there are too many now, the last of them has to leave."""
        if is_full:
            self._places.append(places[-1])
            self._kinds.append(DELETE)
        self._places.append(places[spot])
        self._kinds.append(INSERT)

    def changes(self) -> tuple[Places, NDArray[np.int8], Places]:
        """(places, kinds, numbers); nobody sees the numbers."""
        places = np.array(self._places, dtype=np.int64)
        return places, np.array(self._kinds, dtype=np.int8), np.ones_like(places)


class _MovedLines:
    """Changes of tops with numbers: who comes moves all that are behind.

    numbers 2 3 4     before  b c d     after a came  a b c (d is out)
    -U b 2, +U a 2, -U c 3, +U b 3, -U d 4, +U c 4
    """

    def __init__(self) -> None:
        self._moved: list[int] = []  # the line that came, and those behind it
        self._spots: list[int] = []
        self._lengths: list[int] = []
        self._full: list[bool] = []

    def note(self, spot: int, places: list[int], is_full: bool) -> None:  # noqa: FBT001
        """A line came to a spot; if there are too many now, the last of them has to leave."""
        self._moved += places[spot:]
        self._spots.append(spot)
        self._lengths.append(len(places) - spot)
        self._full.append(is_full)

    def changes(self) -> tuple[Places, NDArray[np.int8], Places]:
        """(places, kinds, numbers)."""
        moved = np.array(self._moved, dtype=np.int64)
        lengths = np.array(self._lengths, dtype=np.int64)
        ends = np.cumsum(lengths) - 1
        is_last = np.zeros(len(moved), dtype=np.bool_)
        is_last[ends] = True
        is_left = np.zeros(len(moved), dtype=np.bool_)
        is_left[ends] = self._full
        begins = ends - lengths + 1
        numbers = np.arange(1, len(moved) + 1) + np.repeat(
            np.array(self._spots, dtype=np.int64) - begins, lengths
        )
        width = np.where(is_left, 0, np.where(is_last, 1, 2))
        at = np.cumsum(width) - width
        total = int(width.sum())
        places = np.empty(total, dtype=np.int64)
        kinds: Any = np.empty(total, dtype=np.int8)
        pushed = np.flatnonzero(width == 2)
        places[at[pushed]], kinds[at[pushed]] = moved[pushed + 1], UPDATE_BEFORE
        places[at[pushed] + 1], kinds[at[pushed] + 1] = moved[pushed], UPDATE_AFTER
        new = np.flatnonzero(width == 1)
        places[at[new]], kinds[at[new]] = moved[new], INSERT
        return places, kinds, np.repeat(numbers, width)
