"""OVER ordered by a column that is no time: a line that comes in between changes those behind it.

    lines in order      1   3   5          a 2 comes: +I for it, then -U and +U for 3 and 5
    running sums        1   4   9

The lines of a key are kept in order; results are computed again from the changed place on, up to
where aggregates are again what they were.  Lines whose results stay the same are not touched.
Frames are all lines up to the current one (ROWS), or up to the last of its peers (RANGE), as in
Flink.  Where only joins see the results, they are told once a batch (`OverSpec.once`), not line by
line.
In: any changes.  Next: runtime/table/sorted_rows.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.errors import UnsupportedStepError
from headrace.runtime.table.aggregates.extremes import lasting_extreme
from headrace.runtime.table.lines import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.runtime.table.ordering import Ordering
from headrace.runtime.table.over import OverOperator
from headrace.runtime.table.over_functions import over_function
from headrace.runtime.table.sorted_rows import SortedRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.accumulators import LineAggregate
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.sorted_rows import RowsOfKey
    from headrace.scalars.aggregates import AggregateCall
    from headrace.spi.state import StateSpec

    Line = tuple[Any, ...]
    Results = tuple[tuple[Any, ...], tuple[Any, ...]]
    """Values that are shown, and what else says that they changed."""
    Change = tuple[Line, Results, int]


class _LinesOfKey:
    """The lines of a key in order: behind each its aggregates and their results, and what was told.

    Told are the results, by RANGE those of the last peer; None of a line that has just come.
    """

    __slots__ = ("after", "rows", "states", "told")

    def __init__(self, rows: Iterable[Line]) -> None:
        self.rows = list(rows)
        self.states: list[Any] = [None] * len(self.rows)
        self.after: list[Any] = [None] * len(self.rows)
        self.told: list[Results | None] = [None] * len(self.rows)

    def insert(self, place: int, row: Line) -> None:
        """Put a line in, of which nothing is known."""
        self.rows.insert(place, row)
        for known in (self.states, self.after, self.told):
            known.insert(place, None)

    def pop(self, place: int) -> tuple[Line, Results | None]:
        """Take a line out; the line, and what was told of it."""
        del self.states[place], self.after[place]
        return self.rows.pop(place), self.told.pop(place)

    def forget_states(self) -> None:
        """After several changes none of the states is right."""
        self.states[:] = [None] * len(self.rows)


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
        # whether aggregates can be taken up behind any line, or must begin with the first
        self.resumes = all(form.keeps_states for form in self.aggregates.forms)
        # survives restart
        self.sorted = SortedRows(self, self.ordering, self.spec.ttl_ms)

    def special_form(self, call: AggregateCall) -> LineAggregate | None:
        """Lines that go are never taken out of aggregates, which begin before their place."""
        return over_function(call) or lasting_extreme(call)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        try:
            changes = list(self._at_end(lines) if self.spec.once else self._after_each(lines))
        except Exception as error:
            raise self.failed(error) from error
        self._emit(changes)

    def _after_each(self, lines: Lines) -> Iterator[Change]:
        """Results are computed from the place on where a line comes or goes."""
        known: dict[Any, _LinesOfKey] = {}
        for key, row, kind in self._keyed(lines):
            kept, of_key = self._places(key, known)
            if kind in (INSERT, UPDATE_AFTER):
                place = kept.add(row)
                of_key.insert(place, row)
                yield from self._changed(of_key, place, row, kind)
                continue
            gone = kept.remove(row)
            if gone is not None:
                taken, told = of_key.pop(gone)
                assert told is not None
                yield taken, told, DELETE
                yield from self._changed(of_key, gone, row, kind)

    def _at_end(self, lines: Lines) -> Iterator[Change]:
        """With `once`: results are computed when the lines of a batch are all in their places."""
        known: dict[Any, _LinesOfKey] = {}
        for key, row, kind in self._keyed(lines):
            kept, of_key = self._places(key, known)
            if kind in (INSERT, UPDATE_AFTER):
                of_key.insert(kept.add(row), row)
                continue
            gone = kept.remove(row)
            if gone is not None:
                taken, told = of_key.pop(gone)
                if told is not None:
                    yield taken, told, DELETE
        for of_key in known.values():
            of_key.forget_states()
            yield from self._compared(of_key, 0, self._run(of_key, 0), INSERT)

    def _keyed(self, lines: Lines) -> Iterator[tuple[Any, Line, int]]:
        return zip(self.line_keys(lines), lines.rows(), lines.kind_list(), strict=True)

    def _places(self, key: Any, known: dict[Any, _LinesOfKey]) -> tuple[RowsOfKey, _LinesOfKey]:
        """The lines of a key as state has them, and what is known of them in this batch."""
        kept = self.sorted.of(key)
        of_key = known.get(key)
        if of_key is None:
            of_key = known[key] = _LinesOfKey(kept)
            end = self._run(of_key, 0)
            of_key.told[:] = self._with_peers(of_key, 0, end)
        return kept, of_key

    def _changed(self, of_key: _LinesOfKey, place: int, row: Line, kind: int) -> list[Change]:
        """What a line that came to a place, or went from there, changes."""
        end, start = self._run(of_key, place), place
        if not self.spec.rows:
            wanted = self.ordering.key(row)
            while start and self.ordering.key(of_key.rows[start - 1]) == wanted:
                start -= 1
        return self._compared(of_key, start, end, kind)

    def _compared(self, of_key: _LinesOfKey, start: int, end: int, kind: int) -> list[Change]:
        """The lines that had no result, and -U and +U of those whose results are others now."""
        new = self._with_peers(of_key, start, end)
        found: list[Change] = []
        parts = zip(of_key.rows[start:end], of_key.told[start:end], new, strict=True)
        for row, before, after in parts:
            if before is None:
                found.append((row, after, kind))
            elif before != after:
                found += [(row, before, UPDATE_BEFORE), (row, after, UPDATE_AFTER)]
        of_key.told[start:end] = new
        return found

    def _run(self, of_key: _LinesOfKey, place: int) -> int:
        """Aggregate from a place on; where they are again what they were, which holds to the end.

        How many lines there are stands first in a state and has no part in results.
        """
        rows, states, after = of_key.rows, of_key.states, of_key.after
        first = place if self.resumes else 0
        state = states[first - 1] if first else self.aggregates.create()
        for number in range(first, len(rows)):
            state = self.aggregates.add(state, rows[number])
            if self.resumes:
                before = states[number]
                if before is not None and before[1:] == state[1:]:
                    return number
                states[number] = state
            if number >= place:
                # Flink compares accumulators: an average of more lines is another one
                marks = tuple(state[average] for average in self.averages)
                after[number] = (self.aggregates.values(state), marks)
        return len(rows)

    def _with_peers(self, of_key: _LinesOfKey, start: int, end: int) -> list[Results]:
        """The results of lines; by RANGE each has those of the last of its peers."""
        found: list[Any] = of_key.after[start:end]
        if self.spec.rows:
            return found
        keys = [self.ordering.key(row) for row in of_key.rows[start : end + 1]]
        # what was told of the line behind them is still right
        results = [*found, *of_key.told[end : end + 1]]
        for number in range(len(keys) - 2, -1, -1):
            if keys[number] == keys[number + 1]:
                results[number] = results[number + 1]
        return results[: end - start]

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
