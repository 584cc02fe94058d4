"""Checks a whole program before anything runs.

In: a StreamGraph.  Out: nothing, or an error that names the user's line.  Next: plan/planner.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.typeinfo import PickledBytesTypeInfo
from headrace.errors import (
    DuplicateUidError,
    EmptyProgramError,
    InvalidArgumentError,
    MissingUidError,
    UndeclaredTypeError,
)

if TYPE_CHECKING:
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph


def check_graph(graph: StreamGraph) -> None:
    """Raise the first thing that makes this program impossible to run."""
    check_not_empty(graph)
    check_uids(graph)
    check_parallelism(graph)


def check_not_empty(graph: StreamGraph) -> None:
    """A program without a sink would compute nothing that anyone could see."""
    if not graph.sinks():
        raise EmptyProgramError(
            "the program has no sink, so there is nothing to execute",
            fix="end a stream with .print(), .sink_to(...), .add_sink(...) or "
            ".execute_and_collect()",
        )


def check_uids(graph: StreamGraph) -> None:
    """State is found by uid, so a uid must name one step."""
    seen: dict[str, Step] = {}
    for step in graph.steps:
        first = seen.setdefault(step.stable_id, step)
        if first is not step:
            raise DuplicateUidError(
                f"uid {step.stable_id!r} is used by two steps, so their state could not be told "
                "apart",
                where=f"{step.call_site}; first used at {first.call_site}",
                fix="give one of them another uid; to keep old state, leave the first unchanged",
            )


def check_uids_are_given(graph: StreamGraph) -> None:
    """With ``pipeline.auto-generate-uids: false`` every step of the program names its own state."""
    for step in graph.steps:
        if step.uid is None and not step.inner:
            raise MissingUidError(
                f"step {step.name!r} has no uid, and pipeline.auto-generate-uids is false",
                where=step.call_site,
                fix="give it one with .uid('...'), or set pipeline.auto-generate-uids to true",
            )


def check_types_are_declared(graph: StreamGraph) -> None:
    """With ``pipeline.generic-types: false`` no step hands on records that would be pickled."""
    for step in graph.steps:
        for edge in step.inputs:
            origin = edge.origin
            if isinstance(edge.record_type, PickledBytesTypeInfo) and not origin.inner:
                of = f"side output {edge.tag!r} of step" if edge.tag else "step"
                raise UndeclaredTypeError(
                    f"the records of {of} {origin.name!r} have no declared type, so they would be "
                    "pickled, and pipeline.generic-types is false",
                    where=origin.call_site,
                    fix="declare the type: output_type=Types..., type_info=Types..., or a type "
                    "hint of the function; or set pipeline.generic-types to true",
                )


def check_parallelism(graph: StreamGraph) -> None:
    """No step may have more subtasks than there are key groups."""
    for step in graph.steps:
        if step.parallelism and step.max_parallelism and step.parallelism > step.max_parallelism:
            raise InvalidArgumentError(
                f"step {step.name!r} has parallelism {step.parallelism}, above its max "
                f"parallelism {step.max_parallelism}",
                where=step.call_site,
                fix="raise set_max_parallelism or lower set_parallelism",
            )
