"""Which process a job belongs to, and whether it still lives.

In: host, pid and start of a process, as a file on disk has them.  Out: alive, dead or unknown.
"""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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


def here() -> str:
    """This machine and this process, as ``host:pid``: how tasks say where they run."""
    return f"{this_host()}:{os.getpid()}"


def this_process() -> Process:
    """The process that asks."""
    return process_of(os.getpid())


def process_of(pid: int) -> Process:
    """A process of this machine by its number."""
    return Process(this_host(), pid, _born(pid))


def start_detached(
    command: Sequence[str], log: Path, *, variables: Mapping[str, str], folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a process that outlives this one and its terminal.

    Args:
        command: what to run.
        log: gets all that it prints, behind what is there.
        variables: its environment, all of it.
        folder: where it runs; here if not given.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=folder,
            env=variables,
        )


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
