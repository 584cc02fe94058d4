"""Under the path that users know; written in connectors/postgres/sink.py"""

from __future__ import annotations

from headrace.connectors.postgres.sink import (
    PostgresSink,
    Retries,
)

__all__ = [
    "PostgresSink",
    "Retries",
]
