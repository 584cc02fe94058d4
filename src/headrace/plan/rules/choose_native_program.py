"""Finds out whether Catalyst can run the whole program, or what keeps it from that.

before:  source ─ timestamps(column) ─ key_by(column) ─ window.select ─ Parquet files
after:   program: one source, its window, native sinks; or the first obstacle, in words

A program without anything in Python is a native one: Spark writes its files as well, and it may
have one window of aggregates over columns (plan/native_windows.py).
Next: rules/choose_native_steps.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.plan.capabilities import WITHOUT_SPARK, is_native_window, native_obstacle
from headrace.plan.physical import NativeJob, NativeWindow

if TYPE_CHECKING:
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.plan_graph import PlanGraph


def choose_native_program(graph: PlanGraph) -> PlanGraph:
    """With `program` decided."""
    if not graph.options.native:
        return replace(graph, program=WITHOUT_SPARK)
    return replace(graph, program=_native_program(graph.graph, batch=graph.batch))


def _native_program(graph: StreamGraph, *, batch: bool) -> NativeJob | str:
    windows = [step for step in graph.steps if is_native_window(step)]
    if windows and batch:
        return "Spark's own windows drop late records, and in BATCH mode no record is late"
    if len(windows) > 1:
        return f"the program has another window, {windows[1].name!r} at {windows[1].call_site}"
    window = windows[0] if windows else None
    for step in graph.steps:
        obstacle = native_obstacle(step, in_front_of_window=window is not None)
        if obstacle is not None:
            return obstacle
    sources = [step for step in graph.steps if step.is_source]
    if len(sources) != 1:
        return "the program has several sources"
    paths = [(sink, _path_to(sink)) for sink in graph.sinks()]
    if window is None:
        return NativeJob(sources[0], paths)
    return _windowed_program(sources[0], window, paths)


def _path_to(sink: Step) -> list[Step]:
    """The steps between the source and a sink."""
    path: list[Step] = []
    step = sink.inputs[0].origin
    while not step.is_source:
        path.insert(0, step)
        step = step.inputs[0].origin
    return path


def _windowed_program(
    source: Step, window: Step, paths: list[tuple[Step, list[Step]]]
) -> NativeJob | str:
    behind = []
    for sink, path in paths:
        if window not in path:
            return f"{sink.name!r} reads the records before the window"
        behind.append((sink, path[path.index(window) + 1 :]))
    front = paths[0][1][: paths[0][1].index(window)]
    stamps = [step for step in front if step.kind == "timestamps"]
    if len(stamps) != 1 or any(s.kind == "timestamps" for _, path in behind for s in path):
        return "timestamps are not assigned exactly once, before the window"
    cut = front.index(stamps[0])
    return NativeJob(source, behind, NativeWindow(front[:cut], stamps[0], front[cut + 1 :], window))
