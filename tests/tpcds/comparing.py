"""Compares lines as multisets, as far as the query says which lines it wants.

Quotients and averages have a scale by the rules of each engine (Flink: at least six digits, DuckDB:
a DOUBLE), so numbers may differ a little.  Where LIMIT cuts between lines that ORDER BY holds for
equal, any of them will do.  In: lines.  Out: None, or what differs.  Next: report.py
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Line = tuple[Any, ...]
Lines = list[Line]
# One unit in the sixth digit behind the point: the scale that Flink's quotients have at least.
_RELATIVE, _ABSOLUTE = 1e-6, 1.1e-6


class Answer(NamedTuple):
    """What is right.

    Attributes:
        lines: in the order that ORDER BY asks for, also those behind the limit.
        limit: how many of them are wanted; None for all.
        order: the places of the columns that ORDER BY names.
    """

    lines: Lines
    limit: int | None
    order: list[int]


def difference(answer: Answer, found: Lines) -> str | None:
    """What is wrong with the lines found; None if nothing is."""
    lines = answer.lines[: answer.limit]
    if len(found) != len(lines):
        return f"{len(lines)} lines expected, {len(found)} found"
    surplus, missing = without(found, lines), without(lines, found)
    if len(lines) < len(answer.lines):
        tied = [each for each in answer.lines if _same(each, lines[-1], answer.order)]
        surplus, missing = without(surplus, tied), without(missing, tied)
    if not surplus and not missing:
        return None
    return f"{len(surplus)} lines differ: found {surplus[:1]}, expected {missing[:1]}"


def without(lines: Lines, others: Lines) -> Lines:
    """The lines that have no equal among the others, one for one."""
    left: dict[Line, Lines] = {}
    for line in others:
        left.setdefault(_words(line), []).append(line)
    surplus = []
    for line in lines:
        alike = left.get(_words(line), [])
        place = next((i for i, each in enumerate(alike) if _same(line, each)), None)
        if place is None:
            surplus.append(line)
        else:
            del alike[place]
    return surplus


def _words(line: Line) -> Line:
    """What is equal or not, without the numbers."""
    return tuple("number" if _is_number(value) else value for value in line)


def _same(one: Line, other: Line, places: Sequence[int] | None = None) -> bool:
    chosen = range(len(one)) if places is None else places
    return all(_equal(one[place], other[place]) for place in chosen)


def _equal(one: object, other: object) -> bool:
    if _is_number(one) and _is_number(other):
        return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)  # type: ignore[arg-type]
    return one == other


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal)
