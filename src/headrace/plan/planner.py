"""Turns a program's graph into levels of chained operators with one exchange between levels.

    source ─ map ─┐ level 0                    stage 0: [map]         mapInArrow
                key_by                         exchange
              reduce ─ filter ─┐ level 1       stage 1: [reduce, filter, print]   transformWithState
                             print

In: a StreamGraph.  Out: a PhysicalPlan (plan/physical.py).  RULES decide one thing each, in this
order, and each file of plan/rules/ shows the plan before and after.  Next: plan/plan_graph.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cloudpickle

from headrace.errors import HeadraceError, UnserializableFunctionError
from headrace.graph.checks import check_graph, check_types_are_declared, check_uids_are_given
from headrace.plan.plan_graph import PlanGraph, PlanOptions
from headrace.plan.rules.assign_levels import assign_levels
from headrace.plan.rules.choose_native_program import choose_native_program
from headrace.plan.rules.choose_native_steps import choose_native_steps
from headrace.plan.rules.choose_partitioning import choose_partitioning
from headrace.plan.rules.count_slots import count_slots
from headrace.plan.rules.cut_chains import cut_chains
from headrace.plan.rules.detect_time import detect_time
from headrace.plan.rules.resolve_execution_mode import resolve_execution_mode
from headrace.plan.rules.resolve_types import resolve_types
from headrace.plan.stages import physical_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.physical import PhysicalPlan
    from headrace.plan.plan_graph import TypeResolver

__all__ = ["RULES", "PlanOptions", "plan"]

# Each rule builds on what those in front of it have decided.
RULES: tuple[Callable[[PlanGraph], PlanGraph], ...] = (
    resolve_types,
    resolve_execution_mode,
    choose_native_program,
    choose_native_steps,
    assign_levels,
    count_slots,
    choose_partitioning,
    cut_chains,
    detect_time,
)


def plan(
    graph: StreamGraph, options: PlanOptions, types: TypeResolver | None = None
) -> PhysicalPlan:
    """Plan a whole program; raises where it cannot run, naming the user's line.

    Args:
        graph: the program; it stays as it is.
        options: what the environment says about the job.
        types: the host's analyser, which finds the types of native steps; None without one.
    """
    check_graph(graph)
    if not options.auto_uids:
        check_uids_are_given(graph)
    check_functions_can_travel(graph)
    planned = PlanGraph(graph, options, types)
    for rule in RULES:
        planned = rule(planned)
    if not options.generic_types:  # last: by now the host has said the types of native steps
        check_types_are_declared(planned.graph)
    return physical_plan(planned)


def check_functions_can_travel(graph: StreamGraph) -> None:
    """Every function is pickled for the workers; find the one that cannot be."""
    for step in graph.steps:
        for part in (step.operator, step.source, *(e.partitioning for e in step.inputs)):
            try:
                cloudpickle.dumps(part)
            except HeadraceError:
                raise
            except Exception as error:
                raise UnserializableFunctionError(
                    f"the function of step {step.name!r} cannot be sent to a worker: {error}",
                    where=step.call_site,
                    fix="do not capture open files, locks, sockets or Spark objects; create them "
                    "in open() of a function class instead",
                ) from error
