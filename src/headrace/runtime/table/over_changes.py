"""OVER ordered by a column that is no time: a line that comes in between changes those behind it.

    lines in order      1   3   5          a 2 comes: +I for it, then -U and +U for 3 and 5
    running sums        1   4   9

The lines of a key are kept in order; results are computed again from the changed place on.  Lines
whose results stay the same are not touched.  Frames are all lines up to the current one (ROWS), or
up to the last of its peers (RANGE), as in Flink.  Where only joins see the results, they are told
once a batch (`OverSpec.once`), not line by line.
In: any changes.  Next: runtime/table/sorted_rows.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.errors import UnsupportedStepError
from headrace.runtime.table.lines import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.runtime.table.ordering import Ordering
from headrace.runtime.table.over import OverOperator
from headrace.runtime.table.sorted_rows import SortedRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.spi.state import StateSpec

    Line = tuple[Any, ...]
    Results = tuple[tuple[Any, ...], tuple[Any, ...]]
    """Values that are shown, and what else says that they changed."""
    Values = list[Results]
    Change = tuple[Line, Results, int]


class ChangingOverOperator(OverOperator):
    """OVER by any column."""

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), *SortedRows.specs())

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        if self.spec.preceding is not None:
            raise UnsupportedStepError(
                "a bounded frame of OVER must be ordered by a time attribute",
                where=runtime.where,
                fix="order by a rowtime or PROCTIME(), or let the frame begin UNBOUNDED PRECEDING",
            )
        self.ordering = Ordering(self.spec.order)
        calls = enumerate(self.spec.ordered_calls(), start=1)
        self.averages = [n for n, c in calls if c.user is None and c.function.upper() == "AVG"]
        # survives restart
        self.sorted = SortedRows(self, self.ordering, self.spec.ttl_ms)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        try:
            changes = list(self._at_end(lines) if self.spec.once else self._after_each(lines))
        except Exception as error:
            raise self.failed(error) from error
        self._emit(changes)

    def _after_each(self, lines: Lines) -> Iterator[Change]:
        known: dict[Any, tuple[list[Line], Values]] = {}
        for key, row, kind in self._keyed(lines):
            yield from self._change(key, row, kind, known)

    def _at_end(self, lines: Lines) -> Iterator[Change]:
        """With `once`: results are computed when the lines of a batch are all in their places."""
        known: dict[Any, tuple[list[Line], list[Results | None]]] = {}
        for key, row, kind in self._keyed(lines):
            kept = self.sorted.of(key)
            if key not in known:
                before = list(kept)
                known[key] = (before, [*self._values(before)])
            rows, old = known[key]
            if kind in (INSERT, UPDATE_AFTER):
                place = kept.add(row)
                rows.insert(place, row)
                old.insert(place, None)
                continue
            gone = kept.remove(row)
            if gone is not None:
                taken, told = rows.pop(gone), old.pop(gone)
                if told is not None:
                    yield taken, told, DELETE
        for rows, old in known.values():
            yield from self._changed(rows, old, self._values(rows), INSERT)

    def _keyed(self, lines: Lines) -> Iterator[tuple[Any, Line, int]]:
        return zip(self.line_keys(lines), lines.rows(), lines.kind_list(), strict=True)

    def _change(
        self, key: Any, row: Line, kind: int, known: dict[Any, tuple[list[Line], Values]]
    ) -> list[Change]:
        kept = self.sorted.of(key)
        if key not in known:
            before = list(kept)
            known[key] = (before, self._values(before))
        rows, old = known[key]
        if kind in (INSERT, UPDATE_AFTER):
            place = kept.add(row)
            rows.insert(place, row)
            new = self._values(rows)
            found = self._changed(rows, [*old[:place], None, *old[place:]], new, kind)
        else:
            gone = kept.remove(row)
            if gone is None:
                return []
            first = (rows[gone], old[gone], DELETE)
            del rows[gone]
            new = self._values(rows)
            found = [first, *self._changed(rows, [*old[:gone], *old[gone + 1 :]], new, kind)]
        known[key] = (rows, new)
        return found

    def _changed(
        self, rows: list[Line], old: Sequence[Results | None], new: Values, kind: int
    ) -> list[Change]:
        """The lines that had no result, and -U and +U of those whose results are others now."""
        found: list[Change] = []
        for row, before, after in zip(rows, old, new, strict=True):
            if before is None:
                found.append((row, after, kind))
            elif before != after:
                found += [(row, before, UPDATE_BEFORE), (row, after, UPDATE_AFTER)]
        return found

    def _values(self, rows: list[Line]) -> Values:
        """The results of all lines of a key."""
        state = self.aggregates.create()
        values: Values = []
        for row in rows:
            state = self.aggregates.add(state, row)
            # Flink compares accumulators: an average of more lines is another one
            marks = tuple(state[place] for place in self.averages)
            values.append((self.aggregates.values(state), marks))
        if self.spec.rows:
            return values
        keys = list(map(self.ordering.key, rows))
        for number in range(len(rows) - 2, -1, -1):
            if keys[number] == keys[number + 1]:
                values[number] = values[number + 1]
        return values

    def _emit(self, changes: list[Change]) -> None:
        if not changes:
            return
        rows, values, kinds = zip(*changes, strict=True)
        inner = self.in_lines[0]
        columns = [inner.array(n, list(part)) for n, part in enumerate(zip(*rows, strict=True))]
        made = self.aggregates.columns_of_values([results for results, _ in values])
        self.emit_columns([*columns, *made], np.array(kinds, dtype=np.int8))

    def flush(self) -> None:
        self.sorted.sweep()
        super().flush()
