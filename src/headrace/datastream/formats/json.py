"""Under PyFlink's path; written in formats/json.py and beside it"""

from __future__ import annotations

from typing import Any

from headrace.formats.json import JsonBulkWriters, JsonRowSerializationSchema
from headrace.formats.json_deserialization import JsonRowDeserializationSchema
from headrace.formats.json_reader import JsonReaderFormat
from headrace.missing import missing_attribute

__all__ = [
    "JsonBulkWriters",
    "JsonReaderFormat",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
]


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
