"""Records of a DataStream as lines of SQL, and lines as records: both ends of a query.

    DataStream[Row] ──▶ RecordsToLines ──▶ lines … lines ──▶ LinesToRecords ──▶ DataStream[Row]

Where both have the same Arrow form a column is passed on or cast; other columns go through Python
values, each on its own.  Records that are no batch go through values as a whole.  The kind of a
`Row` and `$kind` are the same.  Next: data/line_values.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as d
from headrace.common.row_data_type import ChangeRowTypeInfo, RowDataTypeInfo
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    _ElementTypeInfo,
)
from headrace.common.types import Row, RowKind
from headrace.data.codec import codec_for
from headrace.data.line_values import record_builder, to_line_value, to_record_value
from headrace.data.records import MIN_TIMESTAMP, Records
from headrace.data.row_data import RowDataCodec
from headrace.errors import RecordError, TypeMismatchError
from headrace.runtime.operators.base import Operator, OperatorRuntime
from headrace.runtime.table.newest_lines import newest_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.data.codec import Codec

__all__ = ["LinesToRecords", "RecordsToLines"]

_KINDS = tuple(RowKind)
# kept as something else in Arrow: their columns look alike and are not
_OTHER_FORM = (BasicType.BIG_INT, BasicType.BIG_DEC)


def _unwrapped(info: TypeInformation) -> TypeInformation:
    return _unwrapped(info.type_info) if isinstance(info, ExternalTypeInfo) else info


def _same_form(info: TypeInformation, data_type: d.DataType) -> bool:
    """Whether equal Arrow types mean equal values."""
    info = _unwrapped(info)
    if isinstance(info, PickledBytesTypeInfo) or isinstance(data_type, d.RawType):
        return isinstance(info, PickledBytesTypeInfo) and isinstance(data_type, d.RawType)
    if isinstance(data_type, d.UserDefinedType):
        return False
    if isinstance(info, BasicTypeInfo):
        return info.basic_type not in _OTHER_FORM
    if isinstance(info, _ElementTypeInfo) and isinstance(data_type, d.ArrayType):
        return _same_form(info.element_type, data_type.element_type)
    if isinstance(info, MapTypeInfo) and isinstance(data_type, d.MapType):
        key = _same_form(info.key_type, data_type.key_type)
        return key and _same_form(info.value_type, data_type.value_type)
    if isinstance(info, RowTypeInfo | TupleTypeInfo) and isinstance(data_type, d.RowType):
        pairs = zip(info.get_field_types(), data_type.field_types(), strict=True)
        return all(_same_form(field, kind) for field, kind in pairs)
    return True


def _fields(info: TypeInformation) -> list[TypeInformation] | None:
    """The types of a record's fields; None for one that is a single value or of unknown type."""
    info = _unwrapped(info)
    if isinstance(info, RowTypeInfo | TupleTypeInfo):
        return info.get_field_types()
    return None


