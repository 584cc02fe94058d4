"""JSON: the writers.  The reader is in json_reader.py

In: rows.  Out: a schema that turns single rows into bytes, and a factory for
`FileSink.for_bulk_format`.  Next: formats/bulk_writers.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.serialization import SerializationSchema
from headrace.errors import InvalidArgumentError
from headrace.formats.bulk_writers import json_line
from headrace.formats.record_fields import declared_names, fields_with
from headrace.formats.writer_factories import JsonLines

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import TypeInformation

__all__ = ["JsonBulkWriters", "JsonRowSerializationSchema"]


class JsonBulkWriters:
    """Makes factories for files of JSON lines. Not in PyFlink."""

    @staticmethod
    def json_lines() -> JsonLines:
        """A factory: one object a row, or one value a line for streams of plain values."""
        return JsonLines()


class JsonRowSerializationSchema(SerializationSchema):
    """Turns rows into JSON objects, as bytes.

    Example:
        >>> from headrace.common.types import Row
        >>> from headrace.common.typeinfo import Types
        >>> row = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> schema = JsonRowSerializationSchema.builder().with_type_info(row).build()
        >>> schema.serialize(Row(1, "tea"))
        b'{"id":1,"name":"tea"}'
    """

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__()
        self._type_info = type_info
        self._encode: Callable[[Any], bytes] | None = None  # rebuilt on open: a closure

    def serialize(self, element: Any) -> bytes:
        """One row as a JSON object."""
        if self._encode is None:
            self._encode = json_line(fields_with(declared_names(self._type_info)))
        return self._encode(element)[:-1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encode": None}

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """A builder; it needs the type of the rows."""
        return JsonRowSerializationSchema.Builder()

    class Builder:
        """Collects the settings."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Sets the type of the rows; its field names become the names in the objects."""
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema.

            Raises:
                InvalidArgumentError: no type was given.
            """
            if self._type_info is None:
                raise InvalidArgumentError(
                    "the type of the rows is missing",
                    where="JsonRowSerializationSchema.builder()",
                    fix="call with_type_info(Types.ROW_NAMED(...)) before build()",
                )
            return JsonRowSerializationSchema(self._type_info)
