"""Top-N within windows: the first lines of each window and partition, when the window ends.

    window_start, window_end, partition ─▶ the first N lines so far ─▶ watermark ─▶ in order

Lines only come, and results are final.  In: lines with window_start and window_end.
Next: runtime/table/windows/whole.py keeps them
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from headrace.errors import UnsupportedStepError
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.table.ordering import Ordering
from headrace.runtime.table.windows.whole import WholeWindowOperator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.rank import RankSpec
    from headrace.runtime.table.windows.whole import WindowPlaces


class WindowRankOperator(WholeWindowOperator):
    """Top-N of each window; its input is keyed by the partition without the window's columns."""

    def __init__(
        self,
        places: WindowPlaces,
        spec: RankSpec,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
    ) -> None:
        super().__init__(places, input_type, output_type)
        if spec.function != "ROW_NUMBER" or spec.last_column is not None:
            raise UnsupportedStepError(
                "a Top-N of windows numbers lines by ROW_NUMBER, up to a constant",
                fix="use ROW_NUMBER() and compare it with a number",
            )
        self.spec = spec

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.ordering = Ordering(self.spec.order)
        self.found: list[tuple[Any, ...]] = []

    def add(self, lines: Lines, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        order, last = self.ordering.key, self.spec.last
        for key, row, start, end in zip(
            self.line_keys(lines), lines.rows(), starts.tolist(), ends.tolist(), strict=True
        ):
            pane = self.panes.open(end)
            windows = pane.find(key)
            rows = () if windows is NO_ENTRY else windows.get(start, ())
            place = bisect_right(rows, order(row), key=order)
            if place < last:
                kept = [*rows[:place], row, *rows[place : last - 1]]
                pane.entries[key] = {**({} if windows is NO_ENTRY else windows), start: kept}

    def emit(self, start: int, end: int, contents: list[tuple[Any, Any]]) -> None:
        first = self.spec.first
        for _, rows in contents:
            for number, row in enumerate(rows[first - 1 :], start=first):
                self.found.append((*row, number) if self.spec.with_number else row)

    def emitted_all(self) -> None:
        found, self.found = self.found, []
        self.emit_rows(found)
