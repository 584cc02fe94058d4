"""One JSON text as a tree, as lenient as Jackson is in Spark's hands.

In: the text of a line.  Out: str, bool, None, `NumberText`, `ArrayNode`, `ObjectNode`.
Texts may stand in single quotes, NaN and infinities are numbers, and what stands behind the first
value does not count.  Next: json_file.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

__all__ = ["NOTHING", "ArrayNode", "BadJson", "NumberText", "ObjectNode", "parsed"]


class BadJson(Exception):
    """The text is not JSON."""


class NumberText(str):
    """A number as it is written."""

    __slots__ = ()


@dataclass(slots=True)
class ArrayNode:
    """An array, and the text of it."""

    items: list[Any]
    text: str = ""


@dataclass(slots=True)
class ObjectNode:
    """The fields of an object in their order, and the text of it."""

    items: list[tuple[str, Any]]
    text: str = ""


NOTHING = object()  # what a blank line holds

_BLANKS = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null|NaN|Infinity|[+-]INF|[+-]Infinity")
_WORDS = {"true": True, "false": False, "null": None}
# A name or number may not go on behind its end.
_GOES_ON = re.compile(r"[A-Za-z0-9_$.+\-]")
_PLAIN = {quote: re.compile(f"[^{quote}\\\\\x00-\x1f]*") for quote in "\"'"}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_FOUR = re.compile("[0-9a-fA-F]{4}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parsed(text: str) -> Any:
    """The first value of a text; NOTHING if there is none.

    Raises:
        BadJson: it has a mistake before the end of its first value, or bytes that are no UTF-8,
            which the text holds as surrogates.
    """
    at = _blanks(text, 0)
    if at == len(text):
        return NOTHING
    found, end = _value(text, at)
    if not text.isascii() and _SURROGATE.search(text, at, end):
        raise BadJson("bytes that are no UTF-8")
    return found


def _blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    assert found is not None
    return found.end()


def _value(text: str, at: int) -> tuple[Any, int]:
    char = text[at : at + 1]
    if char == "{":
        return _object(text, at)
    if char == "[":
        return _array(text, at)
    if char in ('"', "'") and char:
        return _string(text, at)
    word = _WORD.match(text, at)
    found = word or _NUMBER.match(text, at)
    if found is None or _GOES_ON.match(text, found.end()):
        raise BadJson(text[at : at + 20])
    token = found[0]
    if word is not None and token in _WORDS:
        return _WORDS[token], found.end()
    return NumberText(token), found.end()


def _array(text: str, begin: int) -> tuple[ArrayNode, int]:
    items: list[Any] = []
    at = _blanks(text, begin + 1)
    if text.startswith("]", at):
        return ArrayNode(items, text[begin : at + 1]), at + 1
    while True:
        item, at = _value(text, _blanks(text, at))
        items.append(item)
        at, ended = _separator(text, at, "]")
        if ended:
            return ArrayNode(items, text[begin:at]), at


def _object(text: str, begin: int) -> tuple[ObjectNode, int]:
    items: list[tuple[str, Any]] = []
    at = _blanks(text, begin + 1)
    if text.startswith("}", at):
        return ObjectNode(items, text[begin : at + 1]), at + 1
    while True:
        at = _blanks(text, at)
        if text[at : at + 1] not in ('"', "'") or at >= len(text):
            raise BadJson("a name")
        name, at = _string(text, at)
        at = _blanks(text, at)
        if not text.startswith(":", at):
            raise BadJson("a colon")
        item, at = _value(text, _blanks(text, at + 1))
        items.append((name, item))
        at, ended = _separator(text, at, "}")
        if ended:
            return ObjectNode(items, text[begin:at]), at


def _separator(text: str, at: int, end: str) -> tuple[int, bool]:
    at = _blanks(text, at)
    if text.startswith(end, at):
        return at + 1, True
    if not text.startswith(",", at):
        raise BadJson("a comma")
    return at + 1, False


def _string(text: str, at: int) -> tuple[str, int]:
    quote, at = text[at], at + 1
    parts: list[str] = []
    while True:
        plain = _PLAIN[quote].match(text, at)
        assert plain is not None
        parts.append(plain[0])
        at = plain.end()
        char = text[at : at + 1]
        if char == quote:
            return _whole_pairs("".join(parts)), at + 1
        if char != "\\":
            raise BadJson("the end of a text")
        part, at = _escape(text, at + 1)
        parts.append(part)


def _escape(text: str, at: int) -> tuple[str, int]:
    char = text[at : at + 1]
    if char in _ESCAPES:
        return _ESCAPES[char], at + 1
    digits = _FOUR.match(text, at + 1)
    if char != "u" or digits is None:
        raise BadJson("an escape")
    return chr(int(digits[0], 16)), digits.end()


def _whole_pairs(text: str) -> str:
    """Pairs of surrogates as one character; a lone one is a question mark in Java's UTF-8."""
    if not _SURROGATE.search(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub("?", joined)
