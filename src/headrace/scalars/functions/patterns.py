"""LIKE and SIMILAR TO.

    LIKE         % any number of characters, _ one
    SIMILAR TO   these, and | * + ? {m,n} ( ) [ ] as in regular expressions

In: texts and patterns.  Out: BOOLEAN.  Next: scalars/functions/regex.py has Java's own expressions
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars.functions.entry import NO_LITERAL, BoundCall, FunctionEntry
from headrace.scalars.functions.rules import STRING, takes

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.scalars.functions.entry import ArrowBody, RowBody

# Java's dot is no line end, so ``_`` is none; ``%`` may be.
_ONE = "[^\\n\\r\\u0085\\u2028\\u2029]"
_ANY = r"[\s\S]*"
_CLASSES = {
    "[:ALPHA:]": r"a-zA-Z",
    "[:alpha:]": r"a-zA-Z",
    "[:UPPER:]": r"A-Z",
    "[:upper:]": r"A-Z",
    "[:LOWER:]": r"a-z",
    "[:lower:]": r"a-z",
    "[:DIGIT:]": r"0-9",
    "[:digit:]": r"0-9",
    "[:SPACE:]": r" ",
    "[:space:]": r" ",
    "[:WHITESPACE:]": r"\s",
    "[:whitespace:]": r"\s",
    "[:ALNUM:]": r"a-zA-Z0-9",
    "[:alnum:]": r"a-zA-Z0-9",
}


_WILD = {"%": _ANY, "_": _ONE}


@lru_cache(maxsize=512)
def like_pattern(pattern: str, escape: str | None = None) -> re.Pattern[str]:
    """A pattern of LIKE as a regular expression.

    Raises:
        ValueError: the escape character stands in front of something else.
    """
    _check_escape(escape)
    found, place = [], 0
    while place < len(pattern):
        char = pattern[place]
        if char == escape:
            place += 1
            found.append(re.escape(_escaped(pattern, place, escape)))
        else:
            found.append(_WILD.get(char) or re.escape(char))
        place += 1
    return re.compile("".join(found))


def _check_escape(escape: str | None) -> None:
    if escape is not None and len(escape) != 1:
        message = f"the escape character {escape!r} is not one character"
        raise ValueError(message)


def _escaped(pattern: str, place: int, escape: str | None) -> str:
    char = pattern[place] if place < len(pattern) else ""
    if char not in ("%", "_", escape):
        message = f"in pattern {pattern!r} the escape character stands in front of {char!r}"
        raise ValueError(message)
    return char


@lru_cache(maxsize=512)
def similar_pattern(pattern: str, escape: str | None = None) -> re.Pattern[str]:
    """A pattern of SIMILAR TO as a regular expression.

    Raises:
        ValueError: it is none.
    """
    _check_escape(escape)
    found, place, inside = [], 0, False
    while place < len(pattern):
        char = pattern[place]
        if char == escape:
            place += 1
            found.append(re.escape(pattern[place]) if place < len(pattern) else "")
        elif inside:
            text, place, inside = _in_class(pattern, place)
            found.append(text)
        else:
            inside = char == "["
            found.append(_WILD.get(char) or char)
        place += 1
    try:
        return re.compile("".join(found))
    except re.error as error:
        message = f"{pattern!r} is no pattern of SIMILAR TO: {error}"
        raise ValueError(message) from error


def _in_class(pattern: str, place: int) -> tuple[str, int, bool]:
    """The next piece between brackets, the place of its end, and whether it goes on."""
    for name, members in _CLASSES.items():
        if pattern.startswith(name, place):
            return members, place + len(name) - 1, True
    char = pattern[place]
    if char == "]":
        return char, place, False
    return ("\\\\" if char == "\\" else char), place, True


def _matches(compiled: Callable[..., re.Pattern[str]]) -> RowBody:
    def run(text: str, pattern: str, escape: str | None = None) -> bool:
        return compiled(pattern, escape).fullmatch(text) is not None

    return run


_SPECIAL = re.compile(r"[%_]")


def _like_kernel(call: BoundCall) -> ArrowBody | None:
    """Constant patterns that Arrow has a kernel for; the escape character has none."""
    pattern = call.literals[1]
    if len(call.literals) > 2 or pattern is NO_LITERAL or pattern is None:
        return None
    inner = pattern.strip("%")
    if not _SPECIAL.search(inner):
        return _simple_kernel(pattern, inner)
    expression = like_pattern(pattern).pattern.replace("\\u2028\\u2029", "\\x{2028}\\x{2029}")
    expression = expression.replace("\\u0085", "\\x{85}")
    return lambda text, _: pc.match_substring_regex(text, f"^(?:{expression})$")


def _simple_kernel(pattern: str, inner: str) -> ArrowBody:
    """Begins with, ends with, has in it, is."""
    front, back = pattern.startswith("%"), pattern.endswith("%")
    if inner and front and back:
        return lambda text, _: pc.match_substring(text, inner)
    if inner and front:
        return lambda text, _: pc.ends_with(text, inner)
    if inner and back:
        return lambda text, _: pc.starts_with(text, inner)
    if not inner and pattern:
        return lambda text, _: pc.equal(text, text)
    return lambda text, _: pc.equal(text, inner)


def _entry(name: str, doc: str, row: RowBody, kernel: Any, *, negated: bool) -> FunctionEntry:
    title = f"{'NOT ' if negated else ''}{name}"

    def arrow_of(call: BoundCall) -> ArrowBody | None:
        inner = None if kernel is None else kernel(call)
        if inner is None or not negated:
            return inner
        return lambda *columns: pc.invert(inner(*columns))

    return FunctionEntry(
        name=title,
        category="comparison",
        doc=doc,
        forms=(f"string {title} pattern", f"string {title} pattern ESCAPE char"),
        rule=takes(STRING, STRING, STRING, needs=2, gives=t.BooleanType()),
        row=(lambda *values: not row(*values)) if negated else row,
        arrow_of=arrow_of,
    )


_LIKE, _SIMILAR = _matches(like_pattern), _matches(similar_pattern)
ENTRIES = (
    _entry("LIKE", "Whether a text fits a pattern.", _LIKE, _like_kernel, negated=False),
    _entry("LIKE", "Whether a text does not fit a pattern.", _LIKE, _like_kernel, negated=True),
    _entry("SIMILAR TO", "Whether a text fits an expression.", _SIMILAR, None, negated=False),
    _entry(
        "SIMILAR TO", "Whether a text does not fit an expression.", _SIMILAR, None, negated=True
    ),
)
