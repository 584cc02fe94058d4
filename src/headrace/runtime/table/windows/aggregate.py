"""GROUP BY a window: which operator runs it.

    windows of                       operator
    event time, fixed length         windows/slices.py      slices that windows share
    event time, attached to lines    windows/whole.py       a state for each window
    processing time                  windows/whole.py
    sessions of either               windows/sessions.py

Group windows (``GROUP BY TUMBLE(t, INTERVAL '1' HOUR)``) and windows of table functions are the
same here.  In: what rel/nodes.py's WindowAggregate says, as plain data.  Out: an operator.
Next: runtime/table/windows/slices.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.runtime.table.windows.grid import SESSION, WindowGrid
from headrace.runtime.table.windows.sessions import SessionAggregateOperator, SessionTvfOperator
from headrace.runtime.table.windows.slices import SlicedAggregateOperator
from headrace.runtime.table.windows.tvf import WindowTvfOperator
from headrace.runtime.table.windows.whole import WholeWindowAggregateOperator, WindowPlaces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.runtime.table.base import KeyedTableOperator, TableOperator
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession


@dataclass(frozen=True, slots=True)
class SqlWindowShape:
    """A window of SQL, as plain data.

    Attributes:
        kind: `tumble`, `hop`, `cumulate` or `session`.
        size_ms: of a window; of a session its gap.
        slide_ms: of HOP the slide, of CUMULATE the step.
        offset_ms: where windows begin.
        time: the place of the time attribute; None for processing time.
        zone: of the session, if the time is a TIMESTAMP_LTZ; else None.
    """

    kind: str
    size_ms: int
    slide_ms: int = 0
    offset_ms: int = 0
    time: int | None = None
    zone: str | None = None

    @property
    def grid(self) -> WindowGrid:
        """Windows of a fixed length."""
        return WindowGrid.of(self.kind, self.size_ms, self.slide_ms, self.offset_ms)


def window_aggregate_operator(
    shape: SqlWindowShape,
    calls: Sequence[AggregateCall],
    properties: Sequence[str],
    input_type: RowDataTypeInfo,
    output_type: RowDataTypeInfo,
    *,
    attached: tuple[int, int] | None = None,
    session: ScalarSession,
) -> KeyedTableOperator:
    """The operator of a GROUP BY window; its input is keyed by the other columns.

    Args:
        shape: the windows.
        calls: the aggregates.
        properties: what is asked of windows, each `start`, `end` or `time`.
        input_type: of the lines.
        output_type: the keys, then the calls, then the properties.
        attached: the places of window_start and window_end, if lines bring their windows along.
        session: of the query.
    """
    if attached is not None:
        places = WindowPlaces(attached=attached, zone=shape.zone)
        return WholeWindowAggregateOperator(
            places, calls, properties, input_type, output_type, session
        )
    if shape.kind == SESSION:
        return SessionAggregateOperator(
            shape.size_ms,
            shape.time,
            shape.zone,
            calls,
            properties,
            input_type,
            output_type,
            session,
        )
    if shape.time is None:
        places = WindowPlaces(grid=shape.grid, zone=shape.zone)
        return WholeWindowAggregateOperator(
            places, calls, properties, input_type, output_type, session
        )
    return SlicedAggregateOperator(
        shape.grid, shape.time, shape.zone, calls, properties, input_type, output_type, session
    )


def window_tvf_operator(
    shape: SqlWindowShape, input_type: RowDataTypeInfo, output_type: RowDataTypeInfo
) -> TableOperator:
    """The operator of a window table function; of SESSION its input is keyed by the partition."""
    if shape.kind == SESSION:
        return SessionTvfOperator(shape.size_ms, shape.time, shape.zone, input_type, output_type)
    return WindowTvfOperator(shape.grid, shape.time, shape.zone, input_type, output_type)
