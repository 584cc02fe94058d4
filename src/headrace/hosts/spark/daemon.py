"""Spark's Python daemon, with workers that end in silence when their job was stopped.

The JVM closes its connection to the workers of a stopped job.  A worker of pyspark's tells that
with a traceback, in pieces that the JVM mixes with the output of others, so that nobody who reads
them can tell them apart (quiet.py tries to, where a user has started Spark).

In: the name of a module of pyspark's, from a local Spark (session.py).  Out: forked workers.
Next: microbatch/worker.py
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyspark import daemon

if TYPE_CHECKING:
    import socket

# how writing and reading end when the JVM has closed the connection
CUT_OFF = (BrokenPipeError, ConnectionResetError, EOFError)
_RAISES_WHAT_IT_CANNOT_SEND = "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE"

_work = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001
    """Work for the JVM once; the exit code, with which pyspark's daemon ends the process or not.

    What functions of users raise is not seen here: it has been sent to the JVM.
    """
    try:
        return _work(sock, authenticated)
    except CUT_OFF:
        return 1


def serve() -> None:
    """Fork a worker for every connection, until the JVM ends."""
    os.environ[_RAISES_WHAT_IT_CANNOT_SEND] = "1"
    daemon.worker = worker
    daemon.manager()


if __name__ == "__main__":
    serve()
