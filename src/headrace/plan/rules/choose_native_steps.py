"""Decides which steps Catalyst runs itself, and says why the others run in Python.

before:  source ─ filter(col) ─ select(col) ─ map(python)
after:   source ─ filter(col) ─ select(col)               native: one DataFrame, its head the source
                                            ─ map(python) python

What each kind of step can do is in plan/capabilities.py.  Next: rules/assign_levels.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.errors import UnsupportedStepError
from headrace.plan.capabilities import (
    IN_NATIVE_PROGRAM,
    Engine,
    Placement,
    capability,
    expression_obstacle,
)
from headrace.runtime.exchange.partition import Forward

if TYPE_CHECKING:
    from headrace.graph.nodes import Step
    from headrace.plan.plan_graph import PlanGraph


def choose_native_steps(graph: PlanGraph) -> PlanGraph:
    """With `placements` and `heads` decided.

    Raises:
        UnsupportedStepError: only Spark can evaluate an expression, and it cannot here.
    """
    placements: dict[int, Placement] = {}
    heads: dict[int, Step] = {}
    for step in graph.graph.steps:
        placements[step.id] = _placed(step, graph, placements)
        if placements[step.id].where is Engine.NATIVE and not step.is_source:
            origin = step.inputs[0].origin
            heads[step.id] = heads.get(origin.id, origin)
    return replace(graph, placements=placements, heads=heads)


def _placed(step: Step, graph: PlanGraph, placed: dict[int, Placement]) -> Placement:
    kind = capability(step)
    whole = graph.native_job is not None
    if step.is_source or (whole and step.native is None):
        assert kind.native is not None
        return Placement(Engine.NATIVE, kind.native)
    if whole:
        return Placement(Engine.NATIVE, IN_NATIVE_PROGRAM)
    if step.native is None:
        assert kind.python is not None
        return Placement(Engine.PYTHON, kind.python)
    why = _obstacle(step, graph, placed)
    if why is None:
        assert kind.native is not None
        return Placement(Engine.NATIVE, kind.native)
    return _in_python(step, f"it {why}", why)


def _obstacle(step: Step, graph: PlanGraph, placed: dict[int, Placement]) -> str | None:
    """What keeps an expression from the source's DataFrame; None if nothing does."""
    edge = step.inputs[0]
    origin = edge.origin
    if placed[origin.id].where is not Engine.NATIVE:
        return f"comes after {origin.name!r}, which runs in Python"
    if not isinstance(edge.partitioning, Forward):
        return "comes after an exchange"
    if len(list(graph.graph.outputs_of(origin))) > 1:
        return f"{origin.name!r} also feeds other steps, and would be read twice"
    return graph.options.no_catalyst or expression_obstacle(step)


def _in_python(step: Step, refused: str, why: str) -> Placement:
    if step.operator is None:
        raise UnsupportedStepError(
            f"the Spark column expressions of step {step.name!r} cannot run natively: {refused}",
            where=step.call_site,
            fix="change that, or use headrace's col(...) or a Python function, which run anywhere",
        )
    return Placement(Engine.PYTHON, f"{capability(step).python}: {why}")
