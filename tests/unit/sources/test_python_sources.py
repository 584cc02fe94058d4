"""Collections, sequences, generators, sockets: what they produce, without Spark."""

from __future__ import annotations

import pickle
import socket
import time
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
import pyarrow as pa
import pytest

from headrace.common.typeinfo import Types
from headrace.connectors.collection.source import CollectionSource
from headrace.connectors.socket.source import SocketTextSource
from headrace.data.codec import codec_for
from headrace.datastream.connectors.base import Boundedness
from headrace.datastream.connectors.datagen import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
)
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.connectors.python_source import PythonSource
from headrace.errors import (
    ConnectorError,
    InvalidArgumentError,
    TypeMismatchError,
    UserFunctionError,
)
from headrace.hosts.spark.sources.source_batches import column_schema, read_batches
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def records(source: PythonSource, start: int, end: int) -> list[Any]:
    """Reads a range the way a worker does."""
    source = cloudpickle.loads(cloudpickle.dumps(source))
    codec, schema = codec_for(source.produced_type()), column_schema(source.produced_type())
    out: list[Any] = []
    for batch in read_batches(source, "0", start, end, schema):
        if codec.schema is None:
            out.extend(record for cell in batch.column(0) for record in pickle.loads(cell.as_py()))
        else:
            out.extend(codec.decode(batch))
    return out


@pytest.mark.parametrize("type_info", [Types.LONG(), None])
@pytest.mark.parametrize(("start", "end"), [(0, 25_000), (9_999, 10_001), (20_000, 25_000), (7, 7)])
def test_a_collection_gives_any_range(type_info: Any, start: int, end: int) -> None:
    source = CollectionSource(list(range(25_000)), type_info)
    assert source.latest_offset("0", 0) == 25_000
    assert records(source, start, end) == list(range(start, end))


def test_a_wrong_element_is_named_when_the_program_is_built() -> None:
    elements: list[Any] = [("a", 1)] * 12_345 + [("b", "two")]
    with pytest.raises(TypeMismatchError) as caught:
        CollectionSource(elements, PAIR, where="job.py:7 .from_collection()")
    text = str(caught.value)
    assert "element 12345" in text
    assert "'f1'" in text
    assert "'two' (str)" in text
    assert "job.py:7" in text


def test_an_int_that_is_too_wide_keeps_its_lower_bits_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shorts = Types.TUPLE([Types.STRING(), Types.SHORT()])
    source = CollectionSource([("a", 1), ("b", np.int64(43878)), ("c", None)], shorts)
    batches = source.read_columns("", 0, 3)
    assert batches is not None
    (columns,) = batches
    assert codec_for(shorts).decode(columns) == [("a", 1), ("b", -21658), ("c", None)]
    (told,) = caplog.messages
    assert "element 1 of the collection, field 'f1'" in told
    assert "43878" in told


def test_an_int_beyond_64_bits_does_not_fit_a_collection() -> None:
    with pytest.raises(TypeMismatchError, match="element 1 of the collection is 2361183241434822"):
        CollectionSource([300, 2**71], Types.BYTE())


def test_a_text_is_not_a_collection() -> None:
    with pytest.raises(InvalidArgumentError, match="must be a list"):
        CollectionSource("abc")


def test_an_empty_collection_ends_at_once() -> None:
    assert CollectionSource([], Types.LONG()).latest_offset("0", 0) == 0


def test_a_sequence_includes_both_ends() -> None:
    source = NumberSequenceSource(-3, 3)
    assert records(source, 0, source.latest_offset("0", 0)) == [-3, -2, -1, 0, 1, 2, 3]
    assert list(source.read("0", 2, 4)) == [-1, 0]
    assert source.boundedness() is Boundedness.BOUNDED


def test_a_sequence_reaches_the_largest_long() -> None:
    source = NumberSequenceSource(2**63 - 2, 2**63 - 1)
    assert records(source, 0, 2) == [2**63 - 2, 2**63 - 1]
    with pytest.raises(InvalidArgumentError, match="start <= end"):
        NumberSequenceSource(2, 1)


class Doubler(GeneratorFunction):
    """Counts how often it was opened."""

    factor = 0

    def open(self) -> None:
        self.factor = 2

    def map(self, value: int) -> int:
        return value * self.factor

    def close(self) -> None:
        self.factor = 0


