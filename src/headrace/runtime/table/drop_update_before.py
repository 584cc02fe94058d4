"""Leaves -U out, for consumers that know lines by their key.

In: lines with changes.  Out: the same without those that an update takes back.
Next: runtime/table/base.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headrace.runtime.table.base import TableOperator
from headrace.runtime.table.lines import UPDATE_BEFORE

if TYPE_CHECKING:
    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records


class DropUpdateBeforeOperator(TableOperator):
    """Drops -U.

    Args:
        line_type: of the lines, in and out.
    """

    def __init__(self, line_type: RowDataTypeInfo) -> None:
        super().__init__((line_type,), line_type)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if lines.kinds is None:
            self.emit_columns(lines.columns)
            return
        kept = lines.kinds != UPDATE_BEFORE
        if not kept.all():
            lines = lines.pick(np.flatnonzero(kept))
        if len(lines):
            self.emit_columns(lines.columns, lines.kinds)
