"""Under PyFlink's path; written in api/time_domain.py"""

from __future__ import annotations

from headrace.api.time_domain import (
    TimeDomain,
)

__all__ = [
    "TimeDomain",
]
