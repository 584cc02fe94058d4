"""What rules work on: the program's graph, and what has been decided about it so far.

In: a StreamGraph and PlanOptions.  Out: after the last rule, all that plan/stages.py makes stages
from.  Next: plan/planner.py has the rules in their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.plan.capabilities import CONTINUOUSLY, WITHOUT_SPARK
from headrace.runtime.key_groups import default_max_parallelism

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.common.typeinfo import TypeInformation
    from headrace.graph.nodes import Edge, Step
    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.capabilities import Placement
    from headrace.plan.physical import NativeJob
    from headrace.runtime.exchange.partition import Partitioning
    from headrace.runtime.stage import EdgePlan

    # The type of what a native step gives, from a step whose inputs have types; None if nobody
    # knows.  A host passes one that asks its analyser.
    TypeResolver = Callable[[Step], TypeInformation | None]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What the environment says about the whole job."""

    parallelism: int
    max_parallelism: int | None = None
    job_id: str = ""
    job_name: str = ""
    job_parameters: dict[str, str] = field(default_factory=dict)
    # execution.runtime-mode, and how much of a keyed input a subtask holds while BATCH sorts it
    mode: str = "STREAMING"
    sort_memory_bytes: int = 128 << 20
    # of the savepoint that the job starts from, by uid: it cannot be changed, only be left open
    restored_max_parallelism: dict[str, int] = field(default_factory=dict)
    # False where no Catalyst is there to run column expressions: Python then evaluates all of them
    native: bool = True
    # whether that is because tasks read the sources themselves, on a Spark
    continuous: bool = False
    # pipeline.auto-generate-uids and pipeline.generic-types
    auto_uids: bool = True
    generic_types: bool = True

    @property
    def no_catalyst(self) -> str | None:
        """Why Python evaluates all column expressions: "it ..."; None if it does not."""
        if self.native:
            return None
        return CONTINUOUSLY if self.continuous else WITHOUT_SPARK


@dataclass(frozen=True, slots=True)
class PlanGraph:
    """A program on its way through the planner; rules return changed copies.

    Attributes:
        graph: the steps.
        options: what the environment says.
        types: asks the host for the types of native steps.
        batch: whether the whole input comes in one batch (resolve_execution_mode).
        program: the whole program for Catalyst, or why it is none (choose_native_program).
        placements: by step, where it runs and why (choose_native_steps).
        heads: by native step, the source whose DataFrame it is a part of (choose_native_steps).
        levels: by step, how many exchanges come before it (assign_levels).
        slots: how many tasks a stage has (count_slots).
        partitionings: how records reach a step, by edge, as `id(edge)` (choose_partitioning).
        edges: the edges that workers see (cut_chains).
        uses_time: whether watermarks and timers have to be told of time (detect_time).
    """

    graph: StreamGraph
    options: PlanOptions
    types: TypeResolver | None = None
    batch: bool = False
    program: NativeJob | str = WITHOUT_SPARK
    placements: Mapping[int, Placement] = field(default_factory=dict)
    heads: Mapping[int, Step] = field(default_factory=dict)
    levels: Mapping[int, int] = field(default_factory=dict)
    slots: int = 1
    partitionings: Mapping[int, Partitioning] = field(default_factory=dict)
    edges: tuple[EdgePlan, ...] = ()
    uses_time: bool = False

    @property
    def native_job(self) -> NativeJob | None:
        """The program, if Catalyst runs all of it."""
        return None if isinstance(self.program, str) else self.program

    def head(self, step: Step) -> Step:
        """The step itself; of a native one the source in whose DataFrame it is."""
        return self.heads.get(step.id, step)

    def parallelism(self, step: Step) -> int:
        """How many subtasks a step has."""
        return step.parallelism or self.options.parallelism

    def max_parallelism(self, step: Step) -> int:
        """How many key groups a step has."""
        return (
            step.max_parallelism
            or self.options.max_parallelism
            or self.options.restored_max_parallelism.get(step.stable_id)
            or default_max_parallelism(self.parallelism(step))
        )

    def is_chained(self, edge: Edge, step: Step) -> bool:
        """Whether an edge stays within a stage."""
        return self.levels[self.head(edge.origin).id] == self.levels[step.id]
