"""ORDER BY: of a stream by its time attribute, of a bounded input by anything.

    by event time        lines wait until event time has passed them; late ones are dropped
    by processing time   lines leave as they come; those of one list sorted by the other columns
    by anything          lines wait for the end of the input (BATCH mode, or a stream that ends)

The input is in one subtask, keyed by nothing.  ORDER BY with LIMIT is a Top-N:
runtime/table/rank.py.  Next: runtime/table/waiting.py
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.data.records import MAX_TIMESTAMP
from headrace.runtime.table.base import TableOperator, TimedTableOperator
from headrace.runtime.table.lines import INSERT, UPDATE_AFTER
from headrace.runtime.table.ordering import Ordering
from headrace.runtime.table.sorted_rows import SortedRows
from headrace.runtime.table.times import rowtimes
from headrace.runtime.table.waiting import WaitingLines
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.ordering import Part

_ALL: tuple[()] = ()  # the key of everything
_EMITTED = StateSpec("emitted", "table")


class RowtimeSortOperator(TimedTableOperator):
    """Lines in the order of event time.

    Args:
        time: the place of the time attribute, which is the first column of ORDER BY, ascending.
        order: of the other columns, for lines of one time.
    """

    def __init__(self, time: int, order: Sequence[Part], row_type: RowDataTypeInfo) -> None:
        super().__init__([row_type], row_type)
        self.time = time
        self.order = tuple(order)

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), *WaitingLines.specs(), _EMITTED)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.ordering = Ordering(self.order)
        # survives restart: what waits; the time of the line that left last
        self.waiting = WaitingLines(self.states)
        self.emitted = self.states.table(_EMITTED.name)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        times = rowtimes(lines.columns[self.time], self.runtime.name).tolist()
        last = self.emitted.get(_ALL)
        for row, time in zip(lines.rows(), times, strict=True):
            if last is None or time > last:
                self.waiting.add(_ALL, time, row)
            else:
                self.runtime.metrics.late_records_dropped += 1

    def advance_watermark(self, timestamp: int) -> None:
        due = self.waiting.take(_ALL, timestamp)
        if due:
            self.emitted.put(_ALL, due[-1][0])
            found: list[tuple[Any, ...]] = []
            for _, group in groupby(due, key=itemgetter(0)):
                rows = [row for _, row in group]
                found += sorted(rows, key=self.ordering.key) if self.order else rows
            self.emit_rows(found)
        if timestamp == MAX_TIMESTAMP:
            self.emitted.remove(_ALL)
        super().advance_watermark(timestamp)


class ProctimeSortOperator(TableOperator):
    """Lines as they come, those of one list sorted.

    Args:
        order: of the columns behind processing time.
    """

    def __init__(self, order: Sequence[Part], row_type: RowDataTypeInfo) -> None:
        super().__init__([row_type], row_type)
        self.order = tuple(order)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        if not self.order:
            self.output.emit(records)
            return
        lines = self.lines(records)
        places = Ordering(self.order).places(lines.columns, len(lines))
        found = lines.pick(places)
        self.emit_columns(found.columns, found.kinds)


class FullSortOperator(TimedTableOperator):
    """All lines in an order, once there are no more.

    In BATCH mode lines stay Arrow; in a stream they are in state, and lines may be taken back.

    Args:
        order: by which they are sorted.
        offset: how many of the first are left out.
        fetch: how many are emitted at most; None for all.
    """

    def __init__(
        self,
        order: Sequence[Part],
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        *,
        offset: int = 0,
        fetch: int | None = None,
    ) -> None:
        super().__init__([input_type], output_type)
        self.order = tuple(order)
        self.first = offset
        self.end = None if fetch is None else offset + fetch

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), *SortedRows.specs())

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.ordering = Ordering(self.order)
        # survives restart
        self.sorted = SortedRows(self, self.ordering, 0)
        # BATCH mode: the lines so far
        self.parts: list[list[pa.Array]] = []

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if self.runtime.bounded and lines.retracts is None:
            self.parts.append(lines.columns)
            return
        rows = self.sorted.of(_ALL)
        for row, kind in zip(lines.rows(), lines.kind_list(), strict=True):
            if kind in (INSERT, UPDATE_AFTER):
                rows.add(row)
            else:
                rows.remove(row)

    def advance_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP:
            self._emit_all()
        super().advance_watermark(timestamp)

    def _emit_all(self) -> None:
        if self.parts:
            self._emit_columns_sorted()
            return
        kept = self.sorted.of(_ALL)
        rows = kept.between(self.first, len(kept) if self.end is None else self.end)
        self.emit_rows(rows)
        for row in list(kept):
            kept.remove(row)

    def _emit_columns_sorted(self) -> None:
        columns = [pa.concat_arrays(pieces) for pieces in zip(*self.parts, strict=True)]
        self.parts = []
        places = self.ordering.places(columns, len(columns[0]))[self.first : self.end]
        if len(places):
            chosen = pa.array(places)
            self.emit_columns([column.take(chosen) for column in columns])
