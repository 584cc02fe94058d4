"""What every file format says to a reader of files.

In: settings of the user.  Out: one of the readers a host has, its options, the type of records.
Next: csv_reader.py, json_reader.py, parquet_reader.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Literal

from headrace.common.typeinfo import Types
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.typeinfo import TypeInformation

__all__ = ["BulkFormat", "FileFormat", "MalformedRecords", "StreamFormat"]


class MalformedRecords(Enum):
    """What to do with a line of a CSV or JSON file that cannot be read as the declared type. Ours.

    Attributes:
        FAIL: the job fails and names the file and the line (the default: nothing is lost unseen).
        DROP: the line is skipped without a trace.
        KEEP: the record is produced with None in every field that could not be read, and the
            text of the line in an added last field ``_corrupt_record`` (None for good lines).
    """

    FAIL = "fail"
    DROP = "drop"
    KEEP = "keep"


class FileFormat(ABC):
    """How the bytes of a file become records: one of Spark's readers and its options.

    Where Python reads the files (connectors/files/readers.py), the records are the same.
    """

    @abstractmethod
    def reader_name(self) -> Literal["text", "csv", "json", "parquet"]:
        """Which reader."""

    @abstractmethod
    def produced_type(self) -> TypeInformation:
        """The type of the records."""

    def reader_options(self) -> Mapping[str, str]:
        """Options of the reader."""
        return {}


class StreamFormat(FileFormat):
    """A format that is read record by record."""

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Every line is a record of type ``Types.STRING()``, without its line end.

        Args:
            charset_name: UTF-8, US-ASCII or ISO-8859-1.
        """
        return TextLineFormat(charset_name)


class BulkFormat(FileFormat):
    """A format that is read in batches of columns, such as Parquet."""


class TextLineFormat(StreamFormat):
    def __init__(self, charset_name: str) -> None:
        name = charset_name.upper().replace("_", "-")
        names = {"UTF8": "UTF-8", "ASCII": "US-ASCII", "LATIN1": "ISO-8859-1"}
        self.charset = names.get(name, name)
        if self.charset not in ("UTF-8", "US-ASCII", "ISO-8859-1"):
            raise InvalidArgumentError(
                f"text files in charset {charset_name!r} cannot be read: lines are split at the "
                "byte 0x0a, which is not a line end in it",
                fix="convert the files to UTF-8, or use one of UTF-8, US-ASCII, ISO-8859-1",
            )

    def reader_name(self) -> Literal["text"]:
        return "text"

    def produced_type(self) -> TypeInformation:
        return Types.STRING()
