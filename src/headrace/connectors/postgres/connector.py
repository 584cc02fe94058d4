"""The name by which this connector is found (pyproject.toml).  Next: sink.py"""

from __future__ import annotations

from headrace.connectors.postgres.sink import PostgresSink
from headrace.spi.connector import Connector

CONNECTOR = Connector("Rows of a PostgreSQL table, appended or upserted", sinks=(PostgresSink,))
