"""Lines that operators keep by key, as columns, and what they find of them for a batch.

    lines of a batch ─▶ find ─▶ FoundLines: the kept lines of their keys ─▶ replace, add, remove

State is read and written for all keys of a batch at once, without a Python object for any.
In: Lines, keyed as the operator's input is.  Out: columns.
Next: runtime/table/joins/line_store.py has the store, runtime/table/deduplicate.py and
runtime/table/top_lines.py use it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.runtime.table.joins.hashes import hash_lines
from headrace.runtime.table.joins.matches import joined_matches
from headrace.runtime.table.joins.runs import LineShape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from headrace.runtime.key_codes import Codes
    from headrace.runtime.table.base import KeyedTableOperator
    from headrace.runtime.table.joins.hashes import Hashes
    from headrace.runtime.table.joins.line_store import LineStore
    from headrace.runtime.table.joins.matches import Matches
    from headrace.runtime.table.lines import Lines

    Places = NDArray[np.int64]


class KeptLines:
    """Lines of the first input of an operator, by its key.

    Args:
        operator: whose state it is; it declares `LineStore.spec(name)`.
        name: of the state.
        ttl_ms: how long a line lasts after it was written; 0 for ever.
        keys_only: whether the columns of the key are all that is kept.
    """

    def __init__(
        self, operator: KeyedTableOperator, name: str, ttl_ms: int, *, keys_only: bool = False
    ) -> None:
        self._keying = operator.keying()
        types, keys = operator.in_lines[0].types, self._keying.positions
        self._places = keys if keys_only else tuple(range(len(types)))
        shape = LineShape(
            tuple(types[place] for place in self._places),
            tuple(range(len(keys))) if keys_only else keys,
            keeps_null=True,
            expires=ttl_ms > 0,
        )
        self.store: LineStore = operator.line_store(name, shape, ttl_ms)

    def find(self, lines: Lines) -> FoundLines:
        """The kept lines of the keys of a batch."""
        codes = self._keying.codes_of(lines.columns, len(lines))
        firsts = pa.array(codes.firsts())
        keys = [lines.columns[place].take(firsts) for place in self._keying.positions]
        hashes = hash_lines(keys, codes.count)
        parts = [matches for _, _, matches in self.store.probe(keys, hashes) if len(matches)]
        matches = joined_matches(parts) if parts else None
        return FoundLines(self.store, self._places, codes, hashes, matches)

    def all_columns(self) -> Iterator[list[pa.Array]]:
        """All lines that are kept, some at a time."""
        for run in self.store.all_runs():
            places = pa.array(np.flatnonzero(run.live))
            if len(places):
                yield [column.take(places) for column in run.columns]


class FoundLines:
    """The kept lines of the keys of a batch.

    Attributes:
        codes: the keys of the batch's lines.
        owners: for each kept line the number of its key; those of a key in the order they came.
    """

    def __init__(
        self,
        store: LineStore,
        places: tuple[int, ...],
        codes: Codes,
        hashes: Hashes,
        matches: Matches | None,
    ) -> None:
        self._store = store
        self._places = places
        self._hashes = hashes
        self._matches = matches
        self._now = store.now()
        self.codes = codes
        self.owners: Places = np.zeros(0, np.int64) if matches is None else matches.line

    def behind(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Columns of the batch with those of the kept lines behind them."""
        if self._matches is None:
            return list(columns)
        return [
            pa.concat_arrays([column, self._matches.column(place)])
            for place, column in enumerate(columns)
        ]

    def replace(self, numbers: Places, places: Places, lines: Lines) -> None:
        """Keep other lines than so far.

        Args:
            numbers: of the keys that are concerned.
            places: for each key the line that is kept.
            lines: of the batch.
        """
        changed = np.zeros(self.codes.count, np.bool_)
        changed[numbers] = True
        self.remove(np.flatnonzero(changed[self.owners]))
        self.add(numbers, places, lines)

    def remove(self, kept: Places) -> None:
        """Forget some of the kept lines."""
        if self._matches is not None and len(kept):
            self._store.kill(self._matches.pick(kept))

    def refresh(self, kept: Places) -> None:
        """The time of some of the kept lines begins anew."""
        if self._matches is not None and len(kept):
            self._store.refresh(self._matches.pick(kept), self._now)

    def add(self, numbers: Places, places: Places, lines: Lines) -> None:
        """Keep lines of the batch; of each the number of its key is given."""
        chosen = pa.array(places)
        columns = [lines.columns[place].take(chosen) for place in self._places]
        # all lines of a key that change together end together
        written = np.full(len(places), self._now, np.int64) if self._store.shape.expires else None
        self._store.append(columns, self._hashes[numbers], written=written)
