"""Codes and characters, charsets, addresses, PRINTF, TYPEOF.

In: values.  Out: entries.  Next: scalars/java_formatter.py, scalars/java_urls.py
"""

from __future__ import annotations

import codecs
import re
from datetime import date, time
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.scalars import types as kinds
from headrace.scalars.functions.entry import BoundCall, FunctionEntry, RowBody
from headrace.scalars.functions.rules import (
    ANY,
    BINARY,
    BOOLEAN,
    INTEGRAL,
    STRING,
    VARBINARY,
    VARCHAR,
    literal,
    takes,
)
from headrace.scalars.java_formatter import FormatProblemError, Printed, java_format
from headrace.scalars.java_numbers import double_text, float_text
from headrace.scalars.java_urls import decode_form, encode_form, url_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import Operand

_EPOCH = date(1970, 1, 1).toordinal()
_MAX_IP = 0xFFFFFFFF
# Java's UTF-16 writes big-endian with a mark in front.
_CHARSETS = {"UTF-16": "utf-16-be", "UTF_16": "utf-16-be", "UTF-32": "utf-32-be"}


# --- charsets ------------------------------------------------------------------------------------


def _codec(charset: str) -> str:
    try:
        return codecs.lookup(charset).name
    except LookupError:
        message = f"there is no charset {charset!r}"
        fix = "name US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE, UTF-16 or another of Python's"
        raise InvalidArgumentError(message, fix=fix) from None


def encode(text: str, charset: str) -> bytes:
    """The text in a charset; what it does not have becomes a question mark."""
    if charset.upper() in ("UTF-16", "UTF_16"):
        return b"\xfe\xff" + text.encode("utf-16-be") if text else b""
    return text.encode(_CHARSETS.get(charset.upper()) or _codec(charset), "replace")


def decode(data: bytes, charset: str) -> str:
    """The text of bytes in a charset; what is none becomes a replacement character."""
    if charset.upper() in ("UTF-16", "UTF_16") and data[:2] in (b"\xfe\xff", b"\xff\xfe"):
        return data.decode("utf-16", "replace")
    return data.decode(_CHARSETS.get(charset.upper()) or _codec(charset), "replace")


def chr_of(code: int) -> str:
    """The character of the last eight bits; none for a negative number."""
    return chr(code & 0xFF) if code >= 0 else ""


# --- addresses -----------------------------------------------------------------------------------


def parse_url(address: str, part: str, key: str | None = None) -> str | None:
    """A part of an address, or a parameter of its query."""
    parts = url_parts(address)
    found = None if parts is None else parts.get(part)
    if key is None or found is None:
        return found
    if part != "QUERY":
        return None
    match = re.search(f"(?:&|^){re.escape(key)}=([^&]*)", found)
    return None if match is None else match[1]


def inet_aton(address: str) -> int | None:
    """The number of an IPv4 address; as in MySQL it may have fewer than four parts."""
    parts = address.split(".")
    fits = all(part.isascii() and part.isdigit() and int(part) <= 255 for part in parts)
    if not fits or len(parts) > 4:
        return None
    *front, last = (int(part) for part in parts)
    return sum(number << shift for number, shift in zip(front, (24, 16, 8), strict=False)) | last


def inet_ntoa(number: int) -> str | None:
    """The IPv4 address of a number."""
    if not 0 <= number <= _MAX_IP:
        return None
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


# --- PRINTF --------------------------------------------------------------------------------------


def _days(value: date) -> int:
    return value.toordinal() - _EPOCH


