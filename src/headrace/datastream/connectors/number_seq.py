"""Under PyFlink's path; written in connectors/generator/number_seq.py"""

from __future__ import annotations

from headrace.connectors.generator.number_seq import (
    NumberSequenceSource,
)

__all__ = [
    "NumberSequenceSource",
]
