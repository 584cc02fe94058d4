"""Under the path that users know; written in spi/sink.py"""

from __future__ import annotations

from headrace.spi.sink import (
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)

__all__ = [
    "Committer",
    "CommitterContext",
    "Sink",
    "SinkWriter",
    "WriterContext",
]
