"""What a failure may do to results."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """Whether a record may count twice after a failure. headrace's state never counts twice."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
