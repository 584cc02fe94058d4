"""The physical plan: what hosts/spark/microbatch/build.py turns into one streaming query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.capabilities import Placement
    from headrace.runtime.stage import EdgePlan, StagePlan
    from headrace.spi.source import Source


@dataclass(slots=True)
class SourcePlan:
    """One source: the native steps Catalyst runs right after it, then its stage 0."""

    step: Step
    native_steps: list[Step]
    stage: StagePlan

    @property
    def source(self) -> Source:
        """What is read."""
        assert self.step.source is not None
        return self.step.source


@dataclass(slots=True)
class NativeJob:
    """A program that Catalyst can run as a whole: one source, native steps, native sinks."""

    source: Step
    # for each sink the native steps in front of it
    sinks: list[tuple[Step, list[Step]]]


@dataclass(slots=True)
class PhysicalPlan:
    """Stage 0 of every source, then one stage per level."""

    # the program, with the types that were found
    graph: StreamGraph
    sources: list[SourcePlan]
    stages: list[StagePlan]
    sinks: list[Step]
    edges: list[EdgePlan]
    levels: dict[int, int]
    lowering: dict[int, Placement]  # by step id
    slots: int
    uses_time: bool
    native_job: NativeJob | None = None
    # whether the whole input comes in one batch
    batch: bool = False

    @property
    def looks_at_single_records(self) -> bool:
        """Whether no operator knows keys, time or a second input.

        Then BATCH mode gives the same records as STREAMING, and need not read all of them first.
        """
        return not any(
            plan.operator.inputs > 1 or plan.operator.uses_time or any(plan.keyings)
            for stage in (*(source.stage for source in self.sources), *self.stages)
            for plan in stage.operators
        )

    @property
    def bounded(self) -> bool:
        """Whether the job ends by itself."""
        return all(plan.source.is_bounded() for plan in self.sources)
