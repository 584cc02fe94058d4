"""Many CSV lines to Arrow columns at once, where that gives what record by record would.

In: messages, each one line.  Out: a batch with the columns of the row's type, or None.
Next: csv_deserialization.py, which goes record by record then

Arrow's reader and Flink's differ in what they let pass; each check below closes such a gap.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from headrace.data.codec import codec_for
from headrace.formats.column_texts import ColumnsDiffer, dates, joined, sql_times, sql_timestamps

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import RowTypeInfo, TypeInformation
    from headrace.formats.csv_values import CsvSyntax

    Reading = tuple[pa.DataType, Callable[[pa.Array], pa.Array]]

__all__ = ["CsvColumns"]

_BLOCK_BYTES = 1 << 20
_BLANK = "".join(map(chr, range(33)))


class CsvColumns:
    """Reads batches of lines of one row type.

    Args:
        row: the type of the records.
        syntax: how the lines look.
        readings: for each field, what Arrow reads it as and what becomes of that.
    """

    def __init__(self, row: RowTypeInfo, syntax: CsvSyntax, readings: list[Reading]) -> None:
        self._schema = codec_for(row).schema
        self._syntax = syntax
        self._names = row.get_field_names()
        self._readings = readings
        self._whole_numbers = [
            name
            for name, (kind, _) in zip(self._names, readings, strict=True)
            if pa.types.is_integer(kind)
        ]
        self._parse = pv.ParseOptions(
            delimiter=syntax.separator, quote_char=syntax.quote, double_quote=True
        )
        null = syntax.null_text
        self._convert = pv.ConvertOptions(
            column_types={n: r[0] for n, r in zip(self._names, readings, strict=True)},
            null_values=[] if null is None else [null],
            strings_can_be_null=null is not None,
            quoted_strings_can_be_null=True,
        )
        # Cells with quotes around them, or without any: Arrow takes `"a"b` as well.
        sep, quote = re.escape(syntax.separator), re.escape(syntax.quote)
        cell = f"(?:{quote}(?:[^{quote}]|{quote}{quote})*{quote}|[^{sep}{quote}]*)"
        self._well_quoted = f"^{cell}(?:{sep}{cell})*\\z"

    @staticmethod
    def of(row: RowTypeInfo, syntax: CsvSyntax) -> CsvColumns | None:
        """The reader for a type; None if a part of it, or the syntax, has no column form."""
        plain = syntax.separator.isascii() and syntax.quote.isascii() and not syntax.escape
        readings = [_reading(kind) for kind in row.get_field_types()]
        if not plain or not readings or None in readings:
            return None
        return CsvColumns(row, syntax, [found for found in readings if found is not None])

    def read(self, messages: pa.BinaryArray) -> pa.RecordBatch | None:
        """The records as columns; None if they must be read one by one."""
        lines = self._lines(messages)
        if lines is None or not len(lines):
            return None
        try:
            table = self._table(lines, self._convert)
            if table.num_rows != len(messages) or self._hexadecimal(lines):
                return None
            arrays = [self._column(table, i) for i in range(len(self._names))]
        except (pa.ArrowException, ColumnsDiffer):
            return None
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _table(self, lines: pa.StringArray, convert: pv.ConvertOptions) -> pa.Table:
        longest = pc.max(pc.binary_length(lines)).as_py()
        # One thread: a worker has one core.
        options = pv.ReadOptions(
            use_threads=False,
            block_size=max(_BLOCK_BYTES, longest + 2),
            column_names=self._names,
        )
        source = pa.BufferReader(joined(lines))
        return pv.read_csv(source, options, self._parse, convert).combine_chunks()

    def _hexadecimal(self, lines: pa.StringArray) -> bool:
        """Whether a whole number was written as 0x10, which Arrow reads and Java does not."""
        if not self._whole_numbers or not _any(pc.match_substring(lines, "0x", ignore_case=True)):
            return False
        as_texts = pv.ConvertOptions(
            column_types=dict.fromkeys(self._whole_numbers, pa.string()),
            include_columns=self._whole_numbers,
        )
        texts = self._table(lines, as_texts).columns
        return any(_any(pc.match_substring(text, "0x", ignore_case=True)) for text in texts)

    def _column(self, table: pa.Table, place: int) -> pa.Array:
        chunks = table.column(place)
        array = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
        return self._readings[place][1](array)

    def _lines(self, messages: pa.BinaryArray) -> pa.StringArray | None:
        """The messages without their line ends; None if Arrow would see other lines or cells."""
        if messages.null_count:
            return None
        try:
            lines = messages.cast(pa.string())
        except pa.ArrowInvalid:
            return None
        if _any(pc.match_substring_regex(lines, "[\r\n]")):
            lines = pc.replace_substring_regex(lines, "(?:\r\n|\n|\r)\\z", "")
            if _any(pc.match_substring_regex(lines, "[\r\n]")):
                return None
        # Empty lines, which Arrow skips; marks of UTF-8, which it leaves in all but the first.
        if _any(pc.equal(pc.binary_length(lines), 0)) or _any(pc.starts_with(lines, "\ufeff")):
            return None
        return lines if self._plain(lines) else None

    def _plain(self, lines: pa.StringArray) -> bool:
        syntax = self._syntax
        if syntax.comments and _any(pc.match_substring_regex(lines, "^(?:#|[\\x00-\\x20]*\\z)")):
            return False
        if not _any(pc.match_substring(lines, syntax.quote)):
            return True
        return bool(pc.all(pc.match_substring_regex(lines, self._well_quoted)).as_py())


def _any(found: pa.BooleanArray) -> bool:
    return bool(pc.any(found).as_py())


def _reading(kind: TypeInformation) -> Reading | None:
    if isinstance(kind, ExternalTypeInfo):
        return _reading(kind.type_info)
    if isinstance(kind, BasicTypeInfo):
        return _BASIC.get(kind.basic_type)
    if isinstance(kind, LocalTimeTypeInfo):
        return pa.string(), _LOCAL[kind.time_type]
    if type(kind) in _TIMES:
        return pa.string(), _TIMES[type(kind)]
    return None


def _as_it_is(array: pa.Array) -> pa.Array:
    return array


def _booleans(texts: pa.Array) -> pa.Array:
    return pc.equal(pc.ascii_lower(pc.ascii_trim(texts, _BLANK)), "true")


def _doubles(array: pa.Array) -> pa.Array:
    # Arrow reads `inf` and `nan` in any case, Java only Infinity and NaN.
    numbers: Any = array.fill_null(0).to_numpy() if array.null_count else array.to_numpy()
    if not np.isfinite(numbers).all():
        raise ColumnsDiffer
    return array


def _floats(array: pa.Array) -> pa.Array:
    return _doubles(array).cast(pa.float32(), safe=False)


_BASIC: dict[BasicType, Reading] = {
    BasicType.STRING: (pa.string(), _as_it_is),
    BasicType.BOOLEAN: (pa.string(), _booleans),
    BasicType.BYTE: (pa.int8(), _as_it_is),
    BasicType.SHORT: (pa.int16(), _as_it_is),
    BasicType.INT: (pa.int32(), _as_it_is),
    BasicType.LONG: (pa.int64(), _as_it_is),
    BasicType.DOUBLE: (pa.float64(), _doubles),
    BasicType.FLOAT: (pa.float64(), _floats),
}
_TIMES: dict[type, Callable[[pa.Array], pa.Array]] = {
    DateTypeInfo: dates,
    TimeTypeInfo: sql_times,
    TimestampTypeInfo: sql_timestamps,
}
_LOCAL: dict[LocalTimeTypeInfo.TimeType, Callable[[pa.Array], pa.Array]] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: dates,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: sql_times,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: sql_timestamps,
}
