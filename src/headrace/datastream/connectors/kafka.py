"""Under PyFlink's path; written in connectors/kafka/"""

from __future__ import annotations

from typing import Any

from headrace.connectors.kafka.serialization import (
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSinkContext,
    KafkaTopicSelector,
    ProducerRecord,
)
from headrace.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from headrace.missing import missing_attribute

__all__ = [
    "KafkaPartitioner",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSinkContext",
    "KafkaTopicSelector",
    "ProducerRecord",
]


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
