"""Decides which steps Catalyst runs itself, and says why the others run in Python.

source ─ filter(col) ─ select(col) ─ map(python)      the two native steps stay in the JVM

A program without anything in Python is a native one: Spark writes its files as well, and it may
have one window of aggregates over columns (plan/native_windows.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import UnsupportedStepError
from headrace.plan.native_windows import source_obstacle, timestamps_obstacle, window_obstacle
from headrace.plan.physical import NativeJob, NativeWindow
from headrace.runtime.exchange.partition import Forward

if TYPE_CHECKING:
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph


def choose_lowering(
    graph: StreamGraph, program: NativeJob | str, *, native: bool = True
) -> dict[int, tuple[str, str]]:
    """For every step: native or python, and the reason.

    Args:
        graph: the program.
        program: what `native_program` found out about it.
        native: whether there is a Catalyst at all.
    """
    chosen: dict[int, tuple[str, str]] = {}
    whole = isinstance(program, NativeJob)
    for step in graph.steps:
        if step.is_source:
            chosen[step.id] = ("native", "a source is read by Spark")
        elif whole and step.is_sink:
            chosen[step.id] = ("native", "the whole program is native, so Spark writes it")
        elif whole and step.kind == "timestamps":
            chosen[step.id] = ("native", "a column and a bound: Spark's own watermark")
        elif _is_window(step):
            chosen[step.id] = _lower_window(step, program)
        elif step.native is None:
            what = "a sink in Python" if step.is_sink else "a Python function"
            chosen[step.id] = ("python", what)
        else:
            chosen[step.id] = _lower(step, graph, chosen, whole=whole, native=native)
    return chosen


def _is_window(step: Step) -> bool:
    return step.native is not None and step.native.window is not None


def _lower_window(step: Step, program: NativeJob | str) -> tuple[str, str]:
    if isinstance(program, NativeJob):
        return "native", "aggregates over columns: Spark's own windows"
    _check_runs_in_python(step, program)
    return "python", f"aggregates over columns, evaluated in Python: {program}"


def _check_runs_in_python(step: Step, why: str) -> None:
    if step.operator is None:
        raise UnsupportedStepError(
            f"the Spark column expressions of step {step.name!r} cannot run natively: {why}",
            where=step.call_site,
            fix="change that, or use headrace's col(...) or a Python function, which run anywhere",
        )


def _lower(
    step: Step,
    graph: StreamGraph,
    chosen: dict[int, tuple[str, str]],
    *,
    whole: bool,
    native: bool,
) -> tuple[str, str]:
    edge = step.inputs[0]
    origin = edge.origin
    if chosen[origin.id][0] != "native":
        why = f"stands behind {origin.name!r}, which runs in Python"
    elif not isinstance(edge.partitioning, Forward):
        why = "stands behind an exchange"
    elif len(list(graph.outputs_of(origin))) > 1 and not whole:
        why = f"{origin.name!r} also feeds other steps, and would be read twice"
    elif not native:
        why = "runs without Spark"
    elif whole:
        return "native", "column expressions in a native program"
    else:
        return "native", "column expressions, directly behind the source"
    _check_runs_in_python(step, f"it {why}")
    return "python", f"column expressions evaluated in Python: {why}"


# --- whole programs ------------------------------------------------------------------------------


def native_program(graph: StreamGraph, *, batch: bool = False) -> NativeJob | str:
    """The whole program as a native one, or why it is none."""
    windows = [step for step in graph.steps if _is_window(step)]
    if windows and batch:
        return "Spark's own windows drop late records, and in BATCH mode no record is late"
    if len(windows) > 1:
        return f"the program has another window, {windows[1].name!r} at {windows[1].call_site}"
    window = windows[0] if windows else None
    for step in graph.steps:
        obstacle = _obstacle(step, in_front_of_window=window is not None)
        if obstacle is not None:
            return obstacle
    sources = [step for step in graph.steps if step.is_source]
    if len(sources) != 1:
        return "the program has several sources"
    paths = [(sink, _path_to(sink)) for sink in graph.sinks()]
    if window is None:
        return NativeJob(sources[0], paths)
    return _windowed_program(sources[0], window, paths)


def _obstacle(step: Step, *, in_front_of_window: bool) -> str | None:
    """Why Catalyst cannot run a step; None if it can."""
    name = repr(step.name)
    if step.is_source:
        why = source_obstacle(step) if in_front_of_window else None
        return None if why is None else f"{name}: {why}"
    if len(step.inputs) > 1:
        return f"{name} reads several streams"
    edge = step.inputs[0]
    if edge.tag is not None:
        return f"{name} reads a side output"
    if _is_window(step):
        return window_obstacle(step)
    if not isinstance(edge.partitioning, Forward):
        return f"{name} stands behind an exchange"
    if step.is_sink:
        return None if is_native_sink(step) else f"{name} is a sink in Python"
    if step.kind == "timestamps" and in_front_of_window:
        why = timestamps_obstacle(step)
        return None if why is None else f"{name}: {why}"
    return None if step.native is not None else f"{name} runs in Python"


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
            return f"{sink.name!r} reads the records in front of the window"
        behind.append((sink, path[path.index(window) + 1 :]))
    front = paths[0][1][: paths[0][1].index(window)]
    stamps = [step for step in front if step.kind == "timestamps"]
    if len(stamps) != 1 or any(s.kind == "timestamps" for _, path in behind for s in path):
        return "timestamps are not assigned once, in front of the window"
    cut = front.index(stamps[0])
    return NativeJob(source, behind, NativeWindow(front[:cut], stamps[0], front[cut + 1 :], window))


def is_native_sink(step: Step) -> bool:
    """Whether Spark's own writers can write what this sink writes, with the same guarantee."""
    if step.kind == "dataframe":
        return True
    sink = getattr(step.operator, "sink", None)
    return getattr(sink, "native_format", None) is not None
