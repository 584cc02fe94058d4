"""Under PyFlink's path; written in formats/csv.py and beside it"""

from __future__ import annotations

from typing import Any

from headrace.formats.csv import CsvBulkWriters, CsvRowSerializationSchema
from headrace.formats.csv_deserialization import CsvRowDeserializationSchema
from headrace.formats.csv_reader import CsvReaderFormat, CsvSchema, CsvSchemaBuilder
from headrace.missing import missing_attribute

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
