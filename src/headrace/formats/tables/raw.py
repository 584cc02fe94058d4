"""The format ``raw`` of tables: the bytes of the only column.

In: messages, or lines of one column.  Out: the other.  Next: spi/table_format.py
"""

from __future__ import annotations

import codecs
import pickle
import struct
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.common import data_types as d
from headrace.errors import ConfigurationError, TypeMismatchError, UnsupportedStepError
from headrace.spi.table_connector import option
from headrace.spi.table_format import FormatOptions, LineReader, LineWriter, TableFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

CHARSET = option("charset", default="UTF-8", doc="of texts")
ENDIANNESS = option(
    "endianness", "enum", "big-endian", "of numbers", ("big-endian", "little-endian")
)
LINE_DELIMITER = option("line-delimiter", doc="cuts a message into lines")
_NUMBERS: dict[type[d.DataType], str] = {
    d.BooleanType: "?",
    d.TinyIntType: "b",
    d.SmallIntType: "h",
    d.IntType: "i",
    d.BigIntType: "q",
    d.FloatType: "f",
    d.DoubleType: "d",
}


class RawTables(TableFormat):
    """Bytes, texts or numbers as they are."""

    name: ClassVar[str] = "raw"
    options = (CHARSET, ENDIANNESS, LINE_DELIMITER)

    def reader(
        self, columns: d.RowType, options: FormatOptions, metadata: Sequence[str] = ()
    ) -> LineReader:
        return RawLineReader(self._form(columns, options), options.get(LINE_DELIMITER))

    def writer(self, columns: d.RowType, options: FormatOptions) -> LineWriter:
        return RawLineWriter(self._form(columns, options))

    def _form(self, columns: d.RowType, options: FormatOptions) -> RawForm:
        if len(columns) != 1:
            raise ConfigurationError(
                f"the format 'raw' has one column, but there are {len(columns)}",
                where=options.where,
                fix="declare a single physical column, or use another format",
            )
        charset = str(options.get(CHARSET))
        try:
            codecs.lookup(charset)
        except LookupError as error:
            raise ConfigurationError(
                f"there is no charset {charset!r}", where=options.where, fix="use 'UTF-8'"
            ) from error
        return RawForm(columns.field_types()[0], charset, str(options.get(ENDIANNESS)))


class RawForm:
    """One value as bytes, and back.

    Args:
        data_type: of the value.
        charset: of texts.
        endianness: of numbers.
    """

    def __init__(self, data_type: d.DataType, charset: str, endianness: str) -> None:
        self.data_type = data_type
        self.charset = charset
        code = _NUMBERS.get(type(data_type))
        self.number = None if code is None else (">" if endianness == "big-endian" else "<") + code
        texts = (d.CharType, d.VarCharType, d.BinaryType, d.VarBinaryType, d.RawType)
        if code is None and not isinstance(data_type, texts):
            raise UnsupportedStepError(
                f"the format 'raw' has no form for {data_type}",
                fix="use a text, bytes, or a number; or another format",
            )

    def read(self, message: bytes) -> Any:
        """The value of bytes."""
        if self.number is not None:
            try:
                return struct.unpack(self.number, message)[0]
            except struct.error as error:
                raise TypeMismatchError(
                    f"a message of {len(message)} bytes is no {self.data_type}: {message!r:.100}",
                    fix="declare the type that messages have",
                ) from error
        if isinstance(self.data_type, d.CharType | d.VarCharType):
            return str(message, self.charset, "replace")
        return pickle.loads(message) if isinstance(self.data_type, d.RawType) else bytes(message)

    def write(self, value: Any) -> bytes | None:
        """The bytes of a value."""
        if value is None:
            return None
        if self.number is not None:
            return struct.pack(self.number, value)
        if isinstance(value, str):
            return value.encode(self.charset)
        return pickle.dumps(value, 5) if isinstance(self.data_type, d.RawType) else bytes(value)


class RawLineReader(LineReader):
    """A line of one value for each message, or for each part of it."""

    def __init__(self, form: RawForm, delimiter: str | None) -> None:
        self._form = form
        self._delimiter = None if delimiter is None else delimiter.encode(form.charset)

    def read(self, message: bytes) -> Sequence[tuple[Any, ...]]:
        parts = [message] if self._delimiter is None else message.split(self._delimiter)
        return [(self._form.read(part),) for part in parts]


class RawLineWriter(LineWriter):
    """The bytes of the only value."""

    def __init__(self, form: RawForm) -> None:
        self._form = form

    def write(self, values: tuple[Any, ...], kind: int = 0) -> bytes | None:
        return self._form.write(values[0])
