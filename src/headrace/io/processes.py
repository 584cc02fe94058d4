"""Which process a job belongs to, and whether it still lives.

In: host, pid and start of a process, as a file on disk has them.  Out: alive, dead or unknown.
Used by io/lease.py and control/registry.py.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process of some machine. `born` tells it from a later one that got the same number."""

    host: str
    pid: int
    born: str = ""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def is_local(self) -> bool:
        """Whether it runs, or ran, on this machine."""
        return self.host == this_host()

    def is_alive(self) -> bool | None:
        """Whether it runs; None when it is on another machine and cannot be asked."""
        if not self.is_local:
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True  # of another user
        except (OverflowError, ValueError):
            return False
        born = _born(self.pid)
        return not (self.born and born and born != self.born)


@cache
def this_host() -> str:
    """The name of this machine."""
    return socket.gethostname()


def this_process() -> Process:
    """The process that asks."""
    return Process(this_host(), os.getpid(), _born(os.getpid()))


def _born(pid: int) -> str:
    """When a process started, in ticks since the machine did; "" where the system does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] in "ZX":
        return "dead"  # ended, and nobody has asked for its exit code yet
    return fields[19]
