"""Java's Formatter (US): what PRINTF does.

    java_format("%-5s|%05d|%,.2f", ["ab", 42, 1234.5])    ab   |00042|1,234.50

A value is a Python value with the conversions that its SQL type allows: `Printed`.  Whatever Java
refuses raises `FormatProblemError`; PRINTF gives NULL then.

In: functions/text_misc.py.  Out: text.  Next: scalars/java_numbers.py writes floats.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

_SPECIFIER = re.compile(r"%(?:(\d+)\$|(<))?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")
_INTEGER, _FLOAT, _GENERAL = "doxX", "eEfgGaA", "bBhHsScC"


class FormatProblemError(Exception):
    """Java's Formatter would raise."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A value to print.

    Attributes:
        value: the Python value; None is NULL.
        text: what ``%s`` gives.
        bits: of an integer, how many bits it has; 0 of all else.
        hash: what ``%h`` gives, before it becomes hexadecimal.
    """

    value: Any
    text: str
    bits: int = 0
    hash: int = 0


def java_format(shape: str, values: list[Printed]) -> str:
    """The text of a format and its values.

    Raises:
        FormatProblemError: Java refuses the format, or a value for its conversion.
    """
    done: list[str] = []
    place = following = 0
    last: int | None = None
    while place < len(shape):
        start = shape.find("%", place)
        if start < 0:
            break
        found = _SPECIFIER.match(shape, start)
        if found is None:
            raise FormatProblemError(shape)
        done.append(shape[place:start])
        place = found.end()
        if found[6] in "%n":
            done.append(_fixed(found))
            continue
        if found[2]:
            index = last
        elif found[1]:
            index = int(found[1]) - 1
        else:
            index, following = following, following + 1
        if index is None or not 0 <= index < len(values):
            raise FormatProblemError(found[0])
        last = index
        done.append(_Specifier(found).text(values[index]))
    return "".join(done) + shape[place:]


def _fixed(found: re.Match[str]) -> str:
    if found[6] == "n":
        if found[3] or found[4] or found[5]:
            raise FormatProblemError(found[0])
        return "\n"
    if found[5] or set(found[3]) - {"-"}:
        raise FormatProblemError(found[0])
    width = int(found[4] or 0)
    return "%".ljust(width) if "-" in found[3] else "%".rjust(width)


class _Specifier:
    """One ``%...`` of a format."""

    def __init__(self, found: re.Match[str]) -> None:
        self.flags, self.kind = found[3], found[6]
        self.width = int(found[4] or 0)
        self.precision = None if found[5] is None else int(found[5])
        known = self.kind in _INTEGER + _FLOAT + _GENERAL
        if not known or len(set(self.flags)) < len(self.flags):
            raise FormatProblemError(found[0])
        if ("-" in self.flags or "0" in self.flags) and not self.width:
            raise FormatProblemError(found[0])
        opposed = {"+", " "}, {"-", "0"}
        if any(pair <= set(self.flags) for pair in opposed):
            raise FormatProblemError(found[0])

    def text(self, printed: Printed) -> str:
        if self.kind in _GENERAL:
            made = self.general(printed)
        elif self.kind in _INTEGER:
            made = self.integer(printed)
        else:
            made = self.floating(printed)
        made = made.upper() if self.kind.isupper() else made
        return made.ljust(self.width) if "-" in self.flags else made.rjust(self.width)

    # --- texts -----------------------------------------------------------------------------------

    def general(self, printed: Printed) -> str:
        if set(self.flags) - {"-"}:
            raise FormatProblemError(self.kind)
        kind = self.kind.lower()
        if kind == "b":
            value = printed.value
            made = "false" if value is None else str(value).lower() if value is False else "true"
        elif kind == "c":
            return self.character(printed)
        elif printed.value is None:
            made = "null"
        else:
            made = f"{printed.hash & 0xFFFFFFFF:x}" if kind == "h" else printed.text
        return made if self.precision is None else made[: self.precision]

    def character(self, printed: Printed) -> str:
        if self.precision is not None:
            raise FormatProblemError(self.kind)
        if printed.value is None:
            return "null"
        if printed.bits not in (8, 16, 32) or not 0 <= printed.value <= 0x10FFFF:
            raise FormatProblemError(self.kind)
        return chr(printed.value)

    # --- integers --------------------------------------------------------------------------------

    def integer(self, printed: Printed) -> str:
        if self.precision is not None:
            raise FormatProblemError(self.kind)
        if self.kind != "d" and set(self.flags) & set("+ ,("):
            raise FormatProblemError(self.kind)
        if self.kind == "d" and "#" in self.flags:
            raise FormatProblemError(self.kind)
        if printed.value is None:
            return "null"
        if not printed.bits:
            raise FormatProblemError(self.kind)
        if self.kind == "d":
            digits = str(abs(printed.value))
            if "," in self.flags:
                digits = f"{abs(printed.value):,}"
            return self.signed(digits, negative=printed.value < 0)
        unsigned = printed.value % 2**printed.bits
        shape = "o" if self.kind == "o" else "x"
        mark = {"o": "0", "x": "0x"}[shape] if "#" in self.flags else ""
        digits = format(unsigned, shape)
        if "0" in self.flags:
            digits = digits.rjust(self.width - len(mark), "0")
        return mark + digits

    def signed(self, digits: str, *, negative: bool) -> str:
        if negative:
            front, back = ("(", ")") if "(" in self.flags else ("-", "")
        else:
            front, back = "+" if "+" in self.flags else " " if " " in self.flags else "", ""
        if "0" in self.flags:
            digits = digits.rjust(self.width - len(front) - len(back), "0")
        return front + digits + back

    # --- numbers with a fraction -----------------------------------------------------------------

    def floating(self, printed: Printed) -> str:
        value = printed.value
        if value is None:
            return "null"[: self.precision] if self.precision is not None else "null"
        if not isinstance(value, float) or printed.bits:
            raise FormatProblemError(self.kind)
        if not math.isfinite(value):
            digits = "NaN" if math.isnan(value) else "Infinity"
            return digits if digits == "NaN" else self.signed(digits, negative=value < 0)
        if self.kind in "aA":
            return self.hexadecimal(value)
        digits = self.decimal_digits(printed)
        return self.signed(digits, negative=math.copysign(1, value) < 0)

    def decimal_digits(self, printed: Printed) -> str:
        # Java rounds the shortest digits of a number, not its exact value, half up.
        exact = abs(Decimal(repr(printed.value)))
        kind = self.kind.lower()
        precision = 6 if self.precision is None else self.precision
        if kind == "g":
            precision = max(precision, 1)
            rounded = _significant(exact, precision)
            if rounded == 0 or Decimal("0.0001") <= rounded < Decimal(10) ** precision:
                places = precision - (rounded.adjusted() + 1 if rounded else 1)
                return self.grouped(_rounded(exact, max(places, 0)))
            return _scientific(rounded, precision - 1)
        if kind == "e":
            if "," in self.flags:
                raise FormatProblemError(self.kind)
            return _scientific(_significant(exact, precision + 1), precision)
        return self.grouped(_rounded(exact, precision))

    def grouped(self, number: Decimal) -> str:
        return f"{number:,f}" if "," in self.flags else f"{number:f}"

    def hexadecimal(self, value: float) -> str:
        if self.precision is not None or set(self.flags) & set(",("):
            raise FormatProblemError(self.kind)
        mantissa, _, power = abs(value).hex().partition("p")
        mantissa = mantissa.rstrip("0") if "." in mantissa else mantissa
        mantissa += "0" if mantissa.endswith(".") else ""
        mantissa = "0x0.0" if value == 0 else mantissa
        return ("-" if math.copysign(1, value) < 0 else "") + f"{mantissa}p{int(power)}"


def _rounded(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def _significant(number: Decimal, digits: int) -> Decimal:
    if not number:
        return number
    return _rounded(number, digits - 1 - number.adjusted())


def _scientific(number: Decimal, places: int) -> str:
    power = number.adjusted() if number else 0
    digits = f"{number.scaleb(-power):.{places}f}"
    return f"{digits}e{'-' if power < 0 else '+'}{abs(power):02d}"
