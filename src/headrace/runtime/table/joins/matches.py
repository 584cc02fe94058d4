"""Which kept lines belong to which lines of a batch, as numbers, and their columns on demand.

    line   0  0  2          of the batch
    part   0  1  0          which run
    place  7  3  9          which line of the run

In: runs of a LineStore.  Out: Matches, in the order of the batch's lines; those of one line in the
order in which they were kept.  Next: runtime/table/joins/line_store.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.runtime.table.joins.hashes import Mask
    from headrace.runtime.table.joins.runs import Numbers, Places, SortedRun


class Matches:
    """Pairs of a batch's line and a kept line."""

    __slots__ = ("_grouped", "_places", "line", "part", "place", "runs")

    def __init__(
        self, runs: Sequence[SortedRun], line: Places, part: Numbers, place: Places
    ) -> None:
        self.runs = runs
        self.line = line
        self.part = part
        self.place = place
        self._grouped: tuple[Any, list[tuple[int, Any]]] | None = None
        self._places: list[pa.Array] | None = None

    def __len__(self) -> int:
        return len(self.line)

    def where(self, mask: Mask) -> Matches:
        """Some of the pairs."""
        if mask.all():
            return self
        return Matches(self.runs, self.line[mask], self.part[mask], self.place[mask])

    def pick(self, chosen: Places) -> Matches:
        """The pairs at some places, in the order of the places."""
        return Matches(self.runs, self.line[chosen], self.part[chosen], self.place[chosen])

    def moved(self, lines: int) -> Matches:
        """The same with other numbers of lines."""
        return Matches(self.runs, self.line + lines, self.part, self.place)

    def column(self, number: int) -> pa.Array:
        """A column of the kept lines, one value for each pair."""
        back, groups = self._groups()
        if self._places is None:  # columns are asked for one after the other
            self._places = [pa.array(self.place[pairs]) for _, pairs in groups]
        parts = [
            self.runs[part].columns[number].take(places)
            for (part, _), places in zip(groups, self._places, strict=True)
        ]
        if not parts:
            return self.runs[0].columns[number].slice(0, 0)
        whole = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        return whole if back is None else whole.take(back)

    def marks(self, name: str) -> Any:
        """A mark of the kept lines (live, partners, written, order), one for each pair."""
        first = getattr(self.runs[0], name)
        found = np.empty(len(self.line), first.dtype)
        for part, pairs in self._groups()[1]:
            found[pairs] = getattr(self.runs[part], name)[self.place[pairs]]
        return found

    def each_run(self, act: Callable[[SortedRun, Places, Any], None]) -> None:
        """Call `act` with (run, places, numbers of the pairs) for every run."""
        for part, pairs in self._groups()[1]:
            act(self.runs[part], self.place[pairs], pairs)

    def kept_lines(self) -> tuple[Places, Places]:
        """(for each pair the number of its kept line, for each of these numbers a pair)."""
        starts = np.cumsum([0, *(len(run) for run in self.runs)])
        _, first, numbers = np.unique(
            starts[self.part] + self.place, return_index=True, return_inverse=True
        )
        return numbers, first

    def _groups(self) -> tuple[Any, list[tuple[int, Any]]]:
        """(places that undo the grouping, None if there is nothing to undo; pairs of each run)."""
        if self._grouped is None:
            if len(self.runs) == 1 or not len(self.line):
                groups: list[tuple[int, Any]] = [(0, slice(None))] if len(self.line) else []
                self._grouped = (None, groups)
            else:
                by_part = np.argsort(self.part, kind="stable")
                back = np.empty(len(by_part), np.int64)
                back[by_part] = np.arange(len(by_part))
                ends = np.cumsum(np.bincount(self.part, minlength=len(self.runs)))
                begins = [0, *ends[:-1].tolist()]
                bounds = enumerate(zip(begins, ends.tolist(), strict=True))
                groups = [(part, by_part[a:b]) for part, (a, b) in bounds if b > a]
                self._grouped = (pa.array(back), groups)
        return self._grouped


def in_order(found: Sequence[tuple[Places, Places]], runs: Sequence[SortedRun]) -> Matches:
    """Matches by line, of the (lines, places) of each run, the oldest first."""
    if not found:
        none = np.zeros(0, np.int64)
        return Matches(runs, none, np.zeros(0, np.int32), none)
    line = np.concatenate([lines for lines, _ in found])
    part = np.repeat(np.arange(len(found), dtype=np.int32), [len(lines) for lines, _ in found])
    place = np.concatenate([places for _, places in found])
    if len(line) > 1 and (line[1:] < line[:-1]).any():
        by_line = np.argsort(line, kind="stable")
        line, part, place = line[by_line], part[by_line], place[by_line]
    return Matches(runs, line, part, place)


def joined_matches(parts: Sequence[Matches]) -> Matches:
    """Matches of stretches of lines that follow each other."""
    if len(parts) == 1:
        return parts[0]
    runs = [run for part in parts for run in part.runs]
    starts = np.cumsum([0, *(len(part.runs) for part in parts)])
    none = np.zeros(0, np.int64)
    numbers = [part.part + start for part, start in zip(parts, starts, strict=False)]
    return Matches(
        runs,
        np.concatenate([none, *(part.line for part in parts)]),
        np.concatenate([none, *numbers]).astype(np.int32),
        np.concatenate([none, *(part.place for part in parts)]),
    )
