"""What all joins of two streams share: keys, the condition, pairs as lines, the final result.

    lines of one side ─▶ keys_of ─▶ probe(kept lines of the other) ─▶ holding ─▶ emit_both

In: lines of two inputs.  Out: lines with both sides' columns, or the left one's (semi, anti).
Next: runtime/table/joins/regular.py, window_join.py, interval.py, temporal.py beside it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.errors import InternalError
from headrace.runtime.table.base import KeyedTableOperator
from headrace.runtime.table.joins.emission import OutPlaces, Stretch
from headrace.runtime.table.joins.hashes import has_null, hash_lines
from headrace.runtime.table.joins.pairs import PairCondition, empty_lines, running_before, taken
from headrace.runtime.table.lines import INSERT, Lines
from headrace.runtime.table.user_functions import function_context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.joins.hashes import Hashes, Mask
    from headrace.runtime.table.joins.line_store import LineStore
    from headrace.runtime.table.joins.matches import Matches
    from headrace.runtime.table.joins.runs import Places
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession

JOIN_KINDS = ("inner", "left", "right", "full", "semi", "anti")
LEFT, RIGHT = 0, 1


class KeysOfLines:
    """The keys of some lines.

    Attributes:
        columns: of the keys.
        hashes: of the keys.
        among: the lines whose keys can be equal to any; None for all.
    """

    __slots__ = ("among", "columns", "hashes")

    def __init__(self, columns: Sequence[pa.Array], hashes: Hashes, among: Mask | None) -> None:
        self.columns = columns
        self.hashes = hashes
        self.among = among


class JoinOperator(KeyedTableOperator):
    """A join of two streams of lines.

    Args:
        left_type: of the left input.
        right_type: of the right input.
        output_type: both sides' columns, or the left one's for semi and anti.
        kind: inner, left, right, full, semi or anti.
        left_keys: the places of columns that equal those of the right.
        right_keys: as many places.
        condition: what else must hold, over the columns of both, left first.
        session: of the query, for the condition.
        null_safe: for each pair of keys whether NULL equals NULL; () for never.
    """

    inputs = 2
    kinds: tuple[str, ...] = JOIN_KINDS

    def __init__(
        self,
        left_type: RowDataTypeInfo,
        right_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        *,
        kind: str,
        left_keys: Sequence[int],
        right_keys: Sequence[int],
        condition: Scalar | None = None,
        session: ScalarSession,
        null_safe: Sequence[bool] = (),
    ) -> None:
        super().__init__((left_type, right_type), output_type)
        if kind not in self.kinds:
            msg = f"this join cannot be {kind!r}, only {', '.join(self.kinds)}"
            raise InternalError(msg)
        self.kind = str(kind)
        self.keys_of_sides = (tuple(left_keys), tuple(right_keys))
        self.condition = None if condition is None else PairCondition(condition, session)
        self.null_safe = tuple(null_safe) or (False,) * len(self.keys_of_sides[0])
        self.outer = (kind in ("left", "full"), kind in ("right", "full"))
        self.left_only = kind in ("semi", "anti")

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        if self.condition is not None:
            self.condition.open(function_context(runtime))
        self.left_width = self.in_lines[LEFT].width

    def close(self) -> None:
        if self.condition is not None:
            self.condition.close()
        super().close()

    # --- pairs -----------------------------------------------------------------------------------

    def keys_of(self, columns: Sequence[pa.Array], count: int, side: int) -> KeysOfLines:
        """The keys of lines of a side."""
        keys = [columns[place] for place in self.keys_of_sides[side]]
        return KeysOfLines(keys, hash_lines(keys, count), self.without_null(keys))

    def without_null(self, keys: Sequence[pa.Array]) -> Mask | None:
        """The lines whose keys can be equal to any; None for all."""
        pairs = zip(keys, self.null_safe, strict=True)
        nulls = has_null([key for key, safe in pairs if not safe])
        return None if nulls is None else ~nulls

    def holding(self, matches: Matches, columns: Sequence[pa.Array], side: int) -> Matches:
        """The pairs for which the condition holds.

        Args:
            matches: of lines of a side.
            columns: of these lines.
            side: which.
        """
        if self.condition is None or not len(matches):
            return matches
        of_lines = pa.array(matches.line)

        def column(place: int) -> pa.Array:
            of = LEFT if place < self.left_width else RIGHT
            number = place - self.left_width * of
            return columns[number].take(of_lines) if of == side else matches.column(number)

        return matches.where(self.condition.mask(column, len(matches)))

    def emit_both(
        self, stretch: Stretch, line: Places, pair: Places | None, kinds: Any, side: int
    ) -> None:
        """Emit lines of a side beside kept ones.

        Args:
            stretch: the lines and their matches.
            line: places of the lines; negative for NULL.
            pair: places of the matches, likewise; None for all of them.
            kinds: of what goes out.
            side: of the lines.
        """
        if not len(line):
            return
        mine = taken(stretch.lines.columns, line)
        types = self.in_lines[1 - side].types
        if not len(stretch.matches):
            others = empty_lines(types, len(line))
        else:
            others = [stretch.matches.column(number) for number in range(len(types))]
            others = others if pair is None else taken(others, pair)
        self.emit_columns(mine + others if side == LEFT else others + mine, kinds)

    def emit_alone(self, columns: Sequence[pa.Array], side: int) -> None:
        """Emit lines of a side with NULL for the other."""
        if len(columns[0]):
            empty = empty_lines(self.in_lines[1 - side].types, len(columns[0]))
            self.emit_columns([*columns, *empty] if side == LEFT else [*empty, *columns])

    def count_partners(self, stretch: Stretch, other: LineStore) -> tuple[Places, Places]:
        """Count for kept lines; the pairs that are the first of theirs, and the last."""
        matches, steps = stretch.matches, stretch.steps()
        numbers, some = matches.kept_lines()
        before = matches.marks("partners") + running_before(numbers, steps)
        changed = np.bincount(numbers, weights=steps).astype(np.int32)
        kept = matches.pick(some)
        other.set_partners(kept, kept.marks("partners") + changed)
        started = np.flatnonzero((before == 0) & (steps > 0))
        return started, np.flatnonzero((before == 1) & (steps < 0))

    # --- when all lines are there ----------------------------------------------------------------

    def emit_final(self, columns: Sequence[pa.Array], keys: KeysOfLines, right: LineStore) -> None:
        """Emit the result of some left lines, all of which are inserted.

        Args:
            columns: of the left lines.
            keys: of the left lines.
            right: all lines that they may belong to; counts partners if the right side is outer.
        """
        lines = Lines(list(columns), None, len(keys.hashes), self.in_lines[LEFT])
        for first, last, found in right.probe(keys.columns, keys.hashes, among=keys.among):
            stretch = Stretch(lines, first, last, self.holding(found, columns, LEFT))
            if self.left_only:
                self.emit_left(stretch)
                continue
            if self.outer[RIGHT] and len(stretch.matches):
                self.count_partners(stretch, right)
            out = OutPlaces()
            if self.outer[LEFT]:
                alone = stretch.alone()
                out.add(4 * stretch.matches.line.searchsorted(alone), alone, -1, INSERT)
            pairs = np.arange(len(stretch.matches))
            out.add(4 * pairs + 2, stretch.matches.line, pairs, INSERT)
            line, pair, _ = out.in_order()
            self.emit_both(stretch, line, pair, None, LEFT)

    def emit_right_alone(self, right: LineStore) -> None:
        """Emit the right lines that no left one belongs to, behind `emit_final`."""
        if self.outer[RIGHT]:
            for run in right.all_runs():
                assert run.partners is not None
                alone = np.flatnonzero(run.live & (run.partners == 0))
                # a store may have more columns than lines have
                columns = run.columns[: self.in_lines[RIGHT].width]
                self.emit_alone(taken(columns, alone), RIGHT)

    def emit_left(self, stretch: Stretch) -> None:
        """Semi and anti: the left lines that have a partner, or have none."""
        chosen = stretch.first + np.flatnonzero((stretch.counts > 0) == (self.kind == "semi"))
        if len(chosen):
            self.emit_columns(taken(stretch.lines.columns, chosen), stretch.kinds_of(chosen))
