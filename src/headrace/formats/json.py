"""JSON, under PyFlink's path: the writers.

In: rows.  Out: a factory for `FileSink.for_bulk_format`.  Next: formats/bulk_writers.py.  Beside
it: json_serialization.py and json_deserialization.py for messages, json_reader.py for files; what
they have can be imported from here too.
"""

from __future__ import annotations

from typing import Any

from headrace.formats.json_serialization import JsonRowSerializationSchema
from headrace.formats.writer_factories import JsonLines
from headrace.missing import missing_attribute

__all__ = ["JsonBulkWriters", "JsonRowSerializationSchema"]


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        from headrace.formats import json_reader

        if hasattr(json_reader, name):
            return getattr(json_reader, name)
    return missing_attribute(__name__, name)


class JsonBulkWriters:
    """Makes factories for files of JSON lines. Not in PyFlink."""

    @staticmethod
    def json_lines() -> JsonLines:
        """A factory: one object a row, or one value a line for streams of plain values."""
        return JsonLines()
