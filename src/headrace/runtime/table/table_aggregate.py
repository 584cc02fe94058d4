"""flat_aggregate: a function of the user that gives lines for the lines of each group.

As in PyFlink a group changes once a batch: what it gave before is taken back with -D, what it gives
now comes with +I.
In: lines.  Out: the keys, then the columns of each line that the function emits.
Next: runtime/table/aggregates/user.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.types import Row
from headrace.data.line_values import to_line_value
from headrace.data.row_data import column_of
from headrace.runtime.operators.base import wrong_results
from headrace.runtime.table.aggregates.user import (
    UserArguments,
    function_of,
    named_arguments,
)
from headrace.runtime.table.base import KeyedTableOperator
from headrace.runtime.table.keying import LineKeying
from headrace.runtime.table.lines import DELETE, INSERT
from headrace.runtime.table.user_functions import open_aggregates
from headrace.runtime.table.vectors import as_true
from headrace.runtime.table.views import VIEWS, ViewTables
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession

ACCUMULATORS = StateSpec("accumulators", "table")


class TableAggregateOperator(KeyedTableOperator):
    """flat_aggregate.

    Args:
        input_type: of the lines.
        output_type: the keys, then the columns of the function.
        keys: the places of the grouping columns; the edge in front has LineKeying of the same.
        call: the function and its arguments.
        before: whether consumers want what was emitted before to be taken back.
        ttl_ms: how long a group lasts after its last line; 0 for ever.
        session: of the query.
    """

    def __init__(
        self,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        keys: Sequence[int],
        call: AggregateCall,
        *,
        before: bool = True,
        ttl_ms: int = 0,
        session: ScalarSession,
    ) -> None:
        super().__init__((input_type,), output_type)
        self.keys_at = tuple(keys)
        self.call = call
        self.before = before
        self.ttl_ms = ttl_ms
        self.session = session

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), ACCUMULATORS, VIEWS)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.user_functions = open_aggregates(self, (self.call,))
        self.user = function_of(self.call.user)
        self.line_keying = LineKeying(self.keys_at)
        types, names = self.input_types[0].get_data_types(), self.input_types[0].get_field_names()
        self._codecs = [column_of(types[place]) for place in self.call.arguments]
        self._arguments = UserArguments(
            named_arguments(
                self.call.user, [(names[place], types[place]) for place in self.call.arguments]
            ),
            self.session.zone,
            takes_row=bool(getattr(self.call.user, "takes_row", False)),
        )
        given = self.output_type.get_data_types()[len(self.keys_at) :]
        self._to_line = [to_line_value(kind) for kind in given]
        # key -> (how many lines, the accumulator)
        self.groups = self.expiring_table(ACCUMULATORS.name, self.ttl_ms)
        self.views = ViewTables(self.states, 0, self.user.create_accumulator())

    def close(self) -> None:
        for function in self.user_functions:
            function.close()

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        arguments: Any = None
        rows: list[tuple[Any, ...]] = []
        kinds: list[int] = []
        try:
            for key, of_key in self._by_key(lines).items():
                for arguments in self._take(key, of_key):
                    kind, row = arguments
                    kinds.append(kind)
                    rows.append(row)
        except Exception as error:
            raise self.failed(error, arguments) from error
        if not self.runtime.bounded:
            self._emit(rows, kinds)

    def _by_key(self, lines: Lines) -> dict[Any, list[tuple[bool, tuple[Any, ...]]]]:
        """(whether it is taken back, arguments) of the lines of each key."""
        values = [
            codec.to_python(lines.columns[place])
            for codec, place in zip(self._codecs, self.call.arguments, strict=True)
        ]
        rows = list(zip(*values, strict=True)) if values else [()] * len(lines)
        chosen = [True] * len(lines)
        if self.call.filter is not None:
            chosen = as_true(lines.columns[self.call.filter]).tolist()
        found: dict[Any, list[tuple[bool, tuple[Any, ...]]]] = {}
        for key, kind, row, counts in zip(
            self.line_keys(lines), lines.kind_list(), rows, chosen, strict=True
        ):
            found.setdefault(key, []).append((bool(kind & 1), row if counts else None))  # type: ignore[arg-type]
        return found

    def _take(self, key: Any, lines: list[tuple[bool, Any]]) -> list[tuple[int, tuple[Any, ...]]]:
        """Take the lines of a key; the changes that they make."""
        count, stored = self.groups.get(key, (0, None))
        accumulator = None if stored is None else self.views.unpacked(key, stored)
        if accumulator is None:
            self.views.remove(key)  # of a group that has ended by itself
            first = next((n for n, (back, _) in enumerate(lines) if not back), len(lines))
            lines = lines[first:]  # a group does not begin with lines that are taken back
            if not lines:
                return []
            accumulator = self.user.create_accumulator()
        changes = []
        if stored is not None and self.before and not self.runtime.bounded:
            changes = [(DELETE, row) for row in self._results(key, accumulator)]
        for back, row in lines:
            count += -1 if back else 1
            if row is not None:
                call = self.user.retract if back else self.user.accumulate
                call(accumulator, *self._arguments.of(row))
        if count == 0:
            self.groups.remove(key)
            self.views.remove(key)
            return changes
        if not self.runtime.bounded:
            changes += [(INSERT, row) for row in self._results(key, accumulator)]
        self.groups.put(key, (count, self.views.packed(key, accumulator)))
        return changes

    def _results(self, key: Any, accumulator: Any) -> list[tuple[Any, ...]]:
        results = self.user.emit_value(accumulator)
        if results is None:
            return []
        wrong = wrong_results(results)
        if wrong is not None:
            raise wrong
        return [(key, self._line(result)) for result in results]

    def _line(self, result: Any) -> tuple[Any, ...]:
        values = tuple(result) if isinstance(result, Row | tuple) else (result,)
        pairs = zip(self._to_line, values, strict=True)
        return tuple(v if change is None or v is None else change(v) for change, v in pairs)

    def _emit(self, rows: list[tuple[Any, ...]], kinds: Sequence[int]) -> None:
        if not rows:
            return
        width = len(self.keys_at)
        columns = self.line_keying.columns_of(
            [key for key, _ in rows], self.out_lines.types[:width]
        )
        given = zip(*(row for _, row in rows), strict=True)
        for number, values in enumerate(given, start=width):
            columns.append(self.out_lines.codec.columns[number].to_arrow(list(values)))
        self.output.emit(self.out_lines.records_of_columns(columns, kinds))

    def finish_keys(self) -> None:
        """BATCH mode: what the function gives for these groups."""
        try:
            rows = [
                row
                for key, (_, stored) in self.groups.items()
                for row in self._results(key, self.views.unpacked(key, stored))
            ]
        except Exception as error:
            raise self.failed(error) from error
        self._emit(rows, ())
        self.drop_keys()
