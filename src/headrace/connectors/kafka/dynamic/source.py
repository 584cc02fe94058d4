"""DynamicKafkaSource: streams whose clusters and topics a service names, and may change.

    split "east/orders-0"  ──▶  cluster "east", partition 0 of topic "orders"

In: a builder's settings.  Out: the splits of all clusters, each planned and read by the
`KafkaSource` of its cluster.  Next: builder.py; clusters.py asks the service
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.connectors.kafka.dynamic.clusters import Clusters, clusters_here
from headrace.connectors.kafka.positions import PartitionPositions, is_over, next_of
from headrace.connectors.kafka.schema import BAD_RECORD_TYPE
from headrace.errors import ConnectorError
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from headrace.common.typeinfo import RowTypeInfo
    from headrace.connectors.kafka.dynamic.builder import DynamicKafkaSourceBuilder
    from headrace.connectors.kafka.dynamic.clusters import DynamicSettings
    from headrace.spi.decoding import Decoding
    from headrace.spi.python_source import Offset

__all__ = ["DynamicKafkaSource"]


class DynamicKafkaSource(PartitionPositions, PythonSource):
    """Reads streams, which are topics of one or several clusters; made by its `builder`.

    Example:
        >>> from headrace.common import SimpleStringSchema
        >>> from headrace.datastream.connectors.dynamic_kafka import (
        ...     SingleClusterTopicMetadataService,
        ... )
        >>> source = (
        ...     DynamicKafkaSource.builder()
        ...     .set_stream_ids({"clicks"})
        ...     .set_kafka_metadata_service(
        ...         SingleClusterTopicMetadataService(
        ...             "cluster-a", {"bootstrap.servers": "127.0.0.1:9092"}
        ...         )
        ...     )
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )

    Coming from Flink: positions of streams that are taken away stay in the checkpoint, so that one
    that comes back goes on where it was; two streams must not say different properties for one
    cluster.
    """

    BAD_RECORD_TYPE: ClassVar[RowTypeInfo] = BAD_RECORD_TYPE
    """The type of what `set_bad_records_side_output` sends to its tag."""

    counts_pending = True

    def __init__(self, settings: DynamicSettings) -> None:
        self._settings = settings
        self._clusters: Clusters | None = None  # beside the driver; rebuilt on open
        self._told_gone: frozenset[str] = frozenset()

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        """A builder of sources."""
        from headrace.connectors.kafka.dynamic.builder import DynamicKafkaSourceBuilder

        return DynamicKafkaSourceBuilder()

    def __getstate__(self) -> dict[str, Any]:
        return {"_settings": self._settings, "_clusters": None, "_told_gone": frozenset()}

    # --- what it is ----------------------------------------------------------------------------

    def describe(self) -> str:
        """``DynamicKafkaSource(clicks)``."""
        subscriber = self._settings.subscriber
        named = type(subscriber).__str__ is not object.__str__
        return f"DynamicKafkaSource({subscriber if named else type(subscriber).__name__})"

    def boundedness(self) -> Boundedness:
        """Bounded by `set_bounded` only."""
        bounded = self._settings.each.bounded
        return Boundedness.BOUNDED if bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def produced_type(self) -> RowTypeInfo:
        """Raw messages; `decoding` makes records of them."""
        return self._settings.each.produced_type

    def decoding(self) -> Decoding:
        """By the builder's deserializer."""
        return self._settings.each.decoding

    def has_timestamps(self) -> bool:
        """Kafka's own."""
        return self._settings.each.timestamps

    def without_timestamps(self) -> DynamicKafkaSource:
        """Does not ask messages for theirs."""
        each = self._settings.each.without_timestamps()
        return DynamicKafkaSource(replace(self._settings, each=each))

    # --- beside the driver ---------------------------------------------------------------------

    def open(self) -> None:
        self._clusters = Clusters(self._settings)

    def close(self) -> None:
        if self._clusters is not None:
            self._clusters.close()
            self._clusters = None

    def splits(self) -> list[str]:
        clusters, nothing = self._opened(), list[str]()
        clusters.refresh()
        return [
            split_of(name, split)
            for name, source in clusters.active().items()
            for split in clusters.reach(name, source.splits, nothing)
        ]

    def initial_offset(self, split: str) -> Offset:
        cluster, rest = parts_of(split)
        return self._opened().source_of(cluster).initial_offset(rest)

    def latest_offset(self, split: str, start: Offset) -> Offset:
        return self.latest_offsets({split: start})[split]

    def latest_offsets(self, starts: Mapping[str, Offset]) -> Mapping[str, Offset]:
        clusters = self._opened()
        sources, found = clusters.active(), dict(starts)
        for name, mine in _by_cluster(starts).items():
            if name in sources:
                asked = sources[name].latest_offsets
                ends = clusters.reach(name, lambda asked=asked, mine=mine: asked(mine), mine)  # type: ignore[misc]
                found |= {split_of(name, split): end for split, end in ends.items()}
        return found

    def splits_are_gone(self, positions: Mapping[str, Offset]) -> None:
        clusters, new = self._opened(), positions.keys() - self._told_gone
        self._told_gone = frozenset(positions)
        sources = clusters.active()
        for name, mine in _by_cluster(positions).items():
            unread = sorted(split for split, at in mine.items() if not is_over(at))
            if self.is_bounded() and unread and (name not in sources):
                raise ConnectorError(
                    f"the cluster {name!r} was not read to its end ({unread[0]} is at "
                    f"{next_of(mine[unread[0]])}), and the metadata service does not name it any "
                    "more",
                    where=self.describe(),
                    fix="let the service name it until the bounded job has ended",
                )
            if name in sources and any(split_of(name, split) in new for split in mine):
                sources[name].splits_are_gone(mine)

    def rests(self, split: str, at: Offset) -> bool:
        cluster, rest = parts_of(split)
        source = self._opened().active().get(cluster)
        return source is None or source.rests(rest, at)

    def commit(self, offsets: Mapping[str, Offset]) -> None:
        sources = self._opened().active()
        for name, mine in _by_cluster(offsets).items():
            if name in sources:
                sources[name].commit(mine)

    def _opened(self) -> Clusters:
        if self._clusters is None:
            self.open()
        assert self._clusters is not None
        return self._clusters

    # --- the size of a batch -------------------------------------------------------------------

    def most_of_batch(
        self, waiting: Mapping[str, int], starts: Mapping[str, Offset]
    ) -> Mapping[str, int]:
        most = self._settings.each.max_records_per_partition
        if most is None:
            return waiting
        return {split: min(most, count) for split, count in waiting.items()}

    # --- in the workers ------------------------------------------------------------------------

    def read_columns(self, split: str, start: Offset, end: Offset) -> Iterator[pa.RecordBatch]:
        cluster, rest = parts_of(split)
        known = self._clusters
        if known is None:
            known = clusters_here(self._settings)
            known.refresh()
        return known.source_of(cluster).read_columns(rest, start, end)

    def read(self, split: str, start: Offset, end: Offset) -> Iterator[Any]:
        raise AssertionError("read by columns")


def split_of(cluster: str, split: str) -> str:
    """The name of a cluster's split: no topic has a slash in its name."""
    return f"{cluster}/{split}"


def parts_of(split: str) -> tuple[str, str]:
    """The cluster, and what it calls the split."""
    cluster, _, rest = split.rpartition("/")
    return cluster, rest


def _by_cluster(offsets: Mapping[str, Offset]) -> dict[str, dict[str, Offset]]:
    found: dict[str, dict[str, Offset]] = defaultdict(dict)
    for split, offset in offsets.items():
        cluster, rest = parts_of(split)
        found[cluster][rest] = offset
    return found
