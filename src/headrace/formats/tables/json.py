"""The format ``json`` of tables: an object a line.

In: messages, or lines.  Out: the other.  Next: formats/tables/json_lines.py has the values;
formats/tables/changelog_json.py has the formats that tell changes
"""

from __future__ import annotations

import decimal
import json
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.common import data_types as d
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.common.typeinfo import RowTypeInfo
from headrace.data.row_data import arrow_schema
from headrace.errors import ConfigurationError
from headrace.formats.bad_messages import bad_message
from headrace.formats.json_columns import JsonColumns
from headrace.formats.tables.json_lines import (
    JsonForm,
    json_reader,
    json_writer,
    needs_decimals,
)
from headrace.spi.table_connector import option
from headrace.spi.table_format import FormatOptions, LineReader, LineWriter, TableFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from headrace.common.data_types import RowType

FAIL_ON_MISSING = option(
    "fail-on-missing-field", "boolean", default=False, doc="a missing field is an error"
)
IGNORE_ERRORS = option(
    "ignore-parse-errors", "boolean", default=False, doc="what cannot be read is left out"
)
STANDARD = option(
    "timestamp-format.standard", "enum", "SQL", "how timestamps look", ("SQL", "ISO-8601")
)
NULL_KEYS = option(
    "map-null-key.mode", "enum", "FAIL", "keys that are NULL", ("FAIL", "DROP", "LITERAL")
)
NULL_KEY_TEXT = option("map-null-key.literal", default="null", doc="stands for a key that is NULL")
PLAIN_DECIMALS = option(
    "encode.decimal-as-plain-number", "boolean", default=False, doc="no exponents"
)
IGNORE_NULLS = option(
    "encode.ignore-null-fields", "boolean", default=False, doc="NULL fields are not written"
)
JSON_PARSER = option("decode.json-parser.enabled", "boolean", default=True, doc="without effect")
JSON_OPTIONS = (
    FAIL_ON_MISSING, IGNORE_ERRORS, STANDARD, NULL_KEYS, NULL_KEY_TEXT, PLAIN_DECIMALS,
    IGNORE_NULLS, JSON_PARSER,
)  # fmt: skip


def json_form(options: FormatOptions) -> JsonForm:
    """How a table's options want JSON.

    Raises:
        ConfigurationError: two of them exclude each other.
    """
    fail, ignore = options.get(FAIL_ON_MISSING), options.get(IGNORE_ERRORS)
    if fail and ignore:
        raise ConfigurationError(
            f"{options.prefix}{FAIL_ON_MISSING.key} and {options.prefix}{IGNORE_ERRORS.key} "
            "cannot both be true",
            where=options.where,
            fix="set one of them",
        )
    return JsonForm(
        standard=options.get(STANDARD),
        fail_on_missing=bool(fail),
        ignore_errors=bool(ignore),
        plain_decimals=bool(options.get(PLAIN_DECIMALS)),
        ignore_nulls=bool(options.get(IGNORE_NULLS)),
    )


class JsonTables(TableFormat):
    """A JSON object for each line."""

    name: ClassVar[str] = "json"
    options = JSON_OPTIONS
    file_suffix = ".json"

    def reader(
        self, columns: RowType, options: FormatOptions, metadata: Sequence[str] = ()
    ) -> LineReader:
        form = json_form(options)
        json_reader(columns, form)  # refuses now what could never be read
        return JsonLineReader(columns, form, f"'{options.prefix}{IGNORE_ERRORS.key}' = 'true'")

    def writer(self, columns: RowType, options: FormatOptions) -> LineWriter:
        form = json_form(options)
        json_writer(columns, form)
        return JsonLineWriter(columns, form)


class JsonLineReader(LineReader):
    """Reads lines from JSON objects, and from arrays of them."""

    def __init__(self, columns: RowType, form: JsonForm, lenient: str) -> None:
        self.columns = columns
        self.form = form
        self.lenient = lenient
        # rebuilt on first use: closures do not travel to workers
        self._read: Callable[[Any], Any] | None = None
        self._many: JsonColumns | bool | None = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": None, "_many": False}

    def read(self, message: bytes) -> Sequence[tuple[Any, ...]]:
        if self._read is None:
            self._read = json_reader(self.columns, self.form)
        try:
            parsed = parsed_json(message, decimals=needs_decimals(self.columns))
            found = parsed if isinstance(parsed, list) else [parsed]
            return [line for line in map(self._read, found) if line is not None]
        except (ValueError, ArithmeticError, RecursionError, TypeError) as error:
            if self.form.ignore_errors:
                return ()
            raise bad_message(message, "JSON", error, type(self), self.lenient) from error

    def read_columns(self, messages: pa.BinaryArray) -> pa.RecordBatch | None:
        if self._many is False:
            self._many = None
            if all(isinstance(kind, _SAME_IN_ARROW) for kind in self.columns.field_types()):
                info = self.columns.to_type_info()
                assert isinstance(info, RowTypeInfo)
                self._many = JsonColumns.of(info, complete=self.form.fail_on_missing)
        found = self._many.read(messages) if isinstance(self._many, JsonColumns) else None
        if found is None:
            return None
        return found.cast(arrow_schema(RowDataTypeInfo(self.columns)))


_SAME_IN_ARROW = (d.BooleanType, d.IntType, d.BigIntType, d.DoubleType, d.VarCharType)


def parsed_json(message: bytes, *, decimals: bool) -> Any:
    """The JSON value of a message; what stands behind it does not matter, as in Flink."""
    if message[:1] in (b"{", b"[") and message[1:2] != b"\x00":
        text = str(message, "utf-8")
    else:
        text = str(message, json.detect_encoding(bytes(message))).lstrip(" \t\r\n\ufeff")
    if not text:
        return None
    found = (_DECIMALS if decimals else _FLOATS)(text)[0]
    if "\\ud" in text or "\\uD" in text:
        json.dumps(found, ensure_ascii=False, default=str).encode()  # half a pair is no character
    return found


def _no_constant(name: str) -> Any:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


_FLOATS = json.JSONDecoder(parse_constant=_no_constant).raw_decode
_DECIMALS = json.JSONDecoder(parse_constant=_no_constant, parse_float=decimal.Decimal).raw_decode


class JsonLineWriter(LineWriter):
    """Writes lines as JSON objects."""

    def __init__(self, columns: RowType, form: JsonForm) -> None:
        self.columns = columns
        self.form = form
        self._write: Callable[[Any], str] | None = None  # rebuilt on first use: a closure

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_write": None}

    def text(self, values: tuple[Any, ...]) -> str:
        """The object of a line."""
        if self._write is None:
            self._write = json_writer(self.columns, self.form)
        return self._write(values)

    def write(self, values: tuple[Any, ...], kind: int = 0) -> bytes:
        return self.text(values).encode()

    def write_many(self, lines: Sequence[tuple[Any, ...]]) -> list[bytes | None]:
        # JSON has no raw line feed: encoding all at once is faster than one by one.
        found: list[bytes | None] = list("\n".join(map(self.text, lines)).encode().split(b"\n"))
        return found if lines else []
