"""Under PyFlink's path; written in spi/source.py"""

from __future__ import annotations

from headrace.spi.source import (
    Boundedness,
    DeliveryGuarantee,
    Sink,
    Source,
    StreamTransformer,
    SupportsPreprocessing,
)

__all__ = [
    "Boundedness",
    "DeliveryGuarantee",
    "Sink",
    "Source",
    "StreamTransformer",
    "SupportsPreprocessing",
]
