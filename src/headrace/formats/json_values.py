"""Parsed JSON to values of a declared type, by Flink's rules.

In: what the json module made of a message.  Out: a record, or a `ValueError` with the field.
Next: java_parsing.py (texts), json_deserialization.py (messages)

Flink reads leniently: a number may be a text and the other way round, ``1.9`` is a LONG of 1,
whatever is not true is false, a map that is no object is empty. Checked value by value against
Flink in tests/unit/formats/test_against_flink.py.
"""

from __future__ import annotations

import datetime as dt
import decimal
from itertools import starmap
from typing import TYPE_CHECKING, Any

from headrace.common.time import Instant
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ClassTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    ZonedTimestampTypeInfo,
    _ElementTypeInfo,
)
from headrace.common.types import Row
from headrace.data.record_shapes import ClassShape
from headrace.errors import InvalidArgumentError
from headrace.formats import java_parsing as parse
from headrace.formats.json_text import quoted
from headrace.formats.text_form import java_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import TypeInformation

    Converter = Callable[[Any], Any]

__all__ = ["JsonFields", "basic_converter", "converter_for", "has_decimals", "json_text"]


class JsonFields:
    """How fields are read.

    Attributes:
        fail_on_missing: a field that an object does not have is an error, else None.
        ignore_errors: a field that cannot be read is None, else an error.
    """

    def __init__(self, *, fail_on_missing: bool, ignore_errors: bool) -> None:
        self.fail_on_missing = fail_on_missing
        self.ignore_errors = ignore_errors


