"""Sources and sinks, under PyFlink's paths.  Next: base.py (sources), sink.py (sinks)"""

from __future__ import annotations

from headrace.datastream.connectors.base import DeliveryGuarantee, Source
from headrace.datastream.connectors.sink import Sink

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
