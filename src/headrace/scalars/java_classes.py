r"""Character classes of Java's regular expressions, as patterns of Python that match one character.

    \w   [a-zA-Z_0-9]      \p{Lu}   [A-ZÀ-ÖØ-Þ...]      [a-z&&[^bc]]   (?=[a-z])[^bc]

In: scalars/java_regex.py.  Out: pieces of patterns.  Next: scalars/java_regex.py
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

_HORIZONTAL = r"\t \xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_VERTICAL = r"\n\x0b\f\r\x85\u2028\u2029"
# The inside of a class for each letter behind a backslash; its capital is everything else.
LETTERS = {
    "d": "0-9",
    "w": "a-zA-Z_0-9",
    "s": r" \t\n\x0b\f\r",
    "h": _HORIZONTAL,
    "v": _VERTICAL,
}
_POSIX = {
    "Lower": "a-z", "Upper": "A-Z", "ASCII": r"\x00-\x7f", "Alpha": "a-zA-Z", "Digit": "0-9",
    "Alnum": "a-zA-Z0-9", "Punct": r"!-/:-@\[-`{-~", "Graph": "!-~", "Print": " -~",
    "Blank": r" \t", "Cntrl": r"\x00-\x1f\x7f", "XDigit": "0-9a-fA-F", "Space": r" \t\n\x0b\f\r",
}  # fmt: skip
# Binary properties of Unicode that the categories tell.
_PROPERTIES = {
    "Alphabetic": ("L", "Nl"), "Letter": ("L",), "Digit": ("Nd",), "Uppercase": ("Lu",),
    "Lowercase": ("Ll",), "Punctuation": ("P",), "Control": ("Cc",), "White_Space": ("Z",),
}  # fmt: skip


class UnknownClassError(Exception):
    """A class that headrace does not know; the message is its name."""


def named_class(name: str) -> str:
    r"""The inside of the class of ``\p{name}``."""
    if name in _POSIX:
        return _POSIX[name]
    bare = re.sub("^(Is|gc=|general_category=)", "", name)
    if bare in _categories():
        return category_class(bare)
    known = {key.lower(): value for key, value in _PROPERTIES.items()}
    if name.startswith("Is") and bare.lower() in known and bare.lower() != "white_space":
        return "".join(category_class(part) for part in known[bare.lower()])
    raise UnknownClassError(name)


@cache
def _categories() -> frozenset[str]:
    full = {unicodedata.category(chr(code)) for code in range(0x3000)} | {"Cs", "Co", "Nl"}
    return frozenset(full | {name[0] for name in full})


@cache
def category_class(category: str) -> str:
    """The inside of a class of all characters of a general category, such as L or Lu."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)).startswith(category):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{_written(low)}-{_written(high)}" for low, high in ranges)


def _written(code: int) -> str:
    return f"\\U{code:08x}"


def inside(sign: str) -> str:
    """A character as it stands in a class of Python."""
    return _written(ord(sign)) if not sign.isalnum() or not sign.isascii() else sign


def negated(pattern: str) -> str:
    """What matches one character that a pattern of one character does not match."""
    return rf"(?:(?!{pattern})[\s\S])"


def both(patterns: list[str]) -> str:
    """What matches one character that all of them match."""
    if len(patterns) == 1:
        return patterns[0]
    return "(?:" + "".join(f"(?={pattern})" for pattern in patterns[:-1]) + patterns[-1] + ")"


def either(patterns: list[str]) -> str:
    """What matches one character that one of them matches."""
    return patterns[0] if len(patterns) == 1 else "(?:" + "|".join(patterns) + ")"
