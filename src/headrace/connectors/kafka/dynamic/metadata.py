"""Streams over clusters: which topics of which clusters are a stream, as a service tells it.

    stream "orders" ── KafkaStream ──┬─ "east": ClusterMetadata(topics, properties)
                                     └─ "west": ClusterMetadata(topics, properties)

In: a service of the user's, or one whose streams are the topics of a cluster; a subscriber that
chooses streams.  Out: `KafkaStream`s.  The interfaces are those of Flink's Java API, to be
implemented in Python.  Next: clusters.py asks them
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka.client import ClientSettings, checked_property
from headrace.connectors.kafka.planner import Planner, Subscription
from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Set

    from headrace.connectors.kafka.offsets import KafkaOffsetsInitializer

__all__ = [
    "ClusterMetadata",
    "KafkaMetadataService",
    "KafkaStream",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]

# Kafka's own, which the Java client does not list either.
_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


@dataclass(frozen=True)
class ClusterMetadata:
    """The part of a stream that is in one cluster: its topics, and how to connect.

    Attributes:
        topics: names.
        properties: of the clients, ``bootstrap.servers`` among them; they count more than those of
            the source's builder.
        starting_offsets_initializer: where reading begins, if not as the builder says.
        stopping_offsets_initializer: where it ends, if not as the builder says.
    """

    topics: Set[str]
    properties: Mapping[str, str]
    starting_offsets_initializer: KafkaOffsetsInitializer | None = None
    stopping_offsets_initializer: KafkaOffsetsInitializer | None = None

    def __post_init__(self) -> None:
        if not _are_names(self.topics):
            raise InvalidArgumentError(
                f"the topics of a cluster are a set of names, not {self.topics!r}",
                where="ClusterMetadata",
                fix='ClusterMetadata({"clicks"}, {"bootstrap.servers": "host:9092"})',
            )
        secret = dict(checked_property(*each) for each in self.properties.items())
        object.__setattr__(self, "topics", frozenset(self.topics))
        object.__setattr__(self, "properties", secret)

    def __hash__(self) -> int:
        return hash(self.topics)


@dataclass(frozen=True)
class KafkaStream:
    """A stream: topics of one or several clusters.

    Attributes:
        stream_id: its name.
        cluster_metadata_map: by the id of the cluster.
    """

    stream_id: str
    cluster_metadata_map: Mapping[str, ClusterMetadata] = field(hash=False)


class KafkaMetadataService(ABC):
    """Knows streams; subclass it to ask your own registry.

    It travels by pickle with the source: open connections in the methods, not in ``__init__``. It
    is asked in the process beside the driver, when the job starts and every
    ``stream-metadata-discovery-interval-ms``, and by the workers for how to connect.

    Example:
        >>> class Registry(KafkaMetadataService):
        ...     def get_all_streams(self):
        ...         east = ClusterMetadata({"orders"}, {"bootstrap.servers": "east:9092"})
        ...         west = ClusterMetadata({"orders-w"}, {"bootstrap.servers": "west:9092"})
        ...         return {KafkaStream("orders", {"east": east, "west": west})}
        ...
        ...     def describe_streams(self, stream_ids):
        ...         known = {stream.stream_id: stream for stream in self.get_all_streams()}
        ...         return {name: known[name] for name in stream_ids}
        ...
        ...     def is_cluster_active(self, kafka_cluster_id):
        ...         return kafka_cluster_id in ("east", "west")

    Coming from Flink: Java's interface, which PyFlink does not let you implement.
    """

    @abstractmethod
    def get_all_streams(self) -> Set[KafkaStream]:
        """All streams, as they are now."""

    def get_pattern_streams(self, stream_pattern: re.Pattern[str]) -> Set[KafkaStream]:
        """The streams in whose name the pattern is found; of `get_all_streams` by default."""
        every = self.get_all_streams()
        return {stream for stream in every if stream_pattern.search(stream.stream_id)}

    @abstractmethod
    def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        """Streams by name, as they are now.

        Args:
            stream_ids: all of them must be there.
        """

    @abstractmethod
    def is_cluster_active(self, kafka_cluster_id: str) -> bool:
        """Whether a cluster is in use: one that cannot be reached and is not does not fail jobs."""

    def close(self) -> None:  # noqa: B027
        """Called beside the driver when the job ends."""


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Streams that are the topics of one cluster, by their names.

    Args:
        kafka_cluster_id: any name; positions in the job's checkpoint belong to it.
        properties: how to connect: ``bootstrap.servers``, and any that a source takes.
    """

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        self._cluster = _name(kafka_cluster_id)
        self._properties = dict(checked_property(*each) for each in properties.items())
        self._where = f"SingleClusterTopicMetadataService({kafka_cluster_id!r})"
        self._client = ClientSettings.of_source(self._properties, self._where)

    def get_all_streams(self) -> Set[KafkaStream]:
        """All topics of the cluster but Kafka's own."""
        planner = Planner(self._client, Subscription(pattern=".*"))
        try:
            return {self._stream(topic) for topic in planner.topics() if topic not in _INTERNAL}
        finally:
            planner.close()

    def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        """Topics of the cluster.

        Raises:
            ConnectorError: one does not exist.
        """
        planner = Planner(self._client, Subscription(topics=tuple(sorted(stream_ids))))
        try:
            planner.partitions()
        finally:
            planner.close()
        return {topic: self._stream(topic) for topic in stream_ids}

    def is_cluster_active(self, kafka_cluster_id: str) -> bool:
        """Whether it is this one."""
        return kafka_cluster_id == self._cluster

    def _stream(self, topic: str) -> KafkaStream:
        return KafkaStream(
            topic, {self._cluster: ClusterMetadata(frozenset({topic}), self._properties)}
        )


class KafkaStreamSubscriber(ABC):
    """Chooses streams; subclass it to choose by other rules than names and patterns."""

    @abstractmethod
    def get_subscribed_streams(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> Set[KafkaStream]:
        """The streams to read, as they are now."""


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Streams by name.

    Args:
        stream_ids: the names; the service must know all of them.
    """

    def __init__(self, stream_ids: Set[str]) -> None:
        if not _are_names(stream_ids) or not stream_ids:
            raise InvalidArgumentError(
                f"stream ids are a set of names, not {stream_ids!r}", fix='{"clicks", "orders"}'
            )
        self._stream_ids = tuple(sorted(stream_ids))

    def get_subscribed_streams(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> Set[KafkaStream]:
        """What the service says of them."""
        return set(kafka_metadata_service.describe_streams(list(self._stream_ids)).values())

    def __str__(self) -> str:
        return ", ".join(self._stream_ids)


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Streams in whose name a regular expression is found, new ones included.

    Args:
        stream_pattern: need not match the whole name, as in Flink: ``^log-.*$`` does.
    """

    def __init__(self, stream_pattern: str) -> None:
        try:
            self._pattern = re.compile(stream_pattern)
        except (re.error, TypeError) as error:
            raise InvalidArgumentError(
                f"{stream_pattern!r} is no regular expression: {error}", fix='"^log-.*"'
            ) from None

    def get_subscribed_streams(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> Set[KafkaStream]:
        """Those that the service finds."""
        return kafka_metadata_service.get_pattern_streams(self._pattern)

    def __str__(self) -> str:
        return f"/{self._pattern.pattern}/"


def _are_names(values: Any) -> bool:
    return not isinstance(values, str) and all(isinstance(each, str) and each for each in values)


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ArgumentTypeError(f"the id of a cluster is a text, not {value!r}", fix='"my-cluster"')
    return value
