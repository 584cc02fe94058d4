"""Which windows Spark's own can stand for, with the same results; and in words, why not.

    source ─ steps ─ timestamps (a column, a bound) ─ filter, select ─ key_by(column) ─ window

Only windows of aggregates over columns come here (datastream/window_select.py).  A program runs on
Catalyst as a whole or not at all from its window on: plan/rules/choose_native_program.py.
Next: hosts/spark/native/windows.py builds the DataFrame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.api.time_domain import TimeDomain
from headrace.common.typeinfo import RowTypeInfo, TupleTypeInfo
from headrace.common.watermark_strategy import ColumnAssigner
from headrace.runtime.operators.timestamps import TimestampsOperator

if TYPE_CHECKING:
    from headrace.api.window import WindowShape
    from headrace.common.opaque import ColumnLike
    from headrace.common.watermark_strategy import WatermarkStrategy
    from headrace.graph.nodes import Step

# Spark counts microseconds in 64 bits, and the end of input is a time behind all others
# (hosts/spark/native/windows.py): a thousand years leave room for both.
_LONGEST_MS = 1_000 * 366 * 86_400_000


def window_obstacle(step: Step) -> str | None:
    """What about a window Spark's own cannot do; None if they can."""
    assert step.native is not None
    select = step.native.window
    assert select is not None
    windows = select.windows
    shape = windows.assigner.window_shape()
    durations = _durations(shape)
    if not windows.native:
        return "headrace.windows.native is off"
    if durations is None:
        return f"Spark has no {type(windows.assigner).__name__}"
    if windows.trigger.fires_at_end() is not TimeDomain.EVENT_TIME:
        return "it has a trigger of its own"
    if windows.evictor is not None:
        return "it has an evictor"
    if windows.allowed_lateness_ms:
        return "it is evaluated again for late records"
    if windows.late_tag is not None:
        return "its late records go to a side output"
    if shape.grid is not None and shape.grid.has_holes:
        return "there are gaps between its windows"
    if windows.over_all and windows.merging:
        return "Spark has no sessions over a whole stream"
    if not windows.over_all and not _is_column(select.key, step):
        return "its key is not a column"
    if max(durations) > _LONGEST_MS:
        return "it is longer than a thousand years"
    return None


def _durations(shape: WindowShape) -> tuple[int, ...] | None:
    """Size and slide, or the gap, of windows whose shape Spark knows; None for others."""
    if shape.domain is not TimeDomain.EVENT_TIME:
        return None
    if shape.grid is not None:
        return shape.grid.size_ms, shape.grid.slide_ms
    if shape.gap is not None and shape.gap.fixed_ms is not None:
        return (shape.gap.fixed_ms,)
    return None


def _is_column(name: str | None, step: Step) -> bool:
    record_type = step.inputs[0].record_type
    return (
        isinstance(record_type, RowTypeInfo | TupleTypeInfo)
        and name in record_type.get_field_names()
    )


def timestamps_obstacle(step: Step) -> str | None:
    """What about timestamps and watermarks Spark's own cannot do; None if they can."""
    operator = step.operator
    if not isinstance(operator, TimestampsOperator):
        return "it stamps records in Python"
    strategy = operator.strategy
    if strategy.generator_supplier is not None:
        return "its watermarks come from a generator in Python"
    if strategy.delay_ms is None:
        return "it makes no watermarks"
    if strategy.idle_timeout_ms is not None:
        return "it has an idle timeout"
    if strategy.delay_ms > _LONGEST_MS:
        return "it waits more than a thousand years"
    if timestamp_column(strategy) is None:
        return "it reads timestamps by a Python function, not from a column"
    return None


def source_obstacle(step: Step) -> str | None:
    """What about a source Spark's watermark cannot do; None if it can."""
    if step.source is not None and step.source.has_splits():
        return "its splits have watermarks of their own"
    return None


def timestamp_column(strategy: WatermarkStrategy) -> ColumnLike | None:
    """What column timestamps are read from, for Spark; None if a function finds them."""
    assigner = strategy.timestamp_assigner
    return assigner.column if isinstance(assigner, ColumnAssigner) else None
