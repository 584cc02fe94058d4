"""Top-N and deduplication, which SQL writes as a filter on a row number.

    Calc(rn <= 3)(Over(ROW_NUMBER))        ──▶   Rank(1 .. 3)
    Calc(rn = 1)(Over(ROW_NUMBER by time)) ──▶   Deduplicate

In: a plan with OVER.  Out: one without the OVERs that number lines to choose some.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.common import data_types as t
from headrace.rel import nodes as n
from headrace.rel.conditions import MIRRORED, conjunction, conjuncts
from headrace.rel.rules.rewriting import rewritten
from headrace.rel.windows import windows_of
from headrace.scalars.nodes import Call, Cast, Literal, Ref, columns_of, rewrite

if TYPE_CHECKING:
    from headrace.scalars.nodes import Scalar

_FUNCTIONS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_UNBOUNDED = (1 << 62) - 1


def find_top_n(root: n.Rel) -> n.Rel:
    """The rule."""
    return rewritten(root, _find)


class _Range(NamedTuple):
    """Which numbers are wanted; a column may say the last."""

    first: int = 1
    last: int = _UNBOUNDED
    column: int | None = None

    def and_also(self, other: _Range) -> _Range:
        column = self.column if other.column is None else other.column
        return _Range(max(self.first, other.first), min(self.last, other.last), column)


def _find(node: n.Rel) -> n.Rel:
    if (
        not isinstance(node, n.Calc)
        or node.condition is None
        or not isinstance(node.input, n.OverAggregate)
    ):
        return node
    over = node.input
    if len(over.calls) != 1 or over.calls[0].function not in _FUNCTIONS or not over.order:
        return node
    number = len(over.input.schema)
    wanted, rest = _Range(), []
    for part in conjuncts(node.condition):
        bound = _bound(part, number)
        if bound is None:
            rest.append(part)
        else:
            wanted = wanted.and_also(bound)
    if wanted.last == _UNBOUNDED and wanted.column is None:
        return node
    return _ranked(node, over, wanted, conjunction(rest), number)


def _bound(part: Scalar, number: int) -> _Range | None:
    """What a conjunct says of the number; None if it says something else."""
    if not isinstance(part, Call) or part.function not in MIRRORED:
        return None
    left, right = (_plain(each) for each in part.arguments)
    sign = part.function
    if isinstance(right, Ref) and right.index == number:
        left, right, sign = right, left, MIRRORED[sign]
    if not isinstance(left, Ref) or left.index != number:
        return None
    if isinstance(right, Ref) and right.index != number and sign in ("<=",):
        return _Range(column=right.index)
    if not isinstance(right, Literal) or not isinstance(right.value, int):
        return None
    value = right.value
    bounds = {
        "<": _Range(last=value - 1),
        "<=": _Range(last=value),
        ">": _Range(first=value + 1),
        ">=": _Range(first=value),
        "=": _Range(value, value),
    }
    return bounds[sign]


def _plain(scalar: Scalar) -> Scalar:
    """Without the casts that comparing adds."""
    return _plain(scalar.argument) if isinstance(scalar, Cast) else scalar


def _ranked(
    node: n.Calc, over: n.OverAggregate, wanted: _Range, rest: Scalar | None, number: int
) -> n.Rel:
    scalars = [*node.projections, *([] if rest is None else [rest])]
    shown = any(number in columns_of(scalar) for scalar in scalars)
    function = over.calls[0].function
    window, partition = _window_of(over)
    single = wanted[:2] == (1, 1) and wanted.column is None and function == "ROW_NUMBER"
    time = over.input.schema[over.order[0].column].time
    made: n.Rel
    if single and len(over.order) == 1 and time is not None:
        made = n.Deduplicate(
            over.input,
            partition,
            over.order[0].column,
            time is n.TimeAttribute.ROWTIME,
            over.order[0].descending,
            window,
            schema=over.input.schema,
        )
        return _with_number(node, made, rest, number, 1)
    constant = function == "ROW_NUMBER" and wanted.column is None and wanted.first == wanted.last
    shown = shown and not constant
    schema = over.schema if shown else over.input.schema
    made = n.Rank(
        over.input,
        partition,
        over.order,
        function,  # type: ignore[arg-type]
        max(1, wanted.first),
        wanted.last,
        shown,
        wanted.column,
        window,
        schema=schema,
    )
    if constant:
        return _with_number(node, made, rest, number, wanted.first)
    return n.Calc(made, node.projections, rest, schema=node.schema)


def _with_number(node: n.Calc, made: n.Rel, rest: Scalar | None, number: int, value: int) -> n.Rel:
    """The lines of a rank that is always the same: its column becomes a constant."""
    constant = Literal(value, t.BigIntType().not_null())
    projections = tuple(_replaced(each, number, constant) for each in node.projections)
    condition = None if rest is None else _replaced(rest, number, constant)
    return n.Calc(made, projections, condition, schema=node.schema)


def _replaced(scalar: Scalar, place: int, value: Scalar) -> Scalar:
    return rewrite(
        scalar, lambda part: value if isinstance(part, Ref) and part.index == place else None
    )


def _window_of(over: n.OverAggregate) -> tuple[tuple[int, int] | None, tuple[int, ...]]:
    """The bounds of windows, if lines are numbered within windows, and the other columns."""
    windows = windows_of(over.input)
    if windows is None or windows.start is None or windows.end is None:
        return None, over.partition
    bounds = (windows.start, windows.end)
    if not set(bounds) <= set(over.partition):
        return None, over.partition
    return bounds, tuple(column for column in over.partition if column not in bounds)
