"""What joins do with pairs of lines: ask a condition, and put columns side by side.

    left columns ─┐
                  ├─ take(places; none: NULL) ─▶ columns of the output
    right columns ┘

In: a condition over the columns of both sides, left first.  Out: masks and columns.
Next: runtime/table/joins/regular.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.scalars.evaluate import Condition
from headrace.scalars.nodes import Ref, columns_of, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from headrace.api.table.functions import FunctionContext
    from headrace.runtime.table.joins.hashes import Mask
    from headrace.runtime.table.joins.runs import Places
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession


class PairCondition:
    """What must hold for a pair besides equal keys; computed for many pairs at once.

    Args:
        node: over the columns of both sides, left first.
        session: of the query.
    """

    def __init__(self, node: Scalar, session: ScalarSession) -> None:
        self.columns = sorted(columns_of(node))
        places = {column: place for place, column in enumerate(self.columns)}

        def narrowed(part: Scalar) -> Scalar | None:
            return Ref(places[part.index], part.type) if isinstance(part, Ref) else None

        self._condition = Condition(rewrite(node, narrowed), session)

    def open(self, context: FunctionContext | None = None) -> None:
        """Compile it."""
        self._condition.open(context)

    def close(self) -> None:
        """Close functions of the user."""
        self._condition.close()

    def mask(self, column: Callable[[int], pa.Array], count: int) -> Mask:
        """For each pair whether it holds.

        Args:
            column: gives a column of the pairs, by its place among those of both sides.
            count: of pairs.
        """
        arrays = [column(place) for place in self.columns]
        names = [str(place) for place in self.columns]
        if not arrays:  # Arrow cannot count lines without columns
            arrays, names = [pa.nulls(count)], [""]
        batch = pa.RecordBatch.from_arrays(arrays, names=names)
        found: Mask = np.asarray(self._condition.mask(batch), np.bool_)
        return found


def taken(columns: Sequence[pa.Array], places: Places) -> list[pa.Array]:
    """The lines at some places; where the place is negative all columns are NULL."""
    missing = places < 0
    chosen = pa.array(places, mask=missing) if missing.any() else pa.array(places)
    return [column.take(chosen) for column in columns]


def empty_lines(types: Sequence[pa.DataType], count: int) -> list[pa.Array]:
    """Columns of NULL."""
    return [pa.nulls(count, kind) for kind in types]


def running_before(groups: Places, steps: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each step the sum of the earlier ones of its group."""
    by_group = np.argsort(groups, kind="stable")
    sums = np.cumsum(steps[by_group]) - steps[by_group]
    sorted_groups = groups[by_group]
    first = np.ones(len(groups), np.bool_)
    first[1:] = sorted_groups[1:] != sorted_groups[:-1]
    begin = np.maximum.accumulate(np.where(first, np.arange(len(groups)), 0))
    found = np.empty(len(groups), np.int32)
    found[by_group] = sums - sums[begin]
    return found
