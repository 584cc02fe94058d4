"""The plan as Flink's dashboard shows it: vertices, each the steps that run chained in one task.

In: a PhysicalPlan.  Out: Vertex objects with ids that stay the same after a restart.
Next: control/history.py writes them for those who show jobs
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from headrace.graph.nodes import Edge, Step
    from headrace.plan.physical import PhysicalPlan

__all__ = ["Vertex", "VertexInput", "VertexStep", "flink_id", "vertices_of"]

Runs = Literal["native", "python"]
Kind = Literal["source", "operator", "sink"]


@dataclass(frozen=True, slots=True)
class VertexStep:
    """A step of a vertex.

    Attributes:
        from_exchange: whether records come to it from other tasks.
        to_exchange: whether it sends records to other tasks.
    """

    uid: str
    id: str
    name: str
    where: str
    runs: Runs
    from_exchange: bool
    to_exchange: bool


@dataclass(frozen=True, slots=True)
class VertexInput:
    """Records from another vertex."""

    id: str
    ship_strategy: str


@dataclass(frozen=True, slots=True)
class Vertex:
    """Steps that run in one task, one after the other."""

    id: str
    name: str
    parallelism: int
    max_parallelism: int
    level: int
    runs: Runs
    kind: Kind
    call_site: str
    steps: tuple[VertexStep, ...]
    inputs: tuple[VertexInput, ...]


def flink_id(uid: str) -> str:
    """32 hexadecimal digits for a step, as Flink's ids have; the same whenever the uid is."""
    return hashlib.md5(uid.encode(), usedforsecurity=False).hexdigest()


def vertices_of(physical: PhysicalPlan, parallelism: int) -> list[Vertex]:
    """The vertices of a plan, in the order of the program.

    Args:
        physical: the plan.
        parallelism: of steps that do not say theirs: sources, and what Catalyst runs.
    """
    steps = [step for step in physical.graph.steps if step.kind != "dataframe"]
    chains = _chains(steps, physical)
    of_step = {step.id: chain for chain in chains for step in chain}
    return [_vertex(chain, of_step, physical, parallelism) for chain in chains]


def _is_chained(edge: Edge, step: Step, physical: PhysicalPlan) -> bool:
    same_level = physical.levels[edge.origin.id] == physical.levels[step.id]
    return same_level and not edge.partitioning.exchanges


def _chains(steps: list[Step], physical: PhysicalPlan) -> list[list[Step]]:
    """Steps that are joined by chained edges."""
    chain_of: dict[int, list[Step]] = {}
    for step in steps:
        mine = [step]
        for edge in step.inputs:
            other = chain_of.get(edge.origin.id)
            if other is not None and other is not mine and _is_chained(edge, step, physical):
                other.extend(mine)
                mine = other
        for member in mine:
            chain_of[member.id] = mine
    found: list[list[Step]] = []
    for step in steps:
        if not any(chain is chain_of[step.id] for chain in found):
            found.append(chain_of[step.id])
    return [sorted(chain, key=lambda step: step.id) for chain in found]


def _vertex(
    chain: list[Step],
    of_step: dict[int, list[Step]],
    physical: PhysicalPlan,
    parallelism: int,
) -> Vertex:
    head = chain[0]
    stages = (*(source.stage for source in physical.sources), *physical.stages)
    plans = {plan.uid: plan for stage in stages for plan in stage.operators}
    mine = [plans[step.stable_id] for step in chain if step.stable_id in plans]
    widths = [plan.parallelism for plan in mine] or [head.parallelism or parallelism]
    leads_out = {
        edge.origin.id
        for step in (s for other in of_step.values() for s in other)
        for edge in step.inputs
        if not _is_chained(edge, step, physical)
    }
    steps = tuple(_step(step, physical, leads_out) for step in chain)
    inputs = {
        VertexInput(flink_id(of_step[edge.origin.id][0].stable_id), edge.partitioning.name): None
        for step in chain
        for edge in step.inputs
        if edge.origin.id in of_step and not _is_chained(edge, step, physical)
    }
    kind: Kind = (
        "source" if head.is_source else "sink" if all(s.is_sink for s in chain) else "operator"
    )
    return Vertex(
        id=flink_id(head.stable_id),
        name=" -> ".join(step.name for step in chain),
        parallelism=max(widths),
        max_parallelism=max((plan.max_parallelism for plan in mine), default=max(widths)),
        level=physical.levels[head.id],
        runs="native" if all(step.runs == "native" for step in steps) else "python",
        kind=kind,
        call_site=str(head.call_site),
        steps=steps,
        inputs=tuple(inputs),
    )


def _step(step: Step, physical: PhysicalPlan, leads_out: set[int]) -> VertexStep:
    native = physical.lowering[step.id][0] == "native"
    return VertexStep(
        uid=step.stable_id,
        id=flink_id(step.stable_id),
        name=step.name,
        where=str(step.call_site),
        runs="native" if native else "python",
        from_exchange=any(not _is_chained(edge, step, physical) for edge in step.inputs),
        to_exchange=step.id in leads_out,
    )
