"""Finds out whether any step after an exchange has to be told of time.

before:  key_by ─ process with timers
after:   uses_time: the query gets a stream of ticks, and of the end of input

In BATCH mode nobody has to be told: time ends with the input.  Next: plan/stages.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.plan.plan_graph import PlanGraph


def detect_time(graph: PlanGraph) -> PlanGraph:
    """With `uses_time` decided."""
    waiting = any(
        step.operator is not None and step.operator.uses_time and graph.levels[step.id] > 0
        for step in graph.graph.steps
    )
    return replace(graph, uses_time=waiting and not graph.batch)
