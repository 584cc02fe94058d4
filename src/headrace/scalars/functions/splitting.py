"""Functions that take strings apart: SPLIT_INDEX, SPLIT, STR_TO_MAP.

In: texts.  Out: entries.  Next: scalars/java_regex.py for the patterns of STR_TO_MAP
"""

from __future__ import annotations

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.scalars.functions import string_kernels as kernels
from headrace.scalars.functions.entry import FunctionEntry
from headrace.scalars.functions.rules import INT, STRING, VARCHAR, one_of, takes
from headrace.scalars.functions.strings import from_utf16, to_utf16
from headrace.scalars.java_regex import JavaPatternError, java_split


def split_index(text: str, separator: str | int, index: int) -> str | None:
    """One of the parts between separators, from 0; a separator may be the code of a character."""
    if isinstance(separator, int):
        if not 1 <= separator <= 255:
            return None
        separator = chr(separator)
    if index < 0 or not text:
        return None
    # Without a separator Java's libraries split at white space.
    parts = text.split(separator) if separator else text.split()
    return parts[index] if index < len(parts) else None


def split(text: str, separator: str) -> list[str]:
    """All parts between separators; an empty text has none."""
    if not separator:
        return [from_utf16(unit) for unit in to_utf16(text)]
    return text.split(separator) if text else []


def str_to_map(text: str, pairs: str = ",", keys: str = "=") -> dict[str, str | None]:
    """Pairs of a text; both separators are regular expressions."""
    if not text:
        return {}
    found: dict[str, str | None] = {}
    try:
        for pair in java_split(text, pairs):
            key, *value = java_split(pair, keys, limit=2)
            found[key if value else pair] = value[0] if value else None
    except JavaPatternError as error:
        message = f"STR_TO_MAP cannot split by {pairs!r} and {keys!r}: {error}"
        raise InvalidArgumentError(message, fix="write a regular expression of Java") from None
    return found


ENTRIES = (
    FunctionEntry(
        name="SPLIT_INDEX",
        category="string",
        doc="One of the parts between separators, from 0; NULL if there is none.",
        forms=("SPLIT_INDEX(string, separator, index)",),
        rule=one_of(
            takes(STRING, STRING, INT, gives=VARCHAR, nullable=True),
            takes(STRING, INT, INT, gives=VARCHAR, nullable=True),
        ),
        row=split_index,
        arrow=kernels.split_index,
    ),
    FunctionEntry(
        name="SPLIT",
        category="collection",
        doc="The parts between separators as an array.",
        forms=("SPLIT(string, separator)",),
        rule=takes(STRING, STRING, gives=t.ArrayType(VARCHAR)),
        row=split,
    ),
    FunctionEntry(
        name="STR_TO_MAP",
        category="string",
        doc="The pairs of a text as a map; separators are regular expressions.",
        forms=("STR_TO_MAP(string[, pair_separator, key_value_separator])",),
        rule=one_of(
            takes(STRING, gives=t.MapType(VARCHAR, VARCHAR), nullable=True),
            takes(STRING, STRING, STRING, gives=t.MapType(VARCHAR, VARCHAR), nullable=True),
        ),
        row=str_to_map,
    ),
)
