"""Parts that compute only what is needed: CASE, IF, AND, OR, COALESCE.

An error in a branch that is not taken must not be raised.  A branch that has kernels throughout is
computed for all lines at first, since that is cheapest; if that fails, or if it has none, it is
computed for the lines that take it.

In: scalars/compile.py.  Out: arrays and values.  Next: scalars/frames.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import HeadraceError
from headrace.scalars.parts import KERNEL_ERRORS, Part
from headrace.scalars.values import arrow_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.data_types import DataType
    from headrace.scalars.frames import ColumnFrame
    from headrace.scalars.parts import Datum, RowFunction

FAILED = (HeadraceError, *KERNEL_ERRORS)


class CasePart(Part):
    """CASE, and IF: the first condition that is true decides."""

    def __init__(self, branches: list[tuple[Part, Part]], otherwise: Part, type_: DataType) -> None:
        self.branches = branches
        self.otherwise = otherwise
        self.type = type_
        parts = [part for branch in branches for part in branch]
        self.vectorised = all(part.vectorised for part in (*parts, otherwise))

    def datum(self, frame: ColumnFrame) -> Datum:
        """See Part."""
        if self.vectorised:
            try:
                return self._everywhere(frame)
            except FAILED:
                pass
        return self._where_needed(frame)

    def _everywhere(self, frame: ColumnFrame) -> Datum:
        found = self.otherwise.datum(frame)
        for condition, value in reversed(self.branches):
            taken = pc.fill_null(condition.datum(frame), fill_value=False)
            found = pc.if_else(taken, value.datum(frame), found)
        return found

    def _where_needed(self, frame: ColumnFrame) -> Datum:
        pieces = _Pieces(frame, self.type)
        for condition, value in self.branches:
            if not pieces.open:
                break
            pieces.add(value, _true_lines(condition.array(pieces.frame)))
        pieces.rest(self.otherwise)
        return pieces.array()

    def row(self) -> RowFunction:
        """See Part."""
        branches = [(condition.row(), value.row()) for condition, value in self.branches]
        otherwise = self.otherwise.row()

        def run(line: Sequence[Any]) -> Any:
            for condition, value in branches:
                if condition(line):
                    return value(line)
            return otherwise(line)

        return run


class LogicPart(Part):
    """AND or OR of two: the right one counts only for lines that the left one leaves open."""

    def __init__(self, left: Part, right: Part, type_: DataType, *, decides: bool) -> None:
        self.left = left
        self.right = right
        self.type = type_
        self.decides = decides  # the value of the left one that makes the right one needless
        self.vectorised = left.vectorised and right.vectorised
        self._combine = pc.or_kleene if decides else pc.and_kleene

    def datum(self, frame: ColumnFrame) -> Datum:
        """See Part."""
        left = self.left.datum(frame)
        if isinstance(left, pa.Scalar) and left.as_py() is self.decides:
            return left
        if self.right.vectorised:
            try:
                return self._combine(left, self.right.datum(frame))
            except FAILED:
                pass
        return self._where_needed(self.left.array(frame), frame)

    def _where_needed(self, left: pa.Array, frame: ColumnFrame) -> Datum:
        decided = pc.fill_null(pc.equal(left, pa.scalar(self.decides)), fill_value=False)
        pieces = _Pieces(frame, self.type)
        lines = _true_lines(pc.invert(decided))
        right = self.right.array(frame.lines(pa.array(lines)))
        pieces.put(self._combine(left.take(pa.array(lines)), right), lines)
        pieces.put(left.filter(decided), np.arange(frame.length - len(lines)))
        return pieces.array()

    def row(self) -> RowFunction:
        """See Part."""
        left, right, decides = self.left.row(), self.right.row(), self.decides

        def run(line: Sequence[Any]) -> Any:
            first = left(line)
            if first is decides:
                return decides
            second = right(line)
            if second is decides:
                return decides
            return None if first is None or second is None else not decides

        return run


class CoalescePart(Part):
    """COALESCE, and IFNULL: the first value that is not NULL."""

    def __init__(self, parts: list[Part], type_: DataType) -> None:
        self.parts = parts
        self.type = type_
        self.vectorised = all(part.vectorised for part in parts)

    def datum(self, frame: ColumnFrame) -> Datum:
        """See Part."""
        if self.vectorised:
            try:
                return pc.coalesce(*(part.datum(frame) for part in self.parts))
            except FAILED:
                pass
        return self._where_needed(frame)

    def _where_needed(self, frame: ColumnFrame) -> Datum:
        pieces = _Pieces(frame, self.type)
        for part in self.parts[:-1]:
            if not pieces.open:
                break
            found = part.array(pieces.frame)
            pieces.put(found.drop_null(), _true_lines(found.is_valid()))
        pieces.rest(self.parts[-1])
        return pieces.array()

    def row(self) -> RowFunction:
        """See Part."""
        parts = [part.row() for part in self.parts]

        def run(line: Sequence[Any]) -> Any:
            for part in parts:
                value = part(line)
                if value is not None:
                    return value
            return None

        return run


def _true_lines(condition: pa.Array) -> np.ndarray[Any, Any]:
    """The places where a condition is true."""
    return np.flatnonzero(pc.fill_null(condition, fill_value=False).to_numpy(zero_copy_only=False))


class _Pieces:
    """Results for some lines at a time, put together in the order of the lines.

    Attributes:
        frame: the lines that have no result yet.
    """

    def __init__(self, frame: ColumnFrame, type_: DataType) -> None:
        self.frame = frame
        self._source = frame
        self._type = arrow_type(type_)
        self._open = np.arange(frame.length)  # places of the lines without a result
        self._places: list[np.ndarray[Any, Any]] = []
        self._arrays: list[pa.Array] = []

    @property
    def open(self) -> bool:
        """Whether lines wait for a result."""
        return len(self._open) > 0

    def add(self, part: Part, lines: np.ndarray[Any, Any]) -> None:
        """Computes a part for lines, counted among those that wait."""
        if len(lines):
            self.put(part.array(self.frame.lines(pa.array(lines))), lines)

    def put(self, found: pa.Array, lines: np.ndarray[Any, Any]) -> None:
        """Takes results for lines, counted among those that wait."""
        if not len(lines):
            return
        self._places.append(self._open[lines])
        self._arrays.append(found)
        kept = np.ones(len(self._open), dtype=bool)
        kept[lines] = False
        self._open = self._open[kept]
        self.frame = self._source.lines(pa.array(self._open))

    def rest(self, part: Part) -> None:
        """Computes a part for all lines that wait."""
        if self.open:
            self.add(part, np.arange(len(self._open)))

    def array(self) -> pa.Array:
        """All results, in the order of the lines."""
        if not self._arrays:
            return pa.array([], self._type)
        order = np.empty(self._source.length, dtype=np.int64)
        places = np.concatenate(self._places)
        order[places] = np.arange(len(places))
        arrays = [found.cast(self._type) for found in self._arrays]
        return pa.concat_arrays(arrays).take(pa.array(order))
