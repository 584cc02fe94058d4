"""JSON: the writers.  The reader is in json_reader.py

In: rows.  Out: a factory for `FileSink.for_bulk_format`.  Next: formats/bulk_writers.py.  Beside
it: json_serialization.py and json_deserialization.py, for messages
"""

from __future__ import annotations

from headrace.formats.json_serialization import JsonRowSerializationSchema
from headrace.formats.writer_factories import JsonLines

__all__ = ["JsonBulkWriters", "JsonRowSerializationSchema"]


class JsonBulkWriters:
    """Makes factories for files of JSON lines. Not in PyFlink."""

    @staticmethod
    def json_lines() -> JsonLines:
        """A factory: one object a row, or one value a line for streams of plain values."""
        return JsonLines()
