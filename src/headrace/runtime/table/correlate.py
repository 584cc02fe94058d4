"""A table for each line: UNNEST of a collection, or a table function of the user.

    a, [x, y]  ─▶  a, [x, y], x        LEFT: a line without elements stays, with NULL behind it
                   a, [x, y], y

UNNEST of an ARRAY of rows gives the columns of the rows, of a MAP key and value, of a MULTISET each
element as often as it is there; WITH ORDINALITY counts from 1.  Lines keep their kinds.
In: rel's Correlate.  Next: runtime/table/user_tables.py calls the functions of users
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.runtime.table.base import TableOperator
from headrace.runtime.table.user_functions import function_context
from headrace.runtime.table.user_tables import UserTable
from headrace.scalars.evaluate import Condition, Projector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession

    Places = NDArray[np.int64]

UNNEST, UNNEST_WITH_ORDINALITY = "UNNEST", "UNNEST WITH ORDINALITY"
# A line as often as a number says: INTERSECT ALL, EXCEPT ALL (rel/rules/join_set_operations.py).
REPEAT = "$REPEAT"


class CorrelateOperator(TableOperator):
    """Lines with the lines that a function makes of each.

    Args:
        function: the name of a built-in one (`UNNEST`), or the object that `udtf` made.
        arguments: of the function, over the columns of the input.
        condition: over the columns of both; lines that the function made and for which it is not
            true are left out.
        left: whether a line without any is kept, with NULL.
    """

    def __init__(
        self,
        function: Any,
        arguments: Sequence[Scalar],
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        *,
        condition: Scalar | None = None,
        left: bool = False,
        session: ScalarSession,
    ) -> None:
        super().__init__([input_type], output_type)
        self.function = function
        self.arguments = Projector(arguments, session)
        self.types = [argument.type for argument in arguments]
        self.condition = None if condition is None else Condition(condition, session)
        self.left = left
        self.session = session

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        context = function_context(runtime)
        try:
            self.arguments.open(context)
            if self.condition is not None:
                self.condition.open(context)
        except Exception as error:
            raise self.failed(error) from error
        width = self.in_lines[0].width
        self.made = self.out_lines.types[width:]
        self.user: UserTable | None = None
        if not isinstance(self.function, str):
            codecs = self.out_lines.codec.columns[width:]
            results = self.output_type.get_data_types()[width:]
            self.user = UserTable(self.function, self.types, results, codecs, self.session)
            self.user.open(runtime)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if not len(lines):
            return
        names = [str(number) for number in range(len(lines.columns))]
        try:
            batch = pa.RecordBatch.from_arrays(lines.columns, names=names)
            given = self.arguments.run(batch)
            places, made = self._made(given, len(lines))
            columns = [column.take(pa.array(places)) for column in lines.columns]
            if self.condition is not None and len(places):
                places, columns, made = self._chosen(places, columns, made)
        except Exception as error:
            raise self.failed(error) from error
        if self.left:
            places, made = self._with_alone(places, made, len(lines))
        if len(places):
            found = lines.pick(places)
            self.emit_columns([*found.columns, *made], found.kinds)

    def _made(self, given: list[pa.Array], count: int) -> tuple[Places, list[pa.Array]]:
        if self.user is not None:
            return self.user.call(given, count)
        if self.function == REPEAT:
            times = pc.max_element_wise(pc.fill_null(given[0], 0), 0)
            places = np.repeat(np.arange(count), times.to_numpy(zero_copy_only=False))
            return places, [pa.array(_ordinals(places)).cast(self.made[0])]
        places, made = unnest(given[0], multiset=_is_multiset(self.types[0]))
        if self.function == UNNEST_WITH_ORDINALITY:
            made.append(pa.array(_ordinals(places), pa.int32()))
        return places, [array.cast(kind) for array, kind in zip(made, self.made, strict=True)]

    def _chosen(
        self, places: Places, columns: list[pa.Array], made: list[pa.Array]
    ) -> tuple[Places, list[pa.Array], list[pa.Array]]:
        assert self.condition is not None
        whole = [*columns, *made]
        names = [str(number) for number in range(len(whole))]
        mask = self.condition.mask(pa.RecordBatch.from_arrays(whole, names=names))
        kept = places[mask.to_numpy(zero_copy_only=False)]
        return kept, [c.filter(mask) for c in columns], [c.filter(mask) for c in made]

    def _with_alone(
        self, places: Places, made: list[pa.Array], count: int
    ) -> tuple[Places, list[pa.Array]]:
        """Beside the lines that were made, those of which none was, in order."""
        alone = np.ones(count, dtype=np.bool_)
        alone[places] = False
        missing = np.flatnonzero(alone)
        if not len(missing):
            return places, made
        joined = np.concatenate([places, missing])
        order = np.argsort(joined, kind="stable")
        chosen = pa.array(order)
        whole = [
            pa.concat_arrays([array, pa.nulls(len(missing), array.type)]).take(chosen)
            for array in made
        ]
        return joined[order], whole

    def close(self) -> None:
        self.arguments.close()
        if self.condition is not None:
            self.condition.close()
        if self.user is not None:
            self.user.close()
        super().close()


def unnest(column: pa.Array, *, multiset: bool) -> tuple[Places, list[pa.Array]]:
    """The place of its line for each element of collections, and the columns of the elements."""
    if pa.types.is_map(column.type):
        offsets = column.offsets.to_numpy(zero_copy_only=False)
        lengths = _lengths(column, offsets)
        chosen = _inside(column, offsets, lengths)
        made = [column.keys.take(chosen), column.items.take(chosen)]
        places = np.repeat(np.arange(len(column)), lengths)
        if not multiset:
            return places, made
        counts = made[1].to_numpy(zero_copy_only=False)
        again = pa.array(np.repeat(np.arange(len(places)), counts))
        return np.repeat(places, counts), _flat(made[0].take(again))
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    return np.repeat(np.arange(len(column)), lengths), _flat(pc.list_flatten(column))


def _lengths(column: pa.Array, offsets: NDArray[Any]) -> NDArray[Any]:
    lengths: NDArray[Any] = np.diff(offsets)
    if column.null_count:
        lengths = np.where(column.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
    return lengths


def _inside(column: pa.Array, offsets: NDArray[Any], lengths: NDArray[Any]) -> pa.Array:
    """The places of the entries of maps that are not NULL."""
    begins = np.cumsum(lengths) - lengths
    within = np.arange(int(lengths.sum())) - np.repeat(begins, lengths)
    return pa.array(np.repeat(offsets[:-1], lengths) + within)


def _flat(elements: pa.Array) -> list[pa.Array]:
    return elements.flatten() if pa.types.is_struct(elements.type) else [elements]


def _ordinals(places: Places) -> NDArray[np.int32]:
    """1, 2, 3 ... for each line, given the sorted places of lines."""
    _, first, counts = np.unique(places, return_index=True, return_counts=True)
    found: NDArray[np.int32] = (np.arange(len(places)) - np.repeat(first, counts) + 1).astype(
        np.int32
    )
    return found


def _is_multiset(kind: Any) -> bool:
    return type(kind).__name__ == "MultisetType"
