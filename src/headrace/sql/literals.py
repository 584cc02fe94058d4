r"""Literals: numbers, strings, dates and times, intervals.

    DATE '2024-01-31'   X'1f'   U&'\00e4'   INTERVAL '1 10:30' DAY TO MINUTE

In: a walk over tokens (stream.py).  Out: `SqlLiteral` and `IntervalLiteral` (ast.py), with their
Python values.  Next: calls.py
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import TYPE_CHECKING

from headrace.sql.ast import IntervalLiteral, LiteralKind, SqlLiteral
from headrace.sql.tokens import TokenKind
from headrace.sql.type_names import TypeNameParser

if TYPE_CHECKING:
    from headrace.sql.position import TextPosition

_DAY = r"\s*(?P<year>\d{1,4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
_HOUR = r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})"
_SECOND = r":(?P<second>\d{1,2})(?:\.(?P<f>\d*))?"
_DATE = re.compile(rf"{_DAY}\s*")
_TIME = re.compile(rf"\s*{_HOUR}{_SECOND}\s*")
_TIMESTAMP = re.compile(rf"{_DAY}(?: +{_HOUR}{_SECOND})?\s*")
_UNICODE = r"(?:([0-9a-fA-F]{4})|\+([0-9a-fA-F]{6}))"
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

# Units of a day-time interval in order, each with its milliseconds and how many make the next.
_UNITS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}
_LIMITS = {"HOUR": 24, "MINUTE": 60, "SECOND": 60, "MONTH": 12}
_SEPARATORS = {"HOUR": r"\s+", "MINUTE": ":", "SECOND": ":"}
_SHAPES = {"YEAR": "'1'", "DAY TO HOUR": "'1 10'", "DAY TO MINUTE": "'1 10:30'",
           "DAY TO SECOND": "'1 10:30:15.5'", "HOUR TO MINUTE": "'10:30'",
           "HOUR TO SECOND": "'10:30:15.5'", "MINUTE TO SECOND": "'30:15.5'",
           "YEAR TO MONTH": "'1-6'", "SECOND": "'1.5'"}  # fmt: skip


class LiteralParser(TypeNameParser):
    """The part of the grammar that reads literals."""

    def number_literal(self) -> SqlLiteral:
        """``1``, ``1.5``, ``1.5E3``."""
        first = self.index
        text = self.advance().value
        position = self.since(first)
        if text.isdigit():
            return SqlLiteral(int(text), LiteralKind.INTEGER, text, position=position)
        if "e" in text or "E" in text:
            return SqlLiteral(float(text), LiteralKind.DOUBLE, text.upper(), position=position)
        return SqlLiteral(Decimal(text), LiteralKind.DECIMAL, text, position=position)

    def string_literal(self) -> SqlLiteral:
        """A string; strings one behind the other are one."""
        first = self.index
        token = self.advance()
        if token.kind is TokenKind.BINARY:
            return self._binary(first, token.value)
        if token.kind is TokenKind.UNICODE:
            text = self._unicode(first, token.value)
        elif token.kind is TokenKind.ESCAPED:
            text = _c_string(token.value[2:-1])
        else:
            text = token.value
        while self.at_string():
            text += self.advance().value
        return SqlLiteral(text, LiteralKind.STRING, text, position=self.since(first))

    def _binary(self, first: int, source: str) -> SqlLiteral:
        digits = source[2:-1]
        while self.at_string():
            digits += self.advance().value
        position = self.since(first)
        if len(digits) % 2 or not re.fullmatch("[0-9a-fA-F]*", digits):
            self.refuse(
                f"{source} is no binary literal",
                "write two hexadecimal digits for each byte: x'0aff'",
                position=position,
            )
        value = bytes.fromhex(digits)
        return SqlLiteral(value, LiteralKind.BINARY, digits.lower(), position=position)

    def _unicode(self, first: int, source: str) -> str:
        escape = "\\"
        content = source[3:-1].replace("''", "'")
        if self.accept("UESCAPE"):
            escape = self.string("an escape sign in single quotes")
            if len(escape) != 1 or escape in "0123456789abcdefABCDEF+'\" \t\n":
                self.refuse(
                    f"{escape!r} cannot be the escape sign of a string",
                    r"take one sign that is no digit, letter or quote, such as '\' or '!'",
                    position=self.place_of(self.index - 1),
                )
        pattern = re.escape(escape) + rf"(?:{_UNICODE}|({re.escape(escape)}))?"

        def unescape(found: re.Match[str]) -> str:
            short, long, itself = found.groups()
            if not (short or long or itself):
                self.refuse(
                    f"{found.group()!r} in a string of U& needs four digits behind it",
                    rf"write {escape}00e4 for a sign by its number, {escape}{escape} for the "
                    "escape sign itself",
                    position=self.place_of(first),
                )
            return escape if itself else chr(int(short or long, 16))

        return re.sub(pattern, unescape, content)

    def date_literal(self) -> SqlLiteral:
        """``DATE '2024-01-31'``."""
        first = self.index
        self.index += 1
        text = self.string()
        position = self.since(first)
        value = _moment(_DATE, text)
        if value is None:
            self.refuse(f"'{text}' is no DATE", "write DATE '2024-01-31'", position=position)
        day = value.date()
        return SqlLiteral(day, LiteralKind.DATE, day.isoformat(), position=position)

    def time_literal(self) -> SqlLiteral:
        """``TIME '10:30:00'``."""
        first = self.index
        self.index += 1
        text = self.string()
        position = self.since(first)
        value = _moment(_TIME, text)
        if value is None:
            self.refuse(f"'{text}' is no TIME", "write TIME '10:30:00'", position=position)
        shown = value.strftime("%H:%M:%S") + self._fraction(text, position)
        return SqlLiteral(value.time(), LiteralKind.TIME, shown, position=position)

    def timestamp_literal(self) -> SqlLiteral:
        """``TIMESTAMP '2024-01-31 10:30:00.123'``; the digits decide on its precision."""
        first = self.index
        self.index += 1
        kind = LiteralKind.TIMESTAMP
        if self.accept("WITH"):
            self.expect("LOCAL", "TIME", "ZONE")
            kind = LiteralKind.TIMESTAMP_LTZ
        text = self.string()
        position = self.since(first)
        value = _moment(_TIMESTAMP, text)
        if value is None:
            example = "write TIMESTAMP '2024-01-31 10:30:00.123'"
            self.refuse(f"'{text}' is no TIMESTAMP", example, position=position)
        shown = value.isoformat(" ", "seconds") + self._fraction(text, position)
        return SqlLiteral(value, kind, shown, position=position)

    def _fraction(self, text: str, position: TextPosition) -> str:
        digits = text.partition(".")[2].strip()
        if len(digits) > 9:
            self.refuse(
                f"the fraction of a second .{digits} has more than nine digits",
                "times have nanoseconds at most: leave the other digits out",
                position=position,
            )
        return f".{digits}" if digits else ""

    def interval_literal(self) -> IntervalLiteral:
        """``INTERVAL '1' DAY``, ``INTERVAL -'1 10' DAY TO HOUR``, ``INTERVAL 3 DAY``."""
        first = self.index
        self.index += 1
        negative = self.accept_one(("+", "-")) == "-"
        token = self.token
        if not self.at_string() and not token.value.isdigit():
            self.fail("a number in single quotes")
        text = self.advance().value
        units, (precision, fraction) = self.interval_qualifier()
        position = self.since(first)
        amount = interval_amount(text, units)
        if amount is None:
            name = " TO ".join(units)
            shape = _SHAPES.get(name, "'1'")
            self.refuse(
                f"'{text}' is no interval of the kind {name}",
                f"write INTERVAL {shape} {name}",
                position=position,
            )
        end = units[1] if len(units) > 1 else None
        return IntervalLiteral(
            text, units[0], end, precision, fraction, negative, -amount if negative else amount,
            position=position,
        )  # fmt: skip


def _moment(pattern: re.Pattern[str], text: str) -> datetime.datetime | None:
    """The time that a text says, None if it says none; what is not there is the first of all."""
    found = pattern.fullmatch(text)
    if found is None:
        return None
    parts = {name: int(part) for name, part in found.groupdict().items() if part and name != "f"}
    digits = found.groupdict().get("f") or ""
    try:
        return datetime.datetime(
            parts.get("year", 1970),
            parts.get("month", 1),
            parts.get("day", 1),
            parts.get("hour", 0),
            parts.get("minute", 0),
            parts.get("second", 0),
            int(digits[:6].ljust(6, "0")),
        )
    except ValueError:
        return None


def _c_string(content: str) -> str:
    def unescape(found: re.Match[str]) -> str:
        octal, short, long, other = found.groups()
        if octal:
            return chr(int(octal, 8))
        if short or long:
            return chr(int(short or long, 16))
        return _ESCAPES.get(other, other)

    pattern = r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|(.))"
    return re.sub(pattern, unescape, content.replace("''", "'"), flags=re.DOTALL)


def interval_amount(text: str, units: tuple[str, ...]) -> int | None:
    """Months or milliseconds that an interval's text means; None if it has another shape."""
    sign, content = 1, text.strip()
    if content[:1] in ("-", "+"):
        sign, content = (-1 if content[0] == "-" else 1), content[1:].lstrip()
    amount = _months(content, units) if units[0] in _MONTHS else _milliseconds(content, units)
    return None if amount is None else sign * amount


