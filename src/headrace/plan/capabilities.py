"""Where every kind of step can run, and in words why: what ``explain`` prints.

    host          runs
    Catalyst      sources, column expressions, its own sinks
    Python        every step that has an operator
    continuous    Python operators; stage 0 reads the source itself, so nothing is Catalyst's

"Why does this step run in Python?" is answered here and nowhere else;
plan/rules/choose_native_steps.py applies it to a program.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from headrace.expr.expressions import Expression
from headrace.expr.types import text_field
from headrace.graph.nodes import NativeKind
from headrace.runtime.exchange.partition import Forward

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.graph.nodes import Step
    from headrace.runtime.operators.base import Operator

# why there is no Catalyst: "it ..."
WITHOUT_SPARK = "runs without Spark"
CONTINUOUSLY = "runs in continuous mode, whose tasks read the source in Python"


class Engine(StrEnum):
    """What runs a step."""

    NATIVE = "native"
    PYTHON = "python"


class Placement(NamedTuple):
    """Where a step runs, and why."""

    where: Engine
    why: str


@dataclass(frozen=True, slots=True)
class Capability:
    """Where steps of a kind can run.

    Attributes:
        native: why Catalyst runs it, where it does; None if it never does.
        python: what runs in Python; None if nothing can.
    """

    native: str | None = None
    python: str | None = "a Python function"


_FUNCTION = Capability()
_EXPRESSIONS = Capability(
    native="column expressions, directly after the source",
    python="column expressions evaluated in Python",
)
# By the kind of a step; what is not here is a Python function.
CAPABILITIES: dict[str, Capability] = {
    "source": Capability(native="a source is read by the host", python=None),
    "sink": Capability(
        native="the whole program is native, so Spark writes it", python="a sink in Python"
    ),
    "dataframe": Capability(
        native="the whole program is native, so Spark writes it", python="a sink in Python"
    ),
    NativeKind.FILTER: _EXPRESSIONS,
    NativeKind.SELECT: _EXPRESSIONS,
    NativeKind.STAMP: Capability(native=_EXPRESSIONS.native, python=None),
}
_AGGREGATES = Capability(python="aggregates over columns, a batch at a time")
IN_NATIVE_PROGRAM = "column expressions in a native program"


def capability(step: Step) -> Capability:
    """Where a step can run, as one of its kind."""
    if step.derive_type is not None:
        return _AGGREGATES
    found = CAPABILITIES.get(step.native.kind if step.native is not None else step.kind)
    if found is None or (step.native is None and step.kind in set(NativeKind)):
        return _FUNCTION  # a filter with a function, a window with functions
    return found


def needs_memory(operator: Operator) -> bool:
    """Whether an operator remembers something from batch to batch, or joins two inputs.

    In front of the first exchange each source has tasks of its own, without memory: such an
    operator must come after one.
    """
    return operator.inputs > 1 or operator.keeps_state


# --- what stands in the way of Catalyst ----------------------------------------------------------


def native_obstacle(step: Step) -> str | None:
    """Why Catalyst cannot run a step of a program that it runs as a whole; None if it can."""
    name = repr(step.name)
    if step.is_source:
        return None
    if len(step.inputs) > 1:
        return f"{name} reads several streams"
    edge = step.inputs[0]
    if edge.tag is not None:
        return f"{name} reads a side output"
    why = expression_obstacle(step)
    if why is not None:
        return f"{name}: {why}"
    if not isinstance(edge.partitioning, Forward):
        return f"{name} comes after an exchange"
    if step.is_sink:
        return None if is_native_sink(step) else f"{name} is a sink in Python"
    return None if step.native is not None else f"{name} runs in Python"


def expression_obstacle(step: Step) -> str | None:
    """What about a step's expressions means another thing to Spark; None if nothing does."""
    for expression in _expressions(step):
        field = text_field(expression.node, step.inputs[0].record_type)
        if field is not None:
            return f"its field {field!r} is a number without limits, which Spark stores as text"
    return None


def _expressions(step: Step) -> Iterator[Expression]:
    if step.native is not None:
        yield from (e for e in step.native.expressions if isinstance(e, Expression))


def is_native_sink(step: Step) -> bool:
    """Whether Spark's own writers can write what this sink writes, with the same guarantee."""
    if step.kind == "dataframe":
        return True
    sink = getattr(step.operator, "sink", None)
    return getattr(sink, "native_format", None) is not None
