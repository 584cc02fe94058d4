"""Files with one JSON object a line.

In: the row type of the objects.  Out: `JsonReaderFormat` for `FileSource`.
Next: hosts/spark/sources/file_reader.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.common.typeinfo import RowTypeInfo
from headrace.errors import InvalidArgumentError
from headrace.formats.csv_reader import malformed_options, with_corrupt_field
from headrace.formats.file_format import MalformedRecords, StreamFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JsonReaderFormat"]


class JsonReaderFormat(StreamFormat):
    """Reads files of JSON lines: every line an object, every object a row. Ours.

    A field that an object does not have is None; fields the type does not have are ignored.

    Example:
        >>> people = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
        >>> source = FileSource.for_record_stream_format(
        ...     JsonReaderFormat.for_type_info(people), "/data/people"
        ... ).build()
    """

    def __init__(
        self, type_info: RowTypeInfo, *, malformed: MalformedRecords = MalformedRecords.FAIL
    ) -> None:
        if not isinstance(type_info, RowTypeInfo):
            raise InvalidArgumentError(
                f"JSON objects become rows, got the type {type_info!r}",
                fix="declare Types.ROW_NAMED(field names, field types)",
            )
        self._type_info = type_info
        self.malformed = malformed

    @staticmethod
    def for_type_info(
        type_info: RowTypeInfo, *, malformed: MalformedRecords = MalformedRecords.FAIL
    ) -> JsonReaderFormat:
        """A format that reads objects of this type.

        Args:
            type_info: the row; its field names are the objects' keys.
            malformed: what happens to a line that is no such object.
        """
        return JsonReaderFormat(type_info, malformed=malformed)

    def reader_name(self) -> Literal["json"]:
        """Spark's JSON reader."""
        return "json"

    def produced_type(self) -> RowTypeInfo:
        """The declared row, and the bad line's text if those are kept."""
        return with_corrupt_field(self._type_info, self.malformed)

    def reader_options(self) -> Mapping[str, str]:
        """The choice about bad lines."""
        return malformed_options(self.malformed)
