"""ORDER BY: what comes before what, with Flink's order of NULL, NaN and descending columns.

    (index, descending, nulls_last), ...  ─▶  key of a line, for bisect and sort
                                          ─▶  places of a batch's lines in order

NULL is the lowest value unless told otherwise, NaN the highest number.  Keys are for comparing
only and are never stored: state holds lines.  In: lines of runtime/table/lines.py.
Next: runtime/table/rank.py, runtime/table/sort.py
"""

from __future__ import annotations

import math
from decimal import Decimal
from functools import total_ordering
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.runtime.table.lines import INSERT, UPDATE_AFTER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    # the place of a column, whether it is descending, whether NULL comes last
    Part = tuple[int, bool, bool]

_NULLS_FIRST, _NAN_FIRST, _VALUE, _NAN_LAST, _NULLS_LAST = range(5)


@total_ordering
class _Backwards:
    """A value whose order is turned round."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Backwards) and bool(self.value == other.value)

    def __lt__(self, other: _Backwards) -> bool:
        return bool(other.value < self.value)

    __hash__ = None  # type: ignore[assignment]


class Ordering:
    """The order of lines.

    Args:
        parts: of each column of ORDER BY its place, whether it is descending, and whether NULL
            comes last.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple((index, bool(down), bool(last)) for index, down, last in parts)
        self._keys = [_part_key(i, down=down, last=last) for i, down, last in self.parts]

    def key(self, row: tuple[Any, ...]) -> Any:
        """What a line is compared by."""
        return [part(row) for part in self._keys]

    def before(self, row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        """Whether a line comes before another."""
        return bool(self.key(row) < self.key(other))

    def places(self, columns: Sequence[pa.Array], count: int) -> NDArray[np.int64]:
        """The places of a batch's lines in order; equal ones stay as they are."""
        if not self.parts or not count:
            return np.arange(count)
        if any(pa.types.is_nested(columns[index].type) for index, _, _ in self.parts):
            values = {index: columns[index].to_pylist() for index, _, _ in self.parts}
            width = max(values) + 1
            rows = [tuple(values[n][i] if n in values else None for n in range(width))
                    for i in range(count)]  # fmt: skip
            return np.array(sorted(range(count), key=lambda place: self.key(rows[place])))
        arrays: list[pa.Array] = []
        keys: list[tuple[str, str]] = []
        for index, down, last in self.parts:
            column = columns[index]
            if column.null_count or pa.types.is_floating(column.type):
                keys.append((str(len(arrays)), "ascending"))
                arrays.append(_ranks(column, down=down, last=last))
            keys.append((str(len(arrays)), "descending" if down else "ascending"))
            arrays.append(column)
        table = pa.table(arrays, names=[str(number) for number in range(len(arrays))])
        indices = pc.sort_indices(table, sort_keys=keys)
        found: NDArray[np.int64] = indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return found

    def ranks(self, columns: Sequence[pa.Array], count: int) -> NDArray[np.int64]:
        """For every line of a batch a number to compare it by; equal ones have the same."""
        order = self.places(columns, count)
        chosen = pa.array(order)
        differs = np.zeros(count, dtype=np.bool_)
        for index, _, _ in self.parts:
            column = columns[index].take(chosen)
            differs[1:] |= ~equal_values(column[1:], column[:-1])
        found = np.empty(count, dtype=np.int64)
        found[order] = np.cumsum(differs)
        return found


def same_line(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two lines are equal; NaN equals itself, as it does in Flink."""
    if row == other:
        return True
    pairs = zip(row, other, strict=True)
    return all(a == b or (a != a and b != b) for a, b in pairs)


def apply_change(rows: list[tuple[Any, ...]], row: tuple[Any, ...], kind: int) -> None:
    """Add a line to others, or take one like it away."""
    if kind in (INSERT, UPDATE_AFTER):
        rows.append(row)
        return
    place = next((n for n, other in enumerate(rows) if same_line(row, other)), None)
    if place is not None:
        del rows[place]


def equal_values(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    """Where two columns are the same; NULL equals NULL, and NaN itself."""
    found: NDArray[np.bool_]
    if pa.types.is_nested(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.array([same_line((a,), (b,)) for a, b in pairs], dtype=np.bool_)
    equal = pc.fill_null(pc.equal(left, right), pa.scalar(value=False))
    found = equal.to_numpy(zero_copy_only=False).copy()
    if left.null_count and right.null_count:
        found |= pc.and_(left.is_null(), right.is_null()).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(left.type):
        nan = pc.and_(pc.is_nan(left), pc.is_nan(right))
        found |= pc.fill_null(nan, pa.scalar(value=False)).to_numpy(zero_copy_only=False)
    return found


def _part_key(index: int, *, down: bool, last: bool) -> Callable[[tuple[Any, ...]], Any]:
    null = (_NULLS_LAST if last else _NULLS_FIRST, 0)
    nan = (_NAN_FIRST if down else _NAN_LAST, 0)

    def key(row: tuple[Any, ...]) -> Any:
        value = row[index]
        if value is None:
            return null
        if type(value) is float and math.isnan(value):
            return nan
        if not down:
            return (_VALUE, value)
        return (_VALUE, -value if isinstance(value, int | float | Decimal) else _Backwards(value))

    return key


def _ranks(column: pa.Array, *, down: bool, last: bool) -> pa.Array:
    """For each value whether it is NULL, NaN or neither, as numbers in the order asked for."""
    ranks = np.full(len(column), _VALUE, dtype=np.int8)
    if pa.types.is_floating(column.type):
        nan = pc.fill_null(pc.is_nan(column), False).to_numpy(zero_copy_only=False)  # noqa: FBT003
        ranks[nan] = _NAN_FIRST if down else _NAN_LAST
    if column.null_count:
        null = column.is_null().to_numpy(zero_copy_only=False)
        ranks[null] = _NULLS_LAST if last else _NULLS_FIRST
    return pa.array(ranks)
