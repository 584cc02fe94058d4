"""The name by which this connector is found (pyproject.toml).  Next: sink.py"""

from __future__ import annotations

from headrace.connectors.redis.sink import RedisSink
from headrace.spi.connector import Connector

CONNECTOR = Connector("Commands of a Redis server", sinks=(RedisSink,))
