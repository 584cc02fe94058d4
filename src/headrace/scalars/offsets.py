"""Time zones that are offsets: ``Z``, ``UTC``, ``+02:00``, ``GMT-5``, ``UTC+05:30``.

In: text of an option or an argument.  Out: Python's fixed zones.  Next: scalars/session.py
"""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")
_LARGEST = timedelta(hours=18)


def offset_named(name: str) -> timezone | None:
    """The fixed zone that a text stands for; None if it names a place."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    found = _OFFSET.fullmatch(name)
    if found is None:
        return None
    sign, hours, minutes, seconds = found.groups()
    size = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
    if size > _LARGEST:
        return None
    return timezone(size if sign == "+" else -size)
