"""Upserts by key as full changes: -U and -D get the values that the key had.

    +U k 1   +U k 2   -D k        ─▶        +I k 1   -U k 1   +U k 2   -D k 2

In: lines of which the last one of a key counts; deletes may have the key alone.  Out: changes.
An equal line says nothing, unless state ends by itself: then consumers have to hear of it.
Next: runtime/table/sink_materializer.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.runtime.table.base import KeyedTableOperator
from headrace.runtime.table.keying import frozen
from headrace.runtime.table.lines import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.runtime.table.user_functions import function_context
from headrace.scalars.evaluate import Condition
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession

ROWS = StateSpec("rows", "table")


class ChangelogNormalizeOperator(KeyedTableOperator):
    """The last line of each key, as changes.

    Args:
        input_type: of the lines; the edge in front has LineKeying of their key.
        output_type: the same columns, with changes.
        before: whether consumers want the -U in front of each +U.
        ttl_ms: how long a line is kept after it was set; 0 for ever.
        condition: which lines count; one that meets it no longer is deleted.
        session: of the query.
    """

    def __init__(
        self,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        *,
        before: bool = True,
        ttl_ms: int = 0,
        condition: Scalar | None = None,
        session: ScalarSession,
    ) -> None:
        super().__init__((input_type,), output_type)
        self.before = before
        self.ttl_ms = ttl_ms
        self.condition = None if condition is None else Condition(condition, session)

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), ROWS)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.rows = self.expiring_table(ROWS.name, self.ttl_ms)
        if self.condition is not None:
            self.condition.open(function_context(runtime))

    def close(self) -> None:
        if self.condition is not None:
            self.condition.close()

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        rows: list[tuple[Any, ...]] = []
        kinds: list[int] = []
        for key, kind, row, counts in zip(
            self.line_keys(lines), lines.kind_list(), lines.rows(), self._counts(lines), strict=True
        ):
            old = self.rows.get(key)
            if counts and kind in (INSERT, UPDATE_AFTER):
                self._set(key, old, row, rows, kinds)
            elif old is not None:
                rows.append(old)
                kinds.append(DELETE)
                self.rows.remove(key)
        if not self.runtime.bounded:
            self.emit_rows(rows, kinds)

    def _counts(self, lines: Lines) -> list[bool]:
        if self.condition is None or not len(lines):
            return [True] * len(lines)
        try:
            return [bool(each) for each in self.condition.mask(lines.batch()).to_pylist()]
        except Exception as error:
            raise self.failed(error) from error

    def _set(
        self,
        key: Any,
        old: tuple[Any, ...] | None,
        row: tuple[Any, ...],
        rows: list[tuple[Any, ...]],
        kinds: list[int],
    ) -> None:
        if old is None:
            rows.append(row)
            kinds.append(INSERT)
        elif self.ttl_ms or frozen(old) != frozen(row):
            if self.before:
                rows.append(old)
                kinds.append(UPDATE_BEFORE)
            rows.append(row)
            kinds.append(UPDATE_AFTER)
        else:
            return
        self.rows.put(key, row)

    def finish_keys(self) -> None:
        """BATCH mode: what is left of these keys."""
        self.emit_rows([row for _, row in self.rows.items()])
        self.drop_keys()
