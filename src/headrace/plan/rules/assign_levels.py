"""Gives every step a level: how many exchanges come before it.

before:  source ─ map ─ key_by ─ reduce ─ filter ─ print
after:   level 0: source, map      level 1: reduce, filter, print

A step stands at the deepest level that one of its inputs asks for; what needs memory, and what
joins two inputs, comes after at least one exchange.  Next: rules/count_slots.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.plan.capabilities import Engine, needs_memory

if TYPE_CHECKING:
    from headrace.graph.nodes import Edge, Step
    from headrace.plan.plan_graph import PlanGraph


def assign_levels(graph: PlanGraph) -> PlanGraph:
    """With `levels` decided."""
    levels: dict[int, int] = {}
    for step in graph.graph.steps:
        levels[step.id] = _level(step, graph, levels)
    return replace(graph, levels=levels)


def _level(step: Step, graph: PlanGraph, levels: dict[int, int]) -> int:
    if graph.placements[step.id].where is Engine.NATIVE:
        return 0
    if step.kind == "dataframe":
        # behind all stages: its records leave the last one as they are
        return 1 + max(levels.values())
    assert step.operator is not None
    asked = [
        levels[edge.origin.id] + int(_exchanges(edge, step, graph, levels)) for edge in step.inputs
    ]
    return max([*asked, int(needs_memory(step.operator))])


def _exchanges(edge: Edge, step: Step, graph: PlanGraph, levels: dict[int, int]) -> bool:
    if edge.partitioning.exchanges:
        return True
    if levels[edge.origin.id] == 0:
        # Tasks at a source are as many as Spark makes; only an explicit wish needs another.
        return step.parallelism not in (None, graph.options.parallelism)
    return graph.parallelism(edge.origin) != graph.parallelism(step)
