"""Writes the records of one subtask and batch to Kafka.

In: records with their event times.  Out: messages; for exactly once in a transaction that stays
open, told to the driver as a `Prepared`.  Next: committer.py (commits it)
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka.serialization import BuiltSchema, KafkaSinkContext
from headrace.connectors.kafka.transactions import Prepared
from headrace.errors import TypeMismatchError
from headrace.spi.sink import SinkWriter
from headrace.spi.source import DeliveryGuarantee

if TYPE_CHECKING:
    from headrace.connectors.kafka.producers import ProducerPool, SinkProducer
    from headrace.connectors.kafka.serialization import (
        KafkaRecordSerializationSchema,
        ProducerRecord,
    )
    from headrace.spi.sink import WriterContext

_log = logging.getLogger(__name__)

# How many seconds to wait for room when librdkafka's queue is full; it is tried again then.
_ROOM_S = 0.1


class MessageWriter(SinkWriter):
    """Makes messages and hands them to a producer; subclasses say what the end of a batch means.

    Args:
        schema: from a record to its message.
        context: the writer's place in the job.
    """

    def __init__(self, schema: KafkaRecordSerializationSchema, context: WriterContext) -> None:
        self._schema = schema
        self._context = context
        self._count = 0
        self._producer: SinkProducer | None = None

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        if not values:
            return
        if self._producer is None:
            self._producer = self.begin()
            partitioner = getattr(self._schema, "partitioner", None)
            if partitioner is not None:
                partitioner.open(self._context.subtask_index, self._context.parallelism)
        producer, schema = self._producer, self._schema
        try:
            if isinstance(schema, BuiltSchema) and schema.is_plain:
                self._write_plain(producer, schema, values, timestamps)
            else:
                self._write_records(producer, values, timestamps)
        except producer.errors as error:
            producer.check()  # the reason, if there is one, says more than "in error state"
            raise producer.explained(error) from error
        producer.poll()

    def begin(self) -> SinkProducer:
        """The producer for this batch."""
        raise NotImplementedError

    def _write_plain(
        self,
        producer: SinkProducer,
        schema: BuiltSchema,
        values: list[Any],
        timestamps: list[int] | None,
    ) -> None:
        """One topic, value and timestamp only: 0.8 microseconds of CPU a message to produce."""
        topic, produce = schema.topic or "", producer.client.produce
        producer.partitions(topic)
        times = _written(timestamps, len(values))
        contents = schema.value.serialize_many(values)
        for value, content, timestamp in zip(values, contents, times, strict=True):
            while True:
                try:
                    produce(topic, content, timestamp=timestamp)
                    break
                except BufferError:
                    self._wait_for_room(producer)
                except TypeError as error:
                    raise self._no_bytes(value, content) from error
        self._count += len(values)

    def _write_records(
        self, producer: SinkProducer, values: list[Any], timestamps: list[int] | None
    ) -> None:
        context = _Context(self._context, producer)
        records = self._schema.serialize_many(values, context, timestamps)
        for value, record in zip(values, records, strict=True):
            if record is not None:
                self._produce(producer, value, record)
                self._count += 1

    def _produce(self, producer: SinkProducer, value: Any, record: ProducerRecord) -> None:
        producer.partitions(record.topic)
        headers = record.headers
        given: dict[str, Any] = {
            "key": record.key,
            "partition": -1 if record.partition is None else record.partition,
            "timestamp": _time(record.timestamp),
        }
        if headers is not None:
            given["headers"] = dict(headers) if hasattr(headers, "keys") else list(headers)
        while True:
            try:
                producer.client.produce(record.topic, record.value, **given)
                return
            except BufferError:
                self._wait_for_room(producer)
            except TypeError as error:
                raise self._no_bytes(value, record) from error

    def _wait_for_room(self, producer: SinkProducer) -> None:
        producer.poll(_ROOM_S)

    def _no_bytes(self, value: Any, content: Any) -> TypeMismatchError:
        return TypeMismatchError(
            f"the record {value!r:.100} became {content!r:.200}, which Kafka cannot take",
            where=f"record serializer of the Kafka sink {self._context.sink_uid!r}",
            fix="let the serialization schemas return bytes, and header values be bytes or text",
        )


class PlainWriter(MessageWriter):
    """At least once: the batch ends when Kafka has all messages. None: it does not wait for that.

    Args:
        schema: see `MessageWriter`.
        context: see `MessageWriter`.
        producer: of this process.
        guarantee: one of the two.
    """

    def __init__(
        self,
        schema: KafkaRecordSerializationSchema,
        context: WriterContext,
        producer: SinkProducer,
        guarantee: DeliveryGuarantee,
    ) -> None:
        super().__init__(schema, context)
        self._own = producer
        self._waits = guarantee is DeliveryGuarantee.AT_LEAST_ONCE

    def begin(self) -> SinkProducer:
        if self._own.failures:  # of batches whose end did not wait for them
            _log.warning(
                "Kafka did not take %d messages of earlier batches", len(self._own.failures)
            )
        self._own.begin()
        return self._own

    def prepare_commit(self) -> list[Any]:
        producer, self._producer = self._producer, None
        if producer is not None and self._waits:
            producer.flush()
        return []

    def abort(self) -> None:
        """Messages may be in Kafka already; that is what at least once means."""
        self._producer = None


class TransactionalWriter(MessageWriter):
    """Exactly once: messages are in a transaction that the driver commits.

    Args:
        schema: see `MessageWriter`.
        context: see `MessageWriter`.
        pool: the producers of this process.
    """

    def __init__(
        self, schema: KafkaRecordSerializationSchema, context: WriterContext, pool: ProducerPool
    ) -> None:
        super().__init__(schema, context)
        self._pool = pool

    def begin(self) -> SinkProducer:
        # where epochs overlap, what the one before this has prepared may not be committed yet
        overlap = 1 if self._context.epochs_overlap else 0
        producer = self._pool.take(self._context.batch_id - overlap)
        producer.begin()
        return producer

    def prepare_commit(self) -> list[Any]:
        producer = self._producer
        if producer is None:
            return []
        if self._count == 0:  # a schema may write nothing of what it gets
            self.abort()
            return []
        producer.flush()
        self._producer = None
        self._pool.prepared(producer, self._context.batch_id)
        subtask = self._context.subtask_index
        return [Prepared(str(producer.transactional_id), subtask, self._count)]

    def abort(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            self._pool.give_back(producer)


class _Context(KafkaSinkContext):
    def __init__(self, context: WriterContext, producer: SinkProducer) -> None:
        self._context = context
        self._producer = producer

    @property
    def parallel_instance_id(self) -> int:
        return self._context.subtask_index

    @property
    def number_of_parallel_instances(self) -> int:
        return self._context.parallelism

    def partitions_for_topic(self, topic: str) -> list[int]:
        return self._producer.partitions(topic)


def _time(timestamp: int | None) -> int:
    """A record's time as librdkafka takes it: 0 for the time at which it is written."""
    return timestamp if timestamp is not None and timestamp > 0 else 0


def _written(timestamps: list[int] | None, count: int) -> list[int]:
    return [0] * count if timestamps is None else [_time(each) for each in timestamps]
