"""The name by which this connector is found (pyproject.toml).  Next: source.py"""

from __future__ import annotations

from headrace.connectors.spark_tables.source import SparkTableSource
from headrace.spi.connector import Connector

CONNECTOR = Connector("Tables and views of Spark", sources=(SparkTableSource,))
