"""Avro messages and Avro files.

In: bytes of one record, or a file.  Out: rows, and back.
Next: avro_schema.py (types), confluent_avro.py (with a schema registry),
connectors/files/avro_input.py (files as a source)
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from headrace.common.serialization import (
    BulkWriterFactory,
    DeserializationSchema,
    SerializationSchema,
)
from headrace.errors import InvalidArgumentError, TypeMismatchError
from headrace.formats.avro_schema import (
    AvroSchema,
    Conversion,
    GenericRecordAvroTypeInfo,
    conversion_of,
    fastavro,
)
from headrace.formats.bad_messages import bad_message
from headrace.formats.bulk_writers import BulkWriter

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation

__all__ = [
    "AvroBulkWriters",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]


def read_record(data: IO[bytes], writer: Any, reader: Any) -> Any:
    """One record in Avro's binary form, as fastavro's dict.

    Args:
        data: where it begins.
        writer: the parsed schema it was written with.
        reader: the parsed schema to see it by; fields are filled and left out accordingly.
    """
    return fastavro().schemaless_reader(data, writer, reader)


def record_bytes(schema: AvroSchema, conversion: Conversion, record: Any, where: str) -> bytes:
    """A record in Avro's binary form.

    Raises:
        TypeMismatchError: it does not fit the schema.
    """
    out = io.BytesIO()
    try:
        fastavro().schemaless_writer(out, schema.parsed, conversion.to_avro(record))
    except Exception as error:  # fastavro raises whatever the first wrong value runs into
        raise TypeMismatchError(
            f"the record {record!r:.200} does not fit the Avro schema: "
            f"{type(error).__name__}: {error}",
            where=where,
            fix="send rows with the fields of the schema, of its types",
        ) from error
    return out.getvalue()


def _schema_of(record_class: Any, avro_schema_string: str | None, where: str) -> AvroSchema:
    if record_class is not None:
        raise InvalidArgumentError(
            f"the record class {record_class!r} is a Java class, and there is no Java here",
            where=where,
            fix='pass the schema: avro_schema_string=\'{"type": "record", ...}\'',
        )
    if avro_schema_string is None:
        raise InvalidArgumentError(
            "the Avro schema is missing", where=where, fix="pass avro_schema_string"
        )
    return AvroSchema(avro_schema_string)


class AvroRowDeserializationSchema(DeserializationSchema):
    """Turns messages with one Avro record each into rows.

    The messages hold the record alone, as Flink's schema of this name expects; for messages that
    begin with the number of a schema in a registry, use
    ``ConfluentRegistryAvroDeserializationSchema``.

    Args:
        record_class: refused; it names a Java class in PyFlink.
        avro_schema_string: the schema that messages are written with.
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._schema = _schema_of(record_class, avro_schema_string, type(self).__name__)
        self._conversion: Conversion | None = None  # rebuilt on first use: closures
        conversion_of(self._schema)  # refuses now what could never be read

    def deserialize(self, message: bytes) -> Any:
        """The row."""
        if self._conversion is None:
            self._conversion = conversion_of(self._schema)
        parsed = self._schema.parsed
        try:
            return self._conversion.from_avro(read_record(io.BytesIO(message), parsed, parsed))
        except Exception as error:  # fastavro raises whatever wrong bytes run into
            raise bad_message(message, "Avro", error, type(self)) from error

    def get_produced_type(self) -> TypeInformation:
        """Rows with the fields of the schema."""
        return conversion_of(self._schema).type_info

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_conversion": None}


class AvroRowSerializationSchema(SerializationSchema):
    """Turns rows into Avro's binary form, without the schema.

    Args:
        record_class: refused; it names a Java class in PyFlink.
        avro_schema_string: the schema to write with.
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        super().__init__()
        self._schema = _schema_of(record_class, avro_schema_string, type(self).__name__)
        self._conversion: Conversion | None = None  # rebuilt on first use: closures
        conversion_of(self._schema)

    def serialize(self, element: Any) -> bytes:
        """One row; a dict is taken too."""
        if self._conversion is None:
            self._conversion = conversion_of(self._schema)
        return record_bytes(self._schema, self._conversion, element, type(self).__name__)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_conversion": None}


# --- files ----------------------------------------------------------------------------------------


class AvroBulkWriters:
    """Makes factories for Avro files.

    Example:
        >>> from headrace.datastream.connectors.file_system import FileSink
        >>> schema = AvroSchema.parse_string(
        ...     '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'
        ... )
        >>> writers = AvroBulkWriters.for_generic_record(schema)
        >>> FileSink.for_bulk_format("/tmp/out", writers).build()
        FileSink('/tmp/out')
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> AvroWriters:
        """A factory for records with the fields of a schema: rows, dicts, tuples."""
        return AvroWriters(schema)


@dataclass(frozen=True, slots=True)
class AvroWriters(BulkWriterFactory):
    """Avro files with their schema, not compressed, as Flink writes them."""

    schema: AvroSchema
    concatenable = False

    def create(self, out: IO[bytes], type_info: TypeInformation | None) -> BulkWriter:
        return _AvroWriter(out, self.schema)


class _AvroWriter(BulkWriter):
    def __init__(self, out: IO[bytes], schema: AvroSchema) -> None:
        self._out = out
        self._schema = schema
        self._to_avro = conversion_of(schema).to_avro
        self._file = fastavro().write.Writer(out, schema.parsed)

    def write(self, values: list[Any]) -> None:
        for value in values:
            try:
                self._file.write(self._to_avro(value))
            except Exception as error:  # as in record_bytes
                raise TypeMismatchError(
                    f"the record {value!r:.200} does not fit the Avro schema: "
                    f"{type(error).__name__}: {error}",
                    where="file sink",
                    fix="send rows with the fields of the schema, of its types",
                ) from error

    def size_bytes(self) -> int:
        return self._out.tell()

    def finish(self) -> None:
        self._file.flush()

    def shape(self) -> str:
        return str(self._schema)
