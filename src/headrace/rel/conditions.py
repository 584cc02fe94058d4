"""Conditions taken apart and put together: conjuncts, sides of an equation, columns moved.

In: BOOLEAN scalars.  Out: their parts.  Next: building.py makes joins of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.common import data_types as t
from headrace.scalars.compile import is_deterministic
from headrace.scalars.nodes import Call, Literal, Outer, Ref, Scalar, columns_of, rewrite, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BOOLEAN = t.BooleanType()
# a comparison with its sides exchanged
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_NOT_DISTINCT = "IS NOT DISTINCT FROM"


def conjuncts(condition: Scalar | None) -> list[Scalar]:
    """What must all be true."""
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    if isinstance(condition, Call) and condition.function == "OR":
        return _factored(condition)
    if isinstance(condition, Literal) and condition.value is True:
        return []
    return [condition]


def conjunction(parts: Iterable[Scalar]) -> Scalar | None:
    """One condition of several; None of none."""
    found: Scalar | None = None
    for part in parts:
        found = part if found is None else Call("AND", (found, part), BOOLEAN)
    return found


def disjuncts(condition: Scalar) -> list[Scalar]:
    """Of which one must be true."""
    if isinstance(condition, Call) and condition.function == "OR":
        return [part for argument in condition.arguments for part in disjuncts(argument)]
    return [condition]


def disjunction(parts: Iterable[Scalar]) -> Scalar:
    """One condition of several, at least one."""
    first, *others = parts
    for part in others:
        first = Call("OR", (first, part), BOOLEAN)
    return first


def _factored(condition: Call) -> list[Scalar]:
    """``(a AND b) OR (a AND c)`` is ``a AND (b OR c)``: a join may find its key in it."""
    branches = [conjuncts(each) for each in disjuncts(condition)]
    common = [
        part
        for part in branches[0]
        if is_deterministic(part) and all(part in branch for branch in branches[1:])
    ]
    if not common:
        return [condition]
    rest = [conjunction([p for p in branch if p not in common]) for branch in branches]
    left = [part for part in rest if part is not None]
    return common if len(left) < len(rest) else [*common, disjunction(left)]


def implied(part: Scalar, has: Callable[[int], bool]) -> Scalar | None:
    """What an OR over several tables says of some columns alone; None if nothing.

    ``(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)`` says that ``a.x = 1 OR a.x = 3``.
    """
    branches = disjuncts(part)
    if len(branches) < 2:
        return None
    found = []
    for branch in branches:
        own = conjunction(
            [p for p in conjuncts(branch) if columns_of(p) and all(map(has, columns_of(p)))]
        )
        if own is None:
            return None
        found.append(own)
    return disjunction(found)


def moved(scalar: Scalar, place: Callable[[int], int]) -> Scalar:
    """The scalar over columns that have moved."""
    return rewrite(
        scalar, lambda part: Ref(place(part.index), part.type) if isinstance(part, Ref) else None
    )


def has_outer(scalar: Scalar) -> bool:
    """Whether it reads columns of the query around."""
    return any(isinstance(part, Outer) for part in walk(scalar))


class EqualSides(NamedTuple):
    """An equation between the sides of a join, each over the columns of its side."""

    left: Scalar
    right: Scalar
    null_safe: bool


def equal_sides(part: Scalar, width: int) -> EqualSides | None:
    """The sides of an equation of a left and a right value; None for anything else.

    Args:
        part: a conjunct over the columns of both sides.
        width: the number of columns of the left side.
    """
    if not isinstance(part, Call) or part.function not in ("=", _NOT_DISTINCT):
        return None
    first, second = part.arguments
    sides = (_side(first, width), _side(second, width))
    if sides == ("right", "left"):
        first, second = second, first
    elif sides != ("left", "right"):
        return None
    return EqualSides(first, moved(second, lambda i: i - width), part.function == _NOT_DISTINCT)


def _side(scalar: Scalar, width: int) -> str | None:
    columns = columns_of(scalar)
    if not columns or has_outer(scalar):
        return None
    if max(columns) < width:
        return "left"
    return "right" if min(columns) >= width else None
