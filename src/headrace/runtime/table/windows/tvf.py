"""TUMBLE, HOP, CUMULATE as table functions: lines with the bounds of their windows.

    a, b  ─▶  a, b, window_start, window_end, window_time      once for each window of the line

Only where something stands between the function and its GROUP BY, or where there is none; else
runtime/table/windows/aggregate.py puts lines into windows itself.  window_start and window_end are
times on the wall clock of the session's zone, window_time is a time attribute of the type that the
line's had.  Lines whose time is NULL are dropped, as in Flink.
Next: runtime/table/windows/sessions.py for SESSION, which must wait for the end of a session
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headrace.runtime.table.base import TableOperator
from headrace.runtime.table.times import Zone, column_millis, millis_column

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.windows.grid import WindowGrid


class WindowTvfOperator(TableOperator):
    """Adds the bounds of windows to lines.

    Args:
        grid: the windows.
        time: the place of the time attribute; None for processing time.
        zone: of the session, if the time is a TIMESTAMP_LTZ.
    """

    def __init__(
        self,
        grid: WindowGrid,
        time: int | None,
        zone: str | None,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
    ) -> None:
        super().__init__([input_type], output_type)
        self.grid = grid
        self.time = time
        self.zone_name = zone

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.zone = Zone(self.zone_name)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        lines, times = self._timed(lines)
        places, starts, ends = self.grid.windows(self.zone.locals(times))
        if not len(places):
            return
        if len(places) != len(lines) or self.grid.kind != "tumble":
            lines = lines.pick(places)
        bounds = window_columns(starts, ends, self.zone, self.out_lines.types[-3:])
        self.emit_columns([*lines.columns, *bounds], lines.kinds)

    def _timed(self, lines: Lines) -> tuple[Lines, NDArray[np.int64]]:
        if self.time is None:
            return lines, np.full(len(lines), self.runtime.clock(), dtype=np.int64)
        column = lines.columns[self.time]
        if column.null_count:
            lines = lines.pick(np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)))
        return lines, column_millis(lines.columns[self.time])


def window_columns(
    starts: NDArray[np.int64], ends: NDArray[np.int64], zone: Zone, types: list[pa.DataType]
) -> list[pa.Array]:
    """The columns window_start, window_end and window_time."""
    return [
        millis_column(starts, types[0]),
        millis_column(ends, types[1]),
        millis_column(zone.instants(ends - 1), types[2]),
    ]
