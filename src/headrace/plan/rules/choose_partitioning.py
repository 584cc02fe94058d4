"""Says how records reach the subtasks of every step.

before:  reduce (parallelism 2) ─ FORWARD ─ map (parallelism 3)
after:   reduce (parallelism 2) ─ REBALANCE ─ map (parallelism 3)

Next: rules/cut_chains.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.errors import PlanError
from headrace.runtime.exchange.partition import Forward, Rebalance

if TYPE_CHECKING:
    from headrace.graph.nodes import Edge, Step
    from headrace.plan.plan_graph import PlanGraph
    from headrace.runtime.exchange.partition import Partitioning


def choose_partitioning(graph: PlanGraph) -> PlanGraph:
    """With `partitionings` decided.

    Raises:
        PlanError: forward() was asked for between steps of different width.
    """
    chosen = {
        id(edge): _partitioning(edge, step, graph)
        for step in graph.graph.steps
        if step.id not in graph.heads
        for edge in step.inputs
    }
    return replace(graph, partitionings=chosen)


def _partitioning(edge: Edge, step: Step, graph: PlanGraph) -> Partitioning:
    before, width = graph.parallelism(edge.origin), graph.parallelism(step)
    if not isinstance(edge.partitioning, Forward) or before == width:
        return edge.partitioning
    if edge.partitioning.explicit:
        raise PlanError(
            f"forward() keeps records in their subtask, but {edge.origin.name!r} has "
            f"{before} and {step.name!r} has {width}",
            where=step.call_site,
            fix="give both steps the same parallelism, or use rebalance() or rescale()",
        )
    return Rebalance()
