"""Aggregates OVER the lines around each.

    SELECT a, SUM(b) OVER (PARTITION BY k ORDER BY ts ROWS 9 PRECEDING) FROM t
        ──▶ Over(partition k, order ts, 9 rows, SUM(b)) ──▶ Calc

In: calls with OVER.  Out: Over nodes, and the columns that calls became.  Next: ../rules/
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.common.data_types import NumericType
from headrace.rel import nodes as n
from headrace.rel.building import with_columns
from headrace.rel.resolve.constants import milliseconds, whole_number
from headrace.rel.resolve.grouping import aggregate_call
from headrace.rel.resolve.problems import not_there, problem
from headrace.scalars.nodes import Ref, rewrite
from headrace.sql import ast

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.rel.resolve.expressions import ExpressionResolver
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.nodes import Scalar

_RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
# places of what is not known yet, far above all columns and those of grouping.py
_OVERS = 4_000_000


@dataclass(frozen=True)
class _Frame:
    """One OVER clause: what calls must agree in to be computed together."""

    partition: tuple[Scalar, ...]
    order: tuple[tuple[Scalar, bool, bool], ...]
    rows: bool
    preceding: int | None
    following: int | None = 0


@dataclass
class OverCalls:
    """The calls with OVER of one SELECT.

    Args:
        windows: those of the WINDOW clause, by name.
    """

    windows: dict[str, ast.OverClause]
    found: list[tuple[_Frame, AggregateCall, tuple[Scalar, ...]]] = field(default_factory=list)

    def add(self, resolver: ExpressionResolver, node: ast.FunctionCall) -> Scalar:
        """The column that a call will be."""
        assert node.over is not None
        over = self._spelled(node.over)
        if node.filter is not None:
            raise not_there("FILTER with OVER", node, "use CASE in the argument")
        frame = _frame(resolver, over, node)
        arguments = tuple(a for a in node.arguments if not isinstance(a, ast.Star))
        operands = tuple(resolver.scalar(a) for a in arguments)
        plain = replace(node, over=None, filter=None)
        call, operands = aggregate_call(plain, operands, resolver.functions)
        entry = (frame, call, operands)
        if entry not in self.found:
            self.found.append(entry)
        return Ref(_OVERS + self.found.index(entry), call.type)

    def _spelled(self, over: ast.OverClause) -> ast.OverClause:
        if over.name is None:
            return over
        base = self.windows.get(over.name)
        if base is None:
            raise problem(f"there is no window {over.name}", over, "define it: WINDOW w AS (...)")
        base = self._spelled(base)
        return replace(
            base,
            partition_by=over.partition_by or base.partition_by,
            order_by=over.order_by or base.order_by,
            frame=over.frame or base.frame,
        )

    def build(self, rel: n.Rel) -> tuple[n.Rel, Callable[[Scalar], Scalar]]:
        """The node with a column for each call, and what puts these columns into a scalar."""
        places: dict[int, int] = {}
        for frame in dict.fromkeys(frame for frame, _, _ in self.found):
            mine = [i for i, (each, _, _) in enumerate(self.found) if each == frame]
            scalars = [*frame.partition, *(scalar for scalar, _, _ in frame.order)]
            scalars += [s for i in mine for s in self.found[i][2]]
            rel, columns = with_columns(rel, scalars)
            order = tuple(
                n.SortKey(columns[len(frame.partition) + i], descending, last)
                for i, (_, descending, last) in enumerate(frame.order)
            )
            position = len(frame.partition) + len(frame.order)
            calls = []
            for i in mine:
                _, call, operands = self.found[i]
                arguments = columns[position : position + len(operands)]
                position += len(operands)
                calls.append(replace(call, arguments=arguments))
            width = len(rel.schema)
            schema = (*rel.schema, *(n.Field(f"$w{i}", c.type) for i, c in enumerate(calls)))
            rel = n.OverAggregate(
                rel,
                columns[: len(frame.partition)],
                order,
                frame.rows,
                frame.preceding,
                tuple(calls),
                frame.following,
                schema=schema,
            )
            places |= {i: width + offset for offset, i in enumerate(mine)}

        def placed(scalar: Scalar) -> Scalar:
            return rewrite(
                scalar,
                lambda part: (
                    Ref(places[part.index - _OVERS], part.type)
                    if isinstance(part, Ref) and part.index >= _OVERS
                    else None
                ),
            )

        return rel, placed


def _frame(resolver: ExpressionResolver, over: ast.OverClause, node: ast.FunctionCall) -> _Frame:
    partition = tuple(resolver.scalar(each) for each in over.partition_by)
    order = tuple(
        (resolver.scalar(each.expression), each.descending, nulls_last(each))
        for each in over.order_by
    )
    name = node.name[-1].upper()
    if over.frame is None:
        # as SQL has it: to the current line and its peers, or everything without an order
        return _Frame(partition, order, name in _RANKS, None, 0 if order else None)
    rows = over.frame.unit == "ROWS"
    lower, upper = over.frame.lower, over.frame.upper
    counted = rows or (len(order) == 1 and isinstance(order[0][0].type, NumericType))
    preceding = _bound(lower, rows=rows, counted=counted, before=True)
    following = 0 if upper is None else _bound(upper, rows=rows, counted=counted, before=False)
    if preceding is not None and following is not None and -preceding > following:
        raise problem("the frame of OVER ends before it begins", node)
    return _Frame(partition, order, rows, preceding, following)


def nulls_last(item: ast.SortItem) -> bool:
    """Flink's NULL is the lowest value: first in ascending order, last in descending."""
    if item.nulls is None:
        return item.descending
    return item.nulls == "LAST"


def _bound(bound: ast.FrameBound, *, rows: bool, counted: bool, before: bool) -> int | None:
    """How far a frame reaches; negative where it begins behind, or ends before the current row.

    Lines and numbers are counted, times are milliseconds; None for all lines.
    """
    if bound.kind == "CURRENT ROW":
        return 0
    if bound.value is None:
        return None
    what = "a bound of ROWS" if rows else "a bound of RANGE"
    amount = (whole_number if counted else milliseconds)(bound.value, what)
    return amount if (bound.kind == "PRECEDING") == before else -amount
