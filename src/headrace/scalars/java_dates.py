"""Patterns of Java for dates and times: DateTimeFormatter's, and the older SimpleDateFormat's.

    yyyy-MM-dd HH:mm:ss.SSS   'T'   EEE d MMM   h:mm a   X

The two differ in few letters: ``S`` is a fraction of a second or milliseconds, ``u`` a year or a
day of the week; the older one is lenient when it reads and ignores what follows.

In: patterns and times.  Out: texts and parts of times.  Next: scalars/java_date_fields.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.scalars import java_date_fields as f
from headrace.scalars import moments as m

if TYPE_CHECKING:
    from datetime import tzinfo

_MODERN = "GuyYMLdDEecaHkKhmsSnNAwWQqZXxzVO"
_LEGACY = "GyYMLwWDdFEuaHkKhmsSzZX"
_NUMERIC = "uyYMLdDecHkKhmsSnNAwWQqF"


@dataclass(frozen=True, slots=True)
class PatternToken:
    """A run of one letter, or a text to be taken as it is (letter is empty)."""

    letter: str
    count: int
    text: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it stands for digits."""
        words = self.count >= 3 and self.letter in "MLQqEec"
        return bool(self.letter) and self.letter in _NUMERIC and not words and self.letter != "E"


@dataclass(frozen=True, slots=True)
class JavaDatePattern:
    """A pattern that was read.

    Attributes:
        tokens: its parts.
        legacy: whether it is SimpleDateFormat's.
    """

    tokens: tuple[PatternToken, ...]
    legacy: bool

    def format(self, wall: int, zone: tzinfo | None = None, *, later: bool = False) -> str:
        """A time on the wall clock, in nanoseconds since 1970, as text.

        Args:
            wall: the time.
            zone: whose clock it is.
            later: of a time that the clock shows twice, whether the second one is meant.
        """
        moment = f.MomentFields(wall, zone, legacy=self.legacy, later=later)
        return "".join(
            token.text or moment.text(token.letter, token.count) for token in self.tokens
        )

    def read(self, text: str) -> f.ReadFields | None:
        """The parts of a time that a text has; None if it does not fit."""
        found = _reader(self).match(text)
        if found is None or (not self.legacy and found.end() != len(text)):
            return None
        return f.ReadFields(list(zip(_groups(self), found.groups(), strict=True)), self.legacy)


@lru_cache(maxsize=256)
def date_pattern(text: str, *, legacy: bool = False) -> JavaDatePattern:
    """A pattern.

    Raises:
        ValueError: it is none.
    """
    tokens, place = [], 0
    while place < len(text):
        char = text[place]
        if char == "'":
            quoted, place = _quoted(text, place)
            tokens.append(PatternToken("", 0, quoted))
        elif char.isascii() and char.isalpha():
            end = place
            while end < len(text) and text[end] == char:
                end += 1
            tokens.append(_token(char, end - place, text, legacy=legacy))
            place = end
        else:
            if not legacy and char in "{}#[]":
                message = f"{char!r} in pattern {text!r} is not supported"
                raise ValueError(message)
            tokens.append(PatternToken("", 0, char))
            place += 1
    return JavaDatePattern(tuple(tokens), legacy)


def _token(letter: str, count: int, text: str, *, legacy: bool) -> PatternToken:
    if letter not in (_LEGACY if legacy else _MODERN):
        message = f"the letter {letter!r} means nothing in pattern {text!r}"
        raise ValueError(message)
    if not legacy and letter in "dHhKkms" and count > 2:
        message = f"too many letters {letter!r} in pattern {text!r}"
        raise ValueError(message)
    return PatternToken(letter, count)


def _quoted(text: str, place: int) -> tuple[str, int]:
    """What stands between quotes, and where to go on; two quotes are one."""
    if text.startswith("''", place):
        return "'", place + 2
    found, place = [], place + 1
    while place < len(text):
        if text.startswith("''", place):
            found.append("'")
            place += 2
        elif text[place] == "'":
            return "".join(found), place + 1
        else:
            found.append(text[place])
            place += 1
    message = f"a quote is not closed in pattern {text!r}"
    raise ValueError(message)


def _groups(pattern: JavaDatePattern) -> list[PatternToken]:
    return [token for token in pattern.tokens if token.letter]


@lru_cache(maxsize=256)
def _reader(pattern: JavaDatePattern) -> re.Pattern[str]:
    pieces = []
    for place, token in enumerate(pattern.tokens):
        if token.text:
            pieces.append(re.escape(token.text))
            continue
        following = pattern.tokens[place + 1 : place + 2]
        abuts = bool(following) and following[0].is_number
        pieces.append(f"({_expression(token, legacy=pattern.legacy, abuts=abuts)})")
    return re.compile("".join(pieces))


def _expression(token: PatternToken, *, legacy: bool, abuts: bool) -> str:
    letter, count = token.letter, token.count
    if not token.is_number:
        return f.words_expression(letter, count)
    if legacy:
        return rf"\d{{{count}}}" if abuts else r"\s*[+-]?\d+"
    if letter == "S":
        return rf"\d{{{count}}}"
    if letter in "uyY":
        if count == 2:
            return r"\d{2}"
        return rf"\d{{{count}}}" if abuts else rf"[+-]?\d{{{count},}}"
    if count == 1:
        return r"\d" if abuts else r"\d+"
    return rf"\d{{{count}}}"


def format_wall(
    wall: int, pattern: str, *, legacy: bool = False, zone: tzinfo | None = None
) -> str:
    """A time on the wall clock as text."""
    return date_pattern(pattern, legacy=legacy).format(wall, zone)


def format_instant(instant: int, pattern: str, zone: tzinfo) -> str:
    """A point in time as text in a pattern of SimpleDateFormat, on the clock of a zone."""
    wall = m.wall_from_instant(instant, zone)
    later = m.instant_from_wall(wall, zone) != instant
    return date_pattern(pattern, legacy=True).format(wall, zone, later=later)


def read_modern(text: str, pattern: str) -> int | None:
    """Nanoseconds on the wall clock that a text means; None if it does not fit."""
    try:
        fields = date_pattern(pattern).read(text)
        return None if fields is None else fields.smart_wall()
    except ValueError:
        return None


def read_legacy(text: str, pattern: str, zone: tzinfo) -> int | None:
    """Nanoseconds in UTC that a text means, on the clock of a zone; None if it does not fit."""
    fields = date_pattern(pattern, legacy=True).read(text)
    if fields is None:
        return None
    wall = fields.lenient_wall()
    offset = fields.offset_nanos()
    return m.instant_from_wall_later(wall, zone) if offset is None else wall - offset
