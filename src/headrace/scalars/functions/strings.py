"""Functions of strings: case, trimming, parts, places, padding.

Characters are code points where Flink works on its own strings, and UTF-16 units where it works on
Java's (LPAD, RPAD, OVERLAY): characters outside of the first plane count twice there.

In: texts.  Out: entries.  Next: scalars/functions/splitting.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.scalars import types as kinds
from headrace.scalars.functions import string_kernels as kernels
from headrace.scalars.functions.entry import FunctionEntry
from headrace.scalars.functions.rules import (
    BINARY,
    INT,
    STRING,
    VARCHAR,
    first_argument,
    literal,
    one_of,
    takes,
)

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import Rule

_WORD = re.compile("[0-9A-Za-z]+")


def varying(type_: DataType) -> DataType:
    """The VARCHAR as long as a CHAR or VARCHAR."""
    assert isinstance(type_, t.CharType | t.VarCharType)
    return t.VarCharType(type_.length, type_._nullable)


def first_as_varying(types: tuple[DataType, ...]) -> DataType:
    """The result is a VARCHAR as long as the first argument."""
    return varying(types[0])


def _longest(types: tuple[DataType, ...]) -> int:
    lengths = [type_.length for type_ in types if isinstance(type_, t.CharType | t.VarCharType)]
    return min(sum(lengths), kinds.MAX_LENGTH)


def _joined(types: tuple[DataType, ...]) -> DataType:
    """CHAR and CHAR are a CHAR, all else is a VARCHAR; as long as both."""
    both_fixed = all(isinstance(type_, t.CharType) for type_ in types)
    return (t.CharType if both_fixed else t.VarCharType)(_longest(types))


def _overlaid(types: tuple[DataType, ...]) -> DataType:
    return t.VarCharType(_longest(types[:2]))


# --- bodies --------------------------------------------------------------------------------------


def to_utf16(text: str) -> str:
    """The text as Java counts it: characters outside of the first plane as two surrogates."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    data = text.encode("utf-16-le")
    units = (data[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(data), 2))
    return "".join(units)


def from_utf16(text: str) -> str:
    """The text of UTF-16 units; half of a pair becomes ``?``, as in Java."""
    if text.isascii():
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return whole.encode("utf-8", "replace").decode("utf-8")


def initcap(text: str) -> str:
    """Words of ASCII letters and digits with a capital in front; all else stays."""
    return _WORD.sub(lambda word: word[0][0].upper() + word[0][1:].lower(), text)


def ascii_code(text: str) -> int:
    """The first byte of the text, with its sign."""
    if not text:
        return 0
    first = text[0].encode("utf-8")[0]
    return first - 256 if first > 127 else first


def concat_ws(separator: str | None, *texts: str | None) -> str | None:
    """Texts with a separator between them; those that are NULL are left out."""
    if separator is None:
        return None
    return separator.join(text for text in texts if text is not None)


def trim(side: str, cut: str, text: str) -> str:
    """TRIM(side cut FROM text): all characters of `cut` go."""
    if side != "TRAILING":
        text = text.lstrip(cut)
    return text if side == "LEADING" else text.rstrip(cut)


def substring(text: str, start: int, size: int | None = None) -> str | None:
    """Characters from a place; a negative place counts from the end."""
    if size is not None and size < 0:
        return None
    first = start - 1 if start > 0 else (len(text) + start if start < 0 else 0)
    if first < 0:
        return ""
    return text[first:] if size is None else text[first : first + size]


def right(text: str, size: int) -> str:
    """The last characters."""
    return text[-size:] if size > 0 else ""


def locate(seek: str, text: str, start: int = 1) -> int:
    """Where `seek` is found from a place on, from 1; 0 if it is not, 1 if it is empty."""
    return text.find(seek, max(start - 1, 0)) + 1 if seek else 1


def instr(text: str, seek: str, start: int = 1, nth: int = 1) -> int:
    """Where the nth `seek` is found; a negative place searches backwards from the end."""
    if nth <= 0:
        message = f"INSTR was asked for appearance number {nth}"
        raise InvalidArgumentError(message, fix="count appearances from 1")
    if start == 0:
        return 0
    if start < 0:
        found = instr(text[::-1], seek[::-1], -start, nth)
        return len(text) + 2 - found - len(seek) if found else 0
    found = 0
    for _ in range(nth):
        found = locate(seek, text, start)
        if found == 0:
            return 0
        start = found + 1
    return found


def overlay(text: str, new: str, start: int, size: int | None = None) -> str:
    """`new` in place of `size` characters from a place on; as many as it has by default."""
    old, new = to_utf16(text), to_utf16(new)
    if start <= 0 or start > len(old):
        return text
    size = len(new) if size is None else size
    rest = old[start - 1 + size :] if 0 < size <= len(old) - start else ""
    return from_utf16(old[: start - 1] + new + rest)


