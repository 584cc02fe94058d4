"""What the operators of SQL share: lines in, state by key, lines out.

    Records ─▶ lines() ─▶ Lines: Arrow columns, and the kind of each line ─┐
                                                                           ├─▶ the operator
    state: states.table(name), or an ExpiringTable where it is kept for a time only; ──────┤
           line_store(name): whole lines by key, as columns ───────────────────────────────┘
    Records ◀─ emit_columns() or emit_rows() ◀─ columns or tuples, and kinds

    TableOperator          nothing kept
    KeyedTableOperator     state by the key of its LineKeying; BATCH mode: see `finish_keys`
    TimedTableOperator     and timers

In: Records of a RowDataTypeInfo (docs/architecture/path-of-a-statement.md).
Next: runtime/table/lines.py, runtime/table/keying.py, runtime/table/expiry.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.data.codec import codec_for
from headrace.runtime.operators.base import Operator
from headrace.runtime.operators.keyed import KeyedOperator, TimedOperator
from headrace.runtime.table.expiry import ExpiringTable
from headrace.runtime.table.joins.line_store import LineStore
from headrace.runtime.table.keying import LineKeying
from headrace.runtime.table.lines import LineType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.common.typeinfo import TypeInformation
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.joins.runs import LineShape
    from headrace.runtime.table.joins.timed_lines import TimedLines
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.watermarks import InputClocks


class TableOperator(Operator):
    """An operator between streams of lines.

    Args:
        input_types: of each input.
        output_type: of what comes out; whether it has changes decides whether kinds are written.
    """

    def __init__(
        self, input_types: Sequence[RowDataTypeInfo], output_type: RowDataTypeInfo
    ) -> None:
        self.input_types = tuple(input_types)
        self.output_type = output_type

    def open(self, runtime: OperatorRuntime) -> None:
        self.in_lines = [LineType(codec_for(kind)) for kind in self.input_types]
        self.out_lines = LineType(codec_for(self.output_type))
        super().open(runtime)

    def with_types(self, known: Callable[[TypeInformation], TypeInformation]) -> Operator:
        """The types of lines are always known."""
        return self

    def lines(self, records: Records, input: int = 0) -> Lines:  # noqa: A002
        """Records of an input as columns and kinds."""
        return self.in_lines[input].lines(records)

    def emit_columns(
        self, columns: Sequence[pa.Array], kinds: NDArray[np.int8] | None = None
    ) -> None:
        """Hand on lines.

        Args:
            columns: as the output's type has them.
            kinds: of each line; None where all are inserted. Outputs without changes take none.
        """
        self.output.emit(self.out_lines.records(columns, kinds))

    def emit_rows(self, rows: Sequence[tuple[Any, ...]], kinds: Sequence[int] = ()) -> None:
        """Hand on lines that are tuples of Python values; without kinds all are inserted."""
        if rows:
            self.output.emit(self.out_lines.records_of_rows(rows, kinds))


class KeyedTableOperator(TableOperator, KeyedOperator):
    """An operator with state by key.

    Subclasses declare their tables in `state_specs` (layout ``table``, or ``paired`` for keys of
    the form (key, anything else)) and get them by ``self.states.table(name)``. Values are plain
    Python: numbers, texts, tuples, lists, dicts. In BATCH mode (`runtime.bounded`) `process` gets
    all lines of some keys, then `finish_keys` is called: emit the final result there and call
    `drop_keys`.
    """

    def __init__(
        self, input_types: Sequence[RowDataTypeInfo], output_type: RowDataTypeInfo
    ) -> None:
        TableOperator.__init__(self, input_types, output_type)
        self.function = None

    def open(self, runtime: OperatorRuntime) -> None:
        self.expiring: list[ExpiringTable] = []
        # survives restart; each of them is flushed and forgotten here
        self.line_stores: list[LineStore | TimedLines] = []
        super().open(runtime)

    def keying(self, input: int = 0) -> LineKeying:  # noqa: A002
        """What makes the keys of an input."""
        found = self.runtime.keyings[input]
        assert isinstance(found, LineKeying), found
        return found

    def line_keys(self, lines: Lines, input: int = 0) -> list[Any]:  # noqa: A002
        """The key of every line; their state is read ahead."""
        keys = self.keying(input).keys_of(lines.columns, len(lines))
        self.states.read_ahead(keys)
        return keys

    def expiring_table(self, name: str, ttl_ms: int) -> ExpiringTable:
        """A table whose entries end `ttl_ms` after they were written last; 0 for never."""
        table = ExpiringTable(self.states.table(name), ttl_ms, self.runtime.clock)
        self.expiring.append(table)
        return table

    def line_store(self, name: str, shape: LineShape, ttl_ms: int = 0) -> LineStore:
        """A store of lines of this operator, which declares `LineStore.spec(name)`."""
        runtime = self.runtime
        store = LineStore(
            runtime.store, f"{runtime.uid}/{name}", shape, ttl_ms=ttl_ms, clock=runtime.clock
        )
        self.line_stores.append(store)
        return store

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        for store in self.line_stores:
            store.forget()

    def flush(self) -> None:
        for table in self.expiring:
            table.sweep()
        super().flush()
        for store in self.line_stores:
            store.flush()


class TimedTableOperator(KeyedTableOperator, TimedOperator):
    """An operator with state by key and timers: `timer_service`, or the two queues of timers."""
