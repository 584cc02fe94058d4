"""Under the path that users know; written in spi/python_source.py"""

from __future__ import annotations

from headrace.spi.python_source import (
    PythonSource,
)

__all__ = [
    "PythonSource",
]
