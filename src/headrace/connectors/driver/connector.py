"""The names by which these connectors are found (pyproject.toml).  Next: printing.py"""

from __future__ import annotations

from headrace.connectors.driver.printing import PrintSink
from headrace.spi.connector import Connector

PRINT = Connector("Lines in the terminal of the program", sinks=(PrintSink,))
