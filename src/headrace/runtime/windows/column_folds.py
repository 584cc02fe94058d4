"""Column aggregates of a whole batch: Arrow's kernels make one part a key and pane of it.

    keys    a a b a          (pane 0, a): count 2, sum 3
    panes   0 0 0 1    ──▶   (pane 0, b): count 1, sum 5      each merged into what is kept
    values  1 2 5 7          (pane 1, a): count 1, sum 7

Instead of a step for each record there is one for each key and pane, so results of fractions may
differ in their last digits from those of records one by one, as they do with the cut of batches.
In: records that are an Arrow batch.  Out: accumulators of `ColumnAggregates`.
Next: runtime/windows/aligned.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.expr.kernels import BatchEvaluator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from headrace.data.records import Records
    from headrace.expr.expressions import Expression

_GROUP = "group"
# sums of more could leave 64 bits
_LARGEST = (1 << 63) - 1


class ColumnFold:
    """The cells of aggregates, from columns.

    Args:
        cells: of each its kind (count, sum, min, max) and what it is of; () for whole records.
    """

    def __init__(self, cells: Sequence[tuple[str, tuple[Expression, ...]]]) -> None:
        self._kinds = [kind for kind, _ in cells]
        self._values = [
            BatchEvaluator(arguments[0].node) if arguments else None for _, arguments in cells
        ]

    def columns(self, records: Records) -> list[pa.Array | None] | None:
        """What each cell is of; None if some has to be asked of records one by one."""
        found: list[pa.Array | None] = []
        for kind, evaluate in zip(self._kinds, self._values, strict=True):
            column = None if evaluate is None else evaluate(records)
            if evaluate is not None and (column is None or not _fits(kind, column)):
                return None
            found.append(column)
        return found

    def parts(
        self, columns: Sequence[pa.Array | None], groups: NDArray[np.int64]
    ) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """For each group its number and its cells."""
        names = [_GROUP, *(f"c{number}" for number in range(len(columns)))]
        given = [pa.array(groups), *(pa.nulls(len(groups)) if c is None else c for c in columns)]
        asked: list[Any] = [
            ([], "count_all") if column is None else (name, kind)
            for name, kind, column in zip(names[1:], self._kinds, columns, strict=True)
        ]
        grouped = pa.table(given, names).group_by(_GROUP, use_threads=False).aggregate(asked)
        numbers = grouped.column(_GROUP).to_pylist()
        # what is asked for comes in its order, the group before or behind it
        cells = [c.to_pylist() for n, c in zip(grouped.column_names, grouped.columns, strict=True)
                 if n != _GROUP]  # fmt: skip
        yield from zip(numbers, zip(*cells, strict=True), strict=True)


def _fits(kind: str, column: pa.Array) -> bool:
    """Whether kernels give what Python gives."""
    if kind == "count":
        return True
    if pa.types.is_floating(column.type):
        # Python has NaN above all numbers, and so has Spark
        return kind == "sum" or not pc.any(pc.is_nan(column)).as_py()
    if not pa.types.is_signed_integer(column.type):
        return False
    if kind != "sum":
        return True
    bounds = pc.min_max(column)
    low, high = bounds["min"].as_py() or 0, bounds["max"].as_py() or 0
    return bool(max(abs(low), abs(high)) * len(column) <= _LARGEST)
