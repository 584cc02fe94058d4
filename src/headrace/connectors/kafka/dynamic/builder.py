"""The builder of DynamicKafkaSource: PyFlink's setters.

In: calls.  Out: a checked `DynamicKafkaSource`.  Next: source.py
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from headrace.connectors.kafka.client import ClientSettings
from headrace.connectors.kafka.dynamic.clusters import DynamicSettings
from headrace.connectors.kafka.dynamic.metadata import (
    KafkaMetadataService,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    StreamPatternSubscriber,
)
from headrace.connectors.kafka.dynamic.source import DynamicKafkaSource
from headrace.connectors.kafka.planner import Subscription
from headrace.connectors.kafka.reading_builder import ReadingBuilder
from headrace.connectors.kafka.source import SourceSettings
from headrace.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Set

    from headrace.connectors.kafka.schema import KafkaRecordDeserializationSchema

__all__ = ["DynamicKafkaSourceBuilder"]

_INTERVAL = "stream-metadata-discovery-interval-ms"
_FAILURES = "stream-metadata-discovery-failure-threshold"
# Flink's, which have no meaning here: what to do instead.
_REFUSED = {
    "stream-enumerator-mode": "leave it out: every batch spreads the partitions of all clusters "
    "over its tasks, by how much each has to give",
    "removed-splits-retention-ms": "leave it out: positions of streams that were taken away stay "
    "in the checkpoint",
}


class DynamicKafkaSourceBuilder(ReadingBuilder):
    """Collects what a `DynamicKafkaSource` needs: streams, a service that knows them, a schema."""

    where = "DynamicKafkaSource.builder()"

    def __init__(self) -> None:
        super().__init__()
        self._service: KafkaMetadataService | None = None
        self._subscriber: KafkaStreamSubscriber | None = None

    def build(self) -> DynamicKafkaSource:
        """The source.

        Raises:
            InvalidArgumentError: something is missing.
            ConfigurationError: a property cannot be used.
            EnvironmentSetupError: the client library is not installed.
        """
        if self._subscriber is None:
            raise self._wrong("nothing is read", "call set_stream_ids or set_stream_pattern")
        if self._service is None:
            raise self._wrong(
                "there is no metadata service",
                "set_kafka_metadata_service(SingleClusterTopicMetadataService(...)), or a "
                "KafkaMetadataService of your own",
            )
        decoding = self._decoding()
        properties = dict(self._properties)
        interval_ms = self._number(_INTERVAL, properties.pop(_INTERVAL, "-1"))
        failures = self._number(_FAILURES, properties.pop(_FAILURES, "1"))
        for key, instead in _REFUSED.items():
            if key in properties:
                raise ConfigurationError(
                    f"the property {key!r} cannot be used here", where=self.where, fix=instead
                )
        client = ClientSettings.of_source(properties, self.where)
        self._check_group(client)
        client.check(self.where, reads=True)
        follows = interval_ms > 0 and not self._bounded
        return DynamicKafkaSource(
            DynamicSettings(
                identity=uuid.uuid4().hex,
                service=self._service,
                subscriber=self._subscriber,
                properties=properties,
                each=SourceSettings(
                    client=client,
                    subscription=Subscription(),
                    starting=self._starting,
                    stopping=self._stopping,
                    bounded=self._bounded,
                    decoding=decoding,
                    max_records_per_partition=self._max_records_per_partition,
                ),
                discovery_s=interval_ms / 1000 if follows else None,
                failures=failures,
            )
        )

    def set_stream_ids(self, stream_ids: Set[str]) -> DynamicKafkaSourceBuilder:
        """Read the streams of these names."""
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(stream_ids))

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        """Read the streams in whose name a regular expression is found, new ones included."""
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(
        self, kafka_stream_subscriber: KafkaStreamSubscriber
    ) -> DynamicKafkaSourceBuilder:
        """Read the streams that a subscriber chooses."""
        if not isinstance(kafka_stream_subscriber, KafkaStreamSubscriber):
            raise self._wrong(
                f"{kafka_stream_subscriber!r} is no KafkaStreamSubscriber",
                'set_stream_ids({"clicks"}), or a subclass with get_subscribed_streams',
            )
        if self._subscriber is not None:
            raise self._wrong(
                f"{self._subscriber} is read already",
                "call one of set_stream_ids, set_stream_pattern and set_kafka_stream_subscriber, "
                "once",
            )
        self._subscriber = kafka_stream_subscriber
        return self

    def set_kafka_metadata_service(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> DynamicKafkaSourceBuilder:
        """Who knows the clusters and topics of streams."""
        if not isinstance(kafka_metadata_service, KafkaMetadataService):
            raise self._wrong(
                f"{kafka_metadata_service!r} is no KafkaMetadataService",
                "subclass KafkaMetadataService, or use SingleClusterTopicMetadataService",
            )
        self._service = kafka_metadata_service
        return self

    def set_deserializer(
        self, deserializer: KafkaRecordDeserializationSchema
    ) -> DynamicKafkaSourceBuilder:
        """Records are made of whole messages: key, headers, place and timestamp."""
        self._take_schema(deserializer)
        return self

    def _number(self, key: str, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise ConfigurationError(
                f"the property {key!r} has the value {text!r}, which is no whole number",
                where=self.where,
                fix=f'set_property("{key}", "10000")',
            ) from None
