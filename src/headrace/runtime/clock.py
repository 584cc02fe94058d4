"""The wall clock of processing time."""

from __future__ import annotations

import time


def wall_clock() -> int:
    """Processing time in epoch milliseconds."""
    return time.time_ns() // 1_000_000
