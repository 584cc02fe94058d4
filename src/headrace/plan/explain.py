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


def plan_as_text(graph: StreamGraph, options: PlanOptions) -> str:
    """Levels, chains, exchanges, and where each step runs and why."""
    physical = plan(graph, options, expression_types)
    depth = max(physical.levels.values(), default=0)
    query = (
        "One batch over the whole input (BATCH mode)" if physical.batch else "One streaming query"
    )
    lines = [f"{query}, {depth + 1} stage(s), {physical.slots} subtask(s) per stage"]
    if physical.native_job is not None:
        lines[0] = f"{query}, all of it native (Catalyst)"
    for level in range(depth + 1):
        stateful = level > 0 and not physical.batch
        host = "transformWithState, one call per subtask" if stateful else "mapInArrow"
        lines.append(f"level {level}" + ("" if physical.native_job else f"  ({host})"))
        for step in physical.graph.steps:
            if physical.levels[step.id] == level:
                lines.extend(_step_lines(step, physical))
    return "\n".join(lines)


def _step_lines(step: Step, physical: PhysicalPlan) -> list[str]:
    where, why = physical.lowering[step.id]
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


def plan_as_json(graph: StreamGraph, options: PlanOptions) -> str:
    """Flink's execution plan JSON, with headrace's levels and lowering beside it."""
    check_graph(graph)
    physical = plan(graph, options, expression_types)
    nodes = [_node(step, physical, options) for step in physical.graph.steps]
    return json.dumps({"nodes": nodes}, indent=2)


def _node(step: Step, physical: PhysicalPlan, options: PlanOptions) -> JsonObject:
    kind = "Data Source" if step.is_source else "Data Sink" if step.is_sink else "Operator"
    node: JsonObject = {
        "id": step.id,
        "type": step.name,
        "pact": kind,
        "contents": step.description or step.name,
        "parallelism": step.parallelism or options.parallelism,
        "level": physical.levels[step.id],
        "lowering": physical.lowering[step.id][0],
        "reason": physical.lowering[step.id][1],
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
