"""Texts and bytes: what values read as, and what texts mean.

In: Python values.  Out: Python values; ValueError for a text that is none of the type.
Next: scalars/casting/times.py
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.casting.numbers import fitted, to_float32
from headrace.scalars.java_numbers import read_double

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType

    Body = Callable[[Any], Any]

_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_INTEGER = re.compile(r"([+-]?\d*)(?:\.\d*)?")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def sized_text(target: DataType) -> Body | None:
    """What makes a text fit: CHAR is padded with spaces, both are cut; None if all fit."""
    assert isinstance(target, t.CharType | t.VarCharType)
    length = target.length
    if isinstance(target, t.CharType):
        return lambda text: text[:length].ljust(length)
    return None if length == kinds.MAX_LENGTH else lambda text: text[:length]


def sized_bytes(target: DataType) -> Body | None:
    """What makes bytes fit: BINARY is padded with zeros, both are cut; None if all fit."""
    assert isinstance(target, t.BinaryType | t.VarBinaryType)
    length = target.length
    if isinstance(target, t.BinaryType):
        return lambda value: value[:length].ljust(length, b"\0")
    return None if length == kinds.MAX_LENGTH else lambda value: value[:length]


def utf8_text(value: bytes) -> str:
    """Bytes as text; what is no UTF-8 becomes a replacement character."""
    return value.decode("utf-8", "replace")


def utf8_bytes(text: str) -> bytes:
    """A text as bytes."""
    return text.encode()


def boolean_text(value: bool) -> str:  # noqa: FBT001
    """TRUE or FALSE."""
    return "TRUE" if value else "FALSE"


def read_boolean(text: str) -> bool:
    """A text as a BOOLEAN; spaces around it are not allowed."""
    lowered = text.lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    message = "it is none of true, t, yes, y, 1, false, f, no, n, 0"
    raise ValueError(message)


def integer_reader(target: DataType) -> Body:
    """What reads a whole number; a fraction is cut off, spaces around it are ignored."""
    bits = kinds.INTEGER_BITS[type(target)]
    smallest, largest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(text: str) -> int:
        found = _INTEGER.fullmatch(text.strip(" "))
        digits = found.group(1) if found and found.group(0) not in ("", "+", "-") else None
        if digits is None or found is None or found.group(0).lstrip("+-") == ".":
            message = "it is no whole number"
            raise ValueError(message)
        value = 0 if digits in ("", "+", "-") else int(digits)
        if not smallest <= value <= largest:
            message = f"it is not within {smallest} and {largest}"
            raise ValueError(message)
        return value

    return read


def approximate_reader(target: DataType) -> Body:
    """What reads a floating-point number."""
    if isinstance(target, t.FloatType):
        return lambda text: to_float32(read_double(text))
    return read_double


def decimal_reader(target: DataType) -> Body:
    """What reads a DECIMAL; too many whole digits are an error."""
    assert isinstance(target, t.DecimalType)

    def read(text: str) -> Decimal:
        trimmed = text.strip(" ")
        if _DECIMAL.fullmatch(trimmed) is None:
            message = "it is no number"
            raise ValueError(message)
        try:
            value = fitted(Decimal(trimmed), target.precision, target.scale)
        except InvalidOperation:
            value = None
        if value is None:
            message = f"it has too many digits for {target}"
            raise ValueError(message)
        return value

    return read
