"""Parquet files, under PyFlink's path: the writers.

In: rows.  Out: a factory for `FileSink.for_bulk_format`.  Next: formats/bulk_writers.py.
The reader is in parquet_reader.py and can be imported from here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.formats.csv_reader import as_type_info
from headrace.formats.writer_factories import ParquetWriters
from headrace.missing import missing_attribute

if TYPE_CHECKING:
    from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat

__all__ = ["ParquetBulkWriters", "ParquetColumnarRowInputFormat"]


def __getattr__(name: str) -> Any:
    if name == "ParquetColumnarRowInputFormat":
        from headrace.formats import parquet_reader

        return parquet_reader.ParquetColumnarRowInputFormat
    return missing_attribute(__name__, name)


class ParquetBulkWriters:
    """Makes factories for Parquet files.

    Example:
        >>> from headrace.common.typeinfo import Types
        >>> from headrace.datastream.connectors.file_system import FileSink
        >>> row = Types.ROW_NAMED(["id", "tags"], [Types.LONG(), Types.LIST(Types.STRING())])
        >>> FileSink.for_bulk_format("/tmp/out", ParquetBulkWriters.for_row_type(row)).build()
        FileSink('/tmp/out')
    """

    @staticmethod
    def for_row_type(
        row_type: Any,
        hadoop_config: Any = None,
        utc_timestamp: bool = False,
        *,
        compression: str = "snappy",
    ) -> ParquetWriters:
        """A factory for rows of a type.

        Args:
            row_type: ``Types.ROW_NAMED(...)``, a table row type, or a pyarrow schema.
            hadoop_config: not used; a path's URI says all that pyarrow needs.
            utc_timestamp: not used; timestamps are written as the type declares them.
            compression: as pyarrow names it: snappy, zstd, gzip, lz4, none.
        """
        if isinstance(row_type, pa.Schema):
            return ParquetWriters(schema=row_type, compression=compression)
        return ParquetWriters(row_type=as_type_info(row_type), compression=compression)
