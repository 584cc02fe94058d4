"""The clusters that streams are in, each read as a `KafkaSource` of its own.

    service ── streams ──▶ topics and properties by cluster ──▶ KafkaSource for each

In: a metadata service and a subscriber (metadata.py).  Out: sources by cluster, which follow
what the service says.  Beside the driver they plan, in workers they only read.
Next: source.py
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from headrace.connectors.kafka.client import ClientSettings
from headrace.connectors.kafka.dynamic.metadata import KafkaStream
from headrace.connectors.kafka.planner import Subscription
from headrace.connectors.kafka.source import KafkaSource, SourceSettings
from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from headrace.connectors.kafka.dynamic.metadata import (
        ClusterMetadata,
        KafkaMetadataService,
        KafkaStreamSubscriber,
    )

T = TypeVar("T")

log = logging.getLogger(__name__)

# A worker that finds a cluster which it does not know asks, but not for each split of it.
_ASKED_AGAIN_S = 1.0


@dataclass(frozen=True)
class DynamicSettings:
    """What a builder collected.

    Attributes:
        identity: of the source, the same in all processes.
        service: knows streams.
        subscriber: chooses some.
        properties: of all clusters, as the user wrote them.
        each: the settings of a cluster's source, but for what the service says.
        discovery_s: how often the service is asked; None for once
            (``stream-metadata-discovery-interval-ms``).
        failures: how often in a row it may fail (``stream-metadata-discovery-failure-threshold``).
    """

    identity: str
    service: KafkaMetadataService
    subscriber: KafkaStreamSubscriber
    properties: Mapping[str, str]
    each: SourceSettings
    discovery_s: float | None
    failures: int


class Clusters:
    """What the service says, and a source for each cluster of it."""

    def __init__(self, settings: DynamicSettings) -> None:
        self._settings = settings
        self._known: dict[str, KafkaSource] = {}
        # what is not named any more: a batch that was planned before may have records of it
        self._former: dict[str, KafkaSource] = {}
        self._asked_at: float | None = None
        self._failures = 0  # in a row
        self._given_up: set[str] = set()  # not reached, and not active; until the service is asked

    def refresh(self) -> None:
        """Asks the service, if it is time to."""
        if self._is_time_to_ask():
            self._ask()

    def active(self) -> dict[str, KafkaSource]:
        """The sources of the clusters, as the service last said."""
        if self._asked_at is None:
            self._ask()
        return {name: each for name, each in self._known.items() if name not in self._given_up}

    def source_of(self, cluster: str) -> KafkaSource:
        """The source of a cluster from which a range is to be read.

        Raises:
            ConnectorError: the service does not say how to connect to it.
        """
        found = self.active().get(cluster)
        if found is None and time.monotonic() - (self._asked_at or 0.0) > _ASKED_AGAIN_S:
            self._ask()
            found = self._known.get(cluster)
        found = found or self._former.get(cluster)
        if found is None:
            raise ConnectorError(
                f"a batch has records of the cluster {cluster!r}, which the metadata service does "
                "not name any more, so nobody knows how to connect to it",
                where=f"{type(self._settings.service).__name__}, streams "
                f"{self._settings.subscriber}",
                fix="let the service name the cluster until the batch is through; it is repeated "
                "when the job starts again",
            )
        return found

    def reach(self, cluster: str, call: Callable[[], T], otherwise: T) -> T:
        """What a call to a cluster gives; ``otherwise`` if it fails and is not active any more."""
        try:
            return call()
        except ConnectorError as error:
            if self._settings.service.is_cluster_active(cluster):
                raise
            log.warning("the cluster %r is not active, and left alone: %s", cluster, error)
            self._given_up.add(cluster)
            return otherwise

    def close(self) -> None:
        """Ends all connections."""
        for source in self._known.values():
            source.close()
        self._known.clear()
        self._settings.service.close()

    # --- the service ---------------------------------------------------------------------------

    def _is_time_to_ask(self) -> bool:
        if self._asked_at is None:
            return True
        every_s = self._settings.discovery_s
        return every_s is not None and time.monotonic() - self._asked_at >= every_s

    def _ask(self) -> None:
        settings = self._settings
        try:
            streams = settings.subscriber.get_subscribed_streams(settings.service)
            self._follow(merged(streams))
        except Exception as error:
            self._failures += 1
            if self._asked_at is None or self._failures > settings.failures:
                raise
            log.warning("the metadata service failed, its last answer holds: %r", error)
        else:
            self._failures = 0
            self._given_up.clear()
        self._asked_at = time.monotonic()

    def _follow(self, clusters: Mapping[str, ClusterMetadata]) -> None:
        wanted = {name: self._settings_of(name, found) for name, found in clusters.items()}
        for name in sorted(self._known.keys() - wanted.keys()):
            log.warning("the cluster %r is not read any more", name)
            self._former[name] = self._known.pop(name)
            self._former[name].close()
        for name, settings in wanted.items():
            known = self._known.get(name)
            if known is None:
                self._known[name] = KafkaSource(settings)
            elif known.settings != settings:
                self._known[name] = _changed(known, settings)

    def _settings_of(self, name: str, found: ClusterMetadata) -> SourceSettings:
        where = f"cluster {name!r} of {type(self._settings.service).__name__}"
        properties = {**self._settings.properties, **found.properties}
        if "bootstrap.servers" not in properties:
            raise ConnectorError(
                f"the metadata service says no bootstrap servers for the cluster {name!r}",
                where=where,
                fix='ClusterMetadata({"topic"}, {"bootstrap.servers": "host:9092"})',
            )
        client = ClientSettings.of_source(properties, where)
        each = self._settings.each
        return replace(
            each,
            client=replace(client, client_prefix=f"{client.client_prefix}-{name}"),
            subscription=Subscription(topics=tuple(sorted(found.topics))),
            starting=found.starting_offsets_initializer or each.starting,
            stopping=found.stopping_offsets_initializer or each.stopping,
        )


def _changed(known: KafkaSource, settings: SourceSettings) -> KafkaSource:
    """Other topics are read over the same connections; other properties need new ones."""
    if replace(known.settings, subscription=settings.subscription) == settings:
        known.subscribe(settings.subscription)
        return known
    known.close()
    return KafkaSource(settings)


def merged(streams: Collection[KafkaStream]) -> dict[str, ClusterMetadata]:
    """The topics of all streams, by cluster.

    Raises:
        ConnectorError: two streams contradict each other, or there is something else among them.
    """
    found: dict[str, ClusterMetadata] = {}
    for stream in streams:
        if not isinstance(stream, KafkaStream):
            raise ConnectorError(
                f"the metadata service returned {stream!r:.100} ({type(stream).__name__}) "
                "among its streams",
                fix="return KafkaStream objects",
            )
        for name, cluster in stream.cluster_metadata_map.items():
            other = found.setdefault(name, cluster)
            topics = other.topics | cluster.topics
            found[name] = replace(other, topics=topics)
            if found[name] != replace(cluster, topics=topics):
                raise ConnectorError(
                    f"two streams say different properties or offsets for the cluster {name!r}; "
                    f"one of them is {stream.stream_id!r}",
                    fix="a cluster has one set of properties; give the second one another id",
                )
    return found


# --- in workers ----------------------------------------------------------------------------------

_in_this_process: dict[str, Clusters] = {}


def clusters_here(settings: DynamicSettings) -> Clusters:
    """This worker's; copies of the source come with every batch, what they know stays."""
    return _in_this_process.setdefault(settings.identity, Clusters(settings))
