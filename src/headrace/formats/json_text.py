"""Texts in JSON's quotes, as Flink's library writes them.

In: texts.  Out: the same with quotes and escapes.  Next: json_values.py, json_serialization.py
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from typing import Any

__all__ = ["quoted", "quoted_texts"]

# Flink's library writes these in capitals and as pairs; the json module in small letters, and raw.
_LOW = re.compile(r"[\x00-\x1f]")
_OTHERS = re.compile(r"\\u00[01][0-9a-f]|[\U00010000-\U0010ffff]")


def quoted(text: str, *, pairs: bool = True) -> str:
    """A text as a JSON string.

    Args:
        text: any text.
        pairs: whether characters beyond 16 bits are written as two escapes, as in messages.
    """
    found = encode_basestring(text)
    if text.isascii() and not _LOW.search(text):
        return found
    return _OTHERS.sub(lambda part: _escape(part[0], pairs=pairs), found)


def _escape(part: str, *, pairs: bool) -> str:
    if part[0] == "\\":
        return f"\\u{part[2:].upper()}"
    if not pairs:
        return part
    high, low = divmod(ord(part) - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04X}\\u{0xDC00 + low:04X}"


def quoted_texts(texts: list[Any]) -> list[str]:
    """Many texts as JSON strings; None is null. TypeError if one is something else."""
    try:
        found = list(map(encode_basestring, texts))
        # One look at all of them: most batches have nothing to change.
        whole = "".join(texts)
        if whole.isascii() and not _LOW.search(whole):
            return found
    except TypeError:
        if any(text is not None and not isinstance(text, str) for text in texts):
            raise
    return ["null" if text is None else quoted(text) for text in texts]
