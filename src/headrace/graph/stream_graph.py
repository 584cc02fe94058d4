"""The program as a directed acyclic graph.

In: steps added by datastream/.  Out: traversals for checks, explain and the planner.
Next: graph/checks.py, then plan/planner.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.graph.nodes import Edge, Step


class StreamGraph:
    """All steps of one program, in the order the user made them (so inputs come first)."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._next_id = 1

    def next_id(self) -> int:
        """A number for the next step; ids are never reused within an environment."""
        number = self._next_id
        self._next_id += 1
        return number

    def add(self, step: Step) -> Step:
        """Append a step whose inputs are already here."""
        self.steps.append(step)
        return step

    def sinks(self) -> list[Step]:
        """The ends of the program."""
        return [step for step in self.steps if step.is_sink]

    def reachable_from(self, ends: list[Step]) -> StreamGraph:
        """The part of the program that feeds `ends`, in the same order."""
        wanted: set[int] = set()
        pending = list(ends)
        while pending:
            step = pending.pop()
            if step.id not in wanted:
                wanted.add(step.id)
                pending.extend(edge.origin for edge in step.inputs)
        return self.with_steps([step for step in self.steps if step.id in wanted])

    def with_steps(self, steps: list[Step]) -> StreamGraph:
        """Another graph of these steps; its next ids are behind those of this one."""
        other = StreamGraph()
        other.steps = steps
        other._next_id = self._next_id
        return other

    def learn_types(self, planned: StreamGraph) -> None:
        """Remember what a host found out about types: streams can then be asked for theirs.

        The types that stand for them stay in their places: other parts of the program, which were
        not planned now, know them by these.

        Args:
            planned: a copy of this graph in which the types are known.
        """
        found = {step.id: step.output_type for step in planned.steps}
        for step in self.steps:
            if found[step.id] is not step.output_type:
                step.learned_type = found[step.id]

    def cut_off(self, ends: list[Step]) -> StreamGraph:
        """The part that feeds `ends`, for a job of its own; the ends are no longer part of this."""
        part = self.reachable_from(ends)
        self.steps = [step for step in self.steps if step not in ends]
        return part

    def outputs_of(self, step: Step) -> Iterator[tuple[Step, Edge]]:
        """Every (consumer, edge) that takes records of `step`."""
        for consumer in self.steps:
            for edge in consumer.inputs:
                if edge.origin is step:
                    yield consumer, edge
