"""JSON as Jackson reads and writes it.

Numbers with a fraction are Decimals, so that their digits stay; objects keep the order of their
keys until they are written, which sorts them.  What stands behind the first value is not looked at.

In: text.  Out: dict, list, str, int, Decimal, bool, None, and text again.
Next: scalars/json_paths/paths.py
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

from headrace.scalars.java_numbers import double_text

_BLANKS = re.compile(r"[ \t\n\r]*")
_NUMBER_START = "-0123456789"
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class NotJsonError(Exception):
    """The text is not JSON."""


def _refused(name: str) -> Any:
    raise NotJsonError(name)


def _exact(text: str) -> Decimal:
    """The number with its digits; there is no zero below zero."""
    number = Decimal(text)
    return number if number else number.copy_abs()


_DECODER = json.JSONDecoder(parse_float=_exact, parse_constant=_refused)


def parse(text: str) -> Any:
    """The value that a text begins with.

    Raises:
        NotJsonError: it begins with none.
    """
    blanks = _BLANKS.match(text)
    start = blanks.end() if blanks else 0
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise NotJsonError(str(error)) from None
    if not _ends(text[start], text[end : end + 1]):
        raise NotJsonError("the value does not end where it should")
    return value


def _ends(first: str, behind: str) -> bool:
    """Whether a value that begins with a sign may end in front of another; numbers want a blank."""
    if not behind:
        return True
    if first in _NUMBER_START:
        return behind in " \t\n\r"
    return first not in "tfn" or not _is_name(behind)


def _is_name(sign: str) -> bool:
    return sign.isalnum() or sign in "_$"


def is_scalar(value: Any) -> bool:
    """Whether it is neither an object nor an array."""
    return not isinstance(value, dict | list)


def write(value: Any) -> str:
    """The text of a value: no blanks, the keys of objects in their order."""
    match value:
        case str():
            return quoted(value)
        case dict():
            pairs = sorted(value.items(), key=_key_order)
            return "{" + ",".join(f"{quoted(key)}:{write(item)}" for key, item in pairs) + "}"
        case list():
            return "[" + ",".join(write(item) for item in value) + "]"
        case float() if not math.isfinite(value):
            return quoted(double_text(value))
        case _:
            return plain_text(value)


def _key_order(pair: tuple[str, Any]) -> bytes:
    return pair[0].encode("utf-16-be", "surrogatepass")


def quoted(text: str) -> str:
    """A string of JSON; characters outside of ASCII stay as they are."""
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    sign = found[0]
    return _SHORT.get(sign) or f"\\u{ord(sign):04X}"


def plain_text(value: Any) -> str:
    """A scalar as text, strings without quotes, as Java's String.valueOf."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return double_text(value)
        case _:
            return str(value)
