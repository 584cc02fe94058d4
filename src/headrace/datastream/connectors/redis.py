"""Under the path that users know; written in connectors/redis/sink.py"""

from __future__ import annotations

from headrace.connectors.redis.sink import (
    RedisSink,
    Retries,
)

__all__ = [
    "RedisSink",
    "Retries",
]
