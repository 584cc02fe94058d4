"""Under PyFlink's path; written in connectors/kafka/"""

from __future__ import annotations

from headrace.connectors.kafka.dynamic.builder import DynamicKafkaSourceBuilder
from headrace.connectors.kafka.dynamic.metadata import (
    ClusterMetadata,
    KafkaMetadataService,
    KafkaStream,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from headrace.connectors.kafka.dynamic.source import DynamicKafkaSource
from headrace.connectors.kafka.schema import KafkaRecordDeserializationSchema

__all__ = [
    "ClusterMetadata",
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaStream",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]
