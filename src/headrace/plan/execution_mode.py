"""Whether a program runs in BATCH mode: once over its whole input, with one result a key.

In: ``execution.runtime-mode`` and the sources.  Out: yes or no.  Next: runtime/sorted_inputs.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import PlanError

if TYPE_CHECKING:
    from headrace.graph.stream_graph import StreamGraph


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
