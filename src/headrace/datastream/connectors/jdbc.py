"""Under PyFlink's path; written in connectors/jdbc/sink.py"""

from __future__ import annotations

from headrace.connectors.jdbc.sink import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)

__all__ = [
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
]
