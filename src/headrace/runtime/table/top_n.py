"""Which changes a line makes to the first N of its partition: Flink's changelogs, line by line.

    places      0 1 2 3 │ 4 5 ...        `Top` emits lines whose number (place + 1) is within
    numbers     1 2 3 4 │ 5 6 ...        first .. last

A new line at a place moves those behind it by one.  With numbers (or an OFFSET) each of them is an
update, -U and +U at its number; without numbers one line leaves (-D) and one comes (+I).
Here lists are plain: who keeps them, and how, is in runtime/table/rank.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.runtime.table.lines import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    Line = tuple[Any, ...]


@dataclass(slots=True)
class TopNChanges:
    """Lines on their way out, and their kinds.

    Attributes:
        before: whether -U is wanted in front of +U.
        with_number: whether lines get their number as a last column.
        first: the lowest number that is shown.
    """

    before: bool
    with_number: bool
    first: int
    rows: list[Line]
    kinds: list[int]

    @property
    def by_number(self) -> bool:
        """Whether a line that moves is an update."""
        return self.with_number or self.first > 1

    def add(self, kind: int, row: Line, number: int, last: int) -> None:
        """Emit a change of a line with a number, if that is shown."""
        if not self.first <= number <= last or (kind == UPDATE_BEFORE and not self.before):
            return
        self.rows.append((*row, number) if self.with_number else row)
        self.kinds.append(kind)

    def replace(self, old: Line, new: Line, number: int, last: int) -> None:
        """Emit that a number has another line."""
        self.add(UPDATE_BEFORE, old, number, last)
        self.add(UPDATE_AFTER, new, number, last)


def inserted(out: TopNChanges, row: Line, place: int, behind: Sequence[Line], last: int) -> None:
    """A new line is at a place.

    Args:
        out: takes the changes.
        row: the line.
        place: its place.
        behind: the lines behind it, at least up to number `last` + 1.
        last: the highest number that is shown.
    """
    number = place + 1
    if number > last:
        return
    if not out.by_number:
        left = behind[last - number] if len(behind) > last - number else None
        if left is not None:
            out.add(DELETE, left, last, last)
        out.add(INSERT, row, number, last)
        return
    for moved in behind:
        if number > last:
            return
        out.replace(moved, row, number, last)
        row, number = moved, number + 1
    out.add(INSERT, row, number, last)


def removed(out: TopNChanges, row: Line, place: int, behind: Sequence[Line], last: int) -> None:
    """A line at a place is gone; `behind` are the lines that were behind it."""
    number = place + 1
    if number > last:
        return
    if not out.by_number:
        out.add(DELETE, row, number, last)
        if len(behind) > last - number:
            out.add(INSERT, behind[last - number], last, last)
        return
    for moved in behind:
        if number > last:
            return
        out.replace(row, moved, number, last)
        row, number = moved, number + 1
    out.add(DELETE, row, number, last)


def improved(
    out: TopNChanges,
    old: Line,
    new: Line,
    places: tuple[int, int],
    between: Sequence[Line],
    last: int,
) -> None:
    """A line became better: it moves from one place to an earlier one.

    Args:
        out: takes the changes.
        old: the line before.
        new: the line from now on.
        places: where it was and where it is.
        between: the lines that it overtook.
        last: the highest number that is shown.
    """
    was, number = places[0] + 1, places[1] + 1
    retracted, row = False, new
    for moved in between:
        out.add(UPDATE_BEFORE, moved, number, last)
        if not retracted:  # the old line goes before the new one of the same key comes
            out.add(UPDATE_BEFORE, old, was, last)
            retracted = True
        out.add(UPDATE_AFTER, row, number, last)
        row, number = moved, number + 1
    if not retracted:
        out.add(UPDATE_BEFORE, old, was, last)
    out.add(UPDATE_AFTER, row, number, last)


def worsened(
    out: TopNChanges,
    old: Line,
    new: Line,
    places: tuple[int, int],
    between: Sequence[Line],
    last: int,
) -> None:
    """A line became worse, which the planner rules out unless state was forgotten in front."""
    number = places[0] + 1
    out.add(UPDATE_BEFORE, old, number, last)
    for moved in between:
        out.add(UPDATE_BEFORE, moved, number + 1, last)
        out.add(UPDATE_AFTER, moved, number, last)
        number += 1
    out.add(UPDATE_AFTER, new, places[1] + 1, last)
