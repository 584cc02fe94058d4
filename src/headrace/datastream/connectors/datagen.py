"""Under PyFlink's path; written in connectors/generator/datagen.py"""

from __future__ import annotations

from headrace.connectors.generator.datagen import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
)

__all__ = [
    "DataGeneratorSource",
    "GeneratorFunction",
    "RateLimiterStrategy",
]
