"""Under the path that users know; written in expr/expressions.py"""

from __future__ import annotations

from headrace.expr.expressions import (
    Expression,
    col,
    count,
    lit,
    window_end,
    window_start,
)

__all__ = [
    "Expression",
    "col",
    "count",
    "lit",
    "window_end",
    "window_start",
]
