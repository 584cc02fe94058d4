"""Messages with one JSON object each to rows.

In: bytes, such as the values of a Kafka topic.  Out: rows of the declared type.
Next: json_values.py (record by record), json_columns.py (many at once)
"""

from __future__ import annotations

import decimal
import json
from typing import TYPE_CHECKING, Any

from headrace.common.serialization import DeserializationSchema
from headrace.common.type_inference import infer_type
from headrace.common.typeinfo import RowTypeInfo
from headrace.common.types import Row
from headrace.errors import InvalidArgumentError
from headrace.formats.bad_messages import bad_message
from headrace.formats.json_columns import JsonColumns
from headrace.formats.json_schema import row_type_of
from headrace.formats.json_values import JsonFields, converter_for, has_decimals

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from headrace.common.typeinfo import TypeInformation

__all__ = ["JsonRowDeserializationSchema"]


class JsonRowDeserializationSchema(DeserializationSchema):
    """Turns messages with one JSON object each into rows; make one with `builder`.

    A field that an object does not have is None, and fields that the type does not have are
    ignored. Values are read leniently, as Flink reads them: ``"7"`` and ``7.9`` are a LONG of 7.

    Example:
        >>> from headrace.common.typeinfo import Types
        >>> row = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> schema = JsonRowDeserializationSchema.builder().type_info(row).build()
        >>> schema.deserialize(b'{"name": "tea", "id": 1}')
        Row(id=1, name='tea')
    """

    def __init__(
        self, type_info: RowTypeInfo, *, fail_on_missing_field: bool, ignore_parse_errors: bool
    ) -> None:
        self._type_info = type_info
        self._how = JsonFields(
            fail_on_missing=fail_on_missing_field, ignore_errors=ignore_parse_errors
        )
        # rebuilt on first use: closures do not travel to workers
        self._decode: Callable[[bytes], Any] | None = None
        self._columns: JsonColumns | bool | None = False
        converter_for(type_info, self._how)  # refuses now what could never be read

    def deserialize(self, message: bytes) -> Any:
        """The row; None for the message ``null``, and for bad messages if those are ignored."""
        if self._decode is None:
            self._decode = _decoder(self._type_info, self._how)
        try:
            return self._decode(message)
        except (ValueError, ArithmeticError, RecursionError, TypeError) as error:
            if self._how.ignore_errors:
                return None
            raise bad_message(
                message, "JSON", error, type(self), "ignore_parse_errors()"
            ) from error

    def deserialize_columns(self, messages: pa.BinaryArray) -> pa.RecordBatch | None:
        """The rows as columns; None if Arrow's reader cannot take these messages or this type."""
        if self._columns is False:
            self._columns = JsonColumns.of(self._type_info, complete=self._how.fail_on_missing)
        return self._columns.read(messages) if isinstance(self._columns, JsonColumns) else None

    def get_produced_type(self) -> TypeInformation:
        """The declared row."""
        return self._type_info

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_decode": None, "_columns": False}

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """A builder; it needs the type of the rows."""
        return JsonRowDeserializationSchema.Builder()

    class Builder:
        """Collects the settings."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Sets the type of the rows; its field names are the names in the objects.

            A dataclass, NamedTuple or TypedDict is taken too, and its instances are made. Ours.
            """
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Sets the type of the rows by a JSON schema; its numbers are decimals, as in Flink."""
            self._type_info = row_type_of(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """A field that an object does not have is an error, rather than None."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Skips messages that are no JSON objects; fields that cannot be read are None."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema.

            Raises:
                InvalidArgumentError: no row type was given, or two settings exclude each other.
            """
            if self._fail_on_missing_field and self._ignore_parse_errors:
                raise InvalidArgumentError(
                    "a missing field cannot both fail and be ignored",
                    fix="call fail_on_missing_field() or ignore_parse_errors(), not both",
                )
            return JsonRowDeserializationSchema(
                row_type(self._type_info, "JsonRowDeserializationSchema.builder()", "type_info"),
                fail_on_missing_field=self._fail_on_missing_field,
                ignore_parse_errors=self._ignore_parse_errors,
            )


def row_type(kind: Any, where: str, setter: str) -> RowTypeInfo:
    """A row type that the user declared, also as a class with type hints."""
    found = kind if kind is None else infer_type(kind)
    if isinstance(found, RowTypeInfo):
        return found
    what = "the type of the rows is missing" if kind is None else f"{kind!r} is not a type of rows"
    raise InvalidArgumentError(
        what, where=where, fix=f"call {setter}(Types.ROW_NAMED(field names, field types))"
    )


def _decoder(row: RowTypeInfo, how: JsonFields) -> Callable[[bytes], Any]:
    convert = converter_for(row, how)
    scan = json.JSONDecoder(
        parse_constant=_no_constant,
        parse_float=_stripped_decimal if has_decimals(row) else None,
    ).raw_decode

    def decode(message: bytes) -> Any:
        text = _text(message)
        # What stands behind the object does not matter, as in Flink.
        record = convert(scan(text, len(text) - len(text.lstrip(" \t\r\n")))[0])
        if "\\ud" in text or "\\uD" in text:
            _check_characters(record)
        return record

    return decode


def _text(message: bytes) -> str:
    if message[:1] == b"{" and message[1:2] != b"\x00":
        return str(message, "utf-8")
    return str(message, json.detect_encoding(bytes(message)))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# No rounding: of a decimal, every digit counts.
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def _stripped_decimal(text: str) -> decimal.Decimal:
    """A number without zeros at its end, as Flink's JSON library keeps it."""
    return decimal.Decimal(text).normalize(_EXACT) or decimal.Decimal(0)


def _check_characters(value: Any) -> None:
    """Refuses half of a surrogate pair: it is no character, and no column could hold it."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict):
        _check_characters([*value, *value.values()])
    elif isinstance(value, Row | list | tuple):
        for item in value:
            _check_characters(item)
    elif hasattr(value, "__dict__"):
        _check_characters(value.__dict__)
