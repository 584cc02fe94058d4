"""The first or last line of each key within windows, when the window ends.

In: lines with window_start and window_end.  Out: one line for each window and key.
Next: runtime/table/windows/whole.py keeps them
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.table.times import rowtimes
from headrace.runtime.table.windows.whole import WholeWindowOperator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.windows.whole import WindowPlaces


class WindowDeduplicateOperator(WholeWindowOperator):
    """One line a window and key.

    Args:
        places: which windows lines are in.
        time: the place of the time attribute that decides which line is first.
        keep_last: the last one, or the first.
    """

    def __init__(
        self,
        places: WindowPlaces,
        time: int,
        row_type: RowDataTypeInfo,
        *,
        keep_last: bool,
    ) -> None:
        super().__init__(places, row_type, row_type)
        self.time = time
        self.keep_last = keep_last

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.found: list[tuple[Any, ...]] = []

    def add(self, lines: Lines, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        times = rowtimes(lines.columns[self.time], self.runtime.name).tolist()
        keys, rows = self.line_keys(lines), lines.rows()
        for key, row, time, start, end in zip(
            keys, rows, times, starts.tolist(), ends.tolist(), strict=True
        ):
            pane = self.panes.open(end)
            windows = pane.find(key)
            old = None if windows is NO_ENTRY else windows.get(start)
            if old is None or (time >= old[0] if self.keep_last else time < old[0]):
                kept = {} if windows is NO_ENTRY else windows
                pane.entries[key] = {**kept, start: (time, row)}

    def emit(self, start: int, end: int, contents: list[tuple[Any, Any]]) -> None:
        self.found += [row for _, (_, row) in contents]

    def emitted_all(self) -> None:
        found, self.found = self.found, []
        self.emit_rows(found)
