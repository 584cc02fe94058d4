"""Which changes a stream may have, under PyFlink's name.  Next: common/changes.py"""

from __future__ import annotations

from headrace.common.changes import Changes

__all__ = ["ChangelogMode"]


class ChangelogMode:
    """The kinds of change that a changelog has."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Lines are only added."""
        return ChangelogMode(Changes.INSERT)

    @staticmethod
    def upsert() -> ChangelogMode:
        """Lines are added, replaced by their key, and removed."""
        return ChangelogMode(Changes.UPSERT)

    @staticmethod
    def all() -> ChangelogMode:
        """All kinds of change."""
        return ChangelogMode(Changes.ALL)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangelogMode) and self._changes == other._changes

    def __hash__(self) -> int:
        return hash(self._changes)

    def __repr__(self) -> str:
        return f"ChangelogMode[{self._changes}]"
