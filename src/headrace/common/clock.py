"""The clocks: now, and processing time, which in an epoch that may run again is that of its plan.

A batch that failed half way is run again, perhaps minutes later, and some of its sinks may have its
first output already.  What it computes must not depend on when that is: timers, idleness, TTL and
PROCTIME see the time at which the batch was planned, which is stored with the plan.  In continuous
mode an epoch counts before its sinks hear of it, so nothing is run again, and the clock runs on.

In: hosts say what an epoch's time is (hosts/local/host.py, hosts/spark/microbatch/worker.py).
Out: milliseconds.
"""

from __future__ import annotations

import threading
import time

# of a thread: several jobs may run in one process, each on its own
_epoch = threading.local()


def wall_clock() -> int:
    """Now, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def processing_time() -> int:
    """What records are processed at on this thread, in epoch milliseconds."""
    planned_ms: int | None = getattr(_epoch, "planned_ms", None)
    return wall_clock() if planned_ms is None else planned_ms


def processing_time_ns() -> int:
    """The same in nanoseconds; a planned time has milliseconds only."""
    planned_ms: int | None = getattr(_epoch, "planned_ms", None)
    return time.time_ns() if planned_ms is None else planned_ms * 1_000_000


def hold_processing_time(planned_ms: int | None) -> None:
    """What this thread processes from now on belongs to an epoch that was planned at this time.

    Args:
        planned_ms: None lets the clock run again.
    """
    _epoch.planned_ms = planned_ms
