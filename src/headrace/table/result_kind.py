"""Whether a statement has something to show.  Next: table/table_result.py"""

from __future__ import annotations

__all__ = ["ResultKind"]


class ResultKind:
    """How a statement ended: done, or done with lines to show."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
