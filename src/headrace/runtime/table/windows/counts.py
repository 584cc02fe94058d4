"""GROUP BY windows of so many lines: ``Tumble.over(row_interval(3))``, ``Slide`` likewise.

    lines of a key          a  b  c  d  e
    tumble 2                [a  b][c  d]          e waits for another
    slide 3, every 1        [a  b  c]
                               [b  c  d]
                                  [c  d  e]       no window begins before the first line

A window has its result when its last line has come; one that is not full has none.
In: lines, inserts only.  Out: keys, then aggregates.  Next: runtime/table/windows/states.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.runtime.table.base import KeyedTableOperator
from headrace.runtime.table.segments import sorted_by_code
from headrace.runtime.table.windows.states import WindowAggregates
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.windows.grid import WindowGrid
    from headrace.runtime.table.windows.states import State
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession

    Numbers = NDArray[np.int64]


class CountWindowAggregateOperator(KeyedTableOperator):
    """Aggregates of windows by count.

    Args:
        grid: the windows; what it takes for times are the numbers of a key's lines, from 0.
        calls: the aggregates.
        input_type: of the lines.
        output_type: the keys, then the calls.
        session: of the query.
    """

    def __init__(
        self,
        grid: WindowGrid,
        calls: Sequence[AggregateCall],
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        session: ScalarSession,
    ) -> None:
        super().__init__([input_type], output_type)
        self.grid = grid
        self.calls = tuple(calls)
        self.session = session

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), StateSpec("counted", "table"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart: key -> (how many lines came, {start of an open window: its state})
        self.counted = self.expiring_table("counted", 0)
        self.aggregates = WindowAggregates(self.calls, self.input_types[0], self.session)
        self.aggregates.open(self)

    def close(self) -> None:
        self.aggregates.close()
        super().close()

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if not len(lines):
            return
        try:
            self._count(lines)
        except Exception as error:
            raise self.failed(error) from error

    def _count(self, lines: Lines) -> None:
        codes = self.keying().codes_of(lines.columns, len(lines))
        self.states.read_ahead(codes.keys)
        known: list[tuple[int, dict[int, State]]] = [
            self.counted.get(key) or (0, {}) for key in codes.keys
        ]
        before = np.array([count for count, _ in known], dtype=np.int64)
        numbers = before[codes.numbers] + _place_in_key(codes.numbers, codes.count)
        places, starts, ends = self.grid.windows(numbers)
        whole = starts >= 0
        places, starts, ends = places[whole], starts[whole], ends[whole]
        after = before + np.bincount(codes.numbers, minlength=codes.count)
        open_windows = [dict(windows) for _, windows in known]
        if len(places):
            self._run(lines, codes, open_windows, after, (places, starts, ends))
        for key, count, windows in zip(codes.keys, after.tolist(), open_windows, strict=True):
            self.counted.put(key, (count, windows))

    def _run(
        self,
        lines: Lines,
        codes: Any,
        open_windows: list[dict[int, State]],
        after: Numbers,
        found: tuple[Numbers, Numbers, Numbers],
    ) -> None:
        """Add lines to their windows, and emit those that are full."""
        places, starts, ends = found
        keys = codes.numbers[places]
        pairs = np.stack([keys, starts], axis=1)
        distinct, groups = np.unique(pairs, axis=0, return_inverse=True)
        groups = groups.reshape(-1)
        stored = [open_windows[key].get(start) for key, start in distinct.tolist()]
        states = self.aggregates.run(lines.pick(places), groups, stored)
        last = np.zeros(len(distinct), dtype=np.int64)
        np.maximum.at(last, groups, places)
        size = int(ends[0] - starts[0])
        full: list[tuple[int, int, int, State]] = []  # the line that fills it, start, key, state
        for number, (key, start) in enumerate(distinct.tolist()):
            if start + size <= after[key]:
                full.append((int(last[number]), start, key, states[number]))
                open_windows[key].pop(start, None)
            else:
                open_windows[key][start] = states[number]
        self._emit_full(sorted(full, key=lambda each: each[:2]), codes.keys)

    def _emit_full(self, full: list[tuple[int, int, int, State]], keys: list[Any]) -> None:
        if not full:
            return
        keying = self.keying()
        types = self.out_lines.types[: len(keying.positions)]
        columns: list[pa.Array] = keying.columns_of([keys[key] for _, _, key, _ in full], types)
        columns += self.aggregates.columns([state for *_, state in full])
        self.emit_columns(columns)


def _place_in_key(numbers: Numbers, count: int) -> Numbers:
    """For each line how many lines of its key came before it in the batch."""
    order, starts, _ = sorted_by_code(numbers, count)
    lengths = np.diff(np.append(starts, len(order)))
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.arange(len(order)) - np.repeat(starts, lengths)
    return found
