"""Projection and filter of lines, whole batches at a time.

In: lines.  Out: the projections of those lines for which the condition is true; their kinds stay.
Next: scalars/evaluate.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.runtime.table.base import TableOperator
from headrace.runtime.table.user_functions import function_context
from headrace.scalars.evaluate import Condition, Projector
from headrace.scalars.nodes import columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession


class CalcOperator(TableOperator):
    """SELECT ... WHERE.

    Args:
        input_type: of the lines.
        output_type: a column for each projection; with changes if the input has.
        projections: what to compute of each line, at least one.
        condition: for which lines; None for all.
        session: of the query.
    """

    def __init__(
        self,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        projections: Sequence[Scalar],
        condition: Scalar | None = None,
        *,
        session: ScalarSession,
    ) -> None:
        super().__init__((input_type,), output_type)
        self.projector = Projector(projections, session)
        self.condition = None if condition is None else Condition(condition, session)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self._needed = {place for node in self.projector.nodes for place in columns_of(node)}
        context = function_context(runtime)
        try:
            self.projector.open(context)
            if self.condition is not None:
                self.condition.open(context)
        except Exception as error:
            raise self.failed(error) from error

    def close(self) -> None:
        self.projector.close()
        if self.condition is not None:
            self.condition.close()

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        try:
            chosen = lines if self.condition is None else self._chosen(lines)
            if not len(chosen):
                return
            columns = self.projector.run(chosen.batch())
        except Exception as error:
            raise self.failed(error) from error
        # other forms of the same type, such as large strings of a source
        pairs = zip(columns, self.out_lines.types, strict=True)
        columns = [column if column.type == kind else column.cast(kind) for column, kind in pairs]
        self.emit_columns(columns, chosen.kinds)

    def _chosen(self, lines: Lines) -> Lines:
        """The lines for which the condition is true, with the columns that are needed."""
        assert self.condition is not None
        mask = self.condition.mask(lines.batch())
        if not mask.false_count:
            return lines
        return lines.filtered(mask, self._needed)
