"""The wall clock: processing time, and when things of a job happened."""

from __future__ import annotations

import time


def wall_clock() -> int:
    """Now, in epoch milliseconds."""
    return time.time_ns() // 1_000_000
