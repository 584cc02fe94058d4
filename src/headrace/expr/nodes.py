"""What an expression is made of: frozen nodes, equal if they say the same.

In: the operators and methods of expr/expressions.py.  Out: nodes that expr/rows.py,
expr/kernels.py and hosts/spark/native/columns.py run.  Next: functions.py says what calls do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, assert_never

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class AggregateKind(StrEnum):
    """What a window can make of many values."""

    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    AVG = "avg"


class BoundKind(StrEnum):
    """The ends of a window, in epoch milliseconds."""

    START = "window_start"
    END = "window_end"


@dataclass(frozen=True, slots=True)
class FieldNode:
    """A field of the record."""

    name: str


@dataclass(frozen=True, slots=True)
class ConstantNode:
    """A constant; the constants of ``isin`` are one tuple."""

    value: Any


@dataclass(frozen=True, slots=True)
class CallNode:
    """A function of expr/functions.py, by its name there."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over a window; without an argument it counts records."""

    kind: AggregateKind
    argument: Node | None = None


@dataclass(frozen=True, slots=True)
class WindowBound:
    """The beginning or the end of the window."""

    kind: BoundKind


Node = FieldNode | ConstantNode | CallNode | Aggregate | WindowBound


def children(node: Node) -> tuple[Node, ...]:
    """The nodes that a node is made of."""
    match node:
        case CallNode():
            return node.arguments
        case Aggregate():
            return () if node.argument is None else (node.argument,)
        case FieldNode() | ConstantNode() | WindowBound():
            return ()
    assert_never(node)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything in it."""
    yield node
    for child in children(node):
        yield from walk(child)


def rewrite(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """The same with parts exchanged: `change` gives what replaces a part, None to go deeper."""
    replaced = change(node)
    if replaced is not None:
        return replaced
    match node:
        case CallNode():
            return CallNode(node.function, tuple(rewrite(part, change) for part in node.arguments))
        case Aggregate() if node.argument is not None:
            return Aggregate(node.kind, rewrite(node.argument, change))
        case _:
            return node


def text_of(node: Node) -> str:
    """The node as the user would write it; the name of a projected field that was given none."""
    match node:
        case FieldNode():
            return node.name
        case ConstantNode():
            return repr(node.value)
        case WindowBound():
            return f"{node.kind}()"
        case Aggregate():
            return f"{node.kind}({'' if node.argument is None else text_of(node.argument)})"
        case CallNode():
            parts = [text_of(part) for part in node.arguments]
            if len(parts) == 2 and not node.function.isidentifier():
                return f"({parts[0]} {node.function} {parts[1]})"
            return f"{node.function}({', '.join(parts)})"
    assert_never(node)
