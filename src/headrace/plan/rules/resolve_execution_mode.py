"""Decides whether a program runs in BATCH mode: once over its whole input, one result a key.

before:  mode AUTOMATIC, every source ends
after:   batch

In: ``execution.runtime-mode`` and the sources.  What BATCH means for keyed inputs is in
runtime/sorted_inputs.py.  Next: rules/choose_native_program.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.errors import PlanError

if TYPE_CHECKING:
    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.plan_graph import PlanGraph


def resolve_execution_mode(graph: PlanGraph) -> PlanGraph:
    """With `batch` decided."""
    return replace(graph, batch=runs_in_batch(graph.graph, graph.options.mode))


def runs_in_batch(graph: StreamGraph, mode: str) -> bool:
    """Whether the program takes its whole input in one batch.

    Args:
        graph: the program.
        mode: STREAMING, BATCH, or AUTOMATIC to have it chosen by the sources.

    Raises:
        PlanError: BATCH was asked for, and a source never ends.
    """
    if mode == "STREAMING":
        return False
    for step in graph.steps:
        if step.source is None or step.source.is_bounded():
            continue
        if mode == "AUTOMATIC":
            return False
        raise PlanError(
            f"execution.runtime-mode is BATCH, and source {step.name!r} never ends",
            where=step.call_site,
            fix="use a bounded source, or RuntimeExecutionMode.STREAMING; with AUTOMATIC the "
            "sources decide",
        )
    return True
