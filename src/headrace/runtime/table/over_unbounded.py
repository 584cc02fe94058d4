"""OVER from the first line on: the results after each line, of all keys at once.

    lines that have waited, and lines of this batch that are due ─▶ sorted by key and time
    ─▶ aggregates along the lines of each key ─▶ out

Lines of the batch at hand stay columns; only those that wait beyond it go into state.
In: runtime/table/over.py.  Next: runtime/table/windows/states.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.runtime.key_codes import codes_of_values
from headrace.runtime.table.lines import Lines
from headrace.runtime.table.over import TimedOverOperator
from headrace.runtime.table.times import rowtimes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.over import Timed
    from headrace.runtime.watermarks import InputClocks

    Times = NDArray[np.int64]
    # lines, their keys and their times
    DueLines = tuple[Lines, list[Any], Times]


class UnboundedOverOperator(TimedOverOperator):
    """Frames that begin with the first line: key -> state."""

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # of the batch at hand: lines and their times
        self.fresh: list[tuple[Lines, Times]] = []

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.fresh = []

    def run_lines(self, lines: Lines, keys: list[Any]) -> None:
        self._run(lines, keys, None)

    def wait(self, lines: Lines) -> None:
        times = rowtimes(lines.columns[self.time], self.runtime.name)
        kept = times > self.current_watermark
        if not kept.all():
            self.runtime.metrics.late_records_dropped += int((~kept).sum())
            lines, times = lines.pick(np.flatnonzero(kept)), times[kept]
        self.fresh.append((lines, times))

    def flush(self) -> None:
        fresh, self.fresh = self.fresh, []
        for lines, times in fresh:
            for key, row, time in zip(
                self.line_keys(lines), lines.rows(), times.tolist(), strict=True
            ):
                if self.waiting.add(key, time, row):
                    self.timers.register(time, key)
        super().flush()

    def after_timers(self) -> None:
        due, self.due = list(self.due.items()), {}
        parts = [self._waited(due)] if due else []
        parts += self._due_fresh()
        if parts:
            try:
                self._run_sorted(parts)
            except Exception as error:
                raise self.failed(error) from error

    def _waited(self, due: list[tuple[Any, list[Timed]]]) -> DueLines:
        rows = [row for _, timed in due for _, row in timed]
        keys = [key for key, timed in due for _ in timed]
        inner = self.in_lines[0]
        columns = [inner.array(n, list(part)) for n, part in enumerate(zip(*rows, strict=True))]
        times = np.array([time for _, timed in due for time, _ in timed])
        return Lines(columns, None, len(rows), inner), keys, times

    def _due_fresh(self) -> list[DueLines]:
        found: list[DueLines] = []
        left: list[tuple[Lines, Times]] = []
        for lines, times in self.fresh:
            is_due = times <= self.current_watermark
            if is_due.any():
                now = lines.pick(np.flatnonzero(is_due))
                found.append((now, self.line_keys(now), times[is_due]))
            if not is_due.all():
                left.append((lines.pick(np.flatnonzero(~is_due)), times[~is_due]))
        self.fresh = left
        return found

    def _run_sorted(self, parts: list[DueLines]) -> None:
        """Lines of several parts, of which the first came first."""
        keys = [key for _, of_part, _ in parts for key in of_part]
        times = np.concatenate([of_part for _, _, of_part in parts])
        columns = [
            pa.concat_arrays(pieces)
            for pieces in zip(*(lines.columns for lines, _, _ in parts), strict=True)
        ]
        order = np.lexsort((times, codes_of_values(keys).numbers))
        lines = Lines(columns, None, len(keys), self.in_lines[0]).pick(order)
        keys = [keys[place] for place in order.tolist()]
        self._run(lines, keys, None if self.spec.rows else times[order])

    def _run(self, lines: Lines, keys: list[Any], times: NDArray[np.int64] | None) -> None:
        """Lines whose order within a key is right; with `times` those of one time are peers."""
        codes = codes_of_values(keys)
        stored = [self.frames.get(key) for key in codes.keys]
        states, results, segments = self.aggregates.run_along(lines, codes.numbers, stored)
        for number, state in zip(segments.keys.tolist(), states, strict=True):
            self.frames.put(codes.keys[number], state)
        sources = np.arange(segments.lines)
        if times is not None:
            sources = _last_peers(segments.ids, times[segments.order])
        places = np.empty(segments.lines, dtype=np.int64)
        places[segments.order] = sources
        made = [
            form.column(found.values[places], None if found.valid is None else found.valid[places])
            for form, found in zip(self.aggregates.forms, results, strict=True)
        ]
        self.emit_columns([*lines.columns, *made])


def _last_peers(groups: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each of sorted lines the place of the last one of the same group and time."""
    count = len(groups)
    ends = np.ones(count, dtype=np.bool_)
    ends[:-1] = (groups[1:] != groups[:-1]) | (times[1:] != times[:-1])
    last = np.flatnonzero(ends)
    found: NDArray[np.int64] = last[np.searchsorted(last, np.arange(count))]
    return found
