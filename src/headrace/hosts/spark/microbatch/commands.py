"""Puts commands for a running query into its control directory: ticks, signs of life, the end.

Spark reads them as a stream of small files, so a command belongs to a batch
and is replayed with it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.errors import ConnectorError
from headrace.runtime.exchange.control_packets import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.io.storage import Storage

log = logging.getLogger(__name__)

_KEPT_FILES = 200
_RETRY_MS = 1_000


class CommandWriter:
    """Writes commands, and wakes the job when its next processing-time timer is due.

    Args:
        folder: the control directory, on any file system.
        not_idle: tells which splits are held back (hosts/alignment.py): every tick says so, since
            it makes subtasks look who is idle.
    """

    def __init__(self, folder: Storage, not_idle: Callable[[], list[str]] | None = None) -> None:
        self._folder = folder
        self._not_idle = not_idle
        self._lock = threading.Lock()
        self._alarm: threading.Timer | None = None
        self._closed = False

    def send(self, command: str) -> None:
        """Put a command where the next batch will find it, in one atomic step."""
        with self._lock:
            name = f"{time.time_ns():020d}-{command}.txt"
            lines = [command, *(ACTIVE + json.dumps(channel) for channel in self._held())]
            self._folder.write_atomic(name, "".join(f"{line}\n" for line in lines).encode())
            self._forget_old()

    def _held(self) -> list[str]:
        return [] if self._not_idle is None else self._not_idle()

    def say_who_is_not_idle(self) -> None:
        """A batch has read something: in the next one, what is held back must not become idle."""
        if self._held():
            self.send("tick")

    def _forget_old(self) -> None:
        # Batches that read the oldest files were committed long ago.
        commands = [file.name for file in self._folder.list("") if file.name[0].isdigit()]
        for old in commands[:-_KEPT_FILES]:
            with contextlib.suppress(ConnectorError):
                self._folder.delete(old)

    def wake_at(self, when_ms: int | None) -> None:
        """Send a tick at this time; replaces an earlier request."""
        with self._lock:
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            if when_ms is None or self._closed:
                return
            delay_s = max(0.0, when_ms / 1000 - time.time())
            self._alarm = threading.Timer(delay_s, self._tick)
            self._alarm.daemon = True
            self._alarm.start()

    def _tick(self) -> None:
        try:
            self.send("tick")
        except ConnectorError as error:
            # A full disk, say. Without its tick a job whose sources are quiet would sleep forever.
            log.warning("a timer is due, but its tick could not be written: %s", error)
            self.wake_at(wall_clock() + _RETRY_MS)

    def close(self) -> None:
        """No more ticks."""
        self._closed = True
        self.wake_at(None)
