"""Lines of text from a TCP connection, as `nc -lk 9999` serves them: for trying things out.

In: host and port.  Out: lines, buffered on the driver.  Next: hosts/spark/sources/python_source.py
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, ClassVar

from headrace.common.typeinfo import Types
from headrace.errors import ConnectorError
from headrace.io.waiting import at_most, told_when_long
from headrace.spi.python_source import PythonSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from headrace.common.typeinfo import TypeInformation

__all__ = ["SocketTextSource"]


class SocketTextSource(PythonSource):
    """Connects to ``host:port`` and produces what arrives between two delimiters.

    Guarantee: **at most once after a failure.** A socket cannot be read again, so lines that had
    arrived but were not yet processed when the driver failed are lost; no line is processed twice.
    While the driver lives, a failed task or batch is repeated with the same lines.

    Args:
        hostname: the server's name or address.
        port: its port.
        delimiter: what ends a record; it is not part of the record.
        max_retry: seconds to keep trying after the connection was lost; 0 gives up at once, a
            negative number never does. When it gives up the stream has no more data.
        encoding: of the text.
    """

    reads_on_driver: ClassVar[bool] = True

    def __init__(
        self,
        hostname: str,
        port: int,
        delimiter: str = "\n",
        max_retry: int = 0,
        *,
        encoding: str = "utf-8",
    ) -> None:
        self._address = (hostname, port)
        self._delimiter = delimiter.encode(encoding)
        self._max_retry_s = max_retry
        self._encoding = encoding
        self._reader: _LineReader | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_reader": None}

    def open(self) -> None:
        """Connects; a server that is not there is reported before the job runs.

        Raises:
            ConnectorError: the connection was refused.
        """
        self._reader = _LineReader(self._address, self._delimiter, self._max_retry_s)
        self._reader.start()

    def latest_offset(self, split: str, start: int) -> int:
        """``start`` plus the lines that wait in the buffer."""
        return self._buffer().end(start)

    def read(self, split: str, start: int, end: int) -> Iterator[str]:
        """The buffered lines; none for a range from before a restart, which is lost."""
        for line in self._buffer().lines(start, end):
            yield line.decode(self._encoding, errors="replace")

    def commit(self, offsets: Mapping[str, int]) -> None:
        """Forgets the lines that are processed."""
        self._buffer().drop_before(offsets["0"])

    def close(self) -> None:
        """Closes the connection."""
        if self._reader is not None:
            self._reader.stop()

    def _buffer(self) -> _LineReader:
        assert self._reader is not None, "open() was not called"
        return self._reader

    def produced_type(self) -> TypeInformation:
        """``Types.STRING()``."""
        return Types.STRING()

    def describe(self) -> str:
        """``SocketTextSource(localhost:9999)``."""
        return f"SocketTextSource({self._address[0]}:{self._address[1]})"


_CONNECT_S = 10.0


class _LineReader:
    """A thread that fills a buffer; offsets count lines since the first offset it was asked for."""

    def __init__(self, address: tuple[str, int], delimiter: bytes, max_retry_s: int) -> None:
        self._address = address
        self._delimiter = delimiter
        self._max_retry_s = max_retry_s
        self._lock = threading.Lock()
        self._lines: deque[bytes] = deque()
        self._first: int | None = None  # offset of self._lines[0]
        self._stopped = False
        self._connection: socket.socket | None = None

    def start(self) -> None:
        try:
            with self._told(at_most(_CONNECT_S)):
                self._connection = self._connect()
        except OSError as error:
            raise ConnectorError(
                f"cannot connect to {self._address[0]}:{self._address[1]}: {error}",
                fix="start the server first, for example: nc -lk " + str(self._address[1]),
            ) from error
        threading.Thread(target=self._run, name="socket-source", daemon=True).start()

    def stop(self) -> None:
        self._stopped = True
        if self._connection is not None:
            self._connection.close()

    def end(self, start: int) -> int:
        with self._lock:
            if self._first is None:
                # After a restart offsets go on from the checkpoint, with new lines.
                self._first = start
            return max(start, self._first + len(self._lines))

    def lines(self, start: int, end: int) -> list[bytes]:
        with self._lock:
            if self._first is None:
                self._first = end
            low, high = max(start - self._first, 0), max(end - self._first, 0)
            return [self._lines[i] for i in range(low, min(high, len(self._lines)))]

    def drop_before(self, offset: int) -> None:
        with self._lock:
            while self._first is not None and self._first < offset and self._lines:
                self._lines.popleft()
                self._first += 1

    def _run(self) -> None:
        while not self._stopped:
            self._receive()
            if self._stopped or not self._reconnect():
                return

    def _receive(self) -> None:
        assert self._connection is not None
        self._connection.settimeout(None)
        rest = b""
        try:
            while data := self._connection.recv(65_536):
                *complete, rest = (rest + data).split(self._delimiter)
                self._add(complete)
        except OSError:
            pass  # a lost connection ends like a closed one: the caller tries again or gives up
        if rest:
            self._add([rest])

    def _add(self, lines: list[bytes]) -> None:
        if self._delimiter == b"\n":
            lines = [line.removesuffix(b"\r") for line in lines]
        with self._lock:
            self._lines.extend(lines)

    def _reconnect(self) -> bool:
        patience_s = None if self._max_retry_s < 0 else self._max_retry_s
        give_up = float("inf") if patience_s is None else time.monotonic() + patience_s
        with self._told(at_most(patience_s)):
            while not self._stopped and time.monotonic() < give_up:
                try:
                    self._connection = self._connect()
                except OSError:
                    time.sleep(0.5)
                else:
                    return True
        return False

    def _connect(self) -> socket.socket:
        return socket.create_connection(self._address, timeout=_CONNECT_S)

    def _told(self, limit: str) -> AbstractContextManager[None]:
        host, port = self._address
        return told_when_long(f"the server at {host}:{port} to take a connection", limit)
