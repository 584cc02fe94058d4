"""In the workers: the messages of a range of a partition, in lists.

    range [start, end) ──▶ Consumer of the partition ──▶ lists of messages ──▶ Arrow columns

In: ranges that the driver chose (source.py).  Out: Arrow batches.  A worker keeps its consumers and
they go on reading while Spark plans the next batch, so that its messages are there when it begins.
Next: schema.py decodes the columns
"""

from __future__ import annotations

import atexit
import itertools
import logging
import time
from collections import OrderedDict, deque
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.connectors.kafka.client import kafka_library
from headrace.connectors.kafka.client_errors import NEW_BEGINNING, Refusals, explained, passes
from headrace.errors import ConnectorError
from headrace.io.waiting import told_when_long
from headrace.spi.python_source import TIMESTAMP_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.connectors.kafka.client import ClientSettings
    from headrace.connectors.kafka.offsets import KafkaTopicPartition

log = logging.getLogger(__name__)

MESSAGES_AT_ONCE = 20_000
# A worker reads few partitions at a time; those that it has not read for longest are let go.
_MOST_READERS = 16
_POLL_S = 0.05

_readers: OrderedDict[tuple[str, str], PartitionReader] = OrderedDict()


def reader_of(settings: ClientSettings, partition: KafkaTopicPartition) -> PartitionReader:
    """This process's reader of a partition; a new one if it has none."""
    if not _readers:
        atexit.register(close_readers)
    key = partition.split, settings.fingerprint
    reader = _readers.pop(key, None) or PartitionReader(settings, partition)
    _readers[key] = reader
    while len(_readers) > _MOST_READERS:
        _readers.popitem(last=False)[1].close()
    return reader


def close_readers() -> None:
    """Lets all consumers of this process go."""
    while _readers:
        _readers.popitem()[1].close()


