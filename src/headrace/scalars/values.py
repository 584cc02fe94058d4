"""Arrow columns as Python values and back, for bodies that work row by row.

data/row_data.py does it; but a TIMESTAMP of more than six digits is a pandas.Timestamp here, which
is a datetime with nanoseconds, so that casts and functions lose none.

In: arrays and the types of the Table API.  Out: lists of Python values, and arrays of them.
Next: scalars/frames.py
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.common import data_types as t
from headrace.data.columns import ColumnCodec
from headrace.data.row_data import column_of

if TYPE_CHECKING:
    from headrace.common.data_types import DataType


@lru_cache(maxsize=1024)
def column_codec(type_: DataType) -> ColumnCodec:
    """The conversion of a column of a type."""
    if isinstance(type_, t.TimestampType | t.LocalZonedTimestampType) and type_.precision > 6:
        return _NanosColumn(column_of(type_).arrow)
    return column_of(type_)


class _NanosColumn(ColumnCodec):
    """Timestamps of nanoseconds as pandas.Timestamp."""

    def __init__(self, arrow: pa.DataType) -> None:
        self.arrow = arrow
        self.expected = "a timestamp within what nanoseconds can count (1677 to 2262)"

    def to_arrow(self, values: list[Any]) -> pa.Array:
        """See ColumnCodec."""
        return pa.array(values, self.arrow)

    def to_python(self, array: pa.Array) -> list[Any]:
        """See ColumnCodec."""
        found: list[Any] = array.to_pylist()
        return found

    def fault(self, value: Any, path: str) -> None:
        """See ColumnCodec: nobody asks, since users' records do not come this way."""


def arrow_type(type_: DataType) -> pa.DataType:
    """The Arrow type of a column (docs/architecture/path-of-a-statement.md has the table)."""
    return column_codec(type_).arrow


def python_values(column: pa.Array, type_: DataType) -> list[Any]:
    """The values of a column as bodies want them."""
    return column_codec(type_).to_python(column)


def python_value(scalar: pa.Scalar, type_: DataType) -> Any:
    """The value of a scalar as bodies want it."""
    return python_values(pa.repeat(scalar, 1), type_)[0]


def arrow_column(values: list[Any], type_: DataType) -> pa.Array:
    """A column of values that bodies gave."""
    return column_codec(type_).to_arrow(values)


def arrow_scalar(value: Any, type_: DataType) -> pa.Scalar:
    """A constant for kernels."""
    return arrow_column([value], type_)[0]
