"""What a table demands of its lines before they are written: NOT NULL, and lengths.

Fields of rows are looked at if `nested_constraints.py` is asked to.

    NOT NULL           a NULL is an error, or the line is left out
    CHAR(n), BINARY(n) left as it is, cut and padded to n, or an error if it has another length
    VARCHAR(n) ...     left as it is, cut to n, or an error if it is longer

In: lines with the columns of a table.  Out: those that may be written.
Next: runtime/table/base.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import RecordError
from headrace.runtime.table.base import TableOperator
from headrace.runtime.table.nested_constraints import NestedPolicy, UnfitValueError, nested_fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.data_types import DataType
    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.lines import Lines

ERROR, DROP, IGNORE, TRIM_PAD = "ERROR", "DROP", "IGNORE", "TRIM_PAD"
NOT_NULL_OPTION = "table.exec.sink.not-null-enforcer"
LENGTH_OPTION = "table.exec.sink.type-length-enforcer"
NESTED_OPTION = "table.exec.sink.nested-constraint-enforcer"


@dataclass(frozen=True, slots=True)
class ColumnLength:
    """How long the values of a column are.

    Attributes:
        place: of the column.
        length: in characters, or bytes.
        fixed: whether they all have this length, as CHAR and BINARY.
    """

    place: int
    length: int
    fixed: bool


class ConstraintOperator(TableOperator):
    """Checks lines, or makes them fit.

    Args:
        line_type: of the lines, in and out.
        not_null: the places of columns without NULL.
        lengths: of columns that have one.
        nulls: ERROR or DROP.
        too_long: ERROR or TRIM_PAD; without it `lengths` is empty.
        nested: columns with their types, which are looked into.
        policy: what is looked at in them.
    """

    def __init__(
        self,
        line_type: RowDataTypeInfo,
        not_null: Sequence[int],
        lengths: Sequence[ColumnLength] = (),
        *,
        nulls: str = ERROR,
        too_long: str = ERROR,
        nested: Sequence[tuple[int, DataType]] = (),
        policy: NestedPolicy | None = None,
    ) -> None:
        super().__init__((line_type,), line_type)
        self.not_null = tuple(not_null)
        self.lengths = tuple(lengths)
        self.nulls = nulls
        self.too_long = too_long
        self.nested = tuple(nested)
        self.policy = policy or NestedPolicy()

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # rebuilt on open
        fits = [(i, nested_fit(kind, self._name(i), self.policy)) for i, kind in self.nested]
        self._fits = [(place, fit) for place, fit in fits if fit is not None]

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self._without_nulls(self.lines(records))
        if not len(lines):
            return
        columns = list(lines.columns)
        for each in self.lengths:
            columns[each.place] = self._fitted(columns[each.place], each)
        if not self._fits:
            self.emit_columns(columns, lines.kinds)
            return
        values = [columns[place].to_pylist() for place, _ in self._fits]
        kept = [line for line in range(len(lines)) if self._fits_within(values, line)]
        for (place, _), found in zip(self._fits, values, strict=True):
            columns[place] = pa.array(found, columns[place].type)
        chosen = np.array(kept, dtype=np.int64)
        taken = [column.take(pa.array(chosen)) for column in columns]
        if kept:
            self.emit_columns(taken, None if lines.kinds is None else lines.kinds[chosen])

    def _fits_within(self, values: list[list[Any]], line: int) -> bool:
        """Whether a line can be written; its nested values are made to fit in place."""
        try:
            for (_, fit), column in zip(self._fits, values, strict=True):
                column[line] = None if column[line] is None else fit(column[line])
        except UnfitValueError as unfit:
            if unfit.length is None and self.nulls == DROP:
                return False
            raise self._unfit(unfit) from None
        return True

    def _unfit(self, unfit: UnfitValueError) -> RecordError:
        if unfit.length is None:
            return self._refused(
                f"{unfit.path!r} is NOT NULL, but a NULL is written into it", NOT_NULL_OPTION, DROP
            )
        return self._refused(
            f"{unfit.path!r} takes {'' if unfit.fixed else 'up to '}{unfit.length} "
            f"{'characters' if isinstance(unfit.value, str) else 'bytes'}, but "
            f"{unfit.value!r:.80} is written into it",
            LENGTH_OPTION,
            TRIM_PAD,
        )

    def _without_nulls(self, lines: Lines) -> Lines:
        for place in self.not_null:
            column = lines.columns[place]
            if not column.null_count:
                continue
            if self.nulls == ERROR:
                raise self._refused(
                    f"column {self._name(place)!r} is NOT NULL, but a NULL is written into it",
                    NOT_NULL_OPTION,
                    DROP,
                )
            lines = lines.pick(np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)))
        return lines

    def _fitted(self, column: pa.Array, wanted: ColumnLength) -> pa.Array:
        text = pa.types.is_string(column.type)
        found = pc.utf8_length(column) if text else pc.binary_length(column)
        wrong = (pc.not_equal if wanted.fixed else pc.greater)(found, wanted.length)
        if not pc.any(wrong).as_py():
            return column
        if self.too_long == ERROR:
            example = column.filter(wrong)[0].as_py()
            raise self._refused(
                f"column {self._name(wanted.place)!r} takes {'' if wanted.fixed else 'up to '}"
                f"{wanted.length} {'characters' if text else 'bytes'}, but {example!r:.80} is "
                "written into it",
                LENGTH_OPTION,
                TRIM_PAD,
            )
        return _cut(column, wanted, text=text)

    def _name(self, place: int) -> str:
        return self.output_type.get_field_names()[place]

    def _refused(self, message: str, option: str, otherwise: str) -> RecordError:
        return RecordError(
            message,
            where=f"step {self.runtime.name!r} at {self.runtime.where}",
            fix=f"filter such lines out, or set '{option}' = '{otherwise}'",
        )


def _cut(column: pa.Array, wanted: ColumnLength, *, text: bool) -> pa.Array:
    if text:
        cut = pc.utf8_slice_codeunits(column, 0, wanted.length)
        return pc.utf8_rpad(cut, wanted.length) if wanted.fixed else cut
    values = column.to_pylist()
    size = wanted.length
    fitted = [
        None if v is None else v[:size].ljust(size, b"\0") if wanted.fixed else v[:size]
        for v in values
    ]
    return pa.array(fitted, column.type)
