"""The pages of a task in Spark's map state: against a server that speaks Spark's protocol."""

from __future__ import annotations

import pickle
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.serializers import read_int, write_int
from pyspark.sql.streaming.map_state_client import MapStateClient
from pyspark.sql.streaming.proto import StateMessage_pb2 as messages
from pyspark.sql.streaming.stateful_processor import MapState
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorApiClient
from pyspark.sql.types import BinaryType, StructField, StructType

from headrace.hosts.spark.microbatch.state_store import MapStateStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = StructType([StructField("name", BinaryType())])
CONTENT = StructType([StructField("content", BinaryType())])


class Server(threading.Thread):
    """As the state server in the JVM: one request after the other, an answer to each."""

    def __init__(self, path: str) -> None:
        super().__init__(daemon=True)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(path)
        self._socket.listen()
        self.content: dict[bytes, bytes] = {}
        self.requests: list[bytes] = []
        self.refuse = b""

    def run(self) -> None:
        file = self._socket.accept()[0].makefile("rwb")
        while len(file.read(4)) == 4:
            request = file.read(read_int(file))  # type: ignore[no-untyped-call]
            self.requests.append(request)
            found = messages.StateRequest.FromString(request)
            answer = self._answer(found.stateVariableRequest.mapStateCall).SerializeToString()
            write_int(len(answer), file)  # type: ignore[no-untyped-call]
            file.write(answer)
            file.flush()

    def _answer(self, call: Any) -> Any:
        kind = call.WhichOneof("method")
        (key,) = pickle.loads(getattr(call, kind).userKey)
        if key == self.refuse:
            return messages.StateResponse(statusCode=1, errorMessage="disk full")
        if kind == "updateValue":
            (self.content[key],) = pickle.loads(call.updateValue.value)
        elif kind == "removeKey":
            self.content.pop(key, None)
        elif key in self.content:
            return messages.StateResponse(value=pickle.dumps((bytearray(self.content[key]),)))
        return messages.StateResponse()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(str(tmp_path / "s"))
    found.start()
    yield found
    found._socket.close()


@pytest.fixture
def state(server: Server, tmp_path: Path) -> MapState:
    connection = StatefulProcessorApiClient(str(tmp_path / "s"), NAME)
    return MapState(MapStateClient(connection, NAME, CONTENT), "pages")


@pytest.fixture
def store(state: MapState) -> MapStateStore:
    found = MapStateStore()
    found.use(state)
    return found


def test_what_was_put_is_read_back(store: MapStateStore) -> None:
    store.put(b"a", b"1")
    store.put(b"b", b"2")
    store.put(b"a", b"3")
    store.delete(b"b")
    assert store.get(b"a") == b"3"
    assert store.get(b"b") is None
    assert store.get_many([b"b", b"a", b"none"]) == [None, b"3", None]
    assert store.get_many([]) == []


def test_requests_are_those_of_sparks_own_client(
    store: MapStateStore, state: MapState, server: Server
) -> None:
    store.put(b"a", b"1")
    store.delete(b"b")
    assert store.get(b"a") == b"1"
    ours, server.requests = server.requests, []
    state.updateValue((b"a",), (b"1",))
    state.removeKey((b"b",))
    assert state.getValue((b"a",)) == (b"1",)
    assert server.requests == ours


def test_more_writes_than_a_socket_holds_answers_for(store: MapStateStore, server: Server) -> None:
    for number in range(5_000):
        store.put(str(number).encode(), b"x" * (number % 700))
    store.put(b"large", b"y" * 3_000_000)
    store.settle()
    assert len(server.content) == 5_001
    names = [str(number).encode() for number in range(5_000)]
    assert store.get_many(names) == [b"x" * (number % 700) for number in range(5_000)]


def test_writes_are_done_once_the_store_has_settled(
    store: MapStateStore, state: MapState, server: Server
) -> None:
    for number in range(10):
        store.put(b"%d" % number, b"")
    store.settle()
    assert len(server.content) == 10
    assert state.getValue((b"3",)) == (b"",)  # Spark can go on with the connection
    store.settle()


@pytest.mark.parametrize("then", ["settle", "read"])
def test_a_write_that_failed_is_told_and_the_connection_stays_in_step(
    store: MapStateStore, state: MapState, server: Server, then: str
) -> None:
    server.refuse = b"5"
    for number in range(10):
        store.put(b"%d" % number, b"n")
    with pytest.raises(PySparkRuntimeError, match="disk full"):
        store.settle() if then == "settle" else store.get(b"1")
    assert state.getValue((b"9",)) == (b"n",)
