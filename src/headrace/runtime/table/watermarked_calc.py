"""Projection and filter of lines that ask for the watermark: CURRENT_WATERMARK(rowtime).

    (item, ts) ─▶ (item, ts, watermark) ─▶ projections, where the call is the third column

The watermark is the one of this operator when the lines come, NULL before the first.
In: lines, watermarks.  Out: as of any projection.  Next: runtime/table/calc.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.data.records import MIN_TIMESTAMP
from headrace.runtime.table.calc import CalcOperator
from headrace.scalars.nodes import Call, Ref, rewrite, walk
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.table.lines import Lines
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession

_NAME = "CURRENT_WATERMARK"
# Nothing is kept there: it puts the operator behind an exchange, where watermarks are combined.
_ORDER = StateSpec("order", None, "subtask")
_MILLISECONDS = pa.timestamp("ms")


def asks_for_watermark(scalars: Sequence[Scalar | None]) -> bool:
    """Whether CURRENT_WATERMARK is called."""
    return any(
        isinstance(part, Call) and part.function == _NAME
        for scalar in scalars
        if scalar is not None
        for part in walk(scalar)
    )


class WatermarkedCalcOperator(CalcOperator):
    """SELECT ... WHERE with CURRENT_WATERMARK; the arguments are those of `CalcOperator`."""

    uses_time = True

    def __init__(
        self,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        projections: Sequence[Scalar],
        condition: Scalar | None = None,
        *,
        session: ScalarSession,
    ) -> None:
        place = len(input_type.get_field_names())

        def instead(part: Scalar) -> Scalar | None:
            asked = isinstance(part, Call) and part.function == _NAME
            return Ref(place, part.type) if asked else None

        super().__init__(
            input_type,
            output_type,
            [rewrite(scalar, instead) for scalar in projections],
            None if condition is None else rewrite(condition, instead),
            session=session,
        )
        calls = [part for each in (*projections, condition) if each for part in walk(each)]
        # a query has one time attribute, so that all calls have one type
        self.zoned = any(
            isinstance(part, Call) and part.function == _NAME and _is_zoned(part) for part in calls
        )

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (_ORDER,)

    def lines(self, records: Records, input: int = 0) -> Lines:  # noqa: A002
        lines = super().lines(records, input)
        known = self.current_watermark != MIN_TIMESTAMP
        kind = pa.timestamp("us", "UTC") if self.zoned else pa.timestamp("us")
        if known:
            mark = pa.scalar(self.current_watermark, _MILLISECONDS).cast(pa.timestamp("us"))
            column = pa.repeat(mark, len(lines)).cast(kind)
        else:
            column = pa.nulls(len(lines), kind)
        lines.columns = [*lines.columns, column]
        return lines


def _is_zoned(part: Call) -> bool:
    from headrace.common.data_types import LocalZonedTimestampType

    return isinstance(part.type, LocalZonedTimestampType)
