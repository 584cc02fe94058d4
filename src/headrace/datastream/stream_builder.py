"""Adds steps to the graph of an environment: the one place where streams become nodes and edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.call_site import call_site
from headrace.common.type_inference import infer_type, return_type_of
from headrace.common.typeinfo import TypeInformation, Types
from headrace.errors import InvalidArgumentError
from headrace.graph.nodes import Edge, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.opaque import DeclaredType, UserFunction
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.graph.nodes import NativeStep
    from headrace.runtime.exchange.partition import Partitioning
    from headrace.runtime.key_selectors import Keying
    from headrace.runtime.operators.base import Operator


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records of a stream come from: an output of a step. A union has several."""

    step: Step
    tag: str | None
    declared: TypeInformation

    @property
    def type_info(self) -> TypeInformation:
        """The type of the records; a native projection learns its own only when it is planned."""
        if self.tag is not None:
            return self.declared
        return self.step.learned_type or self.step.output_type


def add_step(
    env: StreamExecutionEnvironment,
    kind: str,
    name: str,
    operator: Operator | None,
    output_type: TypeInformation,
    inputs: Sequence[tuple[list[Origin], Partitioning]],
    *,
    native: NativeStep | None = None,
    derive_type: Callable[[TypeInformation], TypeInformation] | None = None,
    keyings: tuple[Keying | None, ...] = (),
    inferred: bool = False,
) -> Step:
    """Append a step whose n-th input takes the records of the n-th list of origins."""
    graph = env._graph
    step = Step(
        id=graph.next_id(),
        kind=kind,
        name=name,
        output_type=output_type,
        call_site=call_site(),
        operator=operator,
        native=native,
        derive_type=derive_type,
        inferred=inferred,
        key_selectors=keyings,  # type: ignore[arg-type]
    )
    for number, (origins, partitioning) in enumerate(inputs):
        for origin in origins:
            side_type = origin.declared if origin.tag is not None else None
            step.inputs.append(Edge(origin.step, partitioning, origin.tag, number, side_type))
    return graph.add(step)


def as_type(
    declared: DeclaredType,
    func: UserFunction = None,
    method: str | None = None,
    *,
    elements: bool = False,
) -> TypeInformation:
    """A TypeInformation from `output_type`, else from the function's hints, else pickled.

    Args:
        declared: a TypeInformation, a Python type or hint, or None.
        func: the user's function.
        method: the method of a Function object that makes the results.
        elements: the function yields many results, so its hint is an iterable of the type.
    """
    if isinstance(declared, TypeInformation):
        return declared
    if declared is not None:
        found = infer_type(declared)
        if found is None:
            raise InvalidArgumentError(
                f"{declared!r} is not a type that headrace knows",
                fix="use Types..., a dataclass, a NamedTuple or a hint such as tuple[int, str]",
            )
        return found
    target = getattr(func, method, func) if method else func
    inferred = None if func is None else return_type_of(target, elements=elements)
    return inferred or Types.PICKLED_BYTE_ARRAY()
