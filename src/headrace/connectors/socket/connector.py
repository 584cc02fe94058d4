"""The name by which this connector is found (pyproject.toml).  Next: source.py"""

from __future__ import annotations

from headrace.connectors.socket.source import SocketTextSource
from headrace.spi.connector import Connector

CONNECTOR = Connector("Lines of text from a socket", sources=(SocketTextSource,))