def test_a_generator_function_is_opened_and_closed() -> None:
    function = Doubler()
    assert list(DataGeneratorSource(function, 10).read("0", 3, 6)) == [6, 8, 10]
    assert function.factor == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda index: {"f1": index * 2, "f0": np.char.add("n", index.astype(str))},
        lambda index: [pa.array([f"n{i}" for i in index]), pa.array(index * 2)],
        lambda index: pa.record_batch({"f0": [f"n{i}" for i in index], "f1": index * 2}),
    ],
)
def test_a_vectorized_generator_gives_the_records_of_its_twin(function: Any) -> None:
    vectorized = DataGeneratorSource.vectorized(function, 100_000, type_info=PAIR)
    single = DataGeneratorSource(lambda i: (f"n{i}", i * 2), 100_000, None, PAIR)
    assert records(vectorized, 65_530, 65_540) == records(single, 65_530, 65_540)


def test_a_vectorized_generator_returns_one_record_for_each_index() -> None:
    short = DataGeneratorSource.vectorized(lambda index: index[1:], 10, type_info=Types.LONG())
    with pytest.raises(TypeMismatchError, match="10 indexes and returned 9"):
        records(short, 0, 10)
    nameless = DataGeneratorSource.vectorized(lambda i: {"f0": i}, 10, type_info=PAIR)
    with pytest.raises(TypeMismatchError, match="without"):
        records(nameless, 0, 10)
    with pytest.raises(InvalidArgumentError, match="needs a type with columns"):
        DataGeneratorSource.vectorized(
            lambda index: index, 10, type_info=Types.PICKLED_BYTE_ARRAY()
        )


def test_a_rate_counts_from_the_offset_of_the_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    source = DataGeneratorSource(lambda i: i, 1000, RateLimiterStrategy.per_second(10))
    assert source.latest_offset("0", 0) == 0
    clock[0] += 3
    assert source.latest_offset("0", 0) == 30
    restarted: DataGeneratorSource = cloudpickle.loads(cloudpickle.dumps(source))
    clock[0] += 500
    assert restarted.latest_offset("0", 30) == 30, "the downtime is not made up for"
    clock[0] += 2
    assert restarted.latest_offset("0", 30) == 50
    clock[0] += 10_000
    assert restarted.latest_offset("0", 50) == 1000, "not beyond the count"


def test_a_rate_per_checkpoint_is_a_rate_per_batch() -> None:
    source = DataGeneratorSource(lambda i: i, None, RateLimiterStrategy.per_checkpoint(7))
    assert source.latest_offset("0", 21) == 28
    assert source.boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    with pytest.raises(InvalidArgumentError, match="must be positive"):
        RateLimiterStrategy.per_second(0)


class Failing(PythonSource):
    """Fails in user code, or produces a record of the wrong type."""

    def __init__(self, bad: Any) -> None:
        self.bad = bad

    def latest_offset(self, split: str, start: int) -> int:
        return 5

    def read(self, split: str, start: int, end: int) -> Iterator[Any]:
        yield ("good", 1)
        if self.bad is None:
            raise ValueError("broken file")
        yield self.bad

    def produced_type(self) -> Any:
        return PAIR


def test_user_code_that_raises_is_reported_with_the_range() -> None:
    with pytest.raises(UserFunctionError) as caught:
        records(Failing(None), 3, 5)
    assert "from offset 3 to 5: ValueError: broken file" in caught.value.message
    assert "in read" in caught.value.user_traceback
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_record_of_the_wrong_type_is_named_by_its_offset() -> None:
    with pytest.raises(
        TypeMismatchError, match=r"record 4 of split '0', field 'f1' is 'x' \(str\)"
    ):
        records(Failing(("bad", "x")), 3, 5)


def test_a_socket_gives_lines_once_and_forgets_them_when_committed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = SocketTextSource("127.0.0.1", server.getsockname()[1])
        source.open()
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"one\r\ntwo\nthr")
            wait_until(lambda: source.latest_offset("0", 40) == 42)
            assert list(source.read("0", 40, 42)) == ["one", "two"]
            assert list(source.read("0", 40, 42)) == ["one", "two"], "a failed batch is repeated"
            source.commit({"0": 42})
            connection.sendall(b"ee\n")
            wait_until(lambda: source.latest_offset("0", 42) == 43)
            assert list(source.read("0", 42, 43)) == ["three"]
        source.close()


def test_lines_from_before_a_restart_are_lost_and_not_mixed_up_with_new_ones() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = SocketTextSource("127.0.0.1", server.getsockname()[1])
        source.open()
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"new\n")
            assert list(source.read("0", 3, 9)) == []
            wait_until(lambda: source.latest_offset("0", 9) == 10)
            assert list(source.read("0", 9, 10)) == ["new"]
        source.close()


def test_a_refused_connection_is_our_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConnectorError, match="cannot connect"):
        SocketTextSource("127.0.0.1", port).open()
