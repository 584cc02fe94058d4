"""Numbers as Java writes and reads them.

    1.0E7  9999999.0  0.001  1.0E-4  NaN  Infinity

In: Python numbers and texts.  Out: texts and numbers.  Next: scalars/casting/numbers.py
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

# What Java's Double.parseDouble takes.
_HEX = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+[fFdD]?")
_FLOAT = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)")


def double_text(value: float) -> str:
    """A number of eight bytes as Java's Double.toString."""
    return _java_text(value, _two_digits(repr(value), value, float))


def float_text(value: float) -> str:
    """A number of four bytes as Java's Float.toString."""
    single = np.float32(value)
    return _java_text(value, _two_digits(str(single), float(single), np.float32))


def _two_digits(shortest: str, exact: float, read: Callable[[str], Any]) -> str:
    """The closest text of two digits where one would do: Java's smallest double is 4.9E-324."""
    mantissa, exponent, _ = shortest.partition("e")
    if not exponent or len(mantissa.lstrip("-")) > 1:
        return shortest
    two = f"{exact:.1e}"
    return two if read(two) == read(shortest) else shortest


def _java_text(value: float, digits: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    mantissa, _, exponent = digits.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    power = len(whole) - 1 + int(exponent or 0)
    stripped = (whole + fraction).lstrip("0")
    if not stripped:
        return f"{sign}0.0"
    power -= len(whole + fraction) - len(stripped)
    stripped = stripped.rstrip("0")
    if -3 <= power < 7:
        return sign + _plain(stripped, power)
    return f"{sign}{stripped[0]}.{stripped[1:] or '0'}E{power}"


def _plain(digits: str, power: int) -> str:
    if power < 0:
        return f"0.{'0' * (-power - 1)}{digits}"
    padded = digits.ljust(power + 1, "0")
    return f"{padded[: power + 1]}.{padded[power + 1 :] or '0'}"


# What Java takes off around a number: everything up to a space.
_JAVA_SPACES = "".join(map(chr, range(33)))


def read_double(text: str) -> float:
    """A number as Java's Double.parseDouble reads it.

    Raises:
        ValueError: it is none.
    """
    trimmed = text.strip(_JAVA_SPACES)
    if _HEX.fullmatch(trimmed):
        return float.fromhex(trimmed.rstrip("fFdD"))
    if _FLOAT.fullmatch(trimmed) is None:
        message = f"{text!r} is no number"
        raise ValueError(message)
    return float(trimmed.rstrip("fFdD") if "N" not in trimmed else trimmed)
