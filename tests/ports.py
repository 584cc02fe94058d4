"""Ports of loopback for servers of tests that cannot choose one themselves and tell it.

Out: `free_port()`.  A port that the system chose and that was closed again may be anybody's
a moment later: another server's, or one end of a connection.  These are outside the range from
which the system chooses, and a process that is given one holds a lock on the port's file until it
ends.  So neither another worker of this run nor another run on this machine gets it meanwhile,
whether somebody listens there or a test needs that nobody does.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from pathlib import Path
from typing import IO

_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LEAST, _COUNT = 20_000, 10_000
_HELD: list[IO[str]] = []  # closing a file would give its lock back


def free_port() -> int:
    """A port that nobody listens on; nobody else gets it from here while this process lives."""
    folder = Path(tempfile.gettempdir()) / f"headrace-test-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for port in _candidates():
        if _hold(folder / str(port)) and _is_free(port):
            return port
    raise AssertionError(f"none of the ports {_candidates()} is free; their locks are in {folder}")


def _candidates() -> range:
    """Ports that the system gives to nobody who asks for any."""
    try:
        least, most = map(int, _SYSTEM.read_text().split())
    except FileNotFoundError:  # not Linux; IANA's range, which macOS keeps to
        least, most = 49_152, 65_535
    first = _LEAST if least >= _LEAST + _COUNT else most + 1
    return range(first, min(first + _COUNT, 65_536))


def _hold(file: Path) -> bool:
    opened = file.open("w")
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        opened.close()
        return False
    _HELD.append(opened)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
