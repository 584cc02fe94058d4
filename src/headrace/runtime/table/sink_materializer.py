"""The last line of each key of a sink, where several lines of the query may have the same key.

    +I k 1   +I k 2   -D k 1   -D k 2      ─▶      +I k 1   +U k 2             -D k 2

All lines of a key that were not taken back are kept in order; the last one is what the sink has.
Else a line that comes from one subtask and is taken back by another could wipe out a newer one.
In: lines with changes, by the sink's primary key.  Out: +I, +U and -D by that key.
Next: runtime/table/changelog_normalize.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.runtime.table.base import KeyedTableOperator
from headrace.runtime.table.keying import frozen
from headrace.runtime.table.lines import DELETE, INSERT, UPDATE_AFTER
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime

    Row = tuple[Any, ...]

VALUES = StateSpec("values", "table")


class SinkMaterializerOperator(KeyedTableOperator):
    """Finds the line of each key that counts.

    Args:
        line_type: of the lines, in and out; the edge in front has LineKeying of the primary key.
        upsert_key: the places of columns by which the query knows its lines; without, a line is
            known by all its values.
        ttl_ms: how long a key's lines are kept after the last of them; 0 for ever.
    """

    def __init__(
        self, line_type: RowDataTypeInfo, upsert_key: Sequence[int] = (), *, ttl_ms: int = 0
    ) -> None:
        super().__init__((line_type,), line_type)
        self.upsert_key = tuple(upsert_key)
        self.ttl_ms = ttl_ms

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), VALUES)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.kept = self.expiring_table(VALUES.name, self.ttl_ms)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        out: list[tuple[int, Row]] = []
        for key, kind, row in zip(
            self.line_keys(lines), lines.kind_list(), lines.rows(), strict=True
        ):
            rows: list[Row] = self.kept.get(key) or []
            if kind in (INSERT, UPDATE_AFTER):
                out.append((UPDATE_AFTER if rows else INSERT, row))
                self.kept.put(key, self._with(rows, row))
            else:
                self._take_back(key, rows, row, out)
        if not self.runtime.bounded:
            self.emit_rows([row for _, row in out], [kind for kind, _ in out])

    def _with(self, rows: list[Row], row: Row) -> list[Row]:
        place = self._place(rows, row) if self.upsert_key else None
        if place is None:
            return [*rows, row]
        return [*rows[:place], row, *rows[place + 1 :]]

    def _take_back(self, key: Any, rows: list[Row], row: Row, out: list[tuple[int, Row]]) -> None:
        place = self._place(rows, row)
        if place is None:
            return  # its state has ended, or it never came
        left = [*rows[:place], *rows[place + 1 :]]
        if not left:
            out.append((DELETE, row))
            self.kept.remove(key)
            return
        if place == len(rows) - 1:
            out.append((UPDATE_AFTER, left[-1]))
        self.kept.put(key, left)

    def _place(self, rows: list[Row], row: Row) -> int | None:
        """The first of some lines that is the same as another."""
        wanted = self._identity(row)
        return next((n for n, kept in enumerate(rows) if self._identity(kept) == wanted), None)

    def _identity(self, row: Row) -> Any:
        return frozen(tuple(row[place] for place in self.upsert_key) if self.upsert_key else row)

    def finish_keys(self) -> None:
        """BATCH mode: the last line of each of these keys."""
        self.emit_rows([rows[-1] for _, rows in self.kept.items()])
        self.drop_keys()
