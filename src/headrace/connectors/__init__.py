"""One folder per system: what users configure, what workers do, what the driver does.

A connector sees spi/, api/, io/, data/, formats/ and common/ only.  `find` and `available` look
connectors up by name, ours and other packages'.
Next: registry.py, spi/source.py, spi/sink.py.  How to write one: docs/how-to/write-a-connector.md
"""

from __future__ import annotations

from headrace.connectors.registry import Connector, available, find

__all__ = ["Connector", "available", "find"]
