"""Lines that arrive at the program as `Row` objects, with the values that users expect.

In: tuples of a stream of lines, the kind of change last.  Out: rows.
Next: table/table_result.py hands them out
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.common.types import Row, RowKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.data_types import DataType

    Convert = Callable[[Any], Any]

_KINDS = tuple(RowKind)
_MILLI = datetime.timedelta(milliseconds=1)


def row_maker(types: Sequence[DataType], *, changes: bool) -> Callable[[tuple[Any, ...]], Row]:
    """What makes a row of a line.

    Args:
        types: of the columns.
        changes: whether the kind of change stands behind them.
    """
    converts = [user_value(kind) for kind in types]

    def make(line: tuple[Any, ...]) -> Row:
        values = line[: len(converts)]
        row = Row(
            *(
                value if value is None or convert is None else convert(value)
                for value, convert in zip(values, converts, strict=True)
            )
        )
        row.set_row_kind(_KINDS[line[len(converts)] or 0] if changes else RowKind.INSERT)
        return row

    return make


def user_value(kind: DataType) -> Convert | None:
    """What makes a user's value of one of a line; None if it is one already."""
    if isinstance(kind, t.UserDefinedType):
        inner = user_value(kind.sql_type())
        return lambda value: kind.deserialize(value if inner is None else inner(value))
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda value: value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value
    if isinstance(kind, t.FloatType):
        return _shortest_float
    if isinstance(kind, t.DayTimeIntervalType):
        return lambda value: value * _MILLI
    if isinstance(kind, t.ArrayType):
        return _each(user_value(kind.element_type))
    if isinstance(kind, t.MapType):
        return _entries(user_value(kind.key_type), user_value(kind.value_type))
    if isinstance(kind, t.MultisetType):
        return _entries(user_value(kind.element_type), None)
    if isinstance(kind, t.RowType):
        make = row_maker(kind.field_types(), changes=False)
        return lambda value: make(tuple(value))
    return None


def _shortest_float(value: float) -> float:
    """The shortest number that is the same in four bytes: 1.23, not 1.2300000190734863."""
    import numpy as np

    return float(str(np.float32(value)))


def _each(inner: Convert | None) -> Convert:
    if inner is None:
        return list
    return lambda values: [None if value is None else inner(value) for value in values]


def _entries(key: Convert | None, item: Convert | None) -> Convert:
    def convert(found: Any) -> Any:
        entries = found.items() if isinstance(found, dict) else found
        return {
            (k if key is None or k is None else key(k)): (
                v if item is None or v is None else item(v)
            )
            for k, v in entries
        }

    return convert