def converter_for(kind: TypeInformation, how: JsonFields) -> Converter:
    """A function from a parsed JSON value to a value of the type; null is None.

    Raises:
        InvalidArgumentError: JSON has no form for the type.
    """
    convert = _converter(kind, how)

    def checked(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (ValueError, ArithmeticError, TypeError, RecursionError):
            if how.ignore_errors:
                return None
            raise

    return checked


def has_decimals(kind: TypeInformation) -> bool:
    """Whether a type has BIG_DEC in it: then Flink reads all fractions as decimals."""
    if isinstance(kind, RowTypeInfo):
        return any(map(has_decimals, kind.get_field_types()))
    if isinstance(kind, MapTypeInfo):
        return has_decimals(kind.key_type) or has_decimals(kind.value_type)
    if isinstance(kind, _ElementTypeInfo):
        return has_decimals(kind.element_type)
    if isinstance(kind, ExternalTypeInfo):
        return has_decimals(kind.type_info)
    return isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.BIG_DEC


def _converter(kind: TypeInformation, how: JsonFields) -> Converter:
    if isinstance(kind, BasicTypeInfo):
        return _BASIC[kind.basic_type]
    if isinstance(kind, RowTypeInfo):
        return _row(kind, how)
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind.element_type == BasicTypeInfo(
        BasicType.BYTE
    ):
        return lambda value: parse.base64_bytes(value) if isinstance(value, str) else None
    if isinstance(kind, _ElementTypeInfo):
        nullable = not isinstance(kind, PrimitiveArrayTypeInfo)
        return _list(converter_for(kind.element_type, how), nullable=nullable)
    if isinstance(kind, MapTypeInfo):
        return _map(converter_for(kind.key_type, how), converter_for(kind.value_type, how))
    if isinstance(kind, LocalTimeTypeInfo):
        return _LOCAL[kind.time_type]
    if isinstance(kind, ExternalTypeInfo):
        return _converter(kind.type_info, how)
    if type(kind) in _BY_CLASS:
        return _BY_CLASS[type(kind)]
    raise InvalidArgumentError(
        f"a field of type {kind} cannot be read from JSON",
        where="JsonRowDeserializationSchema",
        fix="declare a ROW, an array, a MAP or a basic type; or read the message as text with "
        "SimpleStringSchema and parse it in a map",
    )


# --- texts and numbers ----------------------------------------------------------------------------


def scalar_text(value: Any) -> str:
    """A scalar as Flink's JSON library shows it as text; containers have none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float | decimal.Decimal):
        return java_text(value)
    return ""


def json_text(value: Any) -> str:
    """A value as JSON again, in the notation of Flink's library: what a STRING field gets."""
    if isinstance(value, str):
        return quoted(value, pairs=False)
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{quoted(k, pairs=False)}:{json_text(v)}" for k, v in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    return "null" if value is None else scalar_text(value)


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json_text(value) if isinstance(value, dict | list) else scalar_text(value)


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else parse.boolean(scalar_text(value))


def _integer(bits: int) -> Converter:
    """INT and LONG: fractions are cut off."""
    limit, from_text = 1 << (bits - 1), parse.whole_number(bits)

    def convert(value: Any) -> int:
        kind = type(value)
        if kind is int:
            if -limit <= value < limit:
                return value  # type: ignore[no-any-return]
        elif kind is float:
            # Java compares as doubles, where the largest LONG is 2**63, and casts to the largest.
            if -limit <= value <= (limit if bits == 64 else limit - 1):
                return min(int(value), limit - 1)
        elif kind is decimal.Decimal and -limit <= value <= limit - 1:
            return int(value)
        return from_text(scalar_text(value))

    return convert


def _narrow_integer(bits: int) -> Converter:
    """BYTE and SHORT: their text must be a whole number."""
    from_text = parse.whole_number(bits)
    return lambda value: from_text(scalar_text(value))


def _double(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    if type(value) is decimal.Decimal:
        return float(value)
    return parse.double(scalar_text(value))


def _big_decimal(value: Any) -> decimal.Decimal:
    if type(value) is decimal.Decimal:
        return value
    return parse.big_decimal(scalar_text(value))


_any_integer = parse.whole_number(None)


def _big_integer(value: Any) -> int:
    return value if type(value) is int else _any_integer(scalar_text(value))


def _character(value: Any) -> str | None:
    if isinstance(value, str) and len(value) <= 1:
        return value or None
    if type(value) is int and 0 <= value < 0xD800:
        return chr(value)
    raise ValueError(f"{value!r:.60} is not one character")


# --- times ----------------------------------------------------------------------------------------


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _moment(value: Any) -> dt.datetime:
    """A point in time: seconds since 1970, or ISO 8601 with an offset."""
    if type(value) in (int, float, decimal.Decimal):
        return _EPOCH + dt.timedelta(microseconds=int(decimal.Decimal(value) * 1_000_000))
    found = dt.datetime.fromisoformat(scalar_text(value))
    if found.tzinfo is None:
        raise ValueError(f"{value!r:.60} has no offset from UTC, such as Z")
    return found.astimezone(dt.UTC)


def _instant(value: Any) -> Instant:
    past = _moment(value) - _EPOCH
    return Instant(past.days * 86400 + past.seconds, past.microseconds * 1000)


def _text_then(convert: Callable[[str], Any]) -> Converter:
    return lambda value: convert(scalar_text(value))


_BASIC: dict[BasicType, Converter] = {
    BasicType.STRING: _string,
    BasicType.BOOLEAN: _boolean,
    BasicType.BYTE: _narrow_integer(8),
    BasicType.SHORT: _narrow_integer(16),
    BasicType.INT: _integer(32),
    BasicType.LONG: _integer(64),
    BasicType.FLOAT: lambda value: parse.single(_double(value)),
    BasicType.DOUBLE: _double,
    BasicType.CHAR: _character,
    BasicType.BIG_INT: _big_integer,
    BasicType.BIG_DEC: _big_decimal,
    BasicType.INSTANT: _instant,
}
_LOCAL: dict[LocalTimeTypeInfo.TimeType, Converter] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: _text_then(parse.iso_date),
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: _text_then(parse.iso_time),
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: _text_then(parse.iso_timestamp),
}
_BY_CLASS: dict[type, Converter] = {
    DateTypeInfo: _text_then(parse.iso_date),
    TimeTypeInfo: _text_then(parse.iso_time),
    TimestampTypeInfo: _text_then(parse.iso_timestamp),
    ZonedTimestampTypeInfo: _moment,
}


# --- containers -----------------------------------------------------------------------------------


def _list(element: Converter, *, nullable: bool) -> Converter:
    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f"{json_text(value):.60} is not an array")
        if not nullable and None in value:
            raise ValueError("a primitive array has no place for null")
        return list(map(element, value))

    return convert


def _map(key: Converter, item: Converter) -> Converter:
    def convert(value: Any) -> dict[Any, Any]:
        pairs = value.items() if isinstance(value, dict) else ()
        return dict(starmap(lambda k, v: (key(k), item(v)), pairs))

    return convert


def _row(kind: RowTypeInfo, how: JsonFields) -> Converter:
    names = kind.get_field_names()
    fields = [
        (n, converter_for(t, how)) for n, t in zip(names, kind.get_field_types(), strict=True)
    ]
    make = _maker(kind, names)

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"{json_text(value):.60} is not an object")
        values: list[Any] = []
        for name, field in fields:
            found = value.get(name)
            if found is None:
                if how.fail_on_missing and name not in value:
                    raise ValueError(f"the field {name!r} is missing")
                values.append(None)
                continue
            try:
                values.append(field(found))
            except (ValueError, ArithmeticError, TypeError) as error:
                raise ValueError(f"field {name!r}: {error}") from None
        return make(values)

    return convert


def _maker(kind: RowTypeInfo, names: list[str]) -> Callable[[list[Any]], Any]:
    if isinstance(kind, ClassTypeInfo):
        shape = ClassShape(kind)
        return lambda values: shape.put_together([[value] for value in values], 1)[0]
    return lambda values: Row.of_values(tuple(values), names)


def basic_converter(kind: BasicType) -> Converter:
    """What reads a value of a basic type; tables read theirs by the same rules."""
    return _BASIC[kind]
