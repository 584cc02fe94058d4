"""Lines of a batch that wait for event time, as the columns they came in.

Most lines are passed by the watermark of their own batch.  Those never become state, and those that
can neither begin a match nor belong to one never become Python values.

    add ─▶ until(watermark): those that are due, in the order of time ─┬─▶ rest(): what is left
                                                                        ▼
                                      DueLines.of_keys: rows of the keys that matter

In: lines, times and keys.  Out: rows by key.  Next: cep/matching/operator.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from headrace.runtime.table.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from headrace.cep.matching.masks import LineMasks

    Line = tuple[Any, ...]
    Times = NDArray[np.int64]


class MaskedLine(NamedTuple):
    """A line on its way into the automaton."""

    time: int
    row: Line
    mask: int


class _ArrivedPart(NamedTuple):
    lines: Lines
    times: Times
    keys: list[Any]


class ArrivedLines:
    """The lines of a batch that are not due yet."""

    def __init__(self) -> None:
        self._parts: list[_ArrivedPart] = []

    def add(self, lines: Lines, times: Times, keys: list[Any]) -> None:
        """Some more."""
        self._parts.append(_ArrivedPart(lines, times, keys))

    def clear(self) -> None:
        """Forget all."""
        self._parts = []

    def until(self, time: int) -> DueLines | None:
        """Take those up to a time out; None if there are none."""
        due: list[_ArrivedPart] = []
        left: list[_ArrivedPart] = []
        for part in self._parts:
            is_due = part.times <= time
            if is_due.all():
                due.append(part)
            elif not is_due.any():
                left.append(part)
            else:
                due.append(_picked(part, np.flatnonzero(is_due)))
                left.append(_picked(part, np.flatnonzero(~is_due)))
        self._parts = left
        return DueLines(due) if due else None

    def rest(self) -> Iterator[tuple[Any, int, Line]]:
        """Take all out: key, time and row of each."""
        parts, self._parts = self._parts, []
        for part in parts:
            yield from zip(part.keys, part.times.tolist(), part.lines.rows(), strict=True)


def _picked(part: _ArrivedPart, places: NDArray[np.int64]) -> _ArrivedPart:
    keys = [part.keys[place] for place in places.tolist()]
    return _ArrivedPart(part.lines.pick(places), part.times[places], keys)


class DueLines:
    """Lines whose time has come, in the order of time, then of arrival."""

    def __init__(self, parts: list[_ArrivedPart]) -> None:
        self._lines = parts[0].lines if len(parts) == 1 else _joined([p.lines for p in parts])
        self._times = np.concatenate([part.times for part in parts])
        self.keys = [key for part in parts for key in part.keys]
        self._order = np.argsort(self._times, kind="stable")

    def of_keys(
        self,
        masks: LineMasks,
        begins: Callable[[int], bool],
        has_state: Callable[[Any], bool],
    ) -> dict[Any, list[MaskedLine]]:
        """The lines that may matter, by key.

        Args:
            masks: say what lines mean to the automaton.
            begins: whether a line with a mask may begin a match.
            has_state: whether a key has partial matches, or other lines that are due.
        """
        known = masks.of_lines(self._lines)
        distinct, which = np.unique(known, return_inverse=True)
        begin = np.array([begins(mask) for mask in distinct.tolist()], dtype=np.bool_)[which]
        # of each key, where in the order of time its lines begin to matter
        starts: dict[Any, int] = {}
        places_that_begin = self._order[begin[self._order]]
        ordered = self._times[self._order]
        # lines of one time may still change places: by the other columns of ORDER BY
        ranks = np.searchsorted(ordered, self._times[places_that_begin], side="left")
        keys = self.keys
        for rank, place in zip(ranks.tolist(), places_that_begin.tolist(), strict=True):
            starts.setdefault(keys[place], rank)
        starts |= {key: 0 for key in dict.fromkeys(keys) if has_state(key)}
        places = [
            place
            for rank, place in enumerate(self._order.tolist())
            if starts.get(keys[place], rank + 1) <= rank
        ]
        return self._rows_by_key(places, known)

    def _rows_by_key(
        self, places: list[int], masks: NDArray[np.int64]
    ) -> dict[Any, list[MaskedLine]]:
        found: dict[Any, list[MaskedLine]] = {}
        if not places:
            return found
        chosen = np.array(places, dtype=np.int64)
        rows = self._lines.pick(chosen).rows()
        times, bits = self._times[chosen].tolist(), masks[chosen].tolist()
        for place, line in zip(places, map(MaskedLine, times, rows, bits), strict=True):
            found.setdefault(self.keys[place], []).append(line)
        return found


def _joined(parts: list[Lines]) -> Lines:
    columns = [pa.concat_arrays(pieces) for pieces in zip(*(p.columns for p in parts), strict=True)]
    return Lines(columns, None, sum(map(len, parts)), parts[0]._type)
