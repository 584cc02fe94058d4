"""Under PyFlink's path; written in formats/json.py and formats/json_reader.py"""

from __future__ import annotations

from typing import Any

from headrace.formats.json import (
    JsonBulkWriters,
    JsonRowSerializationSchema,
)
from headrace.formats.json_reader import JsonReaderFormat
from headrace.missing import missing_attribute

__all__ = [
    "JsonBulkWriters",
    "JsonReaderFormat",
    "JsonRowSerializationSchema",
]


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
