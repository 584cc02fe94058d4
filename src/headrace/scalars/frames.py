"""The columns that expressions look at: a batch, or some of its lines.

In: a RecordBatch.  Out: arrays and Python values of columns, each made once.
Next: scalars/parts.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.scalars.values import arrow_column, python_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from headrace.common.data_types import DataType


class ColumnFrame:
    """Columns of one length, by number."""

    def __init__(self, columns: list[pa.Array], length: int) -> None:
        self.length = length
        # what parts that stand in several places have made of this frame
        self.made: dict[int, Any] = {}
        self._columns = columns
        self._values: dict[int, list[Any]] = {}

    def column(self, index: int) -> pa.Array:
        """A column as Arrow has it."""
        return self._columns[index]

    def typed_column(self, index: int, type_: DataType) -> pa.Array:
        """A column, by someone who knows its type."""
        return self.column(index)

    def values(self, index: int, type_: DataType) -> list[Any]:
        """A column as Python values."""
        found = self._values.get(index)
        if found is None:
            found = self._values[index] = python_values(self.column(index), type_)
        return found

    def lines(self, indices: pa.Array) -> ColumnFrame:
        """The lines at these places."""
        return _SelectedFrame(self, indices)


class _SelectedFrame(ColumnFrame):
    """Some lines of another frame; a column is taken when somebody looks at it."""

    def __init__(self, source: ColumnFrame, indices: pa.Array) -> None:
        super().__init__([], len(indices))
        self._source = source
        self._indices = indices
        self._taken: dict[int, pa.Array] = {}

    def column(self, index: int) -> pa.Array:
        """See ColumnFrame."""
        found = self._taken.get(index)
        if found is None:
            found = self._taken[index] = self._source.column(index).take(self._indices)
        return found


class LineFrame(ColumnFrame):
    """One line of Python values, for parts that only work on columns.

    Its columns are made of the type that a part says.
    """

    def __init__(self, line: Sequence[Any]) -> None:
        super().__init__([], 1)
        self._line = line

    def values(self, index: int, type_: DataType) -> list[Any]:
        """See ColumnFrame."""
        return [self._line[index]]

    def typed_column(self, index: int, type_: DataType) -> pa.Array:
        """See ColumnFrame."""
        return arrow_column([self._line[index]], type_)
