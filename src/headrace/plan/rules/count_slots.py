"""Says how many tasks every stage has: as many as its widest step has subtasks.

before:  level 1: reduce, parallelism 4     level 2: print, parallelism 1
after:   4 slots in both stages

Next: rules/choose_partitioning.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.errors import PlanError

if TYPE_CHECKING:
    from headrace.plan.plan_graph import PlanGraph


def count_slots(graph: PlanGraph) -> PlanGraph:
    """With `slots` decided.

    Raises:
        PlanError: a step has more subtasks than key groups.
    """
    behind = [step for step in graph.graph.steps if graph.levels[step.id] > 0]
    for step in behind:
        if graph.max_parallelism(step) < graph.parallelism(step):
            raise PlanError(
                f"step {step.name!r} has parallelism {graph.parallelism(step)}, above the max "
                f"parallelism {graph.max_parallelism(step)}",
                where=step.call_site,
                fix="raise set_max_parallelism or lower set_parallelism",
            )
    wanted = [graph.parallelism(step) for step in behind if step.kind != "dataframe"]
    return replace(graph, slots=max(wanted, default=1))
