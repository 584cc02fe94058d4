"""Turns a program's graph into levels of chained operators with one exchange between levels.

    source ─ map ─┐ level 0                    stage 0: [map]         mapInArrow
                key_by                         exchange
              reduce ─ filter ─┐ level 1       stage 1: [reduce, filter, print]   transformWithState
                             print

In: a StreamGraph.  Out: a PhysicalPlan (plan/physical.py).  Next: hosts/spark/microbatch/build.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import cloudpickle

from headrace.errors import HeadraceError, PlanError, UnserializableFunctionError
from headrace.graph.checks import check_graph
from headrace.plan.execution_mode import runs_in_batch
from headrace.plan.lowering import choose_lowering, native_program
from headrace.plan.physical import NativeJob, PhysicalPlan, SourcePlan
from headrace.runtime.exchange.partition import Forward, Rebalance
from headrace.runtime.key_groups import default_max_parallelism
from headrace.runtime.operators.timestamps import TimestampsOperator
from headrace.runtime.stage import EdgePlan, OperatorPlan, StagePlan

if TYPE_CHECKING:
    from headrace.graph.nodes import Edge, Step
    from headrace.graph.stream_graph import StreamGraph
    from headrace.runtime.exchange.partition import Partitioning
    from headrace.runtime.key_selectors import Keying


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


def plan(graph: StreamGraph, options: PlanOptions) -> PhysicalPlan:
    """Plan a whole program; raises where it cannot run, naming the user's line."""
    check_graph(graph)
    check_functions_can_travel(graph)
    return _Planner(graph, options).plan()


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


