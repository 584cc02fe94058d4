"""Conditions of paths: ``[?(@.price < 10 && @.title == 'A')]``.

Values are compared as Flink's library does: numbers with numbers by value, texts with texts; a
number and a text are equal if the text reads as the number; all else is unequal, and neither less
nor greater.  A path that leads nowhere is null in lax mode, and equal to nothing in strict mode.

In: the text of a condition.  Out: a function of an item.  Next: scalars/json_paths/compiler.py
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from headrace.scalars.json_paths.documents import NotJsonError, parse, plain_text
from headrace.scalars.json_paths.steps import PathMissingError, PathSyntaxError, Walk

if TYPE_CHECKING:
    from headrace.scalars.json_paths.compiler import CompiledPath

Condition = Callable[[Any, Walk], bool]
Operand = Callable[[Any, Walk], Any]
_COMPARISON = re.compile(r"===|!==|==|!=|<=|>=|<|>|=~|nin\b|in\b|[a-zA-Z]+\b")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}
_REGEX_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}


class _Undefined:
    """What a path is that leads nowhere."""


UNDEFINED = _Undefined()


def read_filter(
    text: str, place: int, compile_path: Callable[[str], CompiledPath]
) -> tuple[Condition, int]:
    """The condition that begins at ``[?(``, and the place behind its ``]``."""
    reader = _FilterReader(text, text.index("?", place) + 1, compile_path)
    reader.expect("(")
    condition = reader.either()
    reader.expect(")")
    reader.expect("]")
    return condition, reader.place


class _FilterReader:
    def __init__(self, text: str, place: int, compile_path: Callable[[str], CompiledPath]) -> None:
        self.text, self.place, self.compile_path = text, place, compile_path

    # --- reading ---------------------------------------------------------------------------------

    def peek(self, expected: str) -> bool:
        while self.text[self.place : self.place + 1] == " ":
            self.place += 1
        return self.text.startswith(expected, self.place)

    def accept(self, expected: str) -> bool:
        found = self.peek(expected)
        if found:
            self.place += len(expected)
        return found

    def expect(self, expected: str) -> None:
        if not self.accept(expected):
            raise PathSyntaxError(f"{expected} is missing in {self.text!r}")

    # --- conditions ------------------------------------------------------------------------------

    def either(self) -> Condition:
        parts = [self.all_of()]
        while self.accept("||"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else lambda v, w: any(part(v, w) for part in parts)

    def all_of(self) -> Condition:
        parts = [self.one()]
        while self.accept("&&"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else lambda v, w: all(part(v, w) for part in parts)

    def one(self) -> Condition:
        if self.accept("!"):
            negated = self.one()
            return lambda v, w: not negated(v, w)
        if self.accept("("):
            inside = self.either()
            self.expect(")")
            return inside
        return self.comparison()

    def comparison(self) -> Condition:
        left, path = self.operand()
        self.peek("")
        found = _COMPARISON.match(self.text, self.place)
        if found is None:
            if path is None:
                raise PathSyntaxError(f"a comparison is missing in {self.text!r}")
            return _exists(path)
        self.place = found.end()
        operator = found[0]
        if operator == "=~":
            pattern = self.regular_expression()
            return lambda v, w: bool(pattern.fullmatch(_text_of(left(v, w))))
        if operator not in _COMPARISONS:
            raise PathSyntaxError(f"{operator!r} is no comparison that paths have here")
        compare = _COMPARISONS[operator]
        right, _ = self.operand()
        return lambda v, w: compare(left(v, w), right(v, w))

    # --- operands --------------------------------------------------------------------------------

    def operand(self) -> tuple[Operand, tuple[str, CompiledPath] | None]:
        """A value, and the path if it is one."""
        self.peek("")
        sign = self.text[self.place : self.place + 1]
        if sign and sign in "@$":
            return self.path()
        value = self.literal()
        return lambda _item, _walk: value, None

    def path(self) -> tuple[Operand, tuple[str, CompiledPath]]:
        start = self.place
        text = self.text[start : self._end_of_path()]
        self.place = start + len(text)
        compiled = self.compile_path("$" + text.strip()[1:])
        at_item = text[0] == "@"

        def value(item: Any, walk: Walk) -> Any:
            start = item if at_item else walk.root
            try:
                return compiled.read(start, walk.root, lenient=walk.lenient)
            except PathMissingError:
                return UNDEFINED

        return value, (text[0], compiled)

    def _end_of_path(self) -> int:
        """Where a path in a condition ends: at a blank or an operator outside of brackets."""
        depth, place = 0, self.place + 1
        while place < len(self.text):
            sign = self.text[place]
            if sign == "(" and self.text[place : place + 2] == "()" and not depth:
                place += 2
                continue
            depth += (sign == "[") - (sign == "]")
            if depth < 0 or (not depth and sign in " )<>=!&|~"):
                break
            place += 1
        return place

    def literal(self) -> Any:
        from headrace.scalars.json_paths.compiler import read_quoted

        sign = self.text[self.place : self.place + 1]
        if sign in ("'", '"') and sign:
            text, self.place = read_quoted(self.text, self.place)
            return text
        if sign == "[":
            return self.array()
        number = _NUMBER.match(self.text, self.place)
        if number is not None:
            self.place = number.end()
            return Decimal(number[0])
        for word, value in _WORDS.items():
            if self.accept(word):
                return value
        raise PathSyntaxError(f"{self.text[self.place :]!r} is no value")

    def array(self) -> list[Any]:
        end = self.text.find("]", self.place)
        if end < 0:
            raise PathSyntaxError("a list is not closed")
        text = self.text[self.place : end + 1]
        self.place = end + 1
        try:
            found: list[Any] = parse(text.replace("'", '"'))
        except NotJsonError:
            raise PathSyntaxError(f"{text} is no list of values") from None
        return found

    def regular_expression(self) -> re.Pattern[str]:
        self.expect("/")
        end = self.text.find("/", self.place)
        if end < 0:
            raise PathSyntaxError("a regular expression is not closed")
        text, self.place = self.text[self.place : end], end + 1
        flags = re.compile("[a-zA-Z]*").match(self.text, self.place)
        assert flags is not None
        self.place = flags.end()
        from headrace.scalars.java_regex import JavaPatternError, compile_java

        try:
            return compile_java(f"(?{flags[0]}){text}" if flags[0] else text)
        except JavaPatternError as error:
            raise PathSyntaxError(str(error)) from None


def _exists(path: tuple[str, CompiledPath]) -> Condition:
    sign, compiled = path

    def condition(item: Any, walk: Walk) -> bool:
        try:
            found = compiled.read(item if sign == "@" else walk.root, walk.root, lenient=False)
        except PathMissingError:
            return False
        return compiled.definite or bool(found)

    return condition


# --- comparing -----------------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _text_of(value: Any) -> str:
    return "" if value is None or isinstance(value, _Undefined) else plain_text(value)


def equal(one: Any, other: Any) -> bool:
    """Whether two values are equal; the side of a number decides how it meets a text."""
    if _is_number(one) and (_is_number(other) or isinstance(other, str)):
        try:
            return Decimal(str(one)) == Decimal(str(other))
        except InvalidOperation:
            return False
    if isinstance(one, str) and (_is_number(other) or isinstance(other, str)):
        return one == str(other)
    return type(one) is type(other) and not isinstance(one, _Undefined) and bool(one == other)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(one: Any, other: Any) -> bool:
        both_numbers = _is_number(one) and _is_number(other)
        both_texts = isinstance(one, str) and isinstance(other, str)
        if not both_numbers and not both_texts:
            return False
        if both_numbers:
            one, other = Decimal(str(one)), Decimal(str(other))
        return compare(one, other)

    return compared


def _same_kind(one: Any, other: Any) -> bool:
    return (_is_number(one) and _is_number(other)) or type(one) is type(other)


def _among(one: Any, others: Any) -> bool:
    return isinstance(others, list) and any(equal(one, other) for other in others)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": equal,
    "!=": lambda one, other: not equal(one, other),
    "===": lambda one, other: _same_kind(one, other) and equal(one, other),
    "!==": lambda one, other: not (_same_kind(one, other) and equal(one, other)),
    "<": _ordered(lambda one, other: one < other),
    "<=": _ordered(lambda one, other: one <= other),
    ">": _ordered(lambda one, other: one > other),
    ">=": _ordered(lambda one, other: one >= other),
    "in": _among,
    "nin": lambda one, others: isinstance(others, list) and not _among(one, others),
}
