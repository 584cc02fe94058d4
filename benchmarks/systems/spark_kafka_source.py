"""A Kafka reader as one writes it by hand for PySpark: Spark's Python data source API, librdkafka.

Spark's own Kafka connector is a jar that PyPI does not have.  Driver side: offsets, a batch at a
time.  Workers: one consumer for each partition, kept open from batch to batch so that it fetches
ahead, lists of messages, Arrow batches of values.  In a module of its own: what a worker keeps
lives in the module, and not in a class that is unpickled for each task.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadMaxRows, SupportsTriggerAvailableNow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.streaming.datasource import ReadLimit

# Python looks for cycles among new objects; none of a list of messages is part of one.
gc.set_threshold(200_000, 20, 100)

AT_ONCE = 20_000
_consumers: dict[tuple[str, str, int], tuple[Any, int]] = {}


class KafkaValues(DataSource):
    """Options: bootstrap, topic, batch (how many messages one takes)."""

    @classmethod
    def name(cls) -> str:
        return "kafka_values"

    def schema(self) -> str:
        return "value string"

    def streamReader(self, schema: Any) -> KafkaValuesReader:
        return KafkaValuesReader(
            self.options["bootstrap"], self.options["topic"], int(self.options["batch"])
        )


class Range(InputPartition):
    def __init__(self, partition: int, start: int, end: int) -> None:
        super().__init__(partition)
        self.partition, self.start, self.end = partition, start, end


class KafkaValuesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, bootstrap: str, topic: str, batch: int) -> None:
        self.bootstrap, self.topic, self.batch = bootstrap, topic, batch
        self.stop_at: dict[str, int] | None = None
        self.asker: Any = None

    # --- beside the driver ---------------------------------------------------------------------

    def initialOffset(self) -> dict[str, int]:
        return {partition: low for partition, (low, _) in self._ends().items()}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self.batch)

    def prepareForTriggerAvailableNow(self) -> None:
        self.stop_at = {partition: high for partition, (_, high) in self._ends().items()}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        ends = self.stop_at or {partition: high for partition, (_, high) in self._ends().items()}
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if most is None:
            return ends
        share = most // len(start)
        return {partition: min(ends[partition], at + share) for partition, at in start.items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Range]:
        return [Range(int(p), start[p], end[p]) for p in sorted(end) if end[p] > start[p]]

    def _ends(self) -> dict[str, tuple[int, int]]:
        from confluent_kafka import TopicPartition

        if self.asker is None:
            self.asker = _new_consumer(self.bootstrap)
        found = self.asker.list_topics(self.topic, timeout=30).topics[self.topic].partitions
        return {
            str(number): self.asker.get_watermark_offsets(TopicPartition(self.topic, number), 30)
            for number in found
        }

    def commit(self, end: dict[str, int]) -> None:
        pass

    def stop(self) -> None:
        if self.asker is not None:
            self.asker.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "asker": None}

    # --- in the workers ------------------------------------------------------------------------

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        from confluent_kafka import TopicPartition

        key = self.bootstrap, self.topic, partition.partition
        consumer, at = _consumers.get(key, (None, -1))
        if consumer is None:
            consumer = _new_consumer(self.bootstrap)
        if at != partition.start:
            consumer.assign([TopicPartition(self.topic, partition.partition, partition.start)])
        at = partition.start
        while at < partition.end:
            messages = consumer.consume(min(AT_ONCE, partition.end - at), timeout=1.0)
            values = [message.value() for message in messages if message.error() is None]
            at += len(values)  # nobody deletes records or writes transactions here
            if values:
                yield pa.RecordBatch.from_arrays([pa.array(values, pa.string())], ["value"])
        _consumers[key] = consumer, at


def _new_consumer(bootstrap: str) -> Any:
    from confluent_kafka import Consumer

    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "by-hand",
            "enable.auto.commit": False,
            # what headrace's source sets as well: by default a full queue rests for a second
            "fetch.queue.backoff.ms": 5,
            "queued.max.messages.kbytes": 16 * 1024,
        }
    )
