"""Lines that stand in the query are computed when it is planned.

    Union(Calc(1, 'a')(Values()), Calc(2, 'b')(Values()))   ──▶   Values((1, 'a'), (2, 'b'))
    Sort(fetch 0)(..)                                       ──▶   Values()

In: a plan.  Out: a plan whose constants are lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.rel import nodes as n
from headrace.rel.rules.rewriting import rewritten
from headrace.scalars.compile import is_deterministic
from headrace.scalars.evaluate import row_function
from headrace.scalars.nodes import Literal, UserCall, walk

if TYPE_CHECKING:
    from headrace.common.opaque import Record
    from headrace.scalars.nodes import Scalar


def fold_values(root: n.Rel) -> n.Rel:
    """The rule."""
    return rewritten(root, _fold)


def _fold(node: n.Rel) -> n.Rel:
    match node:
        case n.Calc(input=n.Values() as values, condition=None) if not values.schema:
            cells = [_constant(each) for each in node.projections]
            if all(cell is not None for cell in cells):
                row = tuple(cell[0] for cell in cells if cell is not None)
                return n.Values((row,) * len(values.rows), schema=node.schema)
        case n.Union() if all(isinstance(part, n.Values) for part in node.parts):
            rows = tuple(
                row for part in node.parts if isinstance(part, n.Values) for row in part.rows
            )
            return n.Values(rows, schema=node.schema)
        case n.Sort(fetch=0):
            return n.Values((), schema=node.schema)
        case _:
            pass
    return node


def _constant(scalar: Scalar) -> tuple[Record] | None:
    """The value of a scalar without columns; None if it has to run where the lines are."""
    if isinstance(scalar, Literal):
        return (scalar.value,)
    if not is_deterministic(scalar) or any(isinstance(part, UserCall) for part in walk(scalar)):
        return None
    try:
        return (row_function(scalar)(()),)
    except HeadraceError:
        return None  # raised where the query runs, as every other error of a line
