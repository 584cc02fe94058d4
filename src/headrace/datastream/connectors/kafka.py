"""Under PyFlink's path; written in connectors/kafka/"""

from __future__ import annotations

from typing import Any

from headrace.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from headrace.connectors.kafka.schema import ConsumerRecord, KafkaRecordDeserializationSchema
from headrace.connectors.kafka.serialization import (
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSinkContext,
    KafkaTopicSelector,
    ProducerRecord,
)
from headrace.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from headrace.connectors.kafka.source import KafkaSource
from headrace.connectors.kafka.source_builder import KafkaSourceBuilder
from headrace.missing import missing_attribute

# not one of its names, but PyFlink's own example takes it from here
from headrace.spi.source import DeliveryGuarantee as DeliveryGuarantee

__all__ = [
    "ConsumerRecord",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaPartitioner",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSinkContext",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "ProducerRecord",
]


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
