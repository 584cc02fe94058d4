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
        self.read_by_tables = False  # then a step without a consumer may have one in SQL
        self._next_id = 1
        self._looked_at = 0  # the newest step that somebody has looked at without executing it
        self._executed = False

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
        self._executed = True
        self.steps = [step for step in self.steps if step not in ends]
        return part

    def note_looked_at(self) -> None:
        """Somebody wanted to see the program, and not to execute it."""
        self._looked_at = self._next_id - 1

    def left_out(self) -> list[Step]:
        """What waits for an `execute()`: sinks, or the last steps of a program that has none."""
        sinks = [step for step in self.sinks() if step.id > self._looked_at]
        if sinks or self._executed or self._looked_at or self.read_by_tables:
            return sinks
        consumed = {edge.origin.id for step in self.steps for edge in step.inputs}
        return [step for step in self.steps if step.id not in consumed]

    def outputs_of(self, step: Step) -> Iterator[tuple[Step, Edge]]:
        """Every (consumer, edge) that takes records of `step`."""
        for consumer in self.steps:
            for edge in consumer.inputs:
                if edge.origin is step:
                    yield consumer, edge
