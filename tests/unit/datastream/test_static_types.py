"""What type checkers know of users' programs: mypy reads this, `assert_type` does nothing else."""

from __future__ import annotations

from typing import Any, assert_type

from headrace.api.functions import Function
from headrace.common import Types
from headrace.common.execution_config import ExecutionConfig
from headrace.connectors.kafka.serialization import KafkaRecordSerializationSchema
from headrace.datastream import (
    AsyncFunction,
    AsyncRetryStrategy,
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
    DataStream,
    StreamExecutionEnvironment,
)
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.datastream.preview import Preview
from headrace.datastream.state import MapStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def test_two_streams_have_the_type_that_their_kinds_make() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_sequence(1, 3)
    assert isinstance(assert_type(numbers.broadcast(), DataStream), DataStream)
    rules = assert_type(numbers.broadcast(RULES), BroadcastStream)
    both = assert_type(numbers.connect(rules), BroadcastConnectedStream)
    assert isinstance(both, BroadcastConnectedStream)
    assert isinstance(assert_type(numbers.connect(numbers), ConnectedStreams), ConnectedStreams)


def test_what_an_environment_knows_has_a_type() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    mode = assert_type(env.get_checkpointing_mode(), CheckpointingMode)
    assert mode is env.get_checkpoint_config().get_checkpointing_mode()
    config = assert_type(env.from_sequence(1, 3).get_execution_config(), ExecutionConfig)
    assert config is env.get_config()


def collected(stream: DataStream) -> None:
    """For mypy only; each of these runs a job."""
    assert_type(stream.execute_and_collect(), CloseableIterator)
    assert_type(stream.execute_and_collect("named"), CloseableIterator)
    assert_type(stream.execute_and_collect("named", 3), list[Any])
    assert_type(stream.execute_and_collect(limit=3), list[Any])
    assert_type(stream.preview(), Preview)


class Lookup(AsyncFunction[int, int]):
    async def open(self, runtime_context: Any) -> None:
        self.known = {1: 2}

    async def async_invoke(self, value: int) -> list[int]:
        return [self.known[value]]

    async def close(self) -> None:
        self.known.clear()


def test_a_retry_strategy_needs_no_annotation() -> None:
    retries = AsyncRetryStrategy.fixed_delay(3, 100, lambda results: not results, None)
    assert assert_type(retries, AsyncRetryStrategy[Any]).can_retry(1)
    patient = AsyncRetryStrategy.exponential_backoff(3, 1, 9, 2.0, None, lambda error: True)
    assert assert_type(patient, AsyncRetryStrategy[Any]).can_retry(1)
    never = AsyncRetryStrategy.no_restart()
    assert not never.can_retry(1)


def test_an_async_function_is_a_function() -> None:
    assert issubclass(Lookup, Function)
    assert isinstance(Lookup(), Function)


def test_headers_may_be_text_and_bytes() -> None:
    schema = KafkaRecordSerializationSchema.builder().set_topic("orders")
    assert schema.set_header_provider(lambda record: {"from": "test", "n": b"1"}) is schema
    assert schema.set_header_provider(lambda record: [("from", "test"), ("n", b"1")]) is schema
    assert schema.set_header_provider(lambda record: record.items()) is schema
    assert schema.set_header_provider(lambda record: None) is schema
