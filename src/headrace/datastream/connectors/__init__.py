"""Sources and sinks, under PyFlink's paths.  Next: base.py (sources), sink.py (sinks)"""

from __future__ import annotations

from headrace.spi.sink import Sink
from headrace.spi.source import DeliveryGuarantee, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
