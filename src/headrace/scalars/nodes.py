"""What a scalar expression is made of: frozen nodes that know their type, columns by number.

    price * 2 > 10   ──▶   Call(">", (Call("*", (Ref(1), Literal(2))), Literal(10)))

In: rel/resolve (SQL text) and table/expressions (the Table API).  Out: nodes that evaluate.py runs
in workers.  Next: functions/ says what calls do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, assert_never

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.common.data_types import DataType


@dataclass(frozen=True, slots=True)
class Ref:
    """A column of the input, by its place."""

    index: int
    type: DataType


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant, as the Python value of its type (docs/architecture/path-of-a-statement.md)."""

    value: Any
    type: DataType


@dataclass(frozen=True, slots=True)
class Call:
    """A function of scalars/functions by its SQL name; operators have their sign for a name."""

    function: str
    arguments: tuple[Scalar, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class Cast:
    """CAST, or TRY_CAST if it is lenient: then what cannot be cast is NULL."""

    argument: Scalar
    type: DataType
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """CASE: the first condition that is true decides; what comes behind it is not evaluated."""

    branches: tuple[tuple[Scalar, Scalar], ...]
    otherwise: Scalar
    type: DataType


@dataclass(frozen=True, slots=True)
class UserCall:
    """A scalar function of the user; `function` is the object that `udf` made."""

    function: Any
    arguments: tuple[Scalar, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class Outer:
    """A column of the query around a subquery; joins take its place before anything runs.

    `depth` counts the queries between: 1 is the one right around.
    """

    index: int
    type: DataType
    depth: int = 1


Scalar = Ref | Literal | Call | Cast | Case | UserCall | Outer


def children(node: Scalar) -> tuple[Scalar, ...]:
    """The nodes that a node is made of."""
    match node:
        case Call() | UserCall():
            return node.arguments
        case Cast():
            return (node.argument,)
        case Case():
            return (*(part for branch in node.branches for part in branch), node.otherwise)
        case Ref() | Literal() | Outer():
            return ()
    assert_never(node)


def walk(node: Scalar) -> Iterator[Scalar]:
    """The node and everything in it."""
    yield node
    for child in children(node):
        yield from walk(child)


def rewrite(node: Scalar, change: Callable[[Scalar], Scalar | None]) -> Scalar:
    """The same with parts exchanged: `change` gives what replaces a part, None to go deeper."""
    replaced = change(node)
    if replaced is not None:
        return replaced
    match node:
        case Call() | UserCall():
            return replace(node, arguments=tuple(rewrite(a, change) for a in node.arguments))
        case Cast():
            return replace(node, argument=rewrite(node.argument, change))
        case Case():
            branches = tuple((rewrite(c, change), rewrite(v, change)) for c, v in node.branches)
            return replace(node, branches=branches, otherwise=rewrite(node.otherwise, change))
        case _:
            return node


def columns_of(node: Scalar) -> set[int]:
    """The places of the columns that it reads."""
    return {part.index for part in walk(node) if isinstance(part, Ref)}
