"""The format ``avro-confluent`` of tables: Avro with the number of its schema in a registry.

In: messages that begin with a zero byte and four bytes of a number, or lines.  Out: the other.
Next: formats/schema_registry.py, formats/tables/avro_lines.py
"""

from __future__ import annotations

import io
import json
import struct
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.formats.avro_schema import AvroSchema, fastavro
from headrace.formats.bad_messages import bad_message
from headrace.formats.schema_registry import SchemaNotFoundError, SchemaRegistryClient
from headrace.formats.tables.avro import LEGACY, AvroLineReader, AvroLineWriter, avro_form
from headrace.formats.tables.avro_lines import avro_schema, from_avro
from headrace.spi.table_connector import option
from headrace.spi.table_format import FormatOptions, LineReader, LineWriter, TableFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.data_types import RowType
    from headrace.formats.tables.avro_lines import AvroForm

URL = option("url", doc="of the schema registry")
OLD_URL = option("schema-registry.url", doc="of the schema registry; the old name")
SUBJECT = option("subject", doc="where the registry keeps the schema, such as orders-value")
OLD_SUBJECT = option("schema-registry.subject", doc="the old name of subject")
SCHEMA = option("schema", doc="the schema to write with, where it is not that of the columns")
USER = option("basic-auth.user-info", doc="user:password")
SOURCE = option("basic-auth.credentials-source", doc="where the user stands: USER_INFO or URL")
_FRAME = struct.Struct(">bI")


class AvroConfluentTables(TableFormat):
    """Avro's binary form, framed as Confluent's serializers do."""

    name: ClassVar[str] = "avro-confluent"
    options = (URL, OLD_URL, SUBJECT, OLD_SUBJECT, SCHEMA, USER, SOURCE, LEGACY)
    lines_in_files = False

    def reader(
        self, columns: RowType, options: FormatOptions, metadata: Sequence[str] = ()
    ) -> LineReader:
        return ConfluentLineReader(columns, avro_form(columns, options), _registry(options))

    def writer(self, columns: RowType, options: FormatOptions) -> LineWriter:
        form = avro_form(columns, options)
        subject = options.get(SUBJECT) or options.get(OLD_SUBJECT) or options.need(SUBJECT)
        given = options.get(SCHEMA)
        schema = AvroSchema(given or json.dumps(avro_schema(columns, form)))
        return ConfluentLineWriter(columns, form, _registry(options), str(subject), schema)


def _registry(options: FormatOptions) -> SchemaRegistryClient:
    url = options.get(URL) or options.get(OLD_URL) or options.need(URL)
    configs = {}
    if options.get(USER) is not None:
        configs["basic.auth.user.info"] = str(options.get(USER))
        configs["basic.auth.credentials.source"] = str(options.get(SOURCE) or "USER_INFO")
    return SchemaRegistryClient(str(url), configs or None)


class ConfluentLineReader(AvroLineReader):
    """Reads a line from each message, by the schema that it was written with."""

    def __init__(self, columns: RowType, form: AvroForm, registry: SchemaRegistryClient) -> None:
        super().__init__(columns, form)
        self._registry = registry

    def read(self, message: bytes) -> Sequence[tuple[Any, ...]]:
        if self._convert is None:
            self._convert = from_avro(self._columns)
        if len(message) < _FRAME.size or message[0] != 0:
            why = "it does not begin with a zero byte and the number of a schema"
            raise bad_message(message, "Avro of a schema registry", why, type(self))
        try:
            writer = self._registry.schema(_FRAME.unpack_from(message)[1])
        except SchemaNotFoundError as error:
            raise bad_message(message, "Avro", error.message, type(self)) from error
        try:
            data = io.BytesIO(message)
            data.seek(_FRAME.size)
            found = fastavro().schemaless_reader(data, writer.parsed, self.schema())
            return [self._convert(found)]
        except Exception as error:  # fastavro raises whatever wrong bytes run into
            raise bad_message(message, "Avro", error, type(self)) from error


class ConfluentLineWriter(AvroLineWriter):
    """Writes a line behind the number of its schema, which is registered with the first one."""

    def __init__(
        self,
        columns: RowType,
        form: AvroForm,
        registry: SchemaRegistryClient,
        subject: str,
        schema: AvroSchema,
    ) -> None:
        super().__init__(columns, form)
        self._registry = registry
        self._subject = subject
        self._written = schema
        self._frame: bytes | None = None  # rebuilt on first use

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_frame": None}

    def schema(self) -> Any:
        return self._written.parsed

    def write(self, values: tuple[Any, ...], kind: int = 0) -> bytes:
        if self._frame is None:
            number = self._registry.register(self._subject, self._written)
            self._frame = _FRAME.pack(0, number)
        return self._frame + super().write(values, kind)
