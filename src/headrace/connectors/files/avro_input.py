"""Avro files as a source.

In: a path and the reader's schema.  Out: rows.  Next: formats/avro_schema.py
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidArgumentError
from headrace.formats.avro_schema import (
    AvroSchema,
    GenericRecordAvroTypeInfo,
    conversion_of,
    fastavro,
)
from headrace.io.storage import Storage, absolute_target
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.typeinfo import TypeInformation

__all__ = ["AvroInputFormat"]


class AvroInputFormat(PythonSource):
    """Reads Avro files: one, or all in a folder whose names do not begin with ``.`` or ``_``.

    Files may be written with an older or newer schema: fields are matched by name, and those that
    a file lacks have the default.

    Args:
        path: a file or folder; a URI such as ``s3://`` is fine.
        schema: the schema to see the records by.

    Example:
        >>> ds = env.create_input(AvroInputFormat("/data/orders", schema))
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self._path = absolute_target(path)
        self._schema = schema
        self._type_info = GenericRecordAvroTypeInfo(schema)

    def splits(self) -> list[str]:
        """The files."""
        parent, _, name = self._path.rstrip("/").rpartition("/")
        if Storage.open(parent or "/").exists(name):
            return [self._path]
        inside = (path.lstrip("/") for path in Storage.open(self._path).walk(""))
        found = sorted(path for path in inside if not _hidden(path))
        if found:
            return [f"{self._path.rstrip('/')}/{path}" for path in found]
        raise InvalidArgumentError(
            f"there is no Avro file at {self._path}",
            where="AvroInputFormat",
            fix="pass the path of a file, or of a folder with files",
        )

    def latest_offset(self, split: str, start: int) -> int:
        """The number of records, from the headers of the file's blocks."""
        with _opened(split) as file:
            return sum(block.num_records for block in fastavro().block_reader(file))

    def read(self, split: str, start: int, end: int) -> Iterator[Any]:
        """Some of the file's records."""
        from_avro = conversion_of(self._schema).from_avro
        with _opened(split) as file:
            records = fastavro().reader(file, self._schema.parsed)
            yield from map(from_avro, islice(records, start, end))

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """Rows with the fields of the schema."""
        return self._type_info

    def produced_type(self) -> TypeInformation:
        return self._type_info

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED


def _hidden(path: str) -> bool:
    return any(part.startswith((".", "_")) for part in path.split("/"))


def _opened(path: str) -> Any:
    parent, _, name = path.rpartition("/")
    return Storage.open(parent or "/").open_input(name)
