"""Records to bytes and back, for connectors that move bytes: files, sockets, Kafka.

In: a schema or encoder given to a connector.  Out: bytes, or records.  Next: datastream/formats/
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headrace.common.typeinfo import TypeInformation, Types
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

__all__ = [
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema(ABC):
    """Turns a record into bytes."""

    def __init_subclass__(cls, **options: Any) -> None:
        """A subclass that only overrides `serialize` must not inherit a faster way around it."""
        super().__init_subclass__(**options)
        if "serialize" in vars(cls) and "serialize_many" not in vars(cls):
            cls.serialize_many = SerializationSchema.serialize_many  # type: ignore[method-assign]

    def open(self) -> None:  # noqa: B027
        """Called once before the first record."""

    @abstractmethod
    def serialize(self, element: Any) -> bytes:
        """The record as bytes."""

    def serialize_many(self, elements: list[Any]) -> list[bytes]:
        """Many records, each as bytes, in their order; sinks call it where they have many. Ours."""
        return list(map(self.serialize, elements))


class DeserializationSchema(ABC):
    """Turns bytes into a record."""

    def __init_subclass__(cls, **options: Any) -> None:
        """A subclass that only overrides `deserialize` must not inherit a faster way around it."""
        super().__init_subclass__(**options)
        if "deserialize" in vars(cls) and "deserialize_columns" not in vars(cls):
            cls.deserialize_columns = (  # type: ignore[method-assign]
                DeserializationSchema.deserialize_columns
            )

    def open(self) -> None:  # noqa: B027
        """Called once before the first message."""

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """The record; None to skip the message."""

    def deserialize_columns(self, messages: pa.BinaryArray) -> pa.RecordBatch | None:
        """The records of many messages as Arrow columns, one row a message, in their order.

        The columns are those of the produced type, as ``codec_for(type).schema`` has them. None,
        the default, has the messages read one by one; so has any error, which then finds the bad
        message and says what `deserialize` says about it. Ours.
        """
        return None

    def is_end_of_stream(self, next_element: Any) -> bool:
        """Whether this record ends the stream."""
        return False

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Text."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset = _known_charset(charset)

    def serialize(self, element: Any) -> bytes:
        """The text as bytes."""
        return str(element).encode(self.charset)

    def serialize_many(self, elements: list[Any]) -> list[bytes]:
        """Each text as bytes."""
        charset = self.charset
        return [str(element).encode(charset) for element in elements]

    def deserialize(self, message: bytes) -> str:
        """The bytes as text."""
        return bytes(message).decode(self.charset)

    def deserialize_columns(self, messages: pa.BinaryArray) -> pa.RecordBatch | None:
        """The texts as a column, if they are UTF-8: their bytes are checked and not copied."""
        if messages.null_count or codecs.lookup(self.charset).name != "utf-8":
            return None
        return _one_column(messages.cast("string"))

    def get_produced_type(self) -> TypeInformation:
        """Text."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are."""

    def serialize(self, element: Any) -> bytes:
        """The bytes."""
        return bytes(element)

    def deserialize(self, message: bytes) -> bytes:
        """The bytes."""
        return bytes(message)

    def deserialize_columns(self, messages: pa.BinaryArray) -> pa.RecordBatch | None:
        """The messages themselves."""
        return None if messages.null_count else _one_column(messages)

    def get_produced_type(self) -> TypeInformation:
        """Bytes."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema):
    """One field of a row: bytes as they are, anything else as text."""

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise InvalidArgumentError(f"Field index must be non-negative, not {field_index}")
        self.field_index = field_index

    def serialize(self, element: Any) -> bytes:
        """The field as bytes; nothing for None."""
        value = element[self.field_index]
        if value is None:
            return b""
        return bytes(value) if isinstance(value, bytes | bytearray) else str(value).encode()


class Encoder:
    """Turns a record into the bytes of one line of a file.

    Args:
        function: record to text or bytes; a line feed is added.
        charset: of the text.
    """

    def __init__(
        self, function: Callable[[Any], str | bytes] = str, charset: str = "UTF-8"
    ) -> None:
        self.function = function
        self.charset = _known_charset(charset)

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Each record as ``str`` prints it, one to a line."""
        return SimpleStringEncoder(charset_name)

    def encode(self, element: Any) -> bytes:
        """The record's line, with its line feed."""
        content = self.function(element)
        data = content if isinstance(content, bytes) else content.encode(self.charset)
        return data + "\n".encode(self.charset)


class SimpleStringEncoder(Encoder):
    """Each record as ``str`` prints it. Sinks know it by its charset and write lines in bulk."""

    def __init__(self, charset_name: str = "UTF-8") -> None:
        super().__init__(str, charset_name)
        self.charset_name = self.charset


class BulkWriterFactory(ABC):  # noqa: B024  (formats add what their writer needs)
    """Makes writers of a column format. The formats implement it, such as formats/parquet.py."""


def _one_column(values: pa.Array) -> pa.RecordBatch:
    import pyarrow as pa  # programs without such a source need not load it here

    # the name that data/codec.py gives to the column of a type without fields
    return pa.RecordBatch.from_arrays([values], names=["value"])


def _known_charset(charset: str) -> str:
    try:
        "".encode(charset)
    except LookupError:
        raise InvalidArgumentError(
            f"unknown charset {charset!r}", fix="use a name such as 'UTF-8' or 'ISO-8859-1'"
        ) from None
    return charset
