"""A proxy on loopback that cuts connections at a chosen moment, also just before an answer arrives.

In: a server's port and which of the client's messages meets its end.  Out: a port to connect to.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class FlakyProxy:
    """Forwards bytes both ways.

    `cut_at(n)` ends the connection when the client sends its n-th message from then on (from 0);
    the server may still get that message, and then only its answer is lost.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._lock = threading.Lock()
        self._countdown: int | None = None
        self._deliver = False
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, message: int, *, deliver: bool) -> None:
        with self._lock:
            self._countdown, self._deliver = message, deliver

    def heal(self) -> None:
        with self._lock:
            self._countdown = None

    def __enter__(self) -> FlakyProxy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._server_port))
                except OSError:  # the server is away
                    client.close()
                    continue
                threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        muted = threading.Event()
        answers = threading.Thread(target=_forward_answers, args=(server, client, muted))
        answers.start()
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                end = self._end_for_this_message()
                if end is not None:
                    muted.set()
                    if end == "deliver":
                        server.sendall(data)
                    break
                server.sendall(data)
        # The server reads what it was sent, does it, and then sees the end; only then the client.
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)
        answers.join(10)
        for side in (server, client):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()

    def _end_for_this_message(self) -> str | None:
        with self._lock:
            if self._countdown is None:
                return None
            self._countdown -= 1
            if self._countdown >= 0:
                return None
            self._countdown = None
            self.cuts += 1
            return "deliver" if self._deliver else "lose"


def _forward_answers(server: socket.socket, client: socket.socket, muted: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while data := server.recv(1 << 16):
            if not muted.is_set():
                client.sendall(data)
    if not muted.is_set():
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
