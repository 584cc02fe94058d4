"""Under PyFlink's path; written in formats/csv.py"""

from __future__ import annotations

from typing import Any

from headrace.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvRowSerializationSchema,
    CsvSchema,
    CsvSchemaBuilder,
)
from headrace.missing import missing_attribute

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
