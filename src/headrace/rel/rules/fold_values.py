"""Lines that stand in the query are computed when it is planned.

    Union(Calc(1, 'a')(Values()), Calc(2, 'b')(Values()))   ──▶   Values((1, 'a'), (2, 'b'))
    Sort(fetch 0)(..)                                       ──▶   Values()

In: a plan and the session that its query runs in.  Out: a plan whose constants are lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.rel import nodes as n
from headrace.rel.rules.rewriting import rewritten
from headrace.scalars.evaluate import fold_constants
from headrace.scalars.nodes import Literal

if TYPE_CHECKING:
    from headrace.scalars.session import ScalarSession


def fold_values(root: n.Rel, session: ScalarSession) -> n.Rel:
    """The rule; what it computes is what workers of the session would."""
    return rewritten(root, lambda node: _folded(node, session))


def _folded(node: n.Rel, session: ScalarSession) -> n.Rel:
    match node:
        case n.Calc(input=n.Values() as values, condition=None) if not values.schema:
            cells = [fold_constants(each, session) for each in node.projections]
            # what is no constant, or has no result, runs where the lines are
            row = tuple(cell.value for cell in cells if isinstance(cell, Literal))
            if len(row) == len(cells):
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
