"""sum, min, max, min_by and max_by of a keyed stream: a running result goes out for every record.

    (a, 1) (b, 5) (a, 2)   ──▶   sum   (a, 1) (b, 5) (a, 3)

Records that are an Arrow batch, with a field of numbers, stay one: running results of all keys are
computed at once (runtime/table/segments.py), and equal those of a loop, digit by digit.
In: records, keyed.  Out: records of the same type.  Next: runtime/operators/keyed.py (the loop)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.common.typeinfo import RowTypeInfo, TupleTypeInfo
from headrace.data.codec import DoesNotFit
from headrace.data.fields import get_field, with_field
from headrace.data.records import Records
from headrace.runtime.key_codes import codes_of_column
from headrace.runtime.key_selectors import column_keys, field_position
from headrace.runtime.operators.keyed import ReduceOperator
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.table.segments import KeySegments, sorted_by_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.data.codec import Codec
    from headrace.runtime.key_codes import Codes

_FUNCTIONS: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def rolling_reduce(kind: str, field: int | str) -> Any:
    """The reduce function of a rolling aggregate; min_by and max_by keep the first of equals."""
    read = get_field(field)
    write = with_field(field)
    if kind == "sum":
        return lambda old, new: write(old, read(old) + read(new))
    if kind == "min":
        return lambda old, new: write(old, read(new)) if read(new) < read(old) else old
    if kind == "max":
        return lambda old, new: write(old, read(new)) if read(new) > read(old) else old
    if kind == "min_by":
        return lambda old, new: new if read(new) < read(old) else old
    return lambda old, new: new if read(new) > read(old) else old


class RollingOperator(ReduceOperator):
    """A rolling aggregate over a field.

    Args:
        kind: sum, min, max, min_by or max_by.
        field: its place or name.
    """

    def __init__(self, kind: str, field: int | str) -> None:
        super().__init__(rolling_reduce(kind, field))
        self.kind = kind
        self.field = field

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        found = None if self.runtime.bounded else self._rolled(records)
        if found is None:
            super().process(records, input)
        else:
            self.output.emit(found)

    def _rolled(self, records: Records) -> Records | None:
        """The results of all records as columns; None if they have to be taken one by one."""
        place = self._place(records)
        batch, codec, keying = records.columns, records.codec, self.runtime.keyings[0]
        if place is None or batch is None or codec is None or keying is None:
            return None
        keys = keying.column(records)
        values = _numbers(self.kind, batch.column(place))
        if keys is None or values is None or keying.whole:
            return None
        codes = codes_of_column(keys, column_keys)
        self.states.read_ahead(codes.keys)
        open_cell, find = self.table.cells.get, self.table.find
        cells = [open_cell(key) or find(key) for key in codes.keys]
        segments = KeySegments(*sorted_by_code(codes.numbers, len(codes.keys)), _all(len(cells)))
        old = [cell.value for cell in cells]
        running = self._running(segments, values, old)
        wanted = batch.schema.field(place).type
        if running is None or not _fits(running, wanted):
            return None
        bases = _bases(batch, codec, segments, old)
        if bases is None:
            return None
        self._keep(cells, codec.decode(bases), running[segments.ends].tolist())
        return Records(
            timestamps=records.timestamps,
            batch=_results(bases, codes, segments, running, place, wanted),
            codec=codec,
        )

    def _place(self, records: Records) -> int | None:
        if self.kind not in _FUNCTIONS or records.columns is None or records.codec is None:
            return None
        kind = records.codec.type_info
        if not isinstance(kind, RowTypeInfo | TupleTypeInfo):
            return None
        return field_position(self.field, kind)

    def _running(
        self, segments: KeySegments, values: NDArray[Any], old: list[Any]
    ) -> NDArray[Any] | None:
        """Running results in the order of segments; None if numbers might leave 64 bits."""
        read = get_field(self.field)
        given = np.array([each is not NO_ENTRY for each in old], np.bool_)
        before = [read(each) if each is not NO_ENTRY else 0 for each in old]
        if any(type(each) is not type(values.dtype.type(0).item()) for each in before if each):
            return None
        running = values[segments.order]
        if self.kind == "sum" and running.dtype.kind == "i":
            largest = max(map(abs, before), default=0)
            if largest + int(np.abs(running).max(initial=0)) * len(running) > np.iinfo("i8").max:
                return None
        function = _FUNCTIONS[self.kind]
        segments.fold_initial(function, running, np.array(before, running.dtype), given)
        return segments.scan(function, running)

    def _keep(self, cells: list[Any], records: list[Any], values: list[Any]) -> None:
        write = with_field(self.field)
        for cell, record, value in zip(cells, records, values, strict=True):
            cell.value = write(record, value)
            if cell.clean:
                self.table.touch(cell)


def _all(count: int) -> NDArray[np.bool_]:
    return np.ones(count, np.bool_)


def _numbers(kind: str, column: pa.Array) -> NDArray[Any] | None:
    """A column of whole or broken numbers without NULL; None for another."""
    if column.null_count or not len(column):
        return None
    if pa.types.is_signed_integer(column.type):
        found: NDArray[Any] = column.to_numpy(zero_copy_only=False).astype(np.int64)
        return None if found.min() == np.iinfo(np.int64).min else found
    if not pa.types.is_float64(column.type):
        return None
    found = column.to_numpy(zero_copy_only=False).copy()
    # what is smaller than NaN is nothing in Python; and -0.0 is not smaller than 0.0
    odd = np.isnan(found).any() or (found == 0).any()
    return None if kind != "sum" and odd else found


def _fits(values: NDArray[Any], wanted: pa.DataType) -> bool:
    if values.dtype.kind != "i":
        return True
    limits = np.iinfo(wanted.to_pandas_dtype())
    return bool(values.min() >= limits.min and values.max() <= limits.max)


def _bases(
    batch: pa.RecordBatch, codec: Codec, segments: KeySegments, old: list[Any]
) -> pa.RecordBatch | None:
    """For each key the record whose other fields its results have: the first that ever came.

    None if some of them have outgrown their type.
    """
    known = [each for each in old if each is not NO_ENTRY]
    try:
        stored = codec.encode(known) if known else batch.slice(0, 0)
    except DoesNotFit:
        return None
    rows = segments.order[segments.starts].copy()
    rows[[each is not NO_ENTRY for each in old]] = batch.num_rows + np.arange(len(known))
    both = pa.Table.from_batches([batch, stored.cast(batch.schema)]).combine_chunks()
    return both.take(pa.array(rows)).combine_chunks().to_batches()[0]


def _results(
    bases: pa.RecordBatch,
    codes: Codes,
    segments: KeySegments,
    running: NDArray[Any],
    place: int,
    wanted: pa.DataType,
) -> pa.RecordBatch:
    in_order = np.empty_like(running)
    in_order[segments.order] = running
    found = bases.take(pa.array(codes.numbers))
    return found.set_column(place, found.schema.field(place), pa.array(in_order).cast(wanted))
