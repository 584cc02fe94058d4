"""Every source in Python that is shipped keeps the promises of the connector kit."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.typeinfo import Types
from headrace.connectors.collection.source import CollectionSource
from headrace.connectors.generator.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.connectors.generator.number_seq import NumberSequenceSource
from headrace.connectors.socket.source import SocketTextSource
from headrace.testing.connectors import SourceContract
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.spi.python_source import PythonSource

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class TestCollection(SourceContract):
    def make_source(self) -> PythonSource:
        return CollectionSource(self.expected())

    def expected(self) -> list[Any]:
        return ["a", None, {"b": [1]}, 4.5, ("c",)]

    def bad_sources(self) -> list[Callable[[], Any]]:
        return [
            lambda: CollectionSource("abc"),
            lambda: CollectionSource(iter([1])),  # type: ignore[arg-type]
            lambda: CollectionSource([("a", "b")], PAIR),
        ]


class TestTypedCollection(SourceContract):
    def make_source(self) -> PythonSource:
        return CollectionSource(self.expected(), PAIR)

    def expected(self) -> list[Any]:
        return [(f"k{n}", n) for n in range(11)]


class TestNumberSequence(SourceContract):
    def make_source(self) -> PythonSource:
        return NumberSequenceSource(-3, 9)

    def expected(self) -> list[Any]:
        return list(range(-3, 10))

    def bad_sources(self) -> list[Callable[[], Any]]:
        return [lambda: NumberSequenceSource(2, 1), lambda: NumberSequenceSource(0, 2**63)]


class TestGenerator(SourceContract):
    def make_source(self) -> PythonSource:
        return DataGeneratorSource(lambda index: f"record {index}", 13)

    def expected(self) -> list[Any]:
        return [f"record {index}" for index in range(13)]

    def bad_sources(self) -> list[Callable[[], Any]]:
        return [
            lambda: DataGeneratorSource(str, -1),
            lambda: DataGeneratorSource("no function", 1),  # type: ignore[arg-type]
            lambda: RateLimiterStrategy.per_second(0),
        ]


class TestVectorizedGenerator(SourceContract):
    def make_source(self) -> PythonSource:
        kind = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
        return DataGeneratorSource.vectorized(
            lambda index: {"f0": index, "f1": index * 0.5}, 13, type_info=kind
        )

    def expected(self) -> list[Any]:
        return [(index, index * 0.5) for index in range(13)]


class TestSocket(SourceContract):
    # A socket cannot be read again: at most once after a failure of the driver, as it says.
    test_a_restart_goes_on_from_any_offset = None  # type: ignore[assignment]

    @pytest.fixture(autouse=True)
    def server(self) -> Iterator[None]:
        """Sends the same lines to whoever connects."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.port = listening.getsockname()[1]

            def serve() -> None:
                while True:
                    try:
                        connection, _ = listening.accept()
                    except OSError:
                        return
                    with connection:
                        connection.sendall("".join(f"{x}\n" for x in self.expected()).encode())

            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            yield
            listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)

    def make_source(self) -> PythonSource:
        return _PatientSocket(len(self.expected()), "127.0.0.1", self.port)

    def expected(self) -> list[Any]:
        return ["one", "", "zwölf", "four"]


class _PatientSocket(SocketTextSource):
    """Open when all lines have arrived."""

    def __init__(self, lines: int, host: str, port: int) -> None:
        super().__init__(host, port)
        self._expected_lines = lines

    def open(self) -> None:
        super().open()
        wait_until(
            lambda: self.latest_offset("0", 0) >= self._expected_lines, "the lines never came"
        )
