"""Which clock a timer runs on."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Event time moves with watermarks, processing time with the machine's clock."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
