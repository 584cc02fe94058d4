"""Whose time it is: a task's seconds go to one account at a time.

    task waits for input ─▶ `waiting`   hands packets over ─▶ `blocked`   decodes, encodes ─▶ `own`
    an operator works ─▶ its own metrics; what it emits is the time of whoever gets it

In: `switch` at every change.  Out: nanoseconds by account; runtime/task.py reports them.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Protocol

__all__ = ["Account", "SpentTime", "Stopwatch"]


class Account(Protocol):
    """Something that time is spent on."""

    busy_ns: int


class SpentTime:
    """An account of nothing but time."""

    __slots__ = ("busy_ns",)

    def __init__(self) -> None:
        self.busy_ns = 0


class Stopwatch:
    """One account runs, the others rest.

    Two switches around an operator cost about 0.4 microseconds, for a list of records: with long
    lists nothing that can be measured (docs/decisions/0024-jobs-tell-of-themselves-in-files.md).
    """

    __slots__ = ("_since", "running")

    def __init__(self) -> None:
        self.running: Account = SpentTime()
        self._since = perf_counter_ns()

    def switch(self, to: Account) -> Account:
        """Let another account run; the one that ran until now, to switch back."""
        now = perf_counter_ns()
        was = self.running
        was.busy_ns += now - self._since
        self._since = now
        self.running = to
        return was
