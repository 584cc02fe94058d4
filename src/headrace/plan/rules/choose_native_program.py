"""Finds out whether Catalyst can run the whole program, or what keeps it from that.

before:  source ─ filter(col) ─ select(col) ─ Parquet files
after:   program: one source, native steps and sinks; or the first obstacle, in words

A program without anything in Python is a native one: Spark writes its files as well.
Next: rules/choose_native_steps.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.plan.capabilities import native_obstacle
from headrace.plan.physical import NativeJob

if TYPE_CHECKING:
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.plan_graph import PlanGraph


def choose_native_program(graph: PlanGraph) -> PlanGraph:
    """With `program` decided."""
    return replace(graph, program=graph.options.no_catalyst or _native_program(graph.graph))


def _native_program(graph: StreamGraph) -> NativeJob | str:
    for step in graph.steps:
        obstacle = native_obstacle(step)
        if obstacle is not None:
            return obstacle
    sources = [step for step in graph.steps if step.is_source]
    if len(sources) != 1:
        return "the program has several sources"
    return NativeJob(sources[0], [(sink, _path_to(sink)) for sink in graph.sinks()])


def _path_to(sink: Step) -> list[Step]:
    """The steps between the source and a sink."""
    path: list[Step] = []
    step = sink.inputs[0].origin
    while not step.is_source:
        path.insert(0, step)
        step = step.inputs[0].origin
    return path
