"""Under PyFlink's path; written in api/timerservice.py"""

from __future__ import annotations

from headrace.api.timerservice import (
    TimerService,
)

__all__ = [
    "TimerService",
]
