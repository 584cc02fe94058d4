"""Under PyFlink's path; written in api/output_tag.py"""

from __future__ import annotations

from headrace.api.output_tag import (
    OutputTag,
)

__all__ = [
    "OutputTag",
]
