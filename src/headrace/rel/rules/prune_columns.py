"""Columns that nobody reads do not travel.

    Calc(a)(Join(t1(a, k, x), t2(k, y)))   ──▶   Calc(a)(Join(Calc(a, k)(t1), Calc(k)(t2)))

In: a plan.  Out: one whose joins and matches get the columns they need, and no others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.rel import nodes as n
from headrace.rel.building import project, ref, used_columns
from headrace.rel.conditions import moved
from headrace.rel.matches import columns_read, over_columns
from headrace.rel.rules.rewriting import Visited, with_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FINAL = (n.TemporalJoin, n.TimeIntervalJoin, n.WindowJoin, n.Join)


def prune_columns(root: n.Rel) -> n.Rel:
    """The rule."""
    return _Pruning().visit(root)


class _Pruning:
    """One run over a plan; a node that is read twice is pruned for neither."""

    def __init__(self) -> None:
        # the node with the same columns, and less below it
        self.visit = Visited(self._pruned)

    def _pruned(self, node: n.Rel) -> n.Rel:
        if isinstance(node, n.Calc) and type(node.input) in _FINAL:
            assert isinstance(node.input, n.Join)
            return self._calc_over_join(node, node.input)
        if isinstance(node, n.RowMatch):
            narrow, places = self._side(node.input, sorted(columns_read(node)))
            return node if narrow is node.input else over_columns(node, narrow, places)
        return with_inputs(node, [self.visit(part) for part in node.inputs])

    def _calc_over_join(self, calc: n.Calc, join: n.Join) -> n.Rel:
        wanted = used_columns([*calc.projections, calc.condition])
        narrow, places = self._join(join, wanted)
        if narrow is join:
            return calc
        return replace(
            calc,
            input=narrow,
            projections=tuple(moved(each, places.__getitem__) for each in calc.projections),
            condition=None if calc.condition is None else moved(calc.condition, places.__getitem__),
        )

    def _join(self, join: n.Join, wanted: set[int]) -> tuple[n.Rel, dict[int, int]]:
        """The join with fewer columns, and where those that are wanted went."""
        width = len(join.left.schema)
        condition = used_columns([join.condition])
        read_left = {*join.left_keys, *_own_columns(join, left=True)}
        read_right = {*join.right_keys, *_own_columns(join, left=False)}
        both = wanted | condition
        left_wanted = sorted(read_left | {c for c in both if c < width})
        right_wanted = sorted(read_right | {c - width for c in both if c >= width})
        left, left_places = self._side(join.left, left_wanted)
        right, right_places = self._side(join.right, right_wanted)
        narrow_width = len(left.schema)

        def place(column: int) -> int:
            if column < width:
                return left_places[column]
            return narrow_width + right_places[column - width]

        kept = list(left_places)
        if not _left_only(join):
            kept += [width + c for c in right_places]
        schema = tuple(join.schema[column] for column in sorted(kept, key=place))
        made = replace(
            join,
            left=left,
            right=right,
            left_keys=tuple(left_places[key] for key in join.left_keys),
            right_keys=tuple(right_places[key] for key in join.right_keys),
            condition=None if join.condition is None else moved(join.condition, place),
            schema=schema,
        )
        made = _moved_columns(made, join, left_places, right_places)
        return made, {column: place(column) for column in wanted}

    def _side(self, side: n.Rel, wanted: Sequence[int]) -> tuple[n.Rel, dict[int, int]]:
        # a stream of lines needs a column to be counted by
        wanted = list(wanted) or [0]
        if len(wanted) == len(side.schema):
            return self.visit(side), {column: column for column in wanted}
        names = [side.schema[column].name for column in wanted]
        narrow = project(side, [ref(side, column) for column in wanted], names)
        return self.visit(narrow), {column: place for place, column in enumerate(wanted)}


def _left_only(join: n.Join) -> bool:
    return join.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI)


def _own_columns(join: n.Join, *, left: bool) -> Iterable[int]:
    """Columns of times and windows that the join goes by."""
    match join:
        case n.TimeIntervalJoin():
            return (join.left_time,) if left else (join.right_time,)
        case n.WindowJoin():
            return join.left_window if left else join.right_window
        case n.TemporalJoin():
            if left:
                return (join.left_time,)
            return () if join.right_time is None else (join.right_time,)
        case _:
            return ()


def _moved_columns(
    made: n.Join, join: n.Join, left: dict[int, int], right: dict[int, int]
) -> n.Join:
    """The narrow join, with the new places of its times and windows."""
    match made, join:
        case n.TimeIntervalJoin(), n.TimeIntervalJoin():
            return replace(made, left_time=left[join.left_time], right_time=right[join.right_time])
        case n.WindowJoin(), n.WindowJoin():
            (start, end), (other_start, other_end) = join.left_window, join.right_window
            return replace(
                made,
                left_window=(left[start], left[end]),
                right_window=(right[other_start], right[other_end]),
            )
        case n.TemporalJoin(), n.TemporalJoin():
            version = None if join.right_time is None else right[join.right_time]
            return replace(made, left_time=left[join.left_time], right_time=version)
        case _:
            return made