class RecordsToLines(Operator):
    """Records in, lines out.

    A record's fields become the columns in their order; a record that is a single value becomes
    one column, and one of undeclared type is a row, a tuple, or a single value.

    Args:
        type_info: of the records.
        line_type: of the lines; without changes a row that is no insert is an error.
        rowtime: the place of a column that is no field, and takes the record's timestamp.
    """

    def __init__(
        self, type_info: TypeInformation, line_type: RowDataTypeInfo, rowtime: int | None = None
    ) -> None:
        self.type_info = type_info
        self.line_type = line_type
        self.rowtime = rowtime

    def with_types(self, known: Callable[[TypeInformation], TypeInformation]) -> RecordsToLines:
        return RecordsToLines(known(self.type_info), self.line_type, self.rowtime)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.codec = RowDataCodec(self.line_type)
        self.source = codec_for(self.type_info)
        kinds = self.line_type.get_data_types()
        self.places = [i for i in range(len(kinds)) if i != self.rowtime]
        self.kinds = [kinds[place] for place in self.places]
        self.converts = [to_line_value(kind) for kind in self.kinds]
        self.fields = _fields(self.type_info)
        names = self.line_type.get_field_names()
        self.row_type = d.RowType([d.RowField(names[place], kinds[place]) for place in self.places])

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        batch = records.columns
        if batch is not None and records.codec is not None and batch.schema == self.source.schema:
            arrays, changes = self._from_batch(batch, records.codec), self._kinds_of(batch)
        else:
            arrays, changes = self._from_values(records.values)
        if self.rowtime is not None:
            arrays.insert(self.rowtime, self._times(records))
        if self.line_type.changes:
            zeros = np.zeros(len(records), np.int8)
            arrays.append(pa.array(zeros) if changes is None else pa.array(changes, pa.int8()))
        lines = pa.RecordBatch.from_arrays(arrays, schema=self.codec.schema)
        self.output.emit(Records(batch=lines, codec=self.codec))

    def _kinds_of(self, batch: pa.RecordBatch) -> list[int] | None:
        """The kinds of rows that travel with them."""
        if not isinstance(self.type_info, ChangeRowTypeInfo):
            return None
        kinds: list[int] = batch.column(batch.num_columns - 1).to_pylist()
        if any(kinds) and not self.line_type.changes:
            return self._from_values(self.source.decode(batch))[1]  # it says which one
        return kinds

    def _from_batch(self, batch: pa.RecordBatch, codec: Codec) -> list[pa.Array]:
        infos = self.fields or [self.type_info]
        if len(infos) != len(self.kinds) or batch.num_columns < len(infos):
            return self._from_values(codec.decode(batch))[0]
        found: list[pa.Array] = []
        decoded: list[list[Any]] | None = None
        for number, (info, kind) in enumerate(zip(infos, self.kinds, strict=True)):
            wanted = self.codec.columns[self.places[number]].arrow
            array = batch.column(number)
            if _same_form(info, kind) and _castable(array.type, wanted):
                cast = array if array.type == wanted else array.cast(wanted, safe=False)
                found.append(cut_to_precision(cast, kind))
                continue
            if decoded is None:
                decoded = self._taken_apart(codec.decode(batch))[0]
            found.append(self._column(number, decoded[number]))
        return found

    def _from_values(self, values: list[Any]) -> tuple[list[pa.Array], list[int] | None]:
        columns, changes = self._taken_apart(values)
        return [self._column(number, column) for number, column in enumerate(columns)], changes

    def _taken_apart(self, values: list[Any]) -> tuple[list[list[Any]], list[int] | None]:
        changes = self._changes(values)
        if self.fields is None and len(self.kinds) == 1 and not _all_records(values):
            return [values], changes
        taken, row_type, arity = [], self.row_type, len(self.kinds)
        for value in values:
            try:
                parts = self._parts(value, row_type)
            except ValueError:
                parts = ()
            if len(parts) != arity:
                raise self._misfit(value, f"a record with fields {row_type.names}")
            taken.append(parts)
        return [[parts[number] for parts in taken] for number in range(arity)], changes

    def _parts(self, value: Any, row_type: d.RowType) -> Any:
        if isinstance(value, Row):
            # named fields are told by their names if these are the columns', else by their places
            names = value._names
            same = names is not None and set(names) == set(row_type.names)
            return value.get_fields_by_names(row_type.names) if same else value._values
        if hasattr(value, "_fields") or isinstance(value, tuple | list):
            return tuple(value)
        if isinstance(value, dict) or hasattr(value, "__dict__"):
            return row_type.values_of(value)
        return (value,)

    def _changes(self, values: list[Any]) -> list[int] | None:
        kinds = [v.get_row_kind().value if isinstance(v, Row) else 0 for v in values]
        if not any(kinds):
            return None
        if not self.line_type.changes:
            value = next(v for v, kind in zip(values, kinds, strict=True) if kind)
            raise RecordError(
                f"{value.get_row_kind()}{value!r:.200} came where only inserts are expected",
                where=self.runtime.where,
                fix="use from_changelog_stream, which takes updates and deletions",
            )
        return kinds

    def _column(self, number: int, values: list[Any]) -> pa.Array:
        convert, column = self.converts[number], self.codec.columns[self.places[number]]
        if convert is not None:
            values = [None if value is None else convert(value) for value in values]
        try:
            return cut_to_precision(column.to_arrow(values), self.kinds[number])
        except Exception as error:
            for value in values:
                fault = column.fault(value, self.row_type.names[number])
                if fault:
                    raise self._misfit(fault.value, fault.expected, fault.field) from error
            raise

    def _misfit(self, value: Any, expected: str, field: str = "") -> TypeMismatchError:
        place = f" in column {field!r}" if field else ""
        return TypeMismatchError(
            f"{value!r:.200} of type {type(value).__name__}{place}, where {expected} is expected",
            where=self.runtime.where,
            fix="return a value of the declared type, or declare the type of the stream or column",
        )

    def _times(self, records: Records) -> pa.Array:
        assert self.rowtime is not None
        times = records.timestamps
        if times is None or MIN_TIMESTAMP in times:
            raise RecordError(
                f"a record without a timestamp has no {self.row_time_name()!r}",
                where=self.runtime.where,
                fix="give the stream timestamps: assign_timestamps_and_watermarks",
            )
        wanted = self.codec.schema.field(self.rowtime).type
        return pa.array(times, pa.timestamp("ms", tz=wanted.tz)).cast(wanted)

    def row_time_name(self) -> str:
        """The name of the column that takes timestamps."""
        assert self.rowtime is not None
        return self.line_type.get_field_names()[self.rowtime]


