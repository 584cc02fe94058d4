"""A result as a table: changes applied to lines that are kept.

    +I (a, 1)   -U (a, 1)   +U (a, 2)      ──▶   (a, 2)

In: kinds of change and the texts of lines.  Out: the lines as they are now, in the order in which
they came; a changed line stays in its place.  Next: cli/sql/screen.py shows them
"""

from __future__ import annotations

import threading
from collections import defaultdict
from itertools import islice

Cells = tuple[str, ...]


class MaterializedLines:
    """The lines of a result that changes.  One thread writes, others read.

    Args:
        limit: how many lines are kept; beyond, the oldest are forgotten.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._lines: dict[int, Cells] = {}
        self._places: defaultdict[Cells, list[int]] = defaultdict(list)
        self._next = 0
        # the place of a line whose -U has come, until its +U does
        self._changing: int | None = None
        self.changes = 0
        self.forgotten = 0

    def apply(self, kind: str, cells: Cells) -> None:
        """One change."""
        with self._lock:
            self.changes += 1
            place, self._changing = self._changing, None
            if kind == "+U" and place is not None:
                self._put(place, cells)
                return
            if place is not None:
                del self._lines[place]
            if kind in ("+I", "+U"):
                self._append(cells)
            elif kind == "-U":
                self._changing = self._take(cells)
            else:
                gone = self._take(cells)
                if gone is not None:
                    del self._lines[gone]

    def _append(self, cells: Cells) -> None:
        self._put(self._next, cells)
        self._next += 1
        if len(self._lines) > self._limit:
            oldest = next(iter(self._lines))
            self._drop_place(self._lines.pop(oldest), oldest)
            self.forgotten += 1

    def _put(self, place: int, cells: Cells) -> None:
        self._lines[place] = cells
        self._places[cells].append(place)

    def _take(self, cells: Cells) -> int | None:
        """The place of the newest such line, which is no longer to be found by its text."""
        places = self._places.get(cells)
        if not places:
            return None  # forgotten before
        place = places[-1]
        self._drop_place(cells, place)
        return place

    def _drop_place(self, cells: Cells, place: int) -> None:
        places = self._places[cells]
        places.remove(place)
        if not places:
            del self._places[cells]

    def lines(self, start: int = 0, stop: int | None = None) -> list[Cells]:
        """The lines as they are now, or some of them."""
        with self._lock:
            hidden = self._changing
            shown = (cells for place, cells in self._lines.items() if place != hidden)
            return list(islice(shown, start, stop))

    def __len__(self) -> int:
        with self._lock:
            return len(self._lines) - (self._changing is not None)


class ChangelogLines(MaterializedLines):
    """All changes, each as a line with its kind in front."""

    def apply(self, kind: str, cells: Cells) -> None:
        """One change."""
        with self._lock:
            self.changes += 1
            self._append((kind, *cells))