class _Planner:
    def __init__(self, graph: StreamGraph, options: PlanOptions) -> None:
        self.graph = graph
        self.options = options
        self.levels: dict[int, int] = {}
        self.batch = runs_in_batch(graph, options.mode)
        program: NativeJob | str = "it runs without Spark"
        if options.native:
            program = native_program(graph, batch=self.batch)
        self.native_job = program if isinstance(program, NativeJob) else None
        self.lowering = choose_lowering(graph, program, native=options.native)
        # a step that Catalyst runs stands for nothing of its own: its records come from here
        self.native_head: dict[int, Step] = {}
        self.edges: list[EdgePlan] = []

    def plan(self) -> PhysicalPlan:
        for step in self.graph.steps:
            self._assign_level(step)
        slots = self._slots()
        for step in self.graph.steps:
            self._make_edges(step)
        # in BATCH mode nothing has to be told of time: it ends with the input
        uses_time = self._has_native_window or any(
            step.operator is not None
            and step.operator.uses_time
            and self.levels[step.id] > 0
            and not self.batch
            for step in self.graph.steps
        )
        depth = max(
            (self.levels[s.id] for s in self.graph.steps if s.kind != "dataframe"), default=0
        )
        return PhysicalPlan(
            sources=[
                self._source_plan(step, slots, uses_time=uses_time)
                for step in self.graph.steps
                if step.is_source
            ],
            stages=[self._stage(n, slots, uses_time=uses_time) for n in range(1, depth + 1)],
            sinks=[step for step in self.graph.sinks() if step.kind == "sink"],
            edges=self.edges,
            levels=self.levels,
            lowering=self.lowering,
            slots=slots,
            uses_time=uses_time,
            native_job=self.native_job,
            batch=self.batch,
        )

    @property
    def _has_native_window(self) -> bool:
        return self.native_job is not None and self.native_job.window is not None

    # --- levels ------------------------------------------------------------------------------

    def _assign_level(self, step: Step) -> None:
        if step.is_source:
            self.levels[step.id] = 0
        elif self.lowering[step.id][0] == "native":
            self.levels[step.id] = 0
            self.native_head[step.id] = self._head(step.inputs[0].origin)
        elif step.kind == "dataframe":
            # behind all stages: its records leave the last one as they are
            self.levels[step.id] = 1 + max(self.levels.values())
        else:
            levels = [
                self.levels[edge.origin.id] + int(self._exchanges(edge, step))
                for edge in step.inputs
            ]
            self.levels[step.id] = max([*levels, self._lowest_level(step)])

    def _lowest_level(self, step: Step) -> int:
        # In front of the first exchange each source has tasks of its own, without memory: an
        # operator that joins two inputs or remembers something must stand behind one.
        operator = step.operator
        assert operator is not None
        return int(operator.inputs > 1 or operator.keeps_state)

    def _head(self, step: Step) -> Step:
        return self.native_head.get(step.id, step)

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

    def _exchanges(self, edge: Edge, step: Step) -> bool:
        if edge.partitioning.exchanges:
            return True
        if self.levels[edge.origin.id] == 0:
            # Tasks at a source are as many as Spark makes; only an explicit wish needs another.
            return step.parallelism not in (None, self.options.parallelism)
        return self.parallelism(edge.origin) != self.parallelism(step)

    def _slots(self) -> int:
        wanted = [
            self.parallelism(step)
            for step in self.graph.steps
            if self.levels[step.id] > 0 and step.kind != "dataframe"
        ]
        if self._has_native_window:
            return self.options.parallelism  # partitions of Spark's own shuffle
        slots = max(wanted, default=1)
        for step in self.graph.steps:
            if self.levels[step.id] and self.max_parallelism(step) < self.parallelism(step):
                raise PlanError(
                    f"step {step.name!r} has parallelism {self.parallelism(step)}, above the max "
                    f"parallelism {self.max_parallelism(step)}",
                    where=step.call_site,
                    fix="raise set_max_parallelism or lower set_parallelism",
                )
        return slots

    # --- edges -------------------------------------------------------------------------------

    def _make_edges(self, step: Step) -> None:
        if step.id in self.native_head or step.is_source:
            return
        for edge in step.inputs:
            origin = self._head(edge.origin)
            chained = self.levels[origin.id] == self.levels[step.id]
            self.edges.append(
                EdgePlan(
                    id=len(self.edges),
                    origin=origin.stable_id,
                    target=step.stable_id,
                    input=edge.input,
                    tag=edge.tag,
                    level=self.levels[step.id],
                    chained=chained,
                    partitioning=self._partitioning(edge, step),
                    type_info=edge.record_type,
                    parallelism=self.parallelism(step),
                    max_parallelism=self.max_parallelism(step),
                    channels=self._channels(origin, chained=chained),
                    target_name=step.name,
                    target_where=str(step.call_site),
                    lenient=edge.origin.inferred and edge.tag is None,
                    idle_after_ms=self._idle_after(edge.origin),
                )
            )

    def _channels(self, origin: Step, *, chained: bool) -> int:
        if chained:
            return 1
        return self.parallelism(origin) if self.levels[origin.id] else 0

    def _idle_after(self, origin: Step) -> int | None:
        """The idle timeout of the strategy whose watermarks an edge carries."""
        step = origin
        while not isinstance(step.operator, TimestampsOperator):
            if self.levels[step.id] or not step.inputs:
                return None
            step = step.inputs[0].origin
        return step.operator.strategy.idle_timeout_ms

    def _partitioning(self, edge: Edge, step: Step) -> Partitioning:
        same_width = self.parallelism(edge.origin) == self.parallelism(step)
        if isinstance(edge.partitioning, Forward) and not same_width:
            if edge.partitioning.explicit:
                raise PlanError(
                    f"forward() keeps records in their subtask, but {edge.origin.name!r} has "
                    f"{self.parallelism(edge.origin)} and {step.name!r} has "
                    f"{self.parallelism(step)}",
                    where=step.call_site,
                    fix="give both steps the same parallelism, or use rebalance() or rescale()",
                )
            return Rebalance()
        return edge.partitioning

    # --- stages ------------------------------------------------------------------------------

    def _operator_plan(self, step: Step) -> OperatorPlan:
        assert step.operator is not None
        keyings: tuple[Keying | None, ...] = step.key_selectors  # type: ignore[assignment]
        return OperatorPlan(
            uid=step.stable_id,
            name=step.name,
            where=str(step.call_site),
            operator=step.operator,
            level=self.levels[step.id],
            parallelism=self.parallelism(step),
            max_parallelism=self.max_parallelism(step),
            keyings=keyings,
            upstream=step.inputs[0].origin.name,
            upstream_where=str(step.inputs[0].origin.call_site),
            lenient=any(e.origin.inferred and e.tag is None for e in step.inputs),
        )

    def _new_stage(self, level: int, slots: int, *, uses_time: bool) -> StagePlan:
        return StagePlan(
            level=level,
            slots=slots,
            uses_time=uses_time,
            source=None,
            source_type=None,
            job_id=self.options.job_id,
            job_name=self.options.job_name,
            job_parameters=self.options.job_parameters,
            sort_memory_bytes=self.options.sort_memory_bytes if self.batch else None,
        )

    def _stage(self, level: int, slots: int, *, uses_time: bool) -> StagePlan:
        stage = self._new_stage(level, slots, uses_time=uses_time)
        steps = [s for s in self.graph.steps if self._runs_at(s, level)]
        stage.operators = [self._operator_plan(step) for step in steps]
        members = {step.stable_id for step in steps}
        stage.edges = {e.id: e for e in self.edges if e.origin in members or e.target in members}
        return stage

    def _source_plan(self, source: Step, slots: int, *, uses_time: bool) -> SourcePlan:
        # sinks of a native program are native as well, but they are no step of the DataFrame
        native = [
            step
            for step in self.graph.steps
            if self.native_head.get(step.id) is source and step.native is not None
        ]
        stage = self._new_stage(0, slots, uses_time=uses_time)
        stage.source = source.stable_id
        stage.source_type = native[-1].output_type if native else source.output_type
        members = {source.stable_id}
        for step in self.graph.steps:
            fed = any(self._head(edge.origin).stable_id in members for edge in step.inputs)
            if fed and self._runs_at(step, 0):
                members.add(step.stable_id)
                stage.operators.append(self._operator_plan(step))
        stage.edges = {e.id: e for e in self.edges if e.origin in members}
        return SourcePlan(source, native, stage)

    def _runs_at(self, step: Step, level: int) -> bool:
        return (
            self.levels[step.id] == level
            and step.operator is not None
            and step.id not in self.native_head
        )