def cut_to_precision(array: pa.Array, kind: d.DataType) -> pa.Array:
    """Times without the digits that their type does not have."""
    if not isinstance(kind, d.TimestampType | d.LocalZonedTimestampType | d.TimeType):
        return array
    if kind.precision in (6, 9) or (isinstance(kind, d.TimeType) and kind.precision > 6):
        return array
    unit, digits = ("microsecond", 6) if kind.precision < 6 else ("nanosecond", 9)
    return pc.floor_temporal(array, 10 ** (digits - kind.precision), unit=unit)


def _all_records(values: list[Any]) -> bool:
    """Whether undeclared records are rows, or tuples, of one column."""
    return bool(values) and all(isinstance(value, Row | tuple) for value in values)


def _castable(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a cast gives what values would: of equal types, wider numbers, other times."""
    if found == wanted:
        return True
    if pa.types.is_integer(found) and pa.types.is_integer(wanted):
        return bool(found.bit_width <= wanted.bit_width)
    if pa.types.is_floating(found) and pa.types.is_floating(wanted):
        return bool(found.bit_width <= wanted.bit_width)
    if pa.types.is_time(found) and pa.types.is_time(wanted):
        return True
    if pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted):
        return bool(found.tz == wanted.tz)
    large = pa.types.is_large_string(found) and pa.types.is_string(wanted)
    return bool(large or (pa.types.is_large_binary(found) and pa.types.is_binary(wanted)))


class LinesToRecords(Operator):
    """Lines in, records out: rows with their kind where the lines have changes.

    Args:
        line_type: of the lines.
        type_info: of the records: a row, tuple or class of the columns' types, or the type of the
            only column.
        rowtime: the place of the column that gives records their timestamps, if any.
        newest_of: the places of a key whose last change alone is wanted; empty for all changes.
    """

    def __init__(
        self,
        line_type: RowDataTypeInfo,
        type_info: TypeInformation,
        rowtime: int | None = None,
        *,
        newest_of: tuple[int, ...] = (),
    ) -> None:
        self.line_type = line_type
        self.type_info = type_info
        self.rowtime = rowtime
        self.newest_of = newest_of

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.codec = RowDataCodec(self.line_type)
        self.target = codec_for(self.type_info)
        info = _unwrapped(self.type_info)
        self.single = not isinstance(info, RowTypeInfo | TupleTypeInfo)
        self.infos = _fields(self.type_info) or [self.type_info] * len(self.codec.columns)
        self.build: Callable[[tuple[Any, ...]], Any] = tuple
        if isinstance(info, RowTypeInfo | TupleTypeInfo):
            self.build = record_builder(info)
        elif isinstance(info, PickledBytesTypeInfo):
            names = self.line_type.get_field_names()
            self.build, self.single = (lambda values: Row.of_values(values, names)), False
        pairs = zip(self.line_type.get_data_types(), self.infos, strict=True)
        self.converts = [to_record_value(kind, field) for kind, field in pairs]

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = records.encoded(self.codec)
        times = records.timestamps if self.rowtime is None else self._times(lines)
        kept = newest_lines(lines, self.newest_of) if self.newest_of else None
        if kept is not None:
            lines = lines.take(pa.array(kept))
            times = None if times is None else [times[place] for place in kept]
        kinds = self._kinds(lines)
        batch = self._batch(lines) if kinds is None else None
        if batch is not None:
            self.output.emit(Records(timestamps=times, batch=batch, codec=self.target))
        else:
            self.output.emit(Records(self._values(lines, kinds), times))

    def _kinds(self, lines: pa.RecordBatch) -> list[int] | None:
        if not self.line_type.changes:
            return None
        kinds: list[int] = lines.column(lines.num_columns - 1).to_pylist()
        return kinds if any(kinds) else None

    def _batch(self, lines: pa.RecordBatch) -> pa.RecordBatch | None:
        if self.target.schema is None or len(self.target.schema) != len(self.infos):
            return None
        arrays = []
        parts = zip(
            self.line_type.get_data_types(), self.infos, self.target.schema.types, strict=True
        )
        for number, (kind, info, wanted) in enumerate(parts):
            array = lines.column(number)
            if not _same_form(info, kind) or not _castable(array.type, wanted):
                return None
            arrays.append(array if array.type == wanted else array.cast(wanted, safe=False))
        return pa.RecordBatch.from_arrays(arrays, schema=self.target.schema)

    def _values(self, lines: pa.RecordBatch, kinds: list[int] | None) -> list[Any]:
        columns = []
        for number, (column, convert) in enumerate(
            zip(self.codec.columns, self.converts, strict=True)
        ):
            values = column.to_python(lines.column(number))
            if convert is not None:
                values = [None if value is None else convert(value) for value in values]
            columns.append(values)
        if self.single and len(columns) == 1:
            return columns[0]
        found = list(map(self.build, zip(*columns, strict=True)))
        if kinds is not None:
            self._mark(found, kinds)
        return found

    def _mark(self, found: list[Any], kinds: list[int]) -> None:
        for record, kind in zip(found, kinds, strict=True):
            if isinstance(record, Row):
                record.set_row_kind(_KINDS[kind])
            elif kind:
                raise RecordError(
                    f"{_KINDS[kind]} of {record!r:.200} has no place in a {type(record).__name__}",
                    where=self.runtime.where,
                    fix="use to_changelog_stream, whose rows have a kind",
                )

    def _times(self, lines: pa.RecordBatch) -> list[int]:
        assert self.rowtime is not None
        array = lines.column(self.rowtime)
        if array.null_count:
            name = self.line_type.get_field_names()[self.rowtime]
            raise RecordError(
                f"the time attribute {name!r} is NULL in a line",
                where=self.runtime.where,
                fix="leave such lines out: WHERE ... IS NOT NULL",
            )
        millis = array.cast(pa.timestamp("ms", tz=array.type.tz), safe=False)
        found: list[int] = millis.cast(pa.int64()).to_pylist()
        return found
