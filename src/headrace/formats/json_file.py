"""Lines of JSON files to columns, by the rules of Spark's reader.

    lines ── all at once (json_columns.py) ──▶ columns
          └─ where Arrow refuses: halves, and at last line by line (json_tree.py) ─▶ rows, bad lines

In: lines as bytes.  Out: `FileRows`.  Next: connectors/files/readers.py
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    Types,
    ZonedTimestampTypeInfo,
)
from headrace.data.codec import codec_for
from headrace.errors import UnsupportedStepError
from headrace.formats.file_values import column_of, converter_of, single_precision
from headrace.formats.json_columns import JsonColumns
from headrace.formats.json_tree import NOTHING, ArrayNode, BadJson, NumberText, ObjectNode, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.common.typeinfo import TypeInformation

    Maker = Callable[[Any, "list[bool]"], Any]

__all__ = ["FileRows", "JsonFileReader"]

_SMALL = 64


@dataclass(frozen=True, slots=True)
class FileRows:
    """Some records of a file.

    Attributes:
        batch: the declared columns.
        bad: (row, its text) of records that do not fit them; what could be read is in the batch.
    """

    batch: pa.RecordBatch
    bad: tuple[tuple[int, str], ...] = ()


class JsonFileReader:
    """Reads lines of one row type.

    Args:
        row: the declared columns, without that for the text of bad lines.

    Raises:
        UnsupportedStepError: a column of the type cannot be read from JSON.
    """

    def __init__(self, row: RowTypeInfo) -> None:
        schema = codec_for(row).schema
        assert schema is not None
        self._schema = schema
        self._names = schema.names
        # whole rows only: a row of a list may have lost one field and kept the others
        self._struct = pa.struct(list(schema))
        self._make = _maker(self._struct)
        kinds = [_read_as(kind) for kind in row.get_field_types()]
        columns = JsonColumns.of(Types.ROW_NAMED(self._names, kinds), complete=False)
        self._columns = columns

    def read(self, lines: pa.BinaryArray) -> Iterator[FileRows]:
        """The records of lines, in order; blank lines have none."""
        if not len(lines):
            return
        batch = self._at_once(lines)
        if batch is not None:
            yield FileRows(batch)
        elif len(lines) <= _SMALL:
            yield self._one_by_one(lines.to_pylist())
        else:
            half = len(lines) // 2
            yield from self.read(lines.slice(0, half))
            yield from self.read(lines.slice(half))

    def _at_once(self, lines: pa.BinaryArray) -> pa.RecordBatch | None:
        found = None if self._columns is None else self._columns.read(lines)
        if found is None:
            return None
        arrays = []
        for array, field in zip(found.columns, self._schema, strict=True):
            fitted = array if array.type == field.type else _converted(array, field.type)
            if fitted is None:
                return None
            arrays.append(fitted)
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _one_by_one(self, lines: list[bytes]) -> FileRows:
        rows: list[dict[str, Any]] = []
        bad: list[tuple[int, str]] = []
        for line in lines:
            found, is_bad = self._rows(line.decode("utf-8", "surrogateescape"))
            if is_bad:
                text = line.decode("utf-8", "replace")
                bad += [(len(rows) + number, text) for number in range(len(found))]
            rows += found
        # a struct without fields that is null would otherwise be an array of nulls
        structs = pa.array(rows, self._struct)
        return FileRows(
            pa.RecordBatch.from_arrays(structs.flatten(), schema=self._schema), tuple(bad)
        )

    def _rows(self, text: str) -> tuple[list[dict[str, Any]], bool]:
        """The records of a line, most often one, and whether a part of it does not fit."""
        flags: list[bool] = []
        try:
            root = parsed(text)
            if root is NOTHING:
                return [], False
            objects = root.items if isinstance(root, ArrayNode) else [root]
            if not all(isinstance(item, ObjectNode) for item in objects):
                raise BadJson("not an object")
            return [self._make(item, flags) for item in objects], bool(flags)
        except (BadJson, RecursionError):
            return [dict.fromkeys(self._names)], True


# --- columns --------------------------------------------------------------------------------------

_TIMES = (DateTypeInfo, TimestampTypeInfo, ZonedTimestampTypeInfo, LocalTimeTypeInfo)


def _read_as(kind: TypeInformation) -> TypeInformation:
    """What Arrow reads a field as; times have another form here than in messages."""
    if isinstance(kind, _TIMES) or kind == Types.INSTANT():
        return Types.STRING()
    if isinstance(kind, BasicTypeInfo):
        return _READ_AS.get(kind.basic_type, kind)
    return kind


_READ_AS = {
    BasicType.FLOAT: Types.DOUBLE(),
    BasicType.CHAR: Types.STRING(),
    BasicType.BIG_DEC: Types.STRING(),
    BasicType.BIG_INT: Types.STRING(),
}


def _converted(array: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """A column as its declared type; None if it has to be read line by line."""
    if pa.types.is_float32(kind):
        numbers: Any = array.fill_null(0).to_numpy(zero_copy_only=False)
        # Half way between two floats: rounding twice could differ from rounding the text once.
        halfway = (numbers.view(np.int64) & 0x1FFFFFFF) == 0x10000000
        return None if halfway.any() else array.cast(kind, safe=False)
    if not pa.types.is_string(array.type) or pc.any(pc.equal(array, "")).as_py():
        return None
    found, bad = column_of(array, kind)
    return None if bad else found


# --- line by line ---------------------------------------------------------------------------------


class _Misfit(Exception):
    """A value is not of its type: the field is null."""


def _maker(kind: pa.DataType) -> Maker:
    """What makes a Python value of a parsed one; notes in a list that a part of it is lost."""
    if pa.types.is_struct(kind):
        return _struct_maker(kind)
    if pa.types.is_list(kind):
        element = _nullable(_maker(kind.value_type))
        return lambda node, flags: [element(item, flags) for item in _kind_of(ArrayNode, node)]
    if pa.types.is_map(kind):
        value = _nullable(_maker(kind.item_type))
        if not pa.types.is_string(kind.key_type):
            raise _unsupported(kind)
        return lambda node, flags: [
            (key, value(item, flags)) for key, item in dict(_kind_of(ObjectNode, node)).items()
        ]
    convert = _scalar(kind)
    return lambda node, _: convert(node)


def _kind_of(kind: type[Any], node: Any) -> Any:
    if not isinstance(node, kind):
        raise _Misfit
    return node.items


def _nullable(make: Maker) -> Maker:
    return lambda node, flags: None if node is None else make(node, flags)


def _struct_maker(kind: pa.StructType) -> Maker:
    makers = {field.name: _nullable(_maker(field.type)) for field in kind}

    def make(node: Any, flags: list[bool]) -> dict[str, Any]:
        found = dict.fromkeys(makers)
        for name, item in _kind_of(ObjectNode, node):
            maker = makers.get(name)
            if maker is None:
                continue
            try:
                found[name] = maker(item, flags)
            except (_Misfit, ValueError, ArithmeticError):
                flags.append(True)
        return found

    return make


def _scalar(kind: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_string(kind):
        return _text
    if pa.types.is_boolean(kind):
        return _boolean
    if pa.types.is_signed_integer(kind):
        return _whole(kind.bit_width)
    if pa.types.is_floating(kind):
        return _single if pa.types.is_float32(kind) else _double
    if pa.types.is_binary(kind):
        return lambda node: base64.b64decode(_string(node), validate=True)
    if pa.types.is_date(kind):
        convert = converter_of(kind)
        return lambda node: convert(_string(node))
    if pa.types.is_timestamp(kind):
        return _moment(kind)
    raise _unsupported(kind)


def _unsupported(kind: pa.DataType) -> UnsupportedStepError:
    return UnsupportedStepError(
        f"a column of type {kind} cannot be read from a JSON file",
        fix="declare Types.STRING() for it, and convert it in a map()",
    )


def _string(node: Any) -> str:
    if not isinstance(node, str) or isinstance(node, NumberText):
        raise _Misfit
    return node


def _text(node: Any) -> str:
    """Any value as a text: a part of the line as it stands there, if it is not one itself."""
    if isinstance(node, str):
        return str(node)
    if isinstance(node, bool):
        return "true" if node else "false"
    return str(node.text)


def _boolean(node: Any) -> bool:
    if not isinstance(node, bool):
        raise _Misfit
    return node


_DIGITS = re.compile(r"-?[0-9]+")


def _whole(bits: int) -> Callable[[Any], int]:
    limit = 1 << (bits - 1)
    # Jackson takes a byte without a sign, too.
    top = 256 if bits == 8 else limit

    def convert(node: Any) -> int:
        if not isinstance(node, NumberText) or not _DIGITS.fullmatch(node):
            raise _Misfit
        number = int(node)
        if not -limit <= number < top:
            raise _Misfit
        return number - 256 if number >= limit else number

    return convert


_NAMED = {
    "NaN": float("nan"),
    **dict.fromkeys(("Infinity", "+INF", "+Infinity"), float("inf")),
    **dict.fromkeys(("-Infinity", "-INF"), float("-inf")),
}


def _double(node: Any) -> float:
    if not isinstance(node, NumberText):
        return _named(node)
    named = _NAMED.get(node)
    if named is not None:
        return named
    return float(int(node)) if _DIGITS.fullmatch(node) and len(node) < 300 else float(node)


def _single(node: Any) -> float:
    if not isinstance(node, NumberText):
        return _named(node)
    return _NAMED[node] if node in _NAMED else single_precision(str(node))


def _named(node: Any) -> float:
    if not isinstance(node, str) or node not in _NAMED:
        raise _Misfit
    return _NAMED[node]


def _moment(kind: pa.DataType) -> Callable[[Any], Any]:
    convert = converter_of(kind)

    def moment(node: Any) -> Any:
        if kind.tz is not None and isinstance(node, NumberText) and _DIGITS.fullmatch(node):
            return int(node) * 1_000_000
        return convert(_string(node))

    return moment
