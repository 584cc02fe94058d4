"""Top-N: the first lines of each partition by an order, as they change.

    strategy   input                                        kept
    append     inserts only                                 the first N (runtime/table/top_lines.py)
    update     upserts whose order only gets better         the first N, found by their row key
    retract    anything                                     all lines (runtime/table/sorted_rows.py)
    first      inserts only, ordered by processing time     how many there were

ORDER BY ... LIMIT is a Top-N without a partition; LIMIT alone has no order either.  The planner
chooses the strategy as Flink does.
Next: runtime/table/top_n.py has the changes, runtime/table/windows/rank.py Top-N of windows
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from headrace.errors import InternalError
from headrace.runtime.table.lines import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.runtime.table.ranking import RankOperator, RankSpec, RankStrategy
from headrace.runtime.table.sorted_rows import SortedRows
from headrace.runtime.table.top_lines import TopLinesOperator
from headrace.runtime.table.top_n import TopNChanges, improved, inserted, removed, worsened
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.runtime.operators.base import OperatorRuntime

    Line = tuple[Any, ...]

__all__ = ["RankSpec", "RankStrategy", "rank_operator"]

_KEPT = StateSpec("top", "table")


class RowRankOperator(RankOperator):
    """Inserts only, where the first line of a partition says how many are shown."""

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), _KEPT)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart: key -> (its own last number or None, lines in order)
        self.kept = self.expiring_table(_KEPT.name, self.spec.ttl_ms)
        self.single = self.spec.is_single

    def change(self, key: Any, row: Line, kind: int, out: TopNChanges) -> None:
        stored, rows = self.kept.get(key, (None, ()))
        last = self.last_of(row, stored)
        own = None if self.spec.last_column is None else last
        if self.single and rows:
            if self.ordering.before(row, rows[0]):
                out.replace(rows[0], row, 1, 1)
                self.kept.put(key, (own, [row]))
            return
        place = bisect_right(rows, self.ordering.key(row), key=self.ordering.key)
        if place >= last:
            if own != stored:
                self.kept.put(key, (own, list(rows)))
            return
        inserted(out, row, place, rows[place:], last)
        self.kept.put(key, (own, [*rows[:place], row, *rows[place : last - 1]]))


class UpdateRankOperator(RowRankOperator):
    """Upserts by a row key, which can only get better."""

    def change(self, key: Any, row: Line, kind: int, out: TopNChanges) -> None:
        if kind == UPDATE_BEFORE:
            return  # the line that follows says what changed
        if kind == DELETE:
            raise InternalError("a Top-N that was planned for upserts got a line to delete")
        stored, rows = self.kept.get(key, (None, ()))
        known = None if self.single else self._find(rows, row)
        if known is None:
            super().change(key, row, kind, out)
        else:
            self._update(key, stored, list(rows), known, row, out)

    def _find(self, rows: Sequence[Line], row: Line) -> int | None:
        wanted = [row[place] for place in self.spec.row_key]
        for number, other in enumerate(rows):
            if [other[place] for place in self.spec.row_key] == wanted:
                return number
        return None

    def _update(
        self, key: Any, stored: int | None, rows: list[Line], was: int, row: Line, out: TopNChanges
    ) -> None:
        old, last = rows[was], self.last_of(row, stored)
        if self.ordering.key(old) == self.ordering.key(row):
            rows[was] = row
            out.replace(old, row, was + 1, last)
        else:
            rows.pop(was)
            place = bisect_right(rows, self.ordering.key(row), key=self.ordering.key)
            rows.insert(place, row)
            if not out.by_number:
                out.replace(old, row, place + 1, last)
            elif place <= was:
                improved(out, old, row, (was, place), rows[place + 1 : was + 1], last)
            else:
                worsened(out, old, row, (was, place), rows[was:place], last)
        self.kept.put(key, (stored, rows))


class RetractRankOperator(RankOperator):
    """Any input: who leaves the first N makes room for one who was not among them."""

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), *SortedRows.specs(), StateSpec("last", "table"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart
        self.sorted = SortedRows(self, self.ordering, self.spec.ttl_ms)
        self.lasts = self.expiring_table("last", self.spec.ttl_ms)

    def change(self, key: Any, row: Line, kind: int, out: TopNChanges) -> None:
        stored = None if self.spec.last_column is None else self.lasts.get(key)
        last = self.last_of(row, stored)
        if self.spec.last_column is not None:
            self.lasts.put(key, last)
        rows = self.sorted.of(key)
        if kind in (INSERT, UPDATE_AFTER):
            place = rows.add(row)
            if place < last:
                inserted(out, row, place, rows.between(place + 1, last + 1), last)
            return
        gone = rows.remove(row)
        if gone is not None and gone < last:
            removed(out, row, gone, rows.between(gone, last + 1), last)
        if self.spec.last_column is not None and not len(rows):
            self.lasts.remove(key)

    def flush(self) -> None:
        self.sorted.sweep()
        super().flush()


class FirstRankOperator(RankOperator):
    """The first N that come: nothing has to be kept but their number."""

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), StateSpec("count", "table"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart: key -> (its own last number or None, lines that were shown)
        self.counts = self.expiring_table("count", self.spec.ttl_ms)

    def change(self, key: Any, row: Line, kind: int, out: TopNChanges) -> None:
        stored, count = self.counts.get(key, (None, 0))
        last = self.last_of(row, stored)
        if count >= last:
            return
        self.counts.put(key, (None if self.spec.last_column is None else last, count + 1))
        out.add(INSERT, row, count + 1, last)


_OPERATORS: dict[RankStrategy, type[RankOperator]] = {
    RankStrategy.APPEND: TopLinesOperator,
    RankStrategy.UPDATE: UpdateRankOperator,
    RankStrategy.RETRACT: RetractRankOperator,
    RankStrategy.FIRST: FirstRankOperator,
}


def rank_operator(
    spec: RankSpec, input_type: RowDataTypeInfo, output_type: RowDataTypeInfo
) -> RankOperator:
    """The operator of a Top-N; its input is keyed by the partition."""
    if spec.strategy is RankStrategy.APPEND and spec.last_column is not None:
        return RowRankOperator(spec, input_type, output_type)
    return _OPERATORS[spec.strategy](spec, input_type, output_type)
