"""Regular joins: all lines of both sides are kept, every change of one side changes the result.

    line of one side ─▶ probe the other side ─▶ condition ─▶ lines out ─▶ keep it on its own side

All lines of a call are of one side, and the other side stays as it is meanwhile, but for the
numbers of partners of its lines; so a call is a few operations on whole columns.  Flink's rules,
line by line (a line that takes back has the kinds in brackets):

    both sides inner        pair with the kind of the line
    side of the line outer  pair +I (-D); without a partner: line and NULL +I (-D)
    other side outer        its line has no other partner: NULL and line -D before the pair
                            (+I behind it, if this was its last one); pair +I (kind of the line)
    semi, anti              left: the line itself, with its kind, if it has (has no) partner
                            right: lines of the left that get their first or lose their last one

In: lines of two inputs.  Out: lines with both sides' columns, or the left one's (semi, anti).
Next: runtime/table/joins/line_store.py keeps lines, runtime/table/joins/side_changes.py says which
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.runtime.table.joins.base import LEFT, RIGHT, JoinOperator
from headrace.runtime.table.joins.emission import OutPlaces, Stretch
from headrace.runtime.table.joins.line_store import LineStore
from headrace.runtime.table.joins.pairs import taken
from headrace.runtime.table.joins.runs import LineShape
from headrace.runtime.table.joins.side_changes import LinesOfSide, change_side
from headrace.runtime.table.lines import DELETE, INSERT, UPDATE_BEFORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.joins.base import KeysOfLines
    from headrace.runtime.table.joins.runs import Numbers
    from headrace.runtime.table.lines import Lines
    from headrace.spi.state import StateSpec


class RegularJoinOperator(JoinOperator):
    """A join without a limit in time.

    Args:
        left_type: of the left input.
        right_type: of the right input.
        output_type: both sides' columns, or the left one's for semi and anti.
        unique_keys: for each side the places of a unique key; None where there is none.
        ttl_ms: how long each side keeps lines; 0 for ever.
        before: whether consumers want -U in front of +U.
        options: as `JoinOperator` has them.
    """

    def __init__(
        self,
        left_type: RowDataTypeInfo,
        right_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        *,
        unique_keys: tuple[Sequence[int] | None, Sequence[int] | None] = (None, None),
        ttl_ms: tuple[int, int] = (0, 0),
        before: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(left_type, right_type, output_type, **options)
        self.unique_keys = tuple(None if key is None else tuple(key) for key in unique_keys)
        self.ttl_ms = tuple(ttl_ms)
        self.before = before
        self.appends = not (left_type.changes or right_type.changes or any(self.ttl_ms))

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (LineStore.spec("left"), LineStore.spec("right"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart
        self.sides = (self._side("left", LEFT), self._side("right", RIGHT))

    def _side(self, name: str, side: int) -> LineStore:
        shape = LineShape(
            tuple(self.in_lines[side].types),
            self.keys_of_sides[side],
            keeps_null=any(self.null_safe) or self.runtime.bounded,
            unique=self.unique_keys[side],
            counts=self.outer[side] or (self.left_only and side == LEFT),
            expires=self.ttl_ms[side] > 0,
        )
        return self.line_store(name, shape, self.ttl_ms[side])

    def emit_columns(
        self, columns: Sequence[pa.Array], kinds: NDArray[np.int8] | None = None
    ) -> None:
        """Hand on lines, without -U if nobody wants it."""
        if not self.before and kinds is not None:
            chosen = np.flatnonzero(kinds != UPDATE_BEFORE)
            if len(chosen) < len(kinds):
                columns, kinds = taken(columns, chosen), kinds[chosen]
        if kinds is None or len(kinds):
            super().emit_columns(columns, kinds)

    # --- lines -----------------------------------------------------------------------------------

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records, input)
        keys = self.keys_of(lines.columns, len(lines), input)
        partners = np.zeros(len(lines), np.int32)
        if not self.runtime.bounded:
            self._join(lines, keys, partners, input)
        own = self.sides[input]
        counted = partners if own.shape.counts else None
        kept = LinesOfSide(lines.columns, keys.hashes, lines.retracts, counted)
        if keys.among is not None and not self.runtime.bounded:  # nobody will look for the others
            kept = kept.pick(np.flatnonzero(keys.among))
        change_side(own, kept, appends=self.appends)

    def _join(self, lines: Lines, keys: KeysOfLines, partners: Numbers, side: int) -> None:
        """Emit what lines of a side change; says in `partners` how many each has found."""
        other = self.sides[1 - side]
        for first, last, found in other.probe(keys.columns, keys.hashes, among=keys.among):
            matches = self.holding(found, lines.columns, side)
            stretch = Stretch(lines, first, last, matches)
            partners[first:last] = stretch.counts
            if not self.left_only:
                self._emit_pairs(stretch, side)
            elif side == LEFT:
                self.emit_left(stretch)
            else:
                self._emit_kept(stretch)

    def _emit_pairs(self, stretch: Stretch, side: int) -> None:
        matches, outer, other_outer = stretch.matches, self.outer[side], self.outer[1 - side]
        if not outer and not other_outer:
            self.emit_both(stretch, matches.line, None, stretch.kinds_of(matches.line), side)
            return
        out = OutPlaces()
        if outer:
            alone = stretch.alone()
            kinds = np.where(stretch.retracts(alone), DELETE, INSERT)
            out.add(4 * matches.line.searchsorted(alone), alone, -1, kinds)
        pairs = np.arange(len(matches))
        kinds = stretch.pair_kinds(outer=outer, other_outer=other_outer)
        out.add(4 * pairs + 2, matches.line, pairs, kinds)
        if other_outer and len(matches):
            started, ended = self.count_partners(stretch, self.sides[1 - side])
            out.add(4 * started + 1, -1, started, DELETE)
            out.add(4 * ended + 3, -1, ended, INSERT)
        self.emit_both(stretch, *out.in_order(), side)

    def _emit_kept(self, stretch: Stretch) -> None:
        """Right lines: the left ones that get their first partner or lose their last."""
        if not len(stretch.matches):
            return
        started, ended = self.count_partners(stretch, self.sides[LEFT])
        chosen = np.sort(np.concatenate([started, ended]))
        if not len(chosen):
            return
        matches = stretch.matches.pick(chosen)
        kinds = stretch.kinds_of(matches.line)
        if self.kind == "anti":
            kinds = np.where(stretch.retracts(matches.line), INSERT, DELETE).astype(np.int8)
        columns = [matches.column(number) for number in range(self.left_width)]
        self.emit_columns(columns, kinds)

    def finish_keys(self) -> None:
        """BATCH mode: all lines of some keys are in, so the result is final."""
        left, right = self.sides
        for run in list(left.all_runs()):
            places = np.flatnonzero(run.live)
            columns = taken(run.columns, places)
            self.emit_final(columns, self.keys_of(columns, len(places), LEFT), right)
        self.emit_right_alone(right)
        self.drop_keys()
