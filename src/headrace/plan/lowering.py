"""Decides which steps Catalyst runs itself, and says why the others run in Python.

source ─ filter(col) ─ select(col) ─ map(python)      the two native steps stay in the JVM
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import UnsupportedStepError
from headrace.plan.physical import NativeJob
from headrace.runtime.partition import Forward

if TYPE_CHECKING:
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph


def choose_lowering(graph: StreamGraph) -> dict[int, tuple[str, str]]:
    """For every step: native or python, and the reason."""
    chosen: dict[int, tuple[str, str]] = {}
    whole = is_native_program(graph)
    for step in graph.steps:
        if step.is_source:
            chosen[step.id] = ("native", "a source is read by Spark")
        elif whole and step.is_sink:
            chosen[step.id] = ("native", "the whole program is native, so Spark writes it")
        elif step.native is None:
            what = "a sink in Python" if step.is_sink else "a Python function"
            chosen[step.id] = ("python", what)
        else:
            chosen[step.id] = _lower(step, graph, chosen, whole=whole)
    return chosen


def is_native_program(graph: StreamGraph) -> bool:
    """One source, native steps, sinks that Spark can write."""
    sources = [step for step in graph.steps if step.is_source]
    return len(sources) == 1 and native_sinks_only(graph, sources[0])


def _lower(
    step: Step, graph: StreamGraph, chosen: dict[int, tuple[str, str]], *, whole: bool
) -> tuple[str, str]:
    edge = step.inputs[0]
    origin = edge.origin
    if chosen[origin.id][0] != "native":
        why = f"stands behind {origin.name!r}, which runs in Python"
    elif not isinstance(edge.partitioning, Forward):
        why = "stands behind an exchange"
    elif len(list(graph.outputs_of(origin))) > 1 and not whole:
        why = f"{origin.name!r} also feeds other steps, and would be read twice"
    else:
        return "native", "column expressions, directly behind the source"
    if step.operator is None:
        raise UnsupportedStepError(
            f"the Spark column expressions of step {step.name!r} cannot run natively: it {why}",
            where=step.call_site,
            fix="move it directly behind the source, or use headrace's col(...) or a Python "
            "function, which run anywhere",
        )
    return "python", f"column expressions evaluated in Python: {why}"


def native_sinks_only(graph: StreamGraph, step: Step) -> bool:
    """Whether everything below `step` is native up to sinks that Spark can write itself."""
    consumers = list(graph.outputs_of(step))
    for consumer, edge in consumers:
        if not isinstance(edge.partitioning, Forward) or edge.tag is not None:
            return False
        if consumer.is_sink:
            if not is_native_sink(consumer):
                return False
        elif consumer.native is None or not native_sinks_only(graph, consumer):
            return False
    return bool(consumers)


def is_native_sink(step: Step) -> bool:
    """Whether Spark's own writers can write what this sink writes, with the same guarantee."""
    if step.kind == "dataframe":
        return True
    sink = getattr(step.operator, "sink", None)
    return getattr(sink, "native_format", None) is not None


def native_job(graph: StreamGraph) -> NativeJob | None:
    """The whole program as a native one, if all of it can be."""
    if not is_native_program(graph):
        return None
    sinks = []
    for sink in graph.sinks():
        path: list[Step] = []
        step = sink.inputs[0].origin
        while not step.is_source:
            path.insert(0, step)
            step = step.inputs[0].origin
        sinks.append((sink, path))
    return NativeJob(step, sinks)