class PartitionReader:
    """A consumer of one partition, and where it stands."""

    def __init__(self, settings: ClientSettings, partition: KafkaTopicPartition) -> None:
        self._settings = settings
        self._partition = partition
        self._library = kafka_library()
        self._consumer: Any = None
        self._next = -1  # the offset up to which everything was handed out
        self._reached = -1  # the offset up to which the consumer has seen the partition
        self._ahead: deque[Any] = deque()  # messages beyond the end of the last range
        self._last_error: Any = None
        self._refusals = Refusals()

    def read(self, start: int, end: int) -> Iterator[list[Any]]:
        """The messages of a range, in order, in lists.

        Offsets may have gaps: compaction removes records, and transactions have marks of their
        own. So a range is at its end when a message or the end of the partition lies behind it.
        """
        if self._consumer is None or self._next != start:
            self._seek(start)
        self._next = start
        yield from self._held_back(end)
        while self._reached < end:
            if found := self._await(end):
                yield from self._within(found, end)
        self._next = end

    def _await(self, end: int) -> list[Any]:
        """The next messages; none at the end of the range."""
        settings, quiet_since = self._settings, time.monotonic()
        what = f"{settings.where} to give the records of {self._partition.split} up to {end}"
        with told_when_long(what, settings.patience, lambda: self._refusals.last_text):
            while self._reached < end:
                if found := self._consume(min(MESSAGES_AT_ONCE, end - self._next)):
                    self._refusals.forget()
                    return found
                self._check_patience(quiet_since, end)
        return []

    def _held_back(self, end: int) -> Iterator[list[Any]]:
        held = list(itertools.takewhile(lambda message: message.offset() < end, self._ahead))
        for _ in held:
            self._ahead.popleft()
        if held:
            self._next = held[-1].offset() + 1
            yield held

    def _within(self, messages: list[Any], end: int) -> Iterator[list[Any]]:
        last = messages[-1].offset()
        self._reached = max(self._reached, last + 1)
        self._next = min(last + 1, end)
        if last >= end:
            cut = next(n for n, message in enumerate(messages) if message.offset() >= end)
            self._ahead.extend(messages[cut:])
            messages = messages[:cut]
        if messages:
            yield messages

    def _seek(self, start: int) -> None:
        self._ahead.clear()
        self._last_error = None
        self._reached = -1
        place = self._library.TopicPartition(
            self._partition.topic, self._partition.partition, start
        )
        if self._consumer is None:
            name = f"reader-{self._partition.split}"
            settings = self._settings.consumer(name, error_cb=self._note)
            self._consumer = self._library.Consumer(settings)
            self._refusals.forget()
        self._consumer.assign([place])

    def _note(self, error: Any) -> None:
        """What librdkafka tells beside the messages: a broker that is away, most often."""
        self._last_error = error
        self._refusals.note(error)

    def _consume(self, count: int) -> list[Any]:
        messages = self._consumer.consume(count, _POLL_S)
        if not any(map(self._library.Message.error, messages)):
            return list(messages)
        for message in messages:
            if message.error() is not None:
                self._event(message)
        return [message for message in messages if message.error() is None]

    def _event(self, message: Any) -> None:
        error, codes = message.error(), self._library.KafkaError
        if error.code() == codes._PARTITION_EOF:
            self._reached = max(self._reached, message.offset())
        elif error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
            self._lost()
        elif passes(error):
            self._note(error)
        else:
            self.close()
            raise explained(error, f"read {self._partition.split}", self._settings)

    def _lost(self) -> None:
        """The topic does not have the records of the range any more."""
        place = self._library.TopicPartition(self._partition.topic, self._partition.partition)
        first, last = self._consumer.get_watermark_offsets(place, timeout=self._settings.patience_s)
        wanted = self._next
        if self._settings.skips_lost and wanted < first:
            log.warning(
                "the records %d to %d of %s are lost: retention removed them before they were read",
                wanted,
                first - 1,
                self._partition.split,
            )
            self._seek(first)
            self._next = self._reached = first
            return
        if first <= wanted <= last:  # it is there after all: a leader that was behind, say
            self._seek(wanted)
            return
        self.close()
        raise _retention(self._partition, wanted, first, last, self._settings)

    def _check_patience(self, quiet_since: float, end: int) -> None:
        waited, partition = time.monotonic() - quiet_since, self._partition
        try:
            self._refusals.check()
        except self._library.KafkaException as error:
            self.close()
            raise explained(error, f"read {partition.split}", self._settings) from None
        if waited < self._settings.patience_s:
            return
        reason = self._last_error
        self.close()
        if reason is not None:
            raise explained(reason, f"read {partition.split}", self._settings)
        raise ConnectorError(
            f"{partition.split} gave nothing for {waited:.0f} s between the offsets {self._next} "
            f"and {end}",
            where=self._settings.where,
            fix="check that the broker of the partition runs and can be reached from the workers; "
            "the job reads the same range again when it starts again",
        )

    def close(self) -> None:
        """Lets the consumer go."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


_second = itemgetter(1)


def _retention(
    partition: KafkaTopicPartition, wanted: int, first: int, last: int, settings: ClientSettings
) -> ConnectorError:
    where = settings.where
    if wanted > last:
        return ConnectorError(
            f"{partition.split} ends at offset {last}, but the job was at {wanted}: the broker has "
            "not all of its records (back), or the topic was deleted and created anew",
            where=where,
            fix="the checkpoint is good, keep it: the job looks again when it starts again. If the "
            f"topic is another one, {NEW_BEGINNING} to read it",
        )
    return ConnectorError(
        f"the records {wanted} to {first - 1} of {partition.split} are lost: the topic removed "
        "them (retention) before the job had read them",
        where=where,
        fix="set the property auto.offset.reset to earliest to go on without them; a longer "
        "retention.ms keeps it from happening",
    )


# --- columns -------------------------------------------------------------------------------------


def _message() -> Any:
    """The class of messages. Its methods cost 15 ns a call from `map`; methodcaller takes 75."""
    return kafka_library().Message


def value_columns(messages: list[Any], partition: KafkaTopicPartition) -> pa.RecordBatch | None:
    """Values with their places; tombstones are left out."""
    values = pa.array(list(map(_message().value, messages)), pa.binary())
    if values.null_count:
        messages = _with_values(messages)
        values = values.drop_null()
    if not messages:
        return None
    return pa.RecordBatch.from_arrays(
        [values, *_place(messages, partition)], ["value", "topic", "partition", "offset"]
    )


def timed_value_columns(
    messages: list[Any], partition: KafkaTopicPartition
) -> pa.RecordBatch | None:
    """The same, with their timestamps."""
    columns = value_columns(messages, partition)
    if columns is None:
        return None
    if columns.num_rows < len(messages):
        messages = _with_values(messages)
    return columns.append_column(TIMESTAMP_COLUMN, _timestamps(messages))


def _with_values(messages: list[Any]) -> list[Any]:
    return [message for message in messages if message.value() is not None]


def record_columns(messages: list[Any], partition: KafkaTopicPartition) -> pa.RecordBatch:
    """All that Kafka knows of messages."""
    stamps = [message.timestamp() for message in messages]
    types = [(0, 1, 2)[kind] for kind, _ in stamps]
    times = pa.array([time for _, time in stamps], pa.int64())
    return pa.RecordBatch.from_arrays(
        [
            pa.array(list(map(_message().value, messages)), pa.binary()),
            *_place(messages, partition),
            pa.array([message.key() for message in messages], pa.binary()),
            times,
            pa.array(types, pa.int32()),
            pa.array([_headers(message) for message in messages], _HEADERS),
            times,
        ],
        [
            *("value", "topic", "partition", "offset", "key"),
            *("timestamp", "timestamp_type", "headers", TIMESTAMP_COLUMN),
        ],
    )


_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def _headers(message: Any) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in message.headers() or ()]


def _place(messages: list[Any], partition: KafkaTopicPartition) -> list[pa.Array]:
    count = len(messages)
    first, last = messages[0].offset(), messages[-1].offset()
    # Mostly there are no gaps, and then no message has to be asked.
    dense = last - first == count - 1
    offsets = np.arange(first, last + 1) if dense else [message.offset() for message in messages]
    return [
        pa.repeat(pa.scalar(partition.topic), count),
        pa.repeat(pa.scalar(partition.partition, pa.int32()), count),
        pa.array(offsets, pa.int64()),
    ]


def _timestamps(messages: list[Any]) -> pa.Array:
    times = map(_second, map(_message().timestamp, messages))
    return pa.array(np.fromiter(times, np.int64, len(messages)))
