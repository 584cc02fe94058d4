"""The name by which this connector is found (pyproject.toml).  Next: sink.py"""

from __future__ import annotations

from headrace.connectors.jdbc.sink import JdbcSink
from headrace.spi.connector import Connector

CONNECTOR = Connector("A statement for every record, in PostgreSQL", sinks=(JdbcSink,))
