"""What the name of a folder says of a column: ``day=2020-01-02``, ``hour=2020-01-02T10%3A00``.

In: the path of a file.  Out: values of the columns that a table is partitioned by.  Dates and times
are read as they are written here (`PartitionFolders`), and as Flink writes them: days since 1970,
milliseconds since midnight, which Flink itself cannot read.
Next: connectors/files/table_files.py makes columns of them
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from headrace.common import data_types as d
from headrace.errors import UnsupportedStepError
from headrace.formats.tables.csv import cell_reader

if TYPE_CHECKING:
    from headrace.common.data_types import RowType

_NO_FOLDERS = (
    d.BinaryType,
    d.VarBinaryType,
    d.ArrayType,
    d.MapType,
    d.MultisetType,
    d.RowType,
)
_NUMBER = re.compile(r"[+-]?\d+")
_EPOCH = dt.date(1970, 1, 1)


def partition_texts(path: str, keys: tuple[str, ...], default_name: str) -> dict[str, Any]:
    """What a path says of its partition: ``…/day=2020-01-02/…``; None for the default name."""
    found: dict[str, Any] = {}
    for part in path.split("/")[:-1]:
        name, equals, text = part.partition("=")
        if equals and unquote(name) in keys:
            found[unquote(name)] = None if text == default_name else unquote(text)
    return found


def partition_value(text: str, kind: d.DataType) -> Any:
    """The value of a column that the name of a folder says."""
    match kind:
        case d.CharType() | d.VarCharType():
            return text
        case d.DateType() if _NUMBER.fullmatch(text):
            return _EPOCH + dt.timedelta(days=int(text))
        case d.TimeType() if _NUMBER.fullmatch(text):
            return (dt.datetime.min + dt.timedelta(milliseconds=int(text))).time()
        case d.TimestampType() | d.LocalZonedTimestampType():
            return _moment(text, zoned=isinstance(kind, d.LocalZonedTimestampType))
        case _:
            return cell_reader(kind)(text)


def _moment(text: str, *, zoned: bool) -> dt.datetime:
    """``2020-01-02T10:00`` or with a blank; of TIMESTAMP_LTZ in UTC unless it says otherwise."""
    found = dt.datetime.fromisoformat(text)
    if not zoned:
        return found.replace(tzinfo=None)
    return found.replace(tzinfo=found.tzinfo or dt.UTC)


def check_partition_keys(table: str, columns: RowType, keys: tuple[str, ...]) -> None:
    """Refuses columns whose values cannot be names of folders.

    Raises:
        UnsupportedStepError: bytes, arrays, maps and rows.
    """
    for field in columns.fields:
        if field.name in keys and isinstance(field.data_type, _NO_FOLDERS):
            raise UnsupportedStepError(
                f"the values of column {field.name!r}, {field.data_type}, cannot be names of "
                "folders",
                where=f"table {table}",
                fix="partition by a column of texts, numbers or times",
            )
