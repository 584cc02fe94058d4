"""The state of groups as columns, for aggregates whose states are a few numbers or values.

    key │ lines │ state of the first call │ of the second ...         one line a group

A batch reads and writes the groups of all its lines at once; no key becomes a Python object, so
groups that are seen once cost little.  Groups with maps, or with states of users, are in
runtime/table/groups.py.
In: the keys of a batch.  Out: FoundGroups.  Next: runtime/table/joins/line_store.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.runtime.table.groups import FoundGroups
from headrace.runtime.table.joins.hashes import hash_lines
from headrace.runtime.table.joins.line_layout import LINES
from headrace.runtime.table.joins.matches import joined_matches
from headrace.runtime.table.joins.runs import LineShape
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from headrace.runtime.key_codes import Codes
    from headrace.runtime.table.accumulators import LineAggregate
    from headrace.runtime.table.base import KeyedTableOperator
    from headrace.runtime.table.joins.hashes import Hashes
    from headrace.runtime.table.joins.line_store import LineStore
    from headrace.runtime.table.joins.matches import Matches
    from headrace.runtime.table.keying import LineKeying

GROUP_LINES = StateSpec("group-lines", LINES)


class GroupLines:
    """The groups of one operator in one subtask.

    Args:
        operator: whose state it is.
        keying: of the groups.
        aggregates: whose states they hold; all of them have `state_types`.
        ttl_ms: how long a group lasts after its last line; 0 for ever.
    """

    def __init__(
        self,
        operator: KeyedTableOperator,
        keying: LineKeying,
        aggregates: Sequence[LineAggregate],
        ttl_ms: int,
    ) -> None:
        self._places = keying.positions
        self._aggregates = tuple(aggregates)
        types = operator.in_lines[0].types
        kept = [kind for aggregate in aggregates for kind in aggregate.state_types or ()]
        shape = LineShape(
            (*(types[place] for place in self._places), pa.int64(), *kept),
            tuple(range(len(self._places))),
            keeps_null=True,
            expires=ttl_ms > 0,
        )
        self._store: LineStore = operator.line_store(GROUP_LINES.name, shape, ttl_ms)

    def read(self, columns: Sequence[pa.Array], codes: Codes) -> FoundGroups:
        """The groups of lines."""
        firsts = pa.array(codes.firsts())
        keys = [columns[place].take(firsts) for place in self._places]
        hashes = hash_lines(keys, codes.count)
        parts = [matches for _, _, matches in self._store.probe(keys, hashes) if len(matches)]
        matches = joined_matches(parts) if parts else None
        stored: list[Any] = [None] * codes.count
        if matches is not None:
            width = len(self._store.shape.types)
            kept = [matches.column(place) for place in range(len(self._places), width)]
            rows = zip([0] * len(matches), *self._lists(kept), strict=True)
            for number, row in zip(matches.line.tolist(), rows, strict=True):
                stored[number] = row
        return _FoundLines(self, stored, keys, hashes, matches)

    def _lists(self, columns: list[pa.Array]) -> Iterator[list[Any]]:
        """How many lines groups have, and the states of each aggregate."""
        yield columns[0].to_numpy(zero_copy_only=False).tolist()
        at = 1
        for aggregate in self._aggregates:
            width = len(aggregate.state_types or ())
            yield aggregate.states_of(columns[at : at + width])
            at += width

    def write(
        self,
        found: _FoundLines,
        numbers: NDArray[np.int64],
        lines: list[int],
        states: Sequence[Sequence[Any]],
    ) -> None:
        """Replace groups."""
        if found.matches is not None:
            changed = np.zeros(len(found.hashes), np.bool_)
            changed[numbers] = True
            self._store.kill(found.matches.where(changed[found.matches.line]))
        counts = np.array(lines, dtype=np.int64)
        kept: list[pa.Array] = [pa.array(counts)]
        for aggregate, of_call in zip(self._aggregates, states, strict=True):
            kept += aggregate.columns_of(of_call)
        chosen = pa.array(numbers)
        columns = [*(key.take(chosen) for key in found.keys), *kept]
        hashes = found.hashes[numbers]
        if (counts <= 0).any():  # a group without lines is forgotten
            left = np.flatnonzero(counts > 0)
            columns, hashes = [column.take(pa.array(left)) for column in columns], hashes[left]
        self._store.append(columns, hashes)

    def scan(self) -> Iterator[tuple[list[pa.Array], list[list[Any]]]]:
        """(columns of keys, states of each aggregate) of all groups, some at a time."""
        for run in self._store.all_runs():
            places = pa.array(np.flatnonzero(run.live))
            columns = [column.take(places) for column in run.columns]
            width = len(self._places)
            if len(places):
                yield columns[:width], list(self._lists(columns[width:]))[1:]

    def sweep(self) -> None:
        """The store does it."""


class _FoundLines(FoundGroups):
    def __init__(
        self,
        groups: GroupLines,
        stored: list[Any],
        keys: list[pa.Array],
        hashes: Hashes,
        matches: Matches | None,
    ) -> None:
        super().__init__(stored)
        self._groups = groups
        self.keys = keys
        self.hashes = hashes
        self.matches = matches

    def write(
        self, numbers: NDArray[np.int64], lines: list[int], states: Sequence[Sequence[Any]]
    ) -> None:
        self._groups.write(self, numbers, lines, states)
