"""What goes out for a stretch of lines and their partners, as places and kinds.

    line   2   2   -1  3          of the call; -1: NULL instead
    pair   0   1    1  -1         of the matches; -1: NULL instead
    kind   +I  -D   +I +I

In: lines and matches.  Out: places in Flink's order.  Next: runtime/table/joins/regular.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.runtime.table.lines import DELETE, INSERT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.runtime.table.joins.matches import Matches
    from headrace.runtime.table.joins.runs import Numbers, Places
    from headrace.runtime.table.lines import Lines

    Kinds = NDArray[np.int8]


class Stretch:
    """Some lines of a call, and the kept lines of the other side that belong to them.

    Attributes:
        lines: all of the call.
        first: the first of the stretch.
        matches: of the stretch.
        counts: how many each of its lines has.
    """

    __slots__ = ("counts", "first", "lines", "matches")

    def __init__(self, lines: Lines, first: int, last: int, matches: Matches) -> None:
        self.lines = lines
        self.first = first
        self.matches = matches
        self.counts = np.bincount(matches.line - first, minlength=last - first)

    def kinds_of(self, line: Places) -> Kinds | None:
        """The kinds of lines of the call; None if all are inserted."""
        return None if self.lines.kinds is None else self.lines.kinds[line]

    def retracts(self, line: Places) -> Any:
        """For each line of the call whether it takes back."""
        kinds = self.lines.kinds
        return np.zeros(len(line), np.bool_) if kinds is None else (kinds[line] & 1) == 1

    def steps(self) -> Numbers:
        """For each pair 1, or -1 if it is taken back."""
        return np.where(self.retracts(self.matches.line), -1, 1).astype(np.int32)

    def pair_kinds(self, *, outer: bool, other_outer: bool) -> Kinds:
        """The kinds of pairs, where a side is outer."""
        line = self.matches.line
        own, taken_back = self.kinds_of(line), self.retracts(line)
        kinds = np.zeros(len(line), np.int8) if own is None else own.copy()
        if outer:
            kinds[taken_back] = DELETE
        if outer or other_outer:
            kinds[~taken_back] = INSERT
        return kinds

    def alone(self) -> Places:
        """The lines without a partner."""
        return self.first + np.flatnonzero(self.counts == 0)


class OutPlaces:
    """Collects what goes out; a number for each says where."""

    def __init__(self) -> None:
        self._parts: list[tuple[Any, Any, Any, Any]] = []

    def add(self, rank: Places, line: Any, pair: Any, kinds: Any) -> None:
        """Let lines go out at some ranks: one value for all or one for each."""
        if len(rank):
            same = np.ones(len(rank), np.int64)
            self._parts.append((rank, line * same, pair * same, (kinds * same).astype(np.int8)))

    def in_order(self) -> tuple[Places, Places, Kinds]:
        """(line, pair, kind) of everything."""
        if not self._parts:
            none = np.zeros(0, np.int64)
            return none, none, none.astype(np.int8)
        rank, line, pair, kinds = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        order = np.argsort(rank, kind="stable")
        return line[order], pair[order], kinds[order]
