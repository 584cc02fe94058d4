"""Under PyFlink's path; written in formats/avro.py and beside it. The registry schemas are ours."""

from __future__ import annotations

from typing import Any

from headrace.connectors.files.avro_input import AvroInputFormat
from headrace.formats.avro import (
    AvroBulkWriters,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from headrace.formats.avro_schema import AvroSchema, GenericRecordAvroTypeInfo
from headrace.formats.confluent_avro import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from headrace.formats.schema_registry import SchemaRegistryClient
from headrace.missing import missing_attribute

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
    "GenericRecordAvroTypeInfo",
    "SchemaRegistryClient",
]


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
