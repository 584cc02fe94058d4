"""The line between the driver and a task: messages in both directions, nobody else on it.

    task ── connects, proves that it knows the secret ──▶ driver ── Start ──▶ task

The secret travels to the tasks inside their code, the way Spark sends code.  Nothing is unpickled
before it is proved (the challenge is HMAC, of Python's multiprocessing).
In: plain tuples.  Out: the same, in order.  Next: coordinator.py and loops.py have the two ends
"""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import socket
import threading
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import TYPE_CHECKING

from headrace.errors import JobError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import TaskMessage

__all__ = ["Address", "Line", "LineGone", "Switchboard", "connect"]

_HANDSHAKE_S = 10.0
_CONNECT_S = 30.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where the driver listens, and what a task has to know."""

    host: str
    port: int
    secret: bytes


class LineGone(ConnectionError):
    """The other end has hung up; whoever listens to the line learns it, too."""


class Line:
    """One end: messages of any picklable kind. `send` may be called by several threads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._closing = threading.Lock()

    def send(self, *message: TaskMessage) -> None:
        """Send a tuple; waits while the other end has not read what was sent before."""
        content = pickle.dumps(message, 5)
        with self._sending:
            try:
                self._connection.send_bytes(content)
            except OSError as error:
                raise LineGone(str(error)) from error

    def receive(self) -> tuple[TaskMessage, ...]:
        """The next message; raises EOFError or OSError when the other end is gone."""
        message: tuple[TaskMessage, ...] = pickle.loads(self._connection.recv_bytes())
        return message

    def poll(self, timeout_s: float | None) -> bool:
        """Whether there is a message, after waiting this long for one at most."""
        return self._connection.poll(timeout_s)

    def hang_up(self) -> None:
        """Let whoever receives on this line, at either end, learn that it is over.

        For threads that do not receive themselves: a number of a file that one thread closes while
        another one reads may be given to the next file that is opened.
        """
        with (
            self._closing,
            contextlib.suppress(OSError),  # closed already
            socket.socket(fileno=os.dup(self._connection.fileno())) as found,
        ):
            found.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up, and forget the line; by the thread that receives on it."""
        self.hang_up()
        with self._closing, contextlib.suppress(OSError):
            self._connection.close()


def connect(address: Address) -> Line:
    """A task's line to the driver.

    Raises:
        JobError: the driver does not answer.
    """
    try:
        found = socket.create_connection((address.host, address.port), timeout=_CONNECT_S)
        _tune(found)
        connection = Connection(found.detach())
        answer_challenge(connection, address.secret)
        deliver_challenge(connection, address.secret)
    except (OSError, EOFError, AuthenticationError) as error:
        raise JobError(
            f"a task cannot reach its driver at {address.host}:{address.port}: {error}",
            fix="let executors connect to the driver's machine, or set spark.driver.host to a name "
            "that they can reach",
        ) from error
    return Line(connection)


def _tune(found: socket.socket) -> None:
    found.settimeout(None)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Switchboard:
    """Listens for tasks; each gets a thread that hands its messages on.

    Args:
        host: the address to listen on.
        on_line: called in the thread of a new line; serves it until the task is gone.
    """

    def __init__(self, host: str, on_line: Callable[[Line], None]) -> None:
        self._on_line = on_line
        self._server = socket.create_server((host, 0), backlog=256)
        self._secret = secrets.token_bytes(32)
        self._closed = False
        threading.Thread(target=self._accept, name="headrace-switchboard", daemon=True).start()

    def address(self, host: str) -> Address:
        """What tasks have to know.

        Args:
            host: under which they reach this machine.
        """
        return Address(host, self._server.getsockname()[1], self._secret)

    def _accept(self) -> None:
        while not self._closed:
            try:
                found, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(
                target=self._serve, args=(found,), name="headrace-line", daemon=True
            ).start()

    def _serve(self, found: socket.socket) -> None:
        # a stranger who connects and says nothing costs a thread for some seconds only
        spare = found.dup()
        watchdog = threading.Timer(_HANDSHAKE_S, _hang_up, (spare,))
        watchdog.daemon = True
        watchdog.start()
        try:
            _tune(found)
            connection = Connection(found.detach())
            deliver_challenge(connection, self._secret)
            answer_challenge(connection, self._secret)
        except (OSError, EOFError, AuthenticationError):
            return
        finally:
            watchdog.cancel()
            spare.close()
        line = Line(connection)
        try:
            self._on_line(line)
        finally:
            line.close()

    def close(self) -> None:
        """Listen no more."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self._server.close()


def _hang_up(found: socket.socket) -> None:
    with contextlib.suppress(OSError):
        found.shutdown(socket.SHUT_RDWR)
