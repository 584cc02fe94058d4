"""Functions of regular expressions, in Java's language (scalars/java_regex.py says what differs).

A pattern that Java does not take gives NULL (REGEXP: FALSE), as in Flink; one that headrace cannot
match is an error.  Places are counted as Java does, in UTF-16 units.

In: texts and patterns.  Out: entries.  Next: scalars/java_regex.py, regex_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.scalars.functions import regex_kernels as kernels
from headrace.scalars.functions.entry import FunctionEntry
from headrace.scalars.functions.rules import INT, INTEGRAL, STRING, VARCHAR, takes
from headrace.scalars.java_regex import JavaPatternError, compile_java

if TYPE_CHECKING:
    import re


def pattern_of(regex: str) -> re.Pattern[str] | None:
    """The compiled pattern; None if it is none in Java."""
    try:
        return compile_java(regex)
    except JavaPatternError:
        return None


def regexp(text: str, regex: str) -> bool:
    """Whether the pattern is found anywhere; an empty pattern never is."""
    pattern = pattern_of(regex) if regex else None
    return pattern is not None and pattern.search(text) is not None


def regexp_count(text: str, regex: str) -> int | None:
    """How often the pattern is found."""
    pattern = pattern_of(regex)
    return None if pattern is None else sum(1 for _ in pattern.finditer(text))


def regexp_instr(text: str, regex: str) -> int | None:
    """Where the pattern is found first, from 1; 0 if it is not."""
    pattern = pattern_of(regex)
    if pattern is None:
        return None
    found = pattern.search(text)
    return 0 if found is None else len(text[: found.start()].encode("utf-16-le")) // 2 + 1


def regexp_extract(text: str, regex: str, group: int = 0) -> str | None:
    """A group of the first match; NULL without one."""
    pattern = pattern_of(regex)
    found = None if pattern is None else pattern.search(text)
    if found is None or pattern is None or not 0 <= group <= pattern.groups:
        return None
    return found[group]


def regexp_extract_all(text: str, regex: str, group: int = 1) -> list[str | None] | None:
    """A group of every match."""
    pattern = pattern_of(regex)
    if pattern is None or not 0 <= group <= pattern.groups:
        return None
    return [found[group] for found in pattern.finditer(text)]


def regexp_replace(text: str, regex: str, new: str) -> str | None:
    """The text with every match replaced; the new text is taken as it is."""
    pattern = pattern_of(regex)
    return None if pattern is None else pattern.sub(lambda _: new, text)


_TWO_TEXTS = (STRING, STRING)

ENTRIES = (
    FunctionEntry(
        name="REGEXP",
        category="string",
        doc="Whether a pattern is found in the text.",
        forms=("REGEXP(string, pattern)",),
        rule=takes(*_TWO_TEXTS, gives=t.BooleanType()),
        row=regexp,
        arrow_of=kernels.found,
    ),
    FunctionEntry(
        name="REGEXP_COUNT",
        category="string",
        doc="How often a pattern is found.",
        forms=("REGEXP_COUNT(string, pattern)",),
        rule=takes(*_TWO_TEXTS, gives=t.IntType(), nullable=True),
        row=regexp_count,
    ),
    FunctionEntry(
        name="REGEXP_EXTRACT",
        category="string",
        doc="A group of the first match, the whole match by default; NULL without one.",
        forms=("REGEXP_EXTRACT(string, pattern[, group])",),
        rule=takes(*_TWO_TEXTS, INT, needs=2, gives=VARCHAR, nullable=True),
        row=regexp_extract,
        arrow_of=kernels.extract,
    ),
    FunctionEntry(
        name="REGEXP_EXTRACT_ALL",
        category="string",
        doc="A group of every match as an array, the first group by default.",
        forms=("REGEXP_EXTRACT_ALL(string, pattern[, group])",),
        rule=takes(*_TWO_TEXTS, INTEGRAL, needs=2, gives=t.ArrayType(VARCHAR), nullable=True),
        row=regexp_extract_all,
    ),
    FunctionEntry(
        name="REGEXP_INSTR",
        category="string",
        doc="Where a pattern is found first, from 1; 0 if it is not.",
        forms=("REGEXP_INSTR(string, pattern)",),
        rule=takes(*_TWO_TEXTS, gives=t.IntType(), nullable=True),
        row=regexp_instr,
    ),
    FunctionEntry(
        name="REGEXP_SUBSTR",
        category="string",
        doc="The first match; NULL without one.",
        forms=("REGEXP_SUBSTR(string, pattern)",),
        rule=takes(*_TWO_TEXTS, gives=VARCHAR, nullable=True),
        row=regexp_extract,
        arrow_of=kernels.extract,
    ),
    FunctionEntry(
        name="REGEXP_REPLACE",
        category="string",
        doc="The text with every match of a pattern replaced.",
        forms=("REGEXP_REPLACE(string, pattern, replacement)",),
        rule=takes(STRING, STRING, STRING, gives=VARCHAR),
        row=regexp_replace,
    ),
)
