"""Cuts the graph into chains: edges within a level are calls, all others are exchanges.

before:  map (level 0) ─ HASH ─ reduce (level 1) ─ FORWARD ─ print (level 1)
after:   edge 0: map -> reduce, an exchange      edge 1: reduce -> print, chained

A native step is a part of its source's DataFrame, so its edges start at the source.
Next: rules/detect_time.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.runtime.operators.timestamps import TimestampsOperator
from headrace.runtime.stage import EdgePlan

if TYPE_CHECKING:
    from headrace.graph.nodes import Edge, Step
    from headrace.plan.plan_graph import PlanGraph


def cut_chains(graph: PlanGraph) -> PlanGraph:
    """With `edges` decided."""
    pairs = [
        (edge, step)
        for step in graph.graph.steps
        if step.id not in graph.heads
        for edge in step.inputs
    ]
    edges = tuple(_edge(number, edge, step, graph) for number, (edge, step) in enumerate(pairs))
    return replace(graph, edges=edges)


def _edge(number: int, edge: Edge, step: Step, graph: PlanGraph) -> EdgePlan:
    origin = graph.head(edge.origin)
    chained = graph.is_chained(edge, step)
    return EdgePlan(
        id=number,
        origin=origin.stable_id,
        target=step.stable_id,
        input=edge.input,
        tag=edge.tag,
        level=graph.levels[step.id],
        chained=chained,
        partitioning=graph.partitionings[id(edge)],
        type_info=edge.record_type,
        parallelism=graph.parallelism(step),
        max_parallelism=graph.max_parallelism(step),
        channels=1 if chained else graph.parallelism(origin) if graph.levels[origin.id] else 0,
        target_name=step.name,
        target_where=str(step.call_site),
        lenient=edge.origin.inferred and edge.tag is None,
        idle_after_ms=_idle_after(edge.origin, graph),
    )


def _idle_after(origin: Step, graph: PlanGraph) -> int | None:
    """The idle timeout of the strategy whose watermarks an edge carries."""
    step = origin
    while not isinstance(step.operator, TimestampsOperator):
        if graph.levels[step.id] or not step.inputs:
            return None
        step = step.inputs[0].origin
    return step.operator.strategy.idle_timeout_ms
