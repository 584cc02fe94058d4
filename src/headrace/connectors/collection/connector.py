"""The name by which this connector is found (pyproject.toml).  Next: source.py"""

from __future__ import annotations

from headrace.connectors.collection.source import CollectionSource
from headrace.spi.connector import Connector

CONNECTOR = Connector("A list in the program", sources=(CollectionSource,))
