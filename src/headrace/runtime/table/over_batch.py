"""OVER in BATCH mode: all frames and functions, over the whole lines of a key.

    frame         begins                             ends
    ROWS          so many lines before or behind     so many lines before or behind
    RANGE         at a distance of the order column  at a distance, or with the last of the peers

The edges of a frame only move forwards, so that lines enter a state and leave it once; but sums of
floats, which would keep a rest of what has left, begin anew with each frame.
In: lines, keyed by PARTITION BY.  Out: the lines in order, then the results.
Next: runtime/table/over.py has the frames of streams
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left, bisect_right
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.errors import UnsupportedStepError
from headrace.runtime.table.aggregates.extremes import CountedExtreme
from headrace.runtime.table.aggregates.moments import Variance
from headrace.runtime.table.aggregates.sums import LineCount, LineSum
from headrace.runtime.table.base import KeyedTableOperator
from headrace.runtime.table.ordering import Ordering, apply_change
from headrace.runtime.table.over import OverOperator
from headrace.runtime.table.over_functions import over_function
from headrace.runtime.table.windows.states import WindowAggregates

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.scalars.aggregates import AggregateCall

    Line = tuple[Any, ...]

# aggregates that do not look at the order of lines
_IN_ANY_ORDER = (LineCount, LineSum, Variance, CountedExtreme)


class BatchOverOperator(OverOperator):
    """OVER over whole partitions."""

    def open(self, runtime: OperatorRuntime) -> None:
        super(OverOperator, self).open(runtime)
        spec = self.spec
        calls = spec.ordered_calls()
        self.ordering = Ordering(spec.order)
        # calls that need the whole partition are computed apart
        self.ahead = [place for place, c in enumerate(calls) if _is_ahead(c)]
        self.framed = [place for place, c in enumerate(calls) if not _is_ahead(c)]
        slides = spec.preceding is not None
        self.aggregates = WindowAggregates(
            [calls[place] for place in self.framed],
            self.input_types[0],
            self.session,
            retracts=slides,
            special=over_function,
        )
        self.aggregates.open(self)
        self.whole: dict[Any, list[Line]] = {}

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        for key, row, kind in zip(
            self.line_keys(lines), lines.rows(), lines.kind_list(), strict=True
        ):
            apply_change(self.whole.setdefault(key, []), row, kind)

    def finish_keys(self) -> None:
        """The partitions since the last call are whole."""
        found: list[Line] = []
        try:
            for rows in self.whole.values():
                rows.sort(key=self.ordering.key)
                found += self._with_results(rows)
        except Exception as error:
            raise self.failed(error) from error
        self.whole.clear()
        self.emit_rows(found)
        KeyedTableOperator.finish_keys(self)

    def _with_results(self, rows: list[Line]) -> list[Line]:
        keys = list(map(self.ordering.key, rows))
        framed = self._framed(rows, keys)
        columns: dict[int, list[Any]] = {
            place: [values[number] for values in framed] for number, place in enumerate(self.framed)
        }
        for place in self.ahead:
            call = self.spec.calls[place]
            columns[place] = _AHEAD[call.function.upper()](call, rows, keys)
        results = zip(*(columns[place] for place in range(len(columns))), strict=True)
        return [(*row, *values) for row, values in zip(rows, results, strict=True)]

    # --- frames ------------------------------------------------------------------------------

    def _framed(self, rows: list[Line], keys: list[Any]) -> list[tuple[Any, ...]]:
        if not self.framed:
            return [()] * len(rows)
        edges, forms = self._edges(rows, keys), self.aggregates.forms
        if self.spec.preceding is None or all(form.takes_out_exactly for form in forms):
            return self._slid(rows, edges)
        if self.spec.following is None and all(isinstance(form, _IN_ANY_ORDER) for form in forms):
            return self._from_the_end(rows, edges)
        return self._anew(rows, edges)

    def _anew(self, rows: list[Line], edges: list[tuple[int, int]]) -> list[tuple[Any, ...]]:
        """Each frame that loses lines begins anew, as in Flink: sums of floats keep no rest."""
        aggregates, state = self.aggregates, self.aggregates.create()
        begin = end = 0
        found: list[tuple[Any, ...]] = []
        for first, last in edges:
            if first > begin:
                state, begin, end = aggregates.create(), first, first
            for row in rows[end:last]:
                state = aggregates.add(state, row)
            end = max(end, last)
            found.append(aggregates.values(state))
        return found

    def _from_the_end(
        self, rows: list[Line], edges: list[tuple[int, int]]
    ) -> list[tuple[Any, ...]]:
        """Frames up to the last line; begun anew they would take quadratic time."""
        state = self.aggregates.create()
        values = [self.aggregates.values(state)]
        for row in reversed(rows):
            state = self.aggregates.add(state, row)
            values.append(self.aggregates.values(state))
        return [values[len(rows) - first] for first, _ in edges]

    def _slid(self, rows: list[Line], edges: list[tuple[int, int]]) -> list[tuple[Any, ...]]:
        """Lines that leave a frame are taken out of its state."""
        aggregates, state = self.aggregates, self.aggregates.create()
        begin = end = 0
        found: list[tuple[Any, ...]] = []
        for first, last in edges:
            while end < last:
                state = aggregates.add(state, rows[end])
                end += 1
            while begin < min(first, end):
                state = aggregates.add(state, rows[begin], retract=True)
                begin += 1
            begin = max(begin, first)
            end = max(end, begin)
            found.append(aggregates.values(state))
        return found

    def _edges(self, rows: list[Line], keys: list[Any]) -> list[tuple[int, int]]:
        """For each line where its frame begins, and where it ends (excluded)."""
        spec, count = self.spec, len(rows)
        if spec.rows or any(_numbers_lines(call) for call in spec.calls):
            before = count if spec.preceding is None else spec.preceding
            behind = count if spec.following is None else spec.following
            return [
                (min(max(n - before, 0), count), max(min(n + behind + 1, count), 0))
                for n in range(count)
            ]
        return [self._range(rows, keys, number) for number in range(count)]

    def _range(self, rows: list[Line], keys: list[Any], number: int) -> tuple[int, int]:
        spec, count = self.spec, len(rows)
        first = 0 if spec.preceding is None else self._edge(rows, keys, number, -spec.preceding)
        if spec.following is None:
            return first, count
        last = self._edge(rows, keys, number, spec.following, after=True)
        return first, last

    def _edge(
        self, rows: list[Line], keys: list[Any], number: int, distance: int, *, after: bool = False
    ) -> int:
        search = bisect_right if after else bisect_left
        if distance == 0 or not self.spec.order:
            return search(keys, keys[number])
        index, down, _ = self.spec.order[0]
        value = rows[number][index]
        if value is None:
            return search(keys, keys[number])
        if len(self.spec.order) > 1:
            raise UnsupportedStepError(
                "RANGE with a distance takes one column of ORDER BY",
                fix="order by one column, or use ROWS",
            )
        shifted = _shifted(value, -distance if down else distance)
        probe = (*rows[number][:index], shifted, *rows[number][index + 1 :])
        return search(keys, self.ordering.key(probe))


def _shifted(value: Any, distance: int) -> Any:
    """A value so many milliseconds, or numbers, further."""
    if isinstance(value, dt.datetime):
        return value + dt.timedelta(milliseconds=distance)
    if isinstance(value, dt.date):
        return value + dt.timedelta(days=distance // 86_400_000)
    return value + distance


def _is_ahead(call: AggregateCall) -> bool:
    return call.user is None and call.function.upper() in _AHEAD


def _numbers_lines(call: AggregateCall) -> bool:
    return call.user is None and call.function.upper() == "ROW_NUMBER"


# --- functions that need all lines ---------------------------------------------------------------


def _neighbours(
    call: AggregateCall, rows: list[Line], keys: list[Any], direction: int
) -> list[Any]:
    """LEAD, and LAG: the default stands for a line that is not there, not for its NULL."""
    found: list[Any] = []
    for number, row in enumerate(rows):
        given = [row[place] for place in call.arguments]
        offset = given[1] if len(given) > 1 else 1
        default = given[2] if len(given) > 2 else None
        if offset is None:
            found.append(None)
            continue
        there = number + direction * offset
        inside = 0 <= there < len(rows)
        found.append(rows[there][call.arguments[0]] if inside else default)
    return found


def _ntile(call: AggregateCall, rows: list[Line], keys: list[Any]) -> list[Any]:
    if not rows:
        return []
    tiles, count = rows[0][call.arguments[0]], len(rows)
    size, larger = divmod(count, tiles)
    edge = larger * (size + 1)
    return [
        number // (size + 1) + 1 if number < edge else larger + (number - edge) // size + 1
        for number in range(count)
    ]


def _percent_rank(call: AggregateCall, rows: list[Line], keys: list[Any]) -> list[Any]:
    others = max(len(rows) - 1, 1)
    return [bisect_left(keys, key) / others for key in keys]


def _cume_dist(call: AggregateCall, rows: list[Line], keys: list[Any]) -> list[Any]:
    return [bisect_right(keys, key) / len(rows) for key in keys]


_AHEAD: dict[str, Callable[[AggregateCall, list[Line], list[Any]], list[Any]]] = {
    "LAG": partial(_neighbours, direction=-1),
    "LEAD": partial(_neighbours, direction=1),
    "NTILE": _ntile,
    "PERCENT_RANK": _percent_rank,
    "CUME_DIST": _cume_dist,
}
