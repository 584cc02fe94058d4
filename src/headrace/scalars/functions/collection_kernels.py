"""Arrow kernels for arrays and rows.

In: functions/collections.py.  Out: kernels.  Next: scalars/functions/entry.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.scalars.functions.entry import ArrowBody, BoundCall, NoKernelError
from headrace.scalars.functions.string_kernels import column_of, constant

Column = Any  # pa.Array or pa.Scalar


def length(column: Column) -> Column:
    """How many items each list has; maps have no kernel."""
    if not pa.types.is_list(column.type):
        raise NoKernelError
    return pc.list_value_length(column)


def item(column: Column, index: Column) -> Column:
    """The item at a constant place of each list, from 1."""
    lists = column_of(column)
    if not pa.types.is_list(lists.type):
        raise NoKernelError
    place = constant(index) - 1
    if place < 0:
        raise NoKernelError
    there = pc.greater(pc.list_value_length(lists), place)
    places = pc.add(lists.offsets[:-1], pa.scalar(place, pa.int32()))
    # A column that is a slice of another keeps the other's values: offsets count in those.
    return lists.values.take(pc.if_else(there, places, pa.scalar(None, pa.int32())))


def field(call: BoundCall) -> ArrowBody:
    """A field of each row."""
    place = call.literals[1]
    return lambda column, _: pc.struct_field(column, [place])


def row(call: BoundCall) -> ArrowBody:
    """Rows of several columns."""
    names = [f"EXPR${i}" for i in range(len(call.arguments))]

    def make(*columns: Column) -> Column:
        if all(isinstance(column, pa.Scalar) for column in columns):
            raise NoKernelError
        return pc.make_struct(*columns, field_names=names)

    return make


def array(*columns: Column) -> Column:
    """Lists of the values of several columns: all in one array, taken line by line."""
    rows = next((len(column) for column in columns if isinstance(column, pa.Array)), None)
    if rows is None or rows * len(columns) > np.iinfo(np.int32).max:
        raise NoKernelError
    full = [pa.repeat(c, rows) if isinstance(c, pa.Scalar) else c for c in columns]
    order = np.arange(rows * len(full)).reshape(len(full), rows).T.ravel()
    offsets = np.arange(0, rows * len(full) + 1, len(full), dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays(full).take(pa.array(order)))
