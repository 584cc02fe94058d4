"""Python's garbage collector while records are processed.

An epoch makes hundreds of thousands of small tuples; scanning them over and over for cycles costs a
quarter to a half of the time of a job whose records are Python objects.
In: a process that runs tasks.  Out: a collector that looks less often.  Next: hosts/local/host.py
"""

from __future__ import annotations

import contextlib
import gc
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SELDOM = (200_000, 20, 100)


def look_seldom() -> None:
    """For a process that does nothing else: a worker."""
    gc.set_threshold(*_SELDOM)


class _Lookout:
    """Counts who processes records in a process that is somebody else's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = 0
        self._before = gc.get_threshold()

    def enter(self) -> None:
        with self._lock:
            if self._busy == 0:
                self._before = gc.get_threshold()
                if 0 < self._before[0] < _SELDOM[0]:  # else the owner knows better
                    look_seldom()
            self._busy += 1

    def leave(self) -> None:
        with self._lock:
            self._busy -= 1
            if self._busy == 0 and gc.get_threshold() == _SELDOM:
                gc.set_threshold(*self._before)


_LOOKOUT = _Lookout()


@contextlib.contextmanager
def seldom_looking() -> Iterator[None]:
    """While any thread is in here; then the process has its own thresholds again."""
    _LOOKOUT.enter()
    try:
        yield
    finally:
        _LOOKOUT.leave()
