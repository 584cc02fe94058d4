"""Avro messages that begin with the number of their schema in a registry, as Confluent frames them.

In: a zero byte, the number as four bytes, the record.  Out: rows, and back.
Next: schema_registry.py, avro_schema.py
"""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any

from headrace.common.serialization import DeserializationSchema, SerializationSchema
from headrace.errors import ConnectorError
from headrace.formats.avro import read_record, record_bytes
from headrace.formats.avro_schema import AvroSchema, Conversion, conversion_of
from headrace.formats.bad_messages import bad_message
from headrace.formats.schema_registry import SchemaNotFoundError, SchemaRegistryClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.typeinfo import TypeInformation

__all__ = [
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
]

_FRAME = struct.Struct(">bI")


class ConfluentRegistryAvroDeserializationSchema(DeserializationSchema):
    """Turns Avro messages framed as Confluent's serializers do into rows; see `for_generic`.

    Every message names the schema it was written with; the registry is asked for each schema once
    in a process. Records are seen by the reader's schema: Avro's rules fill fields that a writer
    did not have and leave out those that the reader does not.

    Coming from Flink: the class of this name in Java, which PyFlink does not have.
    """

    def __init__(self, schema: AvroSchema, registry: SchemaRegistryClient) -> None:
        self._schema = schema
        self._registry = registry
        self._conversion: Conversion | None = None  # rebuilt on first use: closures
        conversion_of(schema)  # refuses now what could never be read

    @staticmethod
    def for_generic(
        schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """A schema that reads records by ``schema``.

        Args:
            schema: the reader's schema.
            url: of the registry.
            registry_configs: see `SchemaRegistryClient`.
        """
        return ConfluentRegistryAvroDeserializationSchema(
            schema, SchemaRegistryClient(url, registry_configs)
        )

    def deserialize(self, message: bytes) -> Any:
        """The row."""
        if self._conversion is None:
            self._conversion = conversion_of(self._schema)
        writer = self._writer_schema(message)
        try:
            data = io.BytesIO(message)
            data.seek(_FRAME.size)
            return self._conversion.from_avro(read_record(data, writer.parsed, self._schema.parsed))
        except Exception as error:  # fastavro raises whatever wrong bytes run into
            raise bad_message(message, "Avro", error, type(self)) from error

    def _writer_schema(self, message: bytes) -> AvroSchema:
        if len(message) < _FRAME.size or message[0] != 0:
            why = "it does not begin with a zero byte and the number of a schema"
            raise bad_message(message, "Avro of a schema registry", why, type(self))
        try:
            return self._registry.schema(_FRAME.unpack_from(message)[1])
        except SchemaNotFoundError as error:
            raise bad_message(message, "Avro", error.message, type(self)) from error

    def get_produced_type(self) -> TypeInformation:
        """Rows with the fields of the reader's schema."""
        return conversion_of(self._schema).type_info

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_conversion": None}


class ConfluentRegistryAvroSerializationSchema(SerializationSchema):
    """Turns rows into Avro messages framed as Confluent's deserializers expect; `for_generic`.

    The schema is registered under the subject with the first record, unless it is there.
    """

    def __init__(self, subject: str, schema: AvroSchema, registry: SchemaRegistryClient) -> None:
        super().__init__()
        self._subject = subject
        self._schema = schema
        self._registry = registry
        self._conversion: Conversion | None = None  # rebuilt on first use: closures
        self._frame = b""
        conversion_of(schema)

    @staticmethod
    def for_generic(
        subject: str,
        schema: AvroSchema,
        url: str,
        registry_configs: Mapping[str, str] | None = None,
    ) -> ConfluentRegistryAvroSerializationSchema:
        """A schema that writes records with ``schema``.

        Args:
            subject: where the registry keeps the versions of the schema; for the values of a topic
                that is ``<topic>-value`` by custom.
            schema: the writer's schema.
            url: of the registry.
            registry_configs: see `SchemaRegistryClient`.
        """
        return ConfluentRegistryAvroSerializationSchema(
            subject, schema, SchemaRegistryClient(url, registry_configs)
        )

    def serialize(self, element: Any) -> bytes:
        """One row; a dict is taken too."""
        if self._conversion is None:
            self._conversion = conversion_of(self._schema)
            number = self._registry.register(self._subject, self._schema)
            if not 0 <= number < 1 << 32:
                raise ConnectorError(
                    f"the schema registry gave the number {number}, which a message cannot hold"
                )
            self._frame = _FRAME.pack(0, number)
        body = record_bytes(self._schema, self._conversion, element, type(self).__name__)
        return self._frame + body

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_conversion": None}
