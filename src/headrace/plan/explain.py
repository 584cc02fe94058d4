"""A program's plan as text for people and as JSON for plan visualisers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.graph.checks import check_graph
from headrace.plan.expression_types import expression_types
from headrace.plan.planner import plan

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject
    from headrace.graph.nodes import Edge, Step
    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.physical import PhysicalPlan
    from headrace.plan.planner import PlanOptions
    from headrace.spi.host import Carriage


def plan_as_text(graph: StreamGraph, options: PlanOptions, carriage: Carriage) -> str:
    """Levels, chains, exchanges, where each step runs and why; in the words of the host."""
    physical = plan(graph, options, expression_types)
    depth = max(physical.levels.values(), default=0)
    query = "One batch over the whole input (BATCH mode)" if physical.batch else carriage.whole
    lines = [f"{query}, {depth + 1} stage(s), {physical.slots} subtask(s) per stage"]
    if physical.native_job is not None:
        lines[0] = f"{query}, all of it native (Catalyst)"
    for level in range(depth + 1):
        later = carriage.later_in_batch if physical.batch else carriage.later
        caller = later if level > 0 else carriage.first
        lines.append(f"level {level}" + ("" if physical.native_job else f"  ({caller})"))
        for step in physical.graph.steps:
            if physical.levels[step.id] == level:
                lines.extend(_step_lines(step, physical, carriage))
    return "\n".join(lines)


def _placed(step: Step, physical: PhysicalPlan, carriage: Carriage) -> tuple[str, str]:
    """Where a step runs, and why."""
    return (carriage.engine, carriage.source) if step.is_source else physical.lowering[step.id]


def _step_lines(step: Step, physical: PhysicalPlan, carriage: Carriage) -> list[str]:
    where, why = _placed(step, physical, carriage)
    uid = f" uid={step.uid}" if step.uid else ""
    lines = [f"  [{step.id}] {step.name}{uid}: {where} ({why})  <- {step.call_site}"]
    if step.source is not None:
        lines.append(f"        reads {step.source.describe()}")
    for edge in step.inputs:
        lines.append(f"        from [{edge.origin.id}] {_edge_text(edge, step, physical)}")
    return lines


def _edge_text(edge: Edge, step: Step, physical: PhysicalPlan) -> str:
    side = f" side output {edge.tag!r}" if edge.tag else ""
    same_level = physical.levels[edge.origin.id] == physical.levels[step.id]
    chained = same_level and not edge.partitioning.exchanges
    how = "chained" if chained else "exchange"
    return f"{edge.partitioning.name}{side}, {how}, {edge.record_type}"


def plan_as_json(graph: StreamGraph, options: PlanOptions, carriage: Carriage) -> str:
    """Flink's execution plan JSON, with headrace's levels and lowering beside it."""
    check_graph(graph)
    physical = plan(graph, options, expression_types)
    nodes = [_node(step, physical, options, carriage) for step in physical.graph.steps]
    return json.dumps({"nodes": nodes}, indent=2)


def _node(
    step: Step, physical: PhysicalPlan, options: PlanOptions, carriage: Carriage
) -> JsonObject:
    where, why = _placed(step, physical, carriage)
    kind = "Data Source" if step.is_source else "Data Sink" if step.is_sink else "Operator"
    node: JsonObject = {
        "id": step.id,
        "type": step.name,
        "pact": kind,
        "contents": step.description or step.name,
        "parallelism": step.parallelism or options.parallelism,
        "level": physical.levels[step.id],
        "lowering": where,
        "reason": why,
        "call_site": str(step.call_site),
    }
    if step.uid is not None:  # no nulls: PyFlink's own tests read a plan with eval()
        node["uid"] = step.uid
    if step.inputs:
        node["predecessors"] = [
            {
                "id": edge.origin.id,
                "ship_strategy": edge.partitioning.name,
                "side": "second" if edge.input else "first",
            }
            for edge in step.inputs
        ]
    return node
