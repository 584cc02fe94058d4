"""Under PyFlink's path; written in connectors/kafka/"""

from __future__ import annotations

from headrace.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from headrace.connectors.kafka.schema import ConsumerRecord, KafkaRecordDeserializationSchema
from headrace.connectors.kafka.source import KafkaSource
from headrace.connectors.kafka.source_builder import KafkaSourceBuilder

__all__ = [
    "ConsumerRecord",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordDeserializationSchema",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
]
