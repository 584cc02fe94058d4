"""Lines of a stream as Arrow columns, with the kind of each as a number.

    batch of a codec:   a │ b │ $kind        columns: a, b        kinds: $kind, None without changes

In: Records.  Out: Lines, and Records again.  Next: data/row_data.py has the columns' types
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.records import Records
from headrace.data.row_data import RowDataCodec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.data.codec import Codec
    from headrace.data.columns import ColumnCodec

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)


class Lines:
    """Some lines, in order.

    Attributes:
        columns: their values.
        kinds: Flink's number of each line's kind; None if all are inserted.
    """

    __slots__ = ("_count", "_type", "columns", "kinds")

    def __init__(
        self,
        columns: list[pa.Array],
        kinds: NDArray[np.int8] | None,
        count: int,
        line_type: LineType,
    ) -> None:
        self.columns = columns
        self.kinds = kinds
        self._count = count
        self._type = line_type

    def __len__(self) -> int:
        return self._count

    @property
    def retracts(self) -> NDArray[np.bool_] | None:
        """For each line whether it takes one back (-U and -D); None if none does."""
        if self.kinds is None:
            return None
        found = (self.kinds & 1).view(np.bool_)
        return found if found.any() else None

    def kind_list(self) -> list[int]:
        """The kind of every line."""
        return [INSERT] * len(self) if self.kinds is None else self.kinds.tolist()

    def rows(self) -> list[tuple[Any, ...]]:
        """The lines as tuples of Python values, as they are kept in state."""
        return self._type.rows(self.columns, len(self))

    def values(self, position: int) -> list[Any]:
        """One column as Python values, as they are kept in state."""
        return self._type.values(position, self.columns[position])

    def batch(self) -> pa.RecordBatch:
        """The columns as a batch, without kinds, as expressions take it."""
        names = [str(number) for number in range(len(self.columns))]
        return pa.RecordBatch.from_arrays(self.columns, names)

    def filtered(self, mask: pa.Array, needed: set[int]) -> Lines:
        """The lines where `mask` is true; columns that nobody needs are NULL."""
        count = mask.true_count
        kinds = None if self.kinds is None else self.kinds[mask.to_numpy(zero_copy_only=False)]
        columns = [
            column.filter(mask) if place in needed else pa.nulls(count, column.type)
            for place, column in enumerate(self.columns)
        ]
        return Lines(columns, kinds, count, self._type)

    def pick(self, places: NDArray[np.int64]) -> Lines:
        """Some lines, in the order of the places."""
        chosen = pa.array(places)
        kinds = None if self.kinds is None else self.kinds[places]
        columns = [column.take(chosen) for column in self.columns]
        return Lines(columns, kinds, len(places), self._type)


class LineType:
    """How lines of one type look as Records.

    Args:
        codec: of the type.
    """

    def __init__(self, codec: Codec) -> None:
        assert isinstance(codec, RowDataCodec), codec
        self.codec = codec
        self.schema = codec.schema
        self.has_kinds = codec.kind_column
        self.width = len(self.schema) - self.has_kinds
        self.types: list[pa.DataType] = self.schema.types[: self.width]

    def lines(self, records: Records) -> Lines:
        """Records as lines."""
        batch = records.columns
        # names do not matter: who renames columns need not copy them
        if batch is None or batch.schema.types != self.schema.types:
            batch = records.encoded(self.codec)
        columns = batch.columns
        kinds = None
        if self.has_kinds:
            kinds = columns.pop().to_numpy(zero_copy_only=False)
        return Lines(columns, kinds, len(records), self)

    def records(self, columns: Sequence[pa.Array], kinds: NDArray[np.int8] | None) -> Records:
        """Lines as records."""
        arrays = list(columns)
        if self.has_kinds:
            count = len(arrays[0]) if kinds is None else len(kinds)
            arrays.append(pa.array(np.zeros(count, np.int8) if kinds is None else kinds))
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        return Records(batch=batch, codec=self.codec)

    def records_of_columns(self, columns: Sequence[pa.Array], kinds: Sequence[int]) -> Records:
        """Lines as records, with kinds of a list; an empty one if all are inserted."""
        return self.records(columns, np.array(kinds, dtype=np.int8) if len(kinds) else None)

    def records_of_rows(
        self, rows: Sequence[tuple[Any, ...]], kinds: Sequence[int] = ()
    ) -> Records:
        """Tuples of Python values as records; without kinds all are inserted."""
        columns = list(zip(*rows, strict=True)) or [()] * self.width
        arrays = [self.array(number, list(values)) for number, values in enumerate(columns)]
        return self.records_of_columns(arrays, kinds)

    def rows(self, columns: Sequence[pa.Array], count: int) -> list[tuple[Any, ...]]:
        """Columns as tuples of Python values."""
        if not columns:
            return [()] * count
        values = (self.values(number, column) for number, column in enumerate(columns))
        return list(zip(*values, strict=True))

    def values(self, position: int, column: pa.Array) -> list[Any]:
        """A column as Python values, as they are kept in state."""
        return kept_values(self.codec.columns[position], column)

    def array(self, position: int, values: list[Any]) -> pa.Array:
        """Python values as a column."""
        return kept_array(self.codec.columns[position], values)


def kept_values(codec: ColumnCodec, column: pa.Array) -> list[Any]:
    """A column as Python values, as they are kept in state.

    Python has no times of nanoseconds, so these are numbers of nanoseconds.
    """
    if in_nanoseconds(column.type):
        return list(column.cast(pa.int64()).to_pylist())
    return codec.to_python(column)


def kept_array(codec: ColumnCodec, values: list[Any]) -> pa.Array:
    """A column of Python values as they are kept in state."""
    if in_nanoseconds(codec.arrow):
        return pa.array(values, pa.int64()).cast(codec.arrow)
    return codec.to_arrow(values)


def in_nanoseconds(kind: pa.DataType) -> bool:
    """Whether values are times that Python does not have."""
    has_unit = pa.types.is_timestamp(kind) or pa.types.is_time(kind)
    return bool(has_unit and kind.unit == "ns")
