"""Whether results are given as records come, or once the whole input is in."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """How a job runs: STREAMING gives results as records come, BATCH one final result a key.

    AUTOMATIC is BATCH if all sources are bounded. Bounded jobs end by themselves in every mode.
    """

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
