"""The format ``parquet`` of tables, for files alone.

In: options.  Out: nothing but its name: connectors/files/table.py reads and writes the files.
"""

from __future__ import annotations

from typing import ClassVar

from headrace.spi.table_connector import option
from headrace.spi.table_format import TableFormat

COMPRESSION = option(
    "compression", "enum", "SNAPPY", "of pages", ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4")
)
UTC_TIMESTAMP = option("utc-timezone", "boolean", default=False, doc="accepted: always UTC")


class ParquetTables(TableFormat):
    """Columns in files."""

    name: ClassVar[str] = "parquet"
    options = (COMPRESSION, UTC_TIMESTAMP)
    file_suffix = ".parquet"
    lines_in_files = False
