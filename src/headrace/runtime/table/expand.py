"""GROUPING SETS, ROLLUP and CUBE: every line once for each set.

    (a, b, x), sets (a, b), (a), ()  ─▶  (a, b, x, 0), (a, NULL, x, 1), (NULL, NULL, x, 3)

In: lines.  Out: for each line the projections of each set, in order.
Next: runtime/table/group_aggregate.py groups them
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.runtime.table.base import TableOperator
from headrace.runtime.table.user_functions import function_context
from headrace.scalars.evaluate import Projector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession


class ExpandOperator(TableOperator):
    """Several projections of each line.

    Args:
        input_type: of the lines.
        output_type: what each projection gives.
        sets: the projections.
        session: of the query.
    """

    def __init__(
        self,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        sets: Sequence[Sequence[Scalar]],
        session: ScalarSession,
    ) -> None:
        super().__init__((input_type,), output_type)
        self.projectors = [Projector(projections, session) for projections in sets]

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        for projector in self.projectors:
            projector.open(function_context(runtime))

    def close(self) -> None:
        for projector in self.projectors:
            projector.close()

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        count, width = len(lines), len(self.projectors)
        if not count:
            return
        batch = lines.batch()
        try:
            found = [projector.run(batch) for projector in self.projectors]
        except Exception as error:
            raise self.failed(error) from error
        places = pa.array(np.arange(count * width).reshape(width, count).T.ravel())
        columns = [
            pa.concat_arrays([part if part.type == kind else part.cast(kind) for part in parts])
            for parts, kind in zip(zip(*found, strict=True), self.out_lines.types, strict=True)
        ]
        kinds = None if lines.kinds is None else np.repeat(lines.kinds, width)
        self.emit_columns([column.take(places) for column in columns], kinds)
