"""What the strategies of a Top-N share: what is asked for, lines in, changes out, BATCH mode.

In BATCH mode lines come out once, at the end of their keys.
In: lines, keyed by the partition.  Next: runtime/table/rank.py has the strategies
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from headrace.errors import UnsupportedStepError
from headrace.runtime.table.base import KeyedTableOperator
from headrace.runtime.table.ordering import Ordering, apply_change
from headrace.runtime.table.top_n import TopNChanges

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.ordering import Part

    Line = tuple[Any, ...]


class RankStrategy(StrEnum):
    """What is known of the input."""

    APPEND = "append"
    UPDATE = "update"
    RETRACT = "retract"
    FIRST = "first"


@dataclass(frozen=True, slots=True)
class RankSpec:
    """What a Top-N asks for.

    Attributes:
        order: of each column of ORDER BY its place, whether descending, whether NULL comes last.
        first, last: the numbers that are shown, both included.
        with_number: whether the number is the last column of the output.
        last_column: the place of a column that says `last`; a partition's first line decides.
        function: ROW_NUMBER; RANK and DENSE_RANK in BATCH mode only, as in Flink.
        strategy: what the planner found out about the input.
        row_key: for upserts: the places of the columns that tell lines of a partition apart.
        before: whether consumers want -U in front of +U.
        ttl_ms: after which time without a change a partition is forgotten; 0 for never.
    """

    order: tuple[Part, ...]
    first: int
    last: int
    with_number: bool = False
    last_column: int | None = None
    function: str = "ROW_NUMBER"
    strategy: RankStrategy = RankStrategy.RETRACT
    row_key: tuple[int, ...] = ()
    before: bool = True
    ttl_ms: int = 0

    @property
    def is_single(self) -> bool:
        """Whether one line is asked for: Flink has an update where it is overtaken."""
        return (self.first, self.last) == (1, 1) and self.last_column is None

    @property
    def by_number(self) -> bool:
        """Whether a line that moves is an update."""
        return self.with_number or self.first > 1


class RankOperator(KeyedTableOperator):
    """What all strategies share: rows in, changes out, and BATCH mode."""

    def __init__(
        self, spec: RankSpec, input_type: RowDataTypeInfo, output_type: RowDataTypeInfo
    ) -> None:
        super().__init__([input_type], output_type)
        self.spec = spec

    def open(self, runtime: OperatorRuntime) -> None:
        if not runtime.bounded and self.spec.function != "ROW_NUMBER":
            raise UnsupportedStepError(
                f"{self.spec.function}() is not supported for a Top-N of a stream, nor in Flink",
                where=runtime.where,
                fix="use ROW_NUMBER(), or run the query in BATCH mode",
            )
        super().open(runtime)
        self.ordering = Ordering(self.spec.order)
        self.bounded = runtime.bounded
        # BATCH mode: the lines of the keys at hand
        self.whole: dict[Any, list[Line]] = {}

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if self.bounded:
            self._collect(self.line_keys(lines), lines.rows(), lines.kind_list())
        else:
            self.change_lines(lines)

    def change_lines(self, lines: Lines) -> None:
        """Take lines and emit the changes that follow from them."""
        out = TopNChanges(self.spec.before, self.spec.with_number, self.spec.first, [], [])
        for key, row, kind in zip(
            self.line_keys(lines), lines.rows(), lines.kind_list(), strict=True
        ):
            self.change(key, row, kind, out)
        self.emit_rows(out.rows, out.kinds)

    def change(self, key: Any, row: Line, kind: int, out: TopNChanges) -> None:
        """Take a line and add the changes that follow from it."""
        raise NotImplementedError

    def last_of(self, row: Line, stored: int | None) -> int:
        """The highest number that is shown of a partition."""
        if self.spec.last_column is None:
            return self.spec.last
        if stored is not None:
            return stored
        found = row[self.spec.last_column]
        return 0 if found is None else int(found)

    # --- BATCH mode --------------------------------------------------------------------------

    def _collect(self, keys: list[Any], rows: list[Line], kinds: list[int]) -> None:
        for key, row, kind in zip(keys, rows, kinds, strict=True):
            apply_change(self.whole.setdefault(key, []), row, kind)

    def finish_keys(self) -> None:
        """The partitions since the last call are whole: their first lines go out."""
        found = [line for rows in self.whole.values() for line in self._ranked(rows)]
        self.whole.clear()
        self.emit_rows(found)
        super().finish_keys()

    def _ranked(self, rows: list[Line]) -> Iterator[Line]:
        if not rows:
            return
        last = self.last_of(rows[0], None)
        rows = sorted(rows, key=self.ordering.key)
        numbers = _NUMBERS[self.spec.function](rows, self.ordering)
        for row, number in zip(rows, numbers, strict=True):
            if number > last:
                return
            if number >= self.spec.first:
                yield (*row, number) if self.spec.with_number else row


def _row_numbers(rows: Sequence[Line], ordering: Ordering) -> Iterator[int]:
    yield from range(1, len(rows) + 1)


def _ranks(rows: Sequence[Line], ordering: Ordering) -> Iterator[int]:
    rank, before = 0, None
    for number, key in enumerate(map(ordering.key, rows), 1):
        if key != before:
            rank, before = number, key
        yield rank


def _dense_ranks(rows: Sequence[Line], ordering: Ordering) -> Iterator[int]:
    rank, before = 0, None
    for key in map(ordering.key, rows):
        if key != before:
            rank, before = rank + 1, key
        yield rank


_NUMBERS = {"ROW_NUMBER": _row_numbers, "RANK": _ranks, "DENSE_RANK": _dense_ranks}
