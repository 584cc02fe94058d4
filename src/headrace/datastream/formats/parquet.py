"""Under PyFlink's path; written in formats/parquet.py and formats/parquet_reader.py"""

from __future__ import annotations

from typing import Any

from headrace.formats.parquet import ParquetBulkWriters
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat
from headrace.missing import missing_attribute

__all__ = [
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
