"""Says so when somebody is kept waiting: for whom, for how long at most, and why.

In: a block that waits for a server.  Out: one warning in the log once it has waited for three
seconds, whatever library it waits in.  Next: server_calls.py (calls that are made again)
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_log = logging.getLogger(__name__)

TOLD_AFTER_S = 3.0
_LOOKED_AT_EVERY_S = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class _Wait:
    """Somebody who waits."""

    what: str
    limit: str
    reason: Callable[[], str | None]
    only_with_reason: bool
    since: float

    def due(self) -> bool:
        if time.monotonic() < self.since + TOLD_AFTER_S:
            return False
        return not self.only_with_reason or self.reason() is not None

    def tell(self) -> None:
        known = self.reason()
        because = "" if known is None else f"; so far: {known}"
        _log.warning("waiting for %s, %s%s", self.what, self.limit, because)


class _Watch:
    """All who wait in this process, and the thread that looks at them.

    The thread tells, because those who wait are inside of client libraries.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waits: set[_Wait] = set()
        self._some = threading.Event()
        self._over = threading.Event()  # never: the thread ends with its process
        self._thread: threading.Thread | None = None

    def add(self, wait: _Wait) -> None:
        with self._lock:
            self._waits.add(wait)
            self._some.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="headrace-waiting", daemon=True
                )
                self._thread.start()

    def remove(self, wait: _Wait) -> None:
        with self._lock:
            self._waits.discard(wait)
            if not self._waits:
                self._some.clear()

    def _run(self) -> None:
        while self._some.wait():
            for each in self._due():
                each.tell()
            self._over.wait(min(_LOOKED_AT_EVERY_S, TOLD_AFTER_S))

    def _due(self) -> list[_Wait]:
        """Those who have waited for long; they are told once, and not looked at again."""
        with self._lock:
            due = [each for each in self._waits if each.due()]
            self._waits.difference_update(due)
            if not self._waits:
                self._some.clear()
        return due


_watch = _Watch()


def _watch_anew() -> None:
    global _watch
    _watch = _Watch()


os.register_at_fork(after_in_child=_watch_anew)


def _unknown() -> str | None:
    return None


@contextlib.contextmanager
def told_when_long(
    what: str,
    limit: str,
    reason: Callable[[], str | None] = _unknown,
    *,
    only_with_reason: bool = False,
) -> Iterator[None]:
    """Has one line written to the log when the block takes longer than three seconds.

    Args:
        what: who is waited for and for what: ``Kafka at host:9092 to find the topic clicks``.
        limit: how long the block goes on: `at_most`.
        reason: what is known by then of why it takes so long; asked in another thread.
        only_with_reason: whether the wait is nothing to tell of as long as no reason is known.
    """
    wait = _Wait(what, limit, reason, only_with_reason, time.monotonic())
    watch = _watch
    watch.add(wait)
    try:
        yield
    finally:
        watch.remove(wait)


def at_most(limit_s: float | None, option: str = "") -> str:
    """A limit in words: ``for 60 s at most (default.api.timeout.ms)``."""
    named = f" ({option})" if option else ""
    return "without a limit" + named if limit_s is None else f"for {limit_s:g} s at most{named}"
