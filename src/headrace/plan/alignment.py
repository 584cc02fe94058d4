"""Which of a plan's strategies align watermarks, and which cannot.

In: a PhysicalPlan.  Out: whether hosts need hosts/alignment.py, and what the user is told of a
``with_watermark_alignment`` that has no effect (docs/semantics.md#w13).
Next: control/executor.py logs it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.runtime.operators.timestamps import TimestampsOperator
from headrace.spi.python_source import PythonSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.graph.nodes import Step
    from headrace.plan.physical import PhysicalPlan
    from headrace.spi.source import Source

__all__ = ["alignment_without_effect", "aligns"]


def aligns(plan: PhysicalPlan) -> bool:
    """Whether any strategy asks for alignment that can act."""
    return any(_obstacle(step, plan) is None for step, _ in _asking(plan))


def alignment_without_effect(plan: PhysicalPlan) -> list[str]:
    """A line for each strategy whose alignment cannot act."""
    return [
        f"watermark alignment in group {group!r} has no effect at {step.call_site}: {why}"
        for step, group in _asking(plan)
        if (why := _obstacle(step, plan)) is not None
    ]


def _asking(plan: PhysicalPlan) -> Iterator[tuple[Step, str]]:
    for step in plan.graph.steps:
        operator = step.operator
        if isinstance(operator, TimestampsOperator) and operator.strategy.alignment is not None:
            yield step, operator.strategy.alignment.group


def _obstacle(step: Step, plan: PhysicalPlan) -> str | None:
    assert isinstance(step.operator, TimestampsOperator)
    if plan.batch:
        return "in BATCH mode all of the input is one batch"
    if step.operator.strategy.generator_supplier is not None:
        return "a generator of your own does not know splits"
    if step.operator.delay_ms is None:
        return "the strategy makes no watermarks"
    if plan.levels[step.id]:
        return "it stands behind an exchange, where splits are no longer known"
    sources = list(_sources_of(step))
    if not any(isinstance(source, PythonSource) for source in sources):
        names = ", ".join(source.describe() for source in sources)
        return f"{names} has no splits that could wait"
    return None


def _sources_of(step: Step) -> Iterator[Source]:
    if step.source is not None:
        yield step.source
    for edge in step.inputs:
        yield from _sources_of(edge.origin)
