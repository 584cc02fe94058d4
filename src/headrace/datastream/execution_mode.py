"""Whether a job expects its input to end."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """How a job runs. Bounded jobs end by themselves in every mode."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
