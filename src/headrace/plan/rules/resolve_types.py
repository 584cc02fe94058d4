"""Gives native projections the types that the host's analyser finds, and windows of them theirs.

before:  select(col("n") * 2)  Row(twice: pickled) ─ filter  Row(twice: pickled) ─ sink
after:   select(col("n") * 2)  Row(twice: Integer) ─ filter  Row(twice: Integer) ─ sink

Steps behind a projection took its type over when the program was built, before there was anybody to
ask; so did the operators of sinks.  The user's graph stays as it is.
Next: rules/resolve_execution_mode.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation
    from headrace.graph.nodes import Edge, Step
    from headrace.plan.plan_graph import PlanGraph, TypeResolver


def resolve_types(graph: PlanGraph) -> PlanGraph:
    """The same steps with the types that are known now; without a resolver the same graph."""
    if graph.types is None:
        return graph
    typed = _TypedSteps(graph.types)
    return replace(graph, graph=graph.graph.with_steps([typed.step(s) for s in graph.graph.steps]))


class _TypedSteps:
    """Copies steps in their order; what is behind a copy refers to the copy."""

    def __init__(self, resolver: TypeResolver) -> None:
        self.resolver = resolver
        self.copies: dict[int, Step] = {}
        # by the identity of the type that stood for it; both are kept, so no id comes twice
        self.found: dict[int, tuple[TypeInformation, TypeInformation]] = {}

    def step(self, step: Step) -> Step:
        inputs = [self._edge(edge) for edge in step.inputs]
        operator = None if step.operator is None else step.operator.with_types(self.known)
        copy = replace(step, inputs=inputs, operator=operator)
        found = self._derived(copy)
        if found is not None:
            self.found[id(step.output_type)] = (step.output_type, found)
        copy.output_type = self.known(step.output_type)
        self.copies[step.id] = copy
        return copy

    def _derived(self, step: Step) -> TypeInformation | None:
        if step.derive_type is not None:
            return step.derive_type(step.inputs[0].record_type)
        if step.native is not None and step.native.kind.makes_a_type:
            return self.resolver(step)
        return None

    def _edge(self, edge: Edge) -> Edge:
        side = None if edge.type_info is None else self.known(edge.type_info)
        return replace(edge, origin=self.copies[edge.origin.id], type_info=side)

    def known(self, type_info: TypeInformation) -> TypeInformation:
        """The type that is known by now for one that stood for it."""
        found = self.found.get(id(type_info))
        return type_info if found is None else found[1]
