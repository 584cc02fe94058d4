"""Picks the operator for a WatermarkStrategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.runtime.operators.timestamps import GeneratorOperator, TimestampsOperator

if TYPE_CHECKING:
    from headrace.common.watermark_strategy import WatermarkStrategy
    from headrace.runtime.operators.base import Operator


def timestamps_operator(strategy: WatermarkStrategy) -> Operator:
    """The operator that stamps records and emits watermarks as the strategy says."""
    if strategy.generator_supplier is not None:
        return GeneratorOperator(strategy)
    return TimestampsOperator(strategy, strategy.delay_ms)