def _milliseconds(value: time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000


def _iso(value: Any) -> str:
    text: str = value.replace(tzinfo=None).isoformat()
    _, point, fraction = text.partition(".")
    while point and len(fraction) > 3 and fraction.endswith("000"):
        text, fraction = text[:-3], fraction[:-3]
    return text


def _printer(type_: DataType) -> Callable[[Any], Printed]:
    """What makes of a value what the formatter prints; as Flink holds it inside."""
    match type_:
        case t.DateType():
            return lambda v: Printed(_days(v), str(_days(v)), 32, _days(v))
        case t.TimeType():
            return lambda v: Printed(_milliseconds(v), str(_milliseconds(v)), 32, _milliseconds(v))
        case t.DoubleType():
            return lambda v: Printed(v, double_text(v))
        case t.FloatType():
            return lambda v: Printed(float(float_text(v)), float_text(v))
        case t.BooleanType():
            return lambda v: Printed(v, str(v).lower(), hash=1231 if v else 1237)
        case t.TimestampType() | t.LocalZonedTimestampType():
            return lambda v: Printed(v, _iso(v))
    bits = kinds.INTEGER_BITS.get(type(type_), 0)
    if kinds.is_interval(type_):
        bits = 32 if kinds.is_months(type_) else 64
    if bits:
        return lambda v: Printed(v, str(v), bits, v ^ (v >> 32) if bits == 64 else v)
    return lambda v: Printed(v, str(v))


def _printf_body(call: BoundCall) -> RowBody:
    printers = [_printer(type_) for type_ in call.arguments[1:]]
    nothing = Printed(None, "null")

    def printf(shape: str | None, *values: Any) -> str | None:
        if shape is None:
            return None
        pairs = zip(printers, values, strict=True)
        printed = [nothing if value is None else printer(value) for printer, value in pairs]
        try:
            return java_format(shape, printed)
        except FormatProblemError:
            return None

    return printf


def _printable(operand: Operand) -> DataType | None:
    """Values whose text in Flink is no address in memory."""
    type_ = operand.type
    refused = kinds.is_constructed(type_) or kinds.is_binary(type_)
    return None if refused or isinstance(type_, t.RawType) else type_


# --- TYPEOF --------------------------------------------------------------------------------------


def full_type_text(type_: DataType) -> str:
    """A type with the lengths of STRING and BYTES written out, so that Flink's parser reads it."""
    match type_:
        case t.VarCharType():
            text = f"VARCHAR({type_.length})"
        case t.VarBinaryType():
            text = f"VARBINARY({type_.length})"
        case t.ArrayType():
            text = f"ARRAY<{full_type_text(type_.element_type)}>"
        case t.MultisetType():
            text = f"MULTISET<{full_type_text(type_.element_type)}>"
        case t.MapType():
            text = f"MAP<{full_type_text(type_.key_type)}, {full_type_text(type_.value_type)}>"
        case t.RowType():
            text = f"ROW<{', '.join(_field_text(field) for field in type_)}>"
        case _:
            return str(type_)
    return text if kinds.is_nullable(type_) else f"{text} NOT NULL"


def _field_text(field: t.RowField) -> str:
    name = field.name.replace("`", "``")
    return f"`{name}` {full_type_text(field.data_type)}"


def _typeof_body(call: BoundCall) -> RowBody:
    full = len(call.literals) > 1 and call.literals[1] is True
    text = full_type_text(call.arguments[0]) if full else str(call.arguments[0])
    return lambda *_: text


# --- entries -------------------------------------------------------------------------------------


def _text(name: str, doc: str, *forms: str, **more: Any) -> FunctionEntry:
    category = more.pop("category", "string")
    return FunctionEntry(name=name, category=category, doc=doc, forms=forms, **more)


ENTRIES = (
    _text(
        "CHR",
        "The character of a number from 0 to 255.",
        "CHR(integer)",
        rule=takes(INTEGRAL, gives=VARCHAR, nullable=True),
        row=chr_of,
    ),
    _text(
        "ENCODE",
        "The bytes of a text in a charset.",
        "ENCODE(string, charset)",
        rule=takes(STRING, STRING, gives=VARBINARY),
        row=encode,
    ),
    _text(
        "DECODE",
        "The text of bytes in a charset.",
        "DECODE(bytes, charset)",
        rule=takes(BINARY, STRING, gives=VARCHAR),
        row=decode,
    ),
    _text(
        "PARSE_URL",
        "A part of an address, or a parameter of its query.",
        "PARSE_URL(url, 'HOST' | 'PATH' | 'QUERY' | 'REF' | 'PROTOCOL' | 'AUTHORITY' | 'FILE' | "
        "'USERINFO')",
        "PARSE_URL(url, 'QUERY', key)",
        rule=takes(STRING, STRING, STRING, needs=2, gives=VARCHAR, nullable=True),
        row=parse_url,
    ),
    _text(
        "URL_ENCODE",
        "The text as forms send it.",
        "URL_ENCODE(string)",
        rule=takes(STRING, gives=VARCHAR, nullable=True),
        row=encode_form,
    ),
    _text(
        "URL_DECODE",
        "The text that a form sent; NULL if it is malformed.",
        "URL_DECODE(string)",
        rule=takes(STRING, gives=VARCHAR, nullable=True),
        row=decode_form,
    ),
    _text(
        "INET_ATON",
        "The number of an IPv4 address.",
        "INET_ATON(string)",
        rule=takes(STRING, gives=t.BigIntType(), nullable=True),
        row=inet_aton,
    ),
    _text(
        "INET_NTOA",
        "The IPv4 address of a number.",
        "INET_NTOA(integer)",
        rule=takes(INTEGRAL, gives=VARCHAR, nullable=True),
        row=inet_ntoa,
    ),
    _text(
        "PRINTF",
        "Values in a format of Java; NULL if they do not fit it.",
        "PRINTF(format, value1, value2, ...)",
        rule=takes(STRING, _printable, needs=1, repeats=True, gives=VARCHAR, nullable=True),
        row_of=_printf_body,
        strict=False,
    ),
    _text(
        "TYPEOF",
        "The type of a value, as text.",
        "TYPEOF(value[, force_serializable])",
        category="auxiliary",
        rule=takes(ANY, literal(BOOLEAN), needs=1, gives=VARCHAR, nullable=True),
        row_of=_typeof_body,
        strict=False,
    ),
)
