"""DISTINCT in groups whose lines only come: which values each group has seen, as columns.

    group │ value │ calls          calls: a bit for each aggregate that has seen the value
    a     │ 7     │ 0b0101         COUNT(DISTINCT x), COUNT(DISTINCT x) FILTER (...), ...

Aggregates of the same columns share a store, as in Flink; each sees the lines that bring a value
for the first time among those that its filter lets through.
In: lines of a batch.  Out: for each call which of them count.
Next: runtime/table/joins/line_store.py, runtime/table/aggregates/distinct.py has the general form
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.runtime.table.joins.hashes import hash_lines
from headrace.runtime.table.joins.line_layout import LINES
from headrace.runtime.table.joins.runs import LineShape
from headrace.runtime.table.keying import LineKeying
from headrace.runtime.table.vectors import as_true
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.runtime.key_codes import Codes
    from headrace.runtime.table.base import KeyedTableOperator
    from headrace.runtime.table.joins.hashes import Mask
    from headrace.runtime.table.joins.line_store import LineStore
    from headrace.scalars.aggregates import AggregateCall

    Places = NDArray[np.int64]

SEEN = StateSpec("seen/", LINES)
_MOST_CALLS = 62  # bits of a number


class SeenValues:
    """The values that groups have seen in some columns.

    Args:
        operator: whose state it is.
        keying: of the groups.
        calls: the numbers and forms of the aggregates of these columns.
    """

    def __init__(
        self,
        operator: KeyedTableOperator,
        keying: LineKeying,
        calls: Sequence[tuple[int, AggregateCall]],
    ) -> None:
        self._keying = keying
        self._calls = tuple(calls)
        self._arguments = calls[0][1].arguments
        places = (*keying.positions, *self._arguments)
        types = operator.in_lines[0].types
        keys = len(keying.positions)
        self._key_types = [types[place] for place in keying.positions]
        shape = LineShape(
            (*(types[place] for place in places), pa.int64()),
            tuple(range(keys)),
            keeps_null=True,
            unique=tuple(range(keys, len(places))),
        )
        self._store: LineStore = operator.line_store(f"{SEEN.name}{calls[0][0]}", shape)

    def take(self, columns: Sequence[pa.Array], groups: Codes) -> dict[int, Mask]:
        """For each call the lines that bring a value for the first time.

        Args:
            columns: of the lines.
            groups: of the lines.
        """
        pairs = self._pairs(columns, groups)
        firsts = pa.array(pairs.firsts())
        places = (*self._keying.positions, *self._arguments)
        values = [columns[place].take(firsts) for place in places]
        hashes = hash_lines(values[: len(self._keying.positions)], pairs.count)
        known = self._store.find(values, hashes)
        bits = np.zeros(pairs.count, dtype=np.int64)
        if len(known):
            bits[known.line] = known.column(len(values)).to_numpy(zero_copy_only=False)
        before = bits.copy()
        found = {
            number: self._first_lines(columns, call, pairs.numbers, bits, 1 << bit)
            for bit, (number, call) in enumerate(self._calls)
        }
        changed = bits != before
        if changed.any():
            if len(known):
                self._store.kill(known.where(changed[known.line]))
            chosen = np.flatnonzero(changed)
            kept = [column.take(pa.array(chosen)) for column in values]
            self._store.append([*kept, pa.array(bits[chosen])], hashes[chosen])
        return found

    def _pairs(self, columns: Sequence[pa.Array], groups: Codes) -> Codes:
        """The numbers of (group, values)."""
        count = len(groups.numbers)
        return groups.with_more(LineKeying(self._arguments).codes_of(columns, count))

    def _first_lines(
        self,
        columns: Sequence[pa.Array],
        call: AggregateCall,
        pairs: Places,
        bits: Places,
        bit: int,
    ) -> Mask:
        """The lines that bring a call a value for the first time; it is noted in `bits`."""
        fresh = (bits & bit) == 0
        lines = fresh[pairs]
        if call.filter is not None:
            lines &= as_true(columns[call.filter])
        chosen = np.flatnonzero(lines)
        first = np.full(len(bits), -1)
        first[pairs[chosen][::-1]] = chosen[::-1]  # of several the first is written last
        comes = first >= 0
        bits[comes] |= bit
        found = np.zeros(len(pairs), dtype=np.bool_)
        found[first[comes]] = True
        return found

    def remove(self, groups: Sequence[Any]) -> None:
        """Forget what groups have seen."""
        if not groups:
            return
        keys = self._keying.columns_of(groups, self._key_types) if self._key_types else []
        for _, _, matches in self._store.probe(keys, hash_lines(keys, len(groups))):
            if len(matches):
                self._store.kill(matches)


def shared_values(
    operator: KeyedTableOperator, keying: LineKeying, calls: Sequence[tuple[int, AggregateCall]]
) -> list[SeenValues]:
    """One store for the DISTINCT calls of the same columns."""
    by_columns: dict[tuple[int, ...], list[tuple[int, AggregateCall]]] = {}
    for number, call in calls:
        by_columns.setdefault(call.arguments, []).append((number, call))
    return [
        SeenValues(operator, keying, same[start : start + _MOST_CALLS])
        for same in by_columns.values()
        for start in range(0, len(same), _MOST_CALLS)
    ]
