"""Makes stages of a graph in which everything is decided: what workers get.

In: a PlanGraph behind the last rule.  Out: a PhysicalPlan (plan/physical.py).  Next:
hosts/spark/microbatch/build.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.plan.physical import PhysicalPlan, SourcePlan
from headrace.runtime.stage import OperatorPlan, StagePlan

if TYPE_CHECKING:
    from headrace.graph.nodes import Step
    from headrace.plan.plan_graph import PlanGraph
    from headrace.runtime.key_selectors import Keying


def physical_plan(graph: PlanGraph) -> PhysicalPlan:
    """Stage 0 of every source, then one stage per level."""
    steps = graph.graph.steps
    depth = max((graph.levels[step.id] for step in steps if step.kind != "dataframe"), default=0)
    return PhysicalPlan(
        graph=graph.graph,
        sources=[_source_plan(step, graph) for step in steps if step.is_source],
        stages=[_stage(level, graph) for level in range(1, depth + 1)],
        sinks=[step for step in graph.graph.sinks() if step.kind == "sink"],
        edges=list(graph.edges),
        levels=dict(graph.levels),
        lowering=dict(graph.placements),
        slots=graph.slots,
        uses_time=graph.uses_time,
        native_job=graph.native_job,
        batch=graph.batch,
    )


def _stage(level: int, graph: PlanGraph) -> StagePlan:
    stage = _new_stage(level, graph)
    steps = [step for step in graph.graph.steps if _runs_at(step, level, graph)]
    stage.operators = [_operator_plan(step, graph) for step in steps]
    members = {step.stable_id for step in steps}
    stage.edges = {e.id: e for e in graph.edges if e.origin in members or e.target in members}
    return stage


def _source_plan(source: Step, graph: PlanGraph) -> SourcePlan:
    # sinks of a native program are native as well, but they are no step of the DataFrame
    native = [
        step
        for step in graph.graph.steps
        if graph.heads.get(step.id) is source and step.native is not None
    ]
    stage = _new_stage(0, graph)
    stage.source = source.stable_id
    stage.source_type = native[-1].output_type if native else source.output_type
    members = {source.stable_id}
    for step in graph.graph.steps:
        fed = any(graph.head(edge.origin).stable_id in members for edge in step.inputs)
        if fed and _runs_at(step, 0, graph):
            members.add(step.stable_id)
            stage.operators.append(_operator_plan(step, graph))
    stage.edges = {e.id: e for e in graph.edges if e.origin in members}
    return SourcePlan(source, native, stage)


def _runs_at(step: Step, level: int, graph: PlanGraph) -> bool:
    return (
        graph.levels[step.id] == level and step.operator is not None and step.id not in graph.heads
    )


def _new_stage(level: int, graph: PlanGraph) -> StagePlan:
    options = graph.options
    return StagePlan(
        level=level,
        slots=graph.slots,
        uses_time=graph.uses_time,
        source=None,
        source_type=None,
        job_id=options.job_id,
        job_name=options.job_name,
        job_parameters=options.job_parameters,
        sort_memory_bytes=options.sort_memory_bytes if graph.batch else None,
    )


def _operator_plan(step: Step, graph: PlanGraph) -> OperatorPlan:
    assert step.operator is not None
    keyings: tuple[Keying | None, ...] = step.key_selectors  # type: ignore[assignment]
    return OperatorPlan(
        uid=step.stable_id,
        name=step.name,
        where=str(step.call_site),
        operator=step.operator,
        level=graph.levels[step.id],
        parallelism=graph.parallelism(step),
        max_parallelism=graph.max_parallelism(step),
        keyings=keyings,
        upstream=step.inputs[0].origin.name,
        upstream_where=str(step.inputs[0].origin.call_site),
        lenient=any(e.origin.inferred and e.tag is None for e in step.inputs),
    )
