"""Temporal joins: each left line with the version of a table that held at its time.

    event time        left lines wait for the watermark; then the latest version with the same key
                      whose time is not later is the partner, if it was not a delete
    processing time   the version that is there when the left line comes

    versions of a key    t=5 +I    t=9 +U    t=12 -D
    left at 10 ─▶ that of 9          left at 13 ─▶ none

The result has the kinds of the left side.  A version that is older than another one which the
watermark has passed leaves when a line of its key is due; the latest stays for ever, or for
`ttl_ms` behind the last line of the key.  A left line that is late goes out with the next
watermark, beside what is left of the versions, as in Flink 2.3.
In: left lines, and the right side as inserts, updates and deletes.  Out: lines of both.
Next: runtime/table/joins/timed_lines.py, runtime/table/joins/line_store.py keep them
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.table.joins.base import LEFT, RIGHT, JoinOperator, KeysOfLines
from headrace.runtime.table.joins.emission import OutPlaces, Stretch
from headrace.runtime.table.joins.hashes import hash_lines
from headrace.runtime.table.joins.line_store import LineStore
from headrace.runtime.table.joins.pairs import taken
from headrace.runtime.table.joins.runs import LineShape
from headrace.runtime.table.joins.side_changes import LinesOfSide, change_side, identity_groups
from headrace.runtime.table.joins.timed_lines import TimedLines
from headrace.runtime.table.lines import INSERT, Lines
from headrace.runtime.table.times import rowtimes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.joins.matches import Matches
    from headrace.runtime.table.joins.runs import Places
    from headrace.spi.state import StateSpec


class TemporalJoinBase(JoinOperator):
    """What temporal joins of both kinds of time share.

    Args:
        left_type: of the left input.
        right_type: of the right input.
        output_type: both sides' columns; changes if the left side has them.
        ttl_ms: how long a key is kept behind its last line; 0 for ever.
        options: as `JoinOperator` has them.
    """

    kinds = ("inner", "left")

    def __init__(
        self,
        left_type: RowDataTypeInfo,
        right_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        *,
        ttl_ms: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(left_type, right_type, output_type, **options)
        self.ttl_ms = ttl_ms

    def emit_versions(self, lines: Lines, matches: Matches) -> None:
        """Emit left lines beside their versions, of which each has one at most."""
        stretch = Stretch(lines, 0, len(lines), self.holding(matches, lines.columns, LEFT))
        out = OutPlaces()
        pairs = np.arange(len(stretch.matches))
        out.add(stretch.matches.line, stretch.matches.line, pairs, INSERT)
        if self.outer[LEFT]:
            alone = stretch.alone()
            out.add(alone, alone, -1, INSERT)
        line, pair, _ = out.in_order()
        self.emit_both(stretch, line, pair, stretch.kinds_of(line), LEFT)


class EventTimeTemporalJoin(TemporalJoinBase):
    """FOR SYSTEM_TIME AS OF a time attribute of the left side.

    Args:
        left_type: of the left input.
        right_type: of the right input.
        output_type: both sides' columns; changes if the left side has them.
        times: for each side the place of its time.
        options: as `TemporalJoinBase` has them.
    """

    uses_time = True

    def __init__(
        self,
        left_type: RowDataTypeInfo,
        right_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        *,
        times: tuple[int, int],
        **options: Any,
    ) -> None:
        super().__init__(left_type, right_type, output_type, **options)
        self.times = times

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (TimedLines.spec("left"), LineStore.spec("versions"), TimedLines.spec("passing"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        key_places = self.keys_of_sides[RIGHT]
        right = tuple(self.in_lines[RIGHT].types)
        shape = LineShape(
            (*right, pa.int8()), key_places, keeps_null=any(self.null_safe),
            unique=(self.times[RIGHT],), ordered=True, expires=self.ttl_ms > 0,
        )  # fmt: skip
        key_types = [right[place] for place in key_places] or [pa.int8()]
        left = (*self.in_lines[LEFT].types, pa.int8())
        # survives restart: lines and their kinds; keys whose versions may be passed
        self.waiting = self._timed("left", left, self.keys_of_sides[LEFT])
        # as Flink: half of the time more, so that timers need not be set anew for each line
        self.versions = self.line_store("versions", shape, self.ttl_ms + self.ttl_ms // 2)
        self.passing = self._timed("passing", key_types, range(len(key_places)))
        self.line_stores += (self.waiting, self.passing)

    def _timed(self, name: str, types: Sequence[pa.DataType], keys: Sequence[int]) -> TimedLines:
        return TimedLines(self.runtime.store, f"{self.runtime.uid}/{name}", types, keys)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records, input)
        times = rowtimes(lines.columns[self.times[input]], "a temporal join")
        kinds = np.zeros(len(lines), np.int8) if lines.kinds is None else lines.kinds
        columns = [*lines.columns, pa.array(kinds)]
        if input == LEFT:
            self.waiting.add(times, columns)
        else:
            self._keep_versions(columns, times)

    def _keep_versions(self, columns: Sequence[pa.Array], times: Places) -> None:
        """Keep what comes on the right; of lines of one key and time the last counts."""
        keys = self.keys_of(columns, len(times), RIGHT)
        if keys.among is not None:
            chosen = np.flatnonzero(keys.among)
            columns, times = taken(columns, chosen), times[chosen]
            keys = self.keys_of(columns, len(times), RIGHT)
        groups = identity_groups(self.versions, LinesOfSide(columns, keys.hashes, None, None))
        last = np.zeros(int(groups.max(initial=-1)) + 1, np.int64)
        last[groups] = np.arange(len(times))
        last.sort()
        columns, times, hashes = taken(columns, last), times[last], keys.hashes[last]
        self.versions.kill(self.versions.find(columns, hashes))
        self.versions.append(columns, hashes, order=times)
        self.passing.add(times, self._key_columns(columns, len(times)))

    def _key_columns(self, columns: Sequence[pa.Array], count: int) -> list[pa.Array]:
        places = self.keys_of_sides[RIGHT]
        return [columns[place] for place in places] or [pa.array(np.zeros(count, np.int8))]

    # --- watermarks ------------------------------------------------------------------------------

    def advance_watermark(self, timestamp: int) -> None:
        due = self.waiting.take_until(timestamp)
        if due is not None:
            times, columns = due
            kinds = columns.pop().to_numpy() if self.output_type.changes else None
            lines = Lines(columns[: self.left_width], kinds, len(times), self.in_lines[LEFT])
            keys = self.keys_of(lines.columns, len(lines), LEFT)
            self._join(lines, keys, times)
            self._drop_passed(keys, timestamp)
        passed = self.passing.take_until(timestamp)
        if passed is not None:
            self._drop_passed(self._keys_passed(*passed), timestamp)

    def finish_keys(self) -> None:
        """BATCH mode: all lines of these keys are in."""
        self.current_watermark = MAX_TIMESTAMP
        self.advance_watermark(MAX_TIMESTAMP)
        self.drop_keys()

    def _join(self, lines: Lines, keys: KeysOfLines, times: Places) -> None:
        found = self.versions.latest(keys.columns, keys.hashes, times, among=keys.among)
        self.versions.refresh(found)
        if len(found):
            kinds = found.column(self.in_lines[RIGHT].width).to_numpy()
            found = found.where((kinds & 1) == 0)
        self.emit_versions(lines, found)

    def _keys_passed(self, times: Places, columns: list[pa.Array]) -> KeysOfLines:
        keys = columns if self.keys_of_sides[RIGHT] else []
        return KeysOfLines(keys, hash_lines(keys, len(times)), None)

    def _drop_passed(self, keys: KeysOfLines, watermark: int) -> None:
        """Drop all versions of some keys that another one has replaced by now."""
        _, first = np.unique(keys.hashes, return_index=True)
        columns, hashes = taken(keys.columns, first), keys.hashes[first]
        among = None if keys.among is None else keys.among[first]
        low = np.full(len(first), MIN_TIMESTAMP)
        high = np.full(len(first), watermark)
        probed = self.versions.probe(columns, hashes, among=among, between=(low, high))
        for _, _, found in probed:
            if len(found):
                times = found.marks("order")
                newest = np.full(len(first), MIN_TIMESTAMP)
                np.maximum.at(newest, found.line, times)
                self.versions.kill(found.where(times < newest[found.line]))


class ProcessingTimeTemporalJoin(TemporalJoinBase):
    """The right side as it is when a left line comes."""

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (LineStore.spec("versions"),)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        shape = LineShape(
            tuple(self.in_lines[RIGHT].types), self.keys_of_sides[RIGHT],
            keeps_null=any(self.null_safe), unique=(), expires=self.ttl_ms > 0,
        )  # fmt: skip
        # survives restart
        self.versions = self.line_store("versions", shape, self.ttl_ms + self.ttl_ms // 2)

    def watermark(self, timestamp: int, input: int) -> None:  # noqa: A002
        """Only those of the left side count."""
        if input == LEFT:
            super().watermark(MAX_TIMESTAMP, RIGHT)
            super().watermark(timestamp, LEFT)

    def idle(self, input: int) -> None:  # noqa: A002
        """Only that of the left side counts."""
        if input == LEFT:
            super().idle(RIGHT)
            super().idle(LEFT)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records, input)
        keys = self.keys_of(lines.columns, len(lines), input)
        if input == RIGHT:
            kept = LinesOfSide(lines.columns, keys.hashes, lines.retracts, None)
            if keys.among is not None:
                kept = kept.pick(np.flatnonzero(keys.among))
            change_side(self.versions, kept, appends=True)
            return
        for first, last, found in self.versions.probe(keys.columns, keys.hashes, among=keys.among):
            part = lines.pick(np.arange(first, last)) if first or last < len(lines) else lines
            self.versions.refresh(found)
            self.emit_versions(part, found.moved(-first))