def _padding(size: int, pad: str) -> str:
    return (pad * (size // len(pad) + 1))[:size] if size > 0 else ""


def lpad(text: str, size: int, pad: str) -> str | None:
    """Filled up on the left, or cut at the end, to `size` characters."""
    if size < 0 or not pad:
        return None
    text = to_utf16(text)
    return from_utf16((_padding(size - len(text), to_utf16(pad)) + text)[:size])


def rpad(text: str, size: int, pad: str) -> str | None:
    """Filled up on the right, or cut at the end, to `size` characters."""
    if size < 0 or not pad:
        return None
    text = to_utf16(text)
    return from_utf16((text + _padding(size - len(text), to_utf16(pad)))[:size])


def translate(text: str | None, old: str | None, new: str | None) -> str | None:
    """Characters of `old` become those of `new`; those that `new` has none for go."""
    if text is None or not old:
        return text
    fitting = (new or "").ljust(len(old), "\0")
    table: dict[int, str | None] = {}
    for i, sign in enumerate(old):
        table.setdefault(ord(sign), fitting[i] if i < len(new or "") else None)
    return text.translate(table)


def elt(index: int | None, *values: str | bytes | None) -> str | bytes | None:
    """The value at a place, from 1."""
    if index is None or not 1 <= index <= len(values):
        return None
    return values[index - 1]


# --- entries -------------------------------------------------------------------------------------

_TRIMMED = takes(STRING, STRING, needs=1, gives=first_as_varying)
_TWO_TEXTS_OR_BYTES = one_of(
    takes(STRING, STRING, gives=t.BooleanType()), takes(BINARY, BINARY, gives=t.BooleanType())
)


def _elt_rule() -> Rule:
    def longest(types: tuple[DataType, ...]) -> DataType:
        made = t.VarBinaryType if kinds.is_binary(types[1]) else t.VarCharType
        return made(max(type_.length for type_ in types[1:]))  # type: ignore[attr-defined]

    return one_of(
        takes(INT, STRING, STRING, needs=2, repeats=True, gives=longest, nullable=True),
        takes(INT, BINARY, BINARY, needs=2, repeats=True, gives=longest, nullable=True),
    )


def _string(name: str, doc: str, *forms: str, **more: object) -> FunctionEntry:
    return FunctionEntry(name=name, category="string", doc=doc, forms=forms, **more)  # type: ignore[arg-type]


ENTRIES = (
    _string(
        "UPPER",
        "The text in capitals.",
        "UPPER(string)",
        rule=takes(STRING, gives=first_argument),
        row=str.upper,
        arrow=kernels.ascii_only(pc.ascii_upper),
    ),
    _string(
        "LOWER",
        "The text in small letters.",
        "LOWER(string)",
        rule=takes(STRING, gives=first_argument),
        row=str.lower,
        arrow=kernels.ascii_only(pc.ascii_lower),
    ),
    _string(
        "INITCAP",
        "Every word with a capital in front, the rest in small letters.",
        "INITCAP(string)",
        rule=takes(STRING, gives=first_argument),
        row=initcap,
    ),
    _string(
        "CHAR_LENGTH",
        "How many characters it has.",
        "CHAR_LENGTH(string)",
        rule=takes(STRING, gives=t.IntType()),
        row=len,
        arrow=pc.utf8_length,
        aliases=("CHARACTER_LENGTH",),
    ),
    _string(
        "REVERSE",
        "The text backwards.",
        "REVERSE(string)",
        rule=takes(STRING, gives=VARCHAR, nullable=True),
        row=lambda text: text[::-1],
        arrow=pc.utf8_reverse,
    ),
    _string(
        "ASCII",
        "The number of the first byte; 0 if there is none.",
        "ASCII(string)",
        rule=takes(STRING, gives=t.IntType()),
        row=ascii_code,
    ),
    _string(
        "||",
        "Both behind each other.",
        "string1 || string2",
        rule=takes(STRING, STRING, gives=_joined),
        row=lambda one, other: one + other,
        arrow=kernels.concat,
    ),
    _string(
        "CONCAT",
        "All of them behind each other; NULL if one is.",
        "CONCAT(string1, string2, ...)",
        rule=takes(STRING, repeats=True, gives=VARCHAR),
        row=lambda *texts: "".join(texts),
        arrow=kernels.concat,
    ),
    _string(
        "CONCAT_WS",
        "All that are not NULL behind each other, the first between them.",
        "CONCAT_WS(separator, string1, string2, ...)",
        rule=takes(STRING, repeats=True, gives=VARCHAR),
        row=concat_ws,
        strict=False,
    ),
    _string(
        "TRIM",
        "The text without the characters of another at one end or both.",
        "TRIM([BOTH | LEADING | TRAILING] [characters FROM] string)",
        rule=takes(literal(STRING), STRING, STRING, gives=lambda types: varying(types[2])),
        row=trim,
        arrow=kernels.trim_side,
    ),
    _string(
        "LTRIM",
        "The text without spaces, or characters of another, in front.",
        "LTRIM(string[, characters])",
        rule=_TRIMMED,
        row=lambda text, cut=" ": text.lstrip(cut),
        arrow=kernels.trimmed(pc.utf8_ltrim),
    ),
    _string(
        "RTRIM",
        "The text without spaces, or characters of another, at the end.",
        "RTRIM(string[, characters])",
        rule=_TRIMMED,
        row=lambda text, cut=" ": text.rstrip(cut),
        arrow=kernels.trimmed(pc.utf8_rtrim),
    ),
    _string(
        "BTRIM",
        "The text without spaces, or characters of another, at both ends.",
        "BTRIM(string[, characters])",
        rule=takes(STRING, STRING, needs=1, gives=VARCHAR),
        row=lambda text, cut=" ": text.strip(cut),
        arrow=kernels.trimmed(pc.utf8_trim),
    ),
    *(
        _string(
            name,
            "Characters from a place, from 1; a negative place counts from the end.",
            *forms,
            rule=takes(STRING, INT, INT, needs=2, gives=first_as_varying, nullable=True),
            row=substring,
            arrow=kernels.substring,
        )
        for name, forms in (
            (
                "SUBSTRING",
                ("SUBSTRING(string FROM start [FOR length])", "SUBSTRING(string, start[, length])"),
            ),
            ("SUBSTR", ("SUBSTR(string, start[, length])",)),
        )
    ),
    _string(
        "LEFT",
        "The first characters.",
        "LEFT(string, length)",
        rule=takes(STRING, INT, gives=first_as_varying, nullable=True),
        row=lambda text, size: text[: max(size, 0)],
        arrow=kernels.left,
    ),
    _string(
        "RIGHT",
        "The last characters.",
        "RIGHT(string, length)",
        rule=takes(STRING, INT, gives=first_as_varying, nullable=True),
        row=right,
        arrow=kernels.right,
    ),
    _string(
        "POSITION",
        "Where the first is found in the second, from 1; 0 if it is not.",
        "POSITION(string1 IN string2)",
        rule=takes(STRING, STRING, gives=t.IntType()),
        row=locate,
        arrow=kernels.position,
    ),
    _string(
        "LOCATE",
        "Where the first is found in the second, from 1; 0 if it is not.",
        "LOCATE(string1, string2[, start])",
        rule=takes(STRING, STRING, INT, needs=2, gives=t.IntType()),
        row=locate,
        arrow=lambda seek, column, *rest: kernels.instr(column, seek, *rest),
    ),
    _string(
        "INSTR",
        "Where the second is found in the first, from 1; 0 if it is not.",
        "INSTR(string, substring[, start[, appearance]])",
        rule=takes(STRING, STRING, INT, INT, needs=2, gives=t.IntType()),
        row=instr,
        arrow=kernels.instr,
    ),
    _string(
        "OVERLAY",
        "The text with a part replaced by another text.",
        "OVERLAY(string1 PLACING string2 FROM start [FOR length])",
        rule=takes(STRING, STRING, INT, INT, needs=3, gives=_overlaid),
        row=overlay,
    ),
    _string(
        "REPLACE",
        "The text with every appearance of another replaced.",
        "REPLACE(string, old, new)",
        rule=takes(STRING, STRING, STRING, gives=VARCHAR),
        row=str.replace,
        arrow=kernels.replace,
    ),
    _string(
        "TRANSLATE",
        "The text with characters exchanged one by one.",
        "TRANSLATE(string, old, new)",
        rule=takes(STRING, STRING, STRING, gives=VARCHAR),
        row=translate,
        strict=False,
    ),
    _string(
        "LPAD",
        "The text filled up in front, or cut, to a length.",
        "LPAD(string, length, pad)",
        rule=takes(STRING, INT, STRING, gives=VARCHAR),
        row=lpad,
    ),
    _string(
        "RPAD",
        "The text filled up at the end, or cut, to a length.",
        "RPAD(string, length, pad)",
        rule=takes(STRING, INT, STRING, gives=VARCHAR),
        row=rpad,
    ),
    _string(
        "REPEAT",
        "The text several times.",
        "REPEAT(string, times)",
        rule=takes(STRING, INT, gives=VARCHAR),
        row=lambda text, times: text * times,
        arrow=kernels.repeat,
    ),
    _string(
        "STARTSWITH",
        "Whether the first begins with the second.",
        "STARTSWITH(value, start)",
        rule=_TWO_TEXTS_OR_BYTES,
        row=lambda text, part: text.startswith(part),
        arrow=kernels.starts_with,
    ),
    _string(
        "ENDSWITH",
        "Whether the first ends with the second.",
        "ENDSWITH(value, end)",
        rule=_TWO_TEXTS_OR_BYTES,
        row=lambda text, part: text.endswith(part),
        arrow=kernels.ends_with,
    ),
    _string(
        "ELT",
        "The value at a place, from 1; NULL if there is none.",
        "ELT(index, value1, value2, ...)",
        rule=_elt_rule(),
        row=elt,
        strict=False,
    ),
)
