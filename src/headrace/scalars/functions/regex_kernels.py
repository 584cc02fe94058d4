r"""Kernels of regular expressions: for patterns that Arrow's matcher reads as Java does.

    (&|^)channel_id=([^&]*), group 2   ──▶   (?:&|^)channel_id=(?P<g>[^&]*)

Arrow has RE2.  It differs from Java in line breaks, classes of characters, groups that take no part
in a match, and loops over groups; a pattern with any of that has no kernel and is matched line by
line (regex.py).

In: calls with a constant pattern.  Out: kernels, or None.  Next: scalars/functions/regex.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

if TYPE_CHECKING:
    from headrace.scalars.functions.entry import ArrowBody, BoundCall

_CHARACTER = r"[^.^$*+?{}\[\]()|\\]|\\[dDwW!-/:-@\[-`{-~]"
_CLASS = r"\[\^?(?:[^\[\]\\&^]|&(?!&)|\\[dDwW!-/:-@\[-`{-~])+\]"
_TIMES = r"(?:[*+?]|\{\d{1,3}(?:,(?:\d{1,3})?)?\})(?:\?|(?!\+))"
_TOKEN = re.compile(
    rf"(?P<open>\((?:\?:|(?!\?)))|(?P<close>\))(?![*+?{{])|(?P<or>\|)|\^(?![*+?{{])|"
    rf"(?:{_CLASS}|{_CHARACTER})(?:{_TIMES}|(?![*+?{{]))"
)
_NAME = "g"


def plain_pattern(pattern: str, group: int) -> str | None:
    """The pattern for Arrow, in which only a group has a name; None if Java may read it otherwise.

    Args:
        pattern: as the user wrote it.
        group: that is asked for; 0 is the whole match.
    """
    found: list[str] = []
    place, depth, groups, named = 0, 0, 0, False
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        if token is None:
            return None
        text, place = token[0], token.end()
        if token["open"] == "(":
            groups += 1
            # inside of others it may take no part in the match
            named = named or (groups == group and depth == 0)
            text = f"(?P<{_NAME}>" if groups == group and depth == 0 else "(?:"
        if token["or"] and depth == 0 and group:
            return None
        depth += bool(token["open"]) - bool(token["close"])
        if depth < 0:
            return None
        found.append(text)
    if depth or not found or (group and not named):
        return None
    whole = "".join(found)
    return whole if group else f"(?P<{_NAME}>{whole})"


def _constant(call: BoundCall, place: int, default: Any) -> Any:
    return call.literals[place] if place < len(call.literals) else default


def extract(call: BoundCall) -> ArrowBody | None:
    """REGEXP_EXTRACT and REGEXP_SUBSTR."""
    pattern, group = _constant(call, 1, None), _constant(call, 2, 0)
    if not isinstance(pattern, str) or not isinstance(group, int) or group < 0:
        return None
    written = plain_pattern(pattern, group)
    if written is None:
        return None
    return lambda text, *_: pc.struct_field(pc.extract_regex(text, written), [_NAME])


def found(call: BoundCall) -> ArrowBody | None:
    """REGEXP."""
    pattern = _constant(call, 1, None)
    written = plain_pattern(pattern, 0) if isinstance(pattern, str) else None
    return None if written is None else lambda text, _: pc.match_substring_regex(text, written)
