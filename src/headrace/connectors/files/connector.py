"""The name by which this connector is found (pyproject.toml).  Next: source.py and sink.py"""

from __future__ import annotations

from headrace.connectors.files.sink import FileSink
from headrace.connectors.files.source import FileSource
from headrace.spi.connector import Connector

CONNECTOR = Connector(
    "Parquet, JSON, CSV and text files",
    sources=(FileSource,),
    sinks=(FileSink,),
)
