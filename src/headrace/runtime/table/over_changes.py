"""OVER ordered by a column that is no time: a line that comes in between changes those behind it.

    lines in order      1   3   5          a 2 comes: +I for it, then -U and +U for 3 and 5
    running sums        1   4   9

The lines of a key are kept in order; results are computed again from the changed place on.  Lines
whose results stay the same are not touched.  Frames are all lines up to the current one (ROWS), or
up to the last of its peers (RANGE), as in Flink.
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
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.spi.state import StateSpec

    Line = tuple[Any, ...]
    Results = tuple[tuple[Any, ...], tuple[Any, ...]]
    """Values that are shown, and what else says that they changed."""
    Values = list[Results]


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
        known: dict[Any, tuple[list[Line], Values]] = {}
        rows: list[Line] = []
        values: Values = []
        kinds: list[int] = []
        try:
            for key, row, kind in zip(
                self.line_keys(lines), lines.rows(), lines.kind_list(), strict=True
            ):
                for found, value, change in self._change(key, row, kind, known):
                    rows.append(found)
                    values.append(value)
                    kinds.append(change)
        except Exception as error:
            raise self.failed(error) from error
        self._emit(rows, values, kinds)

    def _change(
        self, key: Any, row: Line, kind: int, known: dict[Any, Any]
    ) -> list[tuple[Line, Results, int]]:
        kept = self.sorted.of(key)
        if key not in known:
            before = list(kept)
            known[key] = (before, self._values(before))
        rows, old = known[key]
        if kind in (INSERT, UPDATE_AFTER):
            place = kept.add(row)
            rows.insert(place, row)
            new = self._values(rows)
            aligned = [*old[:place], None, *old[place:]]
            found = self._changed(rows, aligned, new, place, kind)
        else:
            gone = kept.remove(row)
            if gone is None:
                return []
            first = (rows[gone], old[gone], DELETE)
            del rows[gone]
            new = self._values(rows)
            aligned = [*old[:gone], *old[gone + 1 :]]
            found = [first, *self._changed(rows, aligned, new, None, kind)]
        known[key] = (rows, new)
        return found

    def _changed(
        self, rows: list[Line], old: list[Any], new: Values, place: int | None, kind: int
    ) -> list[tuple[Line, Results, int]]:
        """The new line at its place, and -U and +U of those whose results are others now."""
        found: list[tuple[Line, Results, int]] = []
        for number, (row, before, after) in enumerate(zip(rows, old, new, strict=True)):
            if number == place:
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

    def _emit(self, rows: list[Line], values: Values, kinds: list[int]) -> None:
        if not rows:
            return
        inner = self.in_lines[0]
        columns = [inner.array(n, list(part)) for n, part in enumerate(zip(*rows, strict=True))]
        made = self.aggregates.columns_of_values([results for results, _ in values])
        self.emit_columns([*columns, *made], np.array(kinds, dtype=np.int8))

    def flush(self) -> None:
        self.sorted.sweep()
        super().flush()
