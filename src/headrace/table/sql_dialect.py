"""The dialects of SQL that a session can have.  Next: table/table_config.py"""

from __future__ import annotations

__all__ = ["SqlDialect"]


class SqlDialect:
    """Flink's own dialect, and Hive's, which headrace does not parse."""

    DEFAULT = 0
    HIVE = 1
