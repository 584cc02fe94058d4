"""KafkaSource: topics of Kafka as a stream, exactly once.

In: a builder's settings.  Out: splits (partitions), offsets in them, raw messages of ranges.  The
driver plans (planner.py), workers read (reader.py), and a step behind the source decodes
(schema.py).  Offsets are part of the job's checkpoint; a position is the next offset to read, or
the pair of it and the offset at which reading stops.  Next: source_builder.py
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from headrace.connectors.kafka.planner import Planner, Subscription
from headrace.connectors.kafka.positions import PartitionPositions, is_over, moved, next_of
from headrace.connectors.kafka.reader import (
    reader_of,
    record_columns,
    timed_value_columns,
    value_columns,
)
from headrace.connectors.kafka.schema import BAD_RECORD_TYPE, RAW_RECORD, RAW_VALUE, ValueOnly
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa

    from headrace.common.typeinfo import RowTypeInfo
    from headrace.connectors.kafka.client import ClientSettings
    from headrace.connectors.kafka.source_builder import KafkaSourceBuilder
    from headrace.spi.decoding import Decoding
    from headrace.spi.python_source import Offset

__all__ = ["KafkaSource", "SourceSettings"]

_SAMPLED_EVERY_S = 10.0
_SAMPLE = 100


@dataclass(frozen=True)
class SourceSettings:
    """What a builder collected.

    Attributes:
        client: of all connections.
        subscription: what is read.
        starting: where reading begins.
        stopping: where it ends, if it does.
        bounded: whether the source ends there.
        decoding: messages to records.
        max_records_per_partition: of a batch.
        max_bytes_per_batch: of keys and values, by the size of messages sampled before.
        timestamps: whether anybody asks for Kafka's.
    """

    client: ClientSettings
    subscription: Subscription
    starting: KafkaOffsetsInitializer
    stopping: KafkaOffsetsInitializer | None
    bounded: bool
    decoding: Decoding
    max_records_per_partition: int | None = None
    max_bytes_per_batch: int | None = None
    timestamps: bool = True

    def without_timestamps(self) -> SourceSettings:
        """The same, but where they cost nothing or are part of what is told of bad messages."""
        if not self.values_only or self.decoding.tag is not None:
            return self
        return replace(self, timestamps=False)

    @property
    def values_only(self) -> bool:
        """Whether nothing but values has to be read."""
        return isinstance(self.decoding.decoder.schema, ValueOnly)  # type: ignore[attr-defined]

    @property
    def as_columns(self) -> Callable[[list[Any], KafkaTopicPartition], pa.RecordBatch | None]:
        """From messages to raw columns."""
        if not self.values_only:
            return record_columns
        return timed_value_columns if self.timestamps else value_columns

    @property
    def produced_type(self) -> RowTypeInfo:
        """Of raw messages."""
        return RAW_VALUE if self.values_only else RAW_RECORD


@dataclass
class _Findings:
    """What the process beside the driver has found out; rebuilt on open."""

    planner: Planner
    partitions: list[KafkaTopicPartition] = field(default_factory=list)
    looked_at: float | None = None
    first_offsets: dict[KafkaTopicPartition, Offset] = field(default_factory=dict)
    # whether the job has positions, so that partitions without one are new
    has_begun: bool = False
    sizes: dict[str, tuple[float, float]] = field(default_factory=dict)


class KafkaSource(PartitionPositions, PythonSource):
    """Reads topics of Kafka; made by `KafkaSource.builder`.

    Example:
        >>> from headrace.common import SimpleStringSchema
        >>> source = (
        ...     KafkaSource.builder()
        ...     .set_bootstrap_servers("127.0.0.1:9092")
        ...     .set_topics("clicks")
        ...     .set_group_id("shop")
        ...     .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )

    Coming from Flink: read with librdkafka instead of the Java client, so properties have its names
    (those of Java are understood or refused); `read_committed` is the default.
    """

    BAD_RECORD_TYPE: ClassVar[RowTypeInfo] = BAD_RECORD_TYPE
    """The type of what `set_bad_records_side_output` sends to its tag."""

    counts_pending = True

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._known: _Findings | None = None

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """A builder of sources."""
        from headrace.connectors.kafka.source_builder import KafkaSourceBuilder

        return KafkaSourceBuilder()

    def __getstate__(self) -> dict[str, Any]:
        return {"_settings": self._settings, "_known": None}

    # --- what it is ----------------------------------------------------------------------------

    def describe(self) -> str:
        """``KafkaSource(clicks)``."""
        return f"KafkaSource({self._settings.subscription})"

    def boundedness(self) -> Boundedness:
        """Bounded by `set_bounded` only."""
        bounded = self._settings.bounded
        return Boundedness.BOUNDED if bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def produced_type(self) -> RowTypeInfo:
        """Raw messages; `decoding` makes records of them."""
        return self._settings.produced_type

    def decoding(self) -> Decoding:
        """By the builder's deserializer."""
        return self._settings.decoding

    def has_timestamps(self) -> bool:
        """Kafka's own."""
        return self._settings.timestamps

    def without_timestamps(self) -> KafkaSource:
        """Does not ask messages for theirs: 0.1 microseconds each."""
        return KafkaSource(self._settings.without_timestamps())

    @property
    def settings(self) -> SourceSettings:
        """What it was made of."""
        return self._settings

    # --- beside the driver ---------------------------------------------------------------------

    def open(self) -> None:
        self._known = _Findings(Planner(self._settings.client, self._settings.subscription))

    def close(self) -> None:
        if self._known is not None:
            self._known.planner.close()
            self._known = None

    def splits(self) -> list[str]:
        known = self._opened()
        if self._is_time_to_look(known):
            known.partitions = known.planner.partitions()
            known.looked_at = time.monotonic()
        return [partition.split for partition in known.partitions]

    def _is_time_to_look(self, known: _Findings) -> bool:
        if known.looked_at is None:
            return True
        every_s = self._settings.client.discovery_s
        if every_s is None or self._settings.stopping is not None or self._settings.bounded:
            return False
        return time.monotonic() - known.looked_at >= every_s

    def initial_offset(self, split: str) -> Offset:
        known, partition = self._opened(), KafkaTopicPartition.of_split(split)
        if partition not in known.first_offsets:
            known.first_offsets = self._first_offsets(known)
        return known.first_offsets[partition]

    def _first_offsets(self, known: _Findings) -> dict[KafkaTopicPartition, Offset]:
        # A partition that appears later is read from its first record, as in Flink.
        starting = self._settings.starting
        if known.has_begun:
            starting = KafkaOffsetsInitializer.earliest()
        found: dict[KafkaTopicPartition, Offset] = {}
        found |= known.planner.offsets(starting, known.partitions)
        if self._settings.stopping is not None:
            ends = known.planner.offsets(self._settings.stopping, known.partitions)
            found = {p: [start, max(start, ends[p])] for p, start in found.items()}
        return found

    def latest_offset(self, split: str, start: Offset) -> Offset:
        return self.latest_offsets({split: start})[split]

    def latest_offsets(self, starts: Mapping[str, Offset]) -> Mapping[str, Offset]:
        known = self._opened()
        known.has_begun = True
        waiting = {
            split: KafkaTopicPartition.of_split(split)
            for split, start in starts.items()
            if not is_over(start)
        }
        ends = known.planner.ends(waiting.values())
        return {
            split: moved(start, ends[waiting[split]]) if split in waiting else start
            for split, start in starts.items()
        }

    def subscribe(self, subscription: Subscription) -> None:
        """Reads something else of the same cluster from the next batch on."""
        self._settings = replace(self._settings, subscription=subscription)
        if self._known is not None:
            self._known.planner.subscribe(subscription)
            self._known.looked_at = None

    def rests(self, split: str, at: Offset) -> bool:
        if is_over(at):
            return not self._settings.bounded
        return not self._settings.subscription.takes(KafkaTopicPartition.of_split(split))

    def splits_are_gone(self, positions: Mapping[str, Offset]) -> None:
        self._opened().planner.gone(
            {KafkaTopicPartition.of_split(split): next_of(at) for split, at in positions.items()}
        )

    def commit(self, offsets: Mapping[str, Offset]) -> None:
        if self._settings.client.commits:
            self._opened().planner.commit(
                {KafkaTopicPartition.of_split(split): next_of(at) for split, at in offsets.items()}
            )

    def _opened(self) -> _Findings:
        if self._known is None:
            self.open()
        assert self._known is not None
        return self._known

    # --- the size of a batch -------------------------------------------------------------------

    def most_of_batch(
        self, waiting: Mapping[str, int], starts: Mapping[str, Offset]
    ) -> Mapping[str, int]:
        most = self._settings.max_records_per_partition
        taken = dict(waiting)
        if most is not None:
            taken = {split: min(most, count) for split, count in taken.items()}
        if self._settings.max_bytes_per_batch is not None:
            taken = self._within_bytes(taken, starts, self._settings.max_bytes_per_batch)
        return taken

    def _within_bytes(
        self, waiting: dict[str, int], starts: Mapping[str, Offset], most: int
    ) -> dict[str, int]:
        """Equal shares of the bytes to the partitions that have records."""
        busy = [split for split, count in waiting.items() if count > 0]
        if not busy:
            return waiting
        share = most / len(busy)
        return {
            split: min(count, max(1, int(share / self._average_size(split, starts[split]))))
            if count > 0
            else count
            for split, count in waiting.items()
        }

    def _average_size(self, split: str, start: Offset) -> float:
        known, now = self._opened(), time.monotonic()
        size, measured = known.sizes.get(split, (0.0, -_SAMPLED_EVERY_S))
        if now - measured >= _SAMPLED_EVERY_S:
            partition = KafkaTopicPartition.of_split(split)
            end = known.planner.ends([partition])[partition]
            at = next_of(start)
            lists = reader_of(self._settings.client, partition).read(at, min(at + _SAMPLE, end))
            sizes = [len(m.value() or b"") + len(m.key() or b"") for part in lists for m in part]
            size = max(1.0, sum(sizes) / len(sizes)) if sizes else max(size, 1.0)
            known.sizes[split] = size, now
        return size

    # --- in the workers ------------------------------------------------------------------------

    def read_columns(self, split: str, start: Offset, end: Offset) -> Iterator[pa.RecordBatch]:
        partition = KafkaTopicPartition.of_split(split)
        as_columns = self._settings.as_columns
        if next_of(end) <= next_of(start):
            return
        reader = reader_of(self._settings.client, partition)
        for messages in reader.read(next_of(start), next_of(end)):
            batch = as_columns(messages, partition)
            if batch is not None:
                yield batch

    def read(self, split: str, start: Offset, end: Offset) -> Iterator[Any]:
        raise AssertionError("read by columns")
