"""Parquet files.

In: the row type to read.  Out: `ParquetColumnarRowInputFormat` for `FileSource`.
Next: hosts/spark/sources/file_reader.py.
"""

from __future__ import annotations

from typing import Any, Literal

from headrace.common.typeinfo import RowTypeInfo
from headrace.errors import InvalidArgumentError
from headrace.formats.csv_reader import as_type_info
from headrace.formats.file_format import BulkFormat

__all__ = ["ParquetColumnarRowInputFormat"]


class ParquetColumnarRowInputFormat(BulkFormat):
    """Reads rows from Parquet files, only the columns that the type names.

    A column that a file does not have is None, and a warning tells of it when the job starts; one
    of another type fails.

    Args:
        row_type: ``Types.ROW_NAMED(...)``, a dataclass or NamedTuple, or a table row type; nested
            types are fine.
        hadoop_config: not used; set ``spark.hadoop.*`` on the session instead.
        batch_size: not used; see ``spark.sql.parquet.columnarReaderBatchSize``.
        is_utc_timestamp: not used; the files say themselves what their timestamps mean.
        is_case_sensitive: not used; see ``spark.sql.caseSensitive``.
    """

    def __init__(
        self,
        row_type: Any,
        hadoop_config: Any = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        type_info = as_type_info(row_type)
        if not isinstance(type_info, RowTypeInfo):
            raise InvalidArgumentError(
                f"Parquet files hold rows, got the type {type_info!r}",
                fix="declare Types.ROW_NAMED(field names, field types)",
            )
        self._type_info = type_info

    def reader_name(self) -> Literal["parquet"]:
        """Spark's Parquet reader."""
        return "parquet"

    def produced_type(self) -> RowTypeInfo:
        """The declared row."""
        return self._type_info