_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}


def _months(content: str, units: tuple[str, ...]) -> int | None:
    if len(units) == 1:
        return int(content) * _MONTHS[units[0]] if content.isdigit() else None
    found = re.fullmatch(r"(\d+)-(\d+)", content)
    if found is None or int(found[2]) >= _LIMITS["MONTH"]:
        return None
    return int(found[1]) * 12 + int(found[2])


def _milliseconds(content: str, units: tuple[str, ...]) -> int | None:
    if units == ("WEEK",):
        return int(content) * 7 * _UNITS["DAY"] if content.isdigit() else None
    names = list(_UNITS)
    wanted = names[names.index(units[0]) : names.index(units[-1]) + 1]
    pattern = r"(\d+)" + "".join(rf"{_SEPARATORS[unit]}(\d+)" for unit in wanted[1:])
    if wanted[-1] == "SECOND":
        pattern += r"(?:\.(\d{1,9}))?"
    found = re.fullmatch(pattern, content)
    if found is None:
        return None
    amounts = [int(part) for part in found.groups()[: len(wanted)]]
    if any(n >= _LIMITS[unit] for n, unit in zip(amounts[1:], wanted[1:], strict=True)):
        return None
    total = sum(n * _UNITS[unit] for n, unit in zip(amounts, wanted, strict=True))
    fraction = found.groups()[len(wanted)] if wanted[-1] == "SECOND" else None
    return total + int((fraction or "").ljust(3, "0")[:3])
