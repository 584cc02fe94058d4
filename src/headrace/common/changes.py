"""The kinds of change that a stream of lines may have, as a set.

In: connectors and operators say theirs.  Out: rel/changelog.py decides with them.
Next: common/types.py has the kind of a single `Row`
"""

from __future__ import annotations

from enum import Flag


class Changes(Flag):
    """Kinds of change; the letters are those of EXPLAIN."""

    INSERT = 1
    UPDATE_BEFORE = 2
    UPDATE_AFTER = 4
    DELETE = 8
    UPSERT = 13
    ALL = 15

    @property
    def only_inserts(self) -> bool:
        """Whether nothing is ever taken back: such streams have no column for the kind."""
        return self == Changes.INSERT

    def __str__(self) -> str:
        letters = {"I": Changes.INSERT, "UB": Changes.UPDATE_BEFORE}
        letters |= {"UA": Changes.UPDATE_AFTER, "D": Changes.DELETE}
        return ",".join(name for name, kind in letters.items() if kind in self)
