"""Parquet files: the writers.  The reader is in parquet_reader.py

In: rows.  Out: a factory for `FileSink.for_bulk_format`.  Next: formats/bulk_writers.py
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headrace.formats.csv_reader import as_type_info
from headrace.formats.writer_factories import ParquetWriters

__all__ = ["ParquetBulkWriters"]


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
