"""Headrace's PageStore on Spark's map state, which writes without waiting for an answer to each.

In: pages by name.  Out: requests to the state server in the JVM, over the socket of the task.

Spark's client sends a request, waits for its answer and only then sends the next: 50 to 110
microseconds each, most of them waiting.  The server takes requests one after the other from a
stream, so here Spark's own client makes the requests for writes and a `_Pipeline` sends them; their
answers are read later, but before anything is read and before the batch ends.

This reaches into pyspark 4.3 (`MapState._mapStateClient`, `_send_proto_message`,
`_receive_proto_message`, `sockfile`); tests/unit/common/test_map_state_store.py says when it moves.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql.streaming.map_state_client import MapStateClient

if TYPE_CHECKING:
    from collections.abc import Sequence

# So many answers may wait at most. They must fit into the buffer of a Unix domain socket, which
# holds about 270 of them: else the server would wait for us and we for the server.
_WINDOW = 64
_HEAD = struct.Struct("!ii")  # of a request: the version of the protocol, and its length
_ANSWER_AT_ONCE: Any = (0, "", b"")


class _Pipeline:
    """What Spark's client takes for its connection: sends requests, puts answers off."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.waiting = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)  # how keys and values become bytes

    def _send_proto_message(self, message: bytes) -> None:
        if self.waiting >= _WINDOW:
            self.answers(_WINDOW // 2)  # the server always has something to do
        file = self._connection.sockfile
        file.write(_HEAD.pack(0, len(message)))
        file.write(message)

    def _receive_proto_message(self) -> Any:
        self.waiting += 1
        return _ANSWER_AT_ONCE

    def answers(self, left: int = 0) -> list[bytes]:
        """Read the answers that are due but for the last few; their values.

        Raises:
            PySparkRuntimeError: one of the requests failed.
        """
        self._connection.sockfile.flush()
        values, problems = [], []
        while self.waiting > left:
            self.waiting -= 1
            status, problem, value = self._connection._receive_proto_message()
            values.append(value)
            if status != 0:
                problems.append(problem)
        if problems:
            raise PySparkRuntimeError(f"Error updating map state value: {problems[0]}")
        return values


class MapStateStore:
    """A PageStore on Spark's map state; `use` gives it the state of a new batch."""

    def __init__(self) -> None:
        self._name = ""
        self._pipeline = _Pipeline(None)
        self._client: Any = None

    def use(self, state: Any) -> None:
        """Go on with the map state of this batch."""
        client = state._mapStateClient
        self._name = state._stateName
        self._pipeline = _Pipeline(client._stateful_processor_api_client)
        self._client = MapStateClient(self._pipeline, client.user_key_schema, client.value_schema)  # type: ignore[arg-type]

    def get(self, key: bytes) -> bytes | None:
        """The stored content, or None."""
        return self.get_many([key])[0]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The stored contents of several keys: the server reads one while another travels."""
        found: list[bytes | None] = []
        pipeline = self._pipeline
        pipeline.answers()
        # requests are small, so that all of a window are sent before the first answer is read
        for start in range(0, len(keys), _WINDOW):
            for key in keys[start : start + _WINDOW]:
                self._client.get_value(self._name, (key,))
            for value in pipeline.answers():
                row = pipeline._deserialize_from_bytes(value) if value else None
                found.append(None if row is None else bytes(row[0]))
        return found

    def put(self, key: bytes, content: bytes) -> None:
        """Store or replace."""
        self._client.update_value(self._name, (key,), (content,))

    def delete(self, key: bytes) -> None:
        """Remove; unknown keys are ignored."""
        self._client.remove_key(self._name, (key,))

    def settle(self) -> None:
        """Wait until everything is written: Spark goes on with the same connection."""
        self._pipeline.answers()
