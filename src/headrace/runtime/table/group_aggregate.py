"""GROUP BY: the aggregates of each group, as the changes of a table.

    lines ─▶ sorted by key ─▶ each aggregate along the segments ─▶ changes, in the order of lines

Flink's changelog, row by row: the first line of a group gives +I, each other one -U and +U, unless
nothing changed; the last line that is taken back gives -D.  A line that is taken back from a group
that is not there is passed over.  With `mini_batch` a group changes once a batch; in BATCH mode
groups come out when their lines are all in.
In: lines.  Out: keys, then aggregates.  Next: runtime/table/groups.py, runtime/table/changelog.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.row_data import column_of
from headrace.runtime.key_groups import key_group_of, subtask_of
from headrace.runtime.table.accumulators import ArgumentLines, LineAggregate, Running, objects
from headrace.runtime.table.aggregates.distinct import DistinctValues
from headrace.runtime.table.aggregates.registry import aggregate_for
from headrace.runtime.table.base import KeyedTableOperator
from headrace.runtime.table.changelog import changes_after_each_line, changes_of_groups
from headrace.runtime.table.group_lines import GROUP_LINES, GroupLines
from headrace.runtime.table.groups import GROUPS, MAPS, GroupStates
from headrace.runtime.table.keying import LineKeying
from headrace.runtime.table.seen_values import SEEN, shared_values
from headrace.runtime.table.segments import KeySegments, sorted_by_code
from headrace.runtime.table.user_functions import open_aggregates
from headrace.runtime.table.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.key_codes import Codes
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.changelog import ChangedLines
    from headrace.runtime.table.groups import FoundGroups
    from headrace.runtime.table.lines import Lines
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession
    from headrace.spi.state import StateSpec

    Places = NDArray[np.int64]


class GroupAggregateOperator(KeyedTableOperator):
    """GROUP BY.

    Args:
        input_type: of the lines; whether it has changes decides the form of aggregates.
        output_type: the keys, then the aggregates.
        keys: the places of the grouping columns; the edge in front has LineKeying of the same.
        calls: the aggregates.
        before: whether consumers want the -U in front of each +U.
        ttl_ms: how long a group lasts after its last line; 0 for ever.
        mini_batch: whether a group changes at most once a batch: if the options say so, or only
            joins see it; so it does, as in PyFlink, where there is an aggregate of the user.
        bundles: whether that is so: not with `python.fn-execution.bundle.size` 1.
        session: of the query.
    """

    def __init__(
        self,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        keys: Sequence[int],
        calls: Sequence[AggregateCall],
        *,
        before: bool = True,
        ttl_ms: int = 0,
        mini_batch: bool = False,
        bundles: bool = True,
        session: ScalarSession,
    ) -> None:
        super().__init__((input_type,), output_type)
        self.keys_at = tuple(keys)
        self.calls = tuple(calls)
        self.before = before
        self.ttl_ms = ttl_ms
        self.mini_batch = mini_batch or (bundles and any(call.user is not None for call in calls))
        self.session = session

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), GROUPS, GROUP_LINES, MAPS, VIEWS, SEEN)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.aggregates: list[LineAggregate] = [
            aggregate_for(call, self.input_types[0], session=self.session) for call in self.calls
        ]
        self.user_functions = open_aggregates(self, self.calls)
        self.line_keying = LineKeying(self.keys_at)
        self.seen = shared_values(self, self.line_keying, self._take_distinct())
        self.groups = self._group_states()
        self._codecs = [column_of(kind) for kind in self.input_types[0].get_data_types()]
        self._emitted = False

    def _take_distinct(self) -> list[tuple[int, AggregateCall]]:
        """The DISTINCT calls of lines that only come: their aggregates need no map."""
        found = []
        for number, (call, aggregate) in enumerate(zip(self.calls, self.aggregates, strict=True)):
            is_plain = call.user is None and not self.input_types[0].changes
            if is_plain and isinstance(aggregate, DistinctValues):
                self.aggregates[number] = aggregate.inner
                found.append((number, call))
        return found

    def _group_states(self) -> GroupLines | GroupStates:
        """Where groups are: this is decided by the calls alone, so that state is found again."""
        parts = (self, self.line_keying, self.aggregates, self.ttl_ms)
        plain = all(aggregate.state_types is not None for aggregate in self.aggregates)
        return (
            GroupLines(*parts)
            if plain and not self.seen
            else (GroupStates(*parts, self._forget_values))
        )

    def _forget_values(self, keys: list[Any]) -> None:
        for seen in self.seen:
            seen.remove(keys)

    def close(self) -> None:
        for function in self.user_functions:
            function.close()

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if len(lines):
            try:
                self._process(lines)
            except Exception as error:
                raise self.failed(error) from error

    def _process(self, lines: Lines) -> None:
        codes = self.line_keying.codes_of(lines.columns, len(lines))
        found = self.groups.read(lines.columns, codes)
        stored = found.stored
        once = self.mini_batch or self.runtime.bounded
        batch = GroupedLines(lines, codes.numbers, stored, once=once)
        segments = batch.segments
        if not segments.lines:
            return
        results = self._run(lines, batch, stored, self._first_lines(lines, codes))
        self._write(found, batch, results)
        if self.runtime.bounded:
            return
        always = self.ttl_ms > 0
        if self.mini_batch:
            left = batch.counts[segments.ends] > 0
            changes = changes_of_groups(segments, results, left, before=self.before, always=always)
        else:
            changes = changes_after_each_line(
                segments, results, batch.is_empty, before=self.before, always=always
            )
        self._emit(lines, segments, results, changes)

    def _first_lines(self, lines: Lines, codes: Codes) -> dict[int, NDArray[np.bool_]]:
        """For DISTINCT calls by their numbers: the lines that count."""
        found: dict[int, NDArray[np.bool_]] = {}
        for seen in self.seen:
            found |= seen.take(lines.columns, codes)
        return found

    def _run(
        self,
        lines: Lines,
        batch: GroupedLines,
        stored: list[Any],
        firsts: dict[int, NDArray[np.bool_]],
    ) -> list[Running]:
        segments = batch.segments
        arguments = ArgumentLines(lines.columns, self._codecs, segments.order, batch.retracts)
        results = []
        begins = batch.begins(stored)
        for number, (call, aggregate) in enumerate(zip(self.calls, self.aggregates, strict=True)):
            states = [None if group is None else group[2 + number] for group in begins]
            of_call = arguments.of_call(call.arguments, call.filter)
            if number in firsts:
                of_call = of_call.only(firsts[number][segments.order])
            results.append(aggregate.run(of_call, segments, states))
        return results

    def _write(self, found: FoundGroups, batch: GroupedLines, results: list[Running]) -> None:
        segments = batch.segments
        last = batch.last_segments()
        counts = batch.counts[segments.ends[last]].tolist()
        states = [result.states for result in results]
        if len(last) < len(segments):
            places = last.tolist()
            states = [[of_call[place] for place in places] for of_call in states]
        found.write(segments.keys[last], counts, states)

    def _emit(
        self,
        lines: Lines,
        segments: KeySegments,
        results: Sequence[Running],
        changes: ChangedLines,
    ) -> None:
        if not len(changes.kinds):
            return
        came = segments.order[changes.lines]
        places = pa.array(came)
        columns = [lines.columns[place].take(places) for place in self.keys_at]
        for aggregate, (values, valid, _) in zip(self.aggregates, results, strict=True):
            chosen = None if valid is None else valid[changes.values]
            columns.append(aggregate.column(values[changes.values], chosen))
        self.emit_columns(columns, changes.kinds if self.output_type.changes else None)

    # --- BATCH mode ------------------------------------------------------------------------------

    def finish_keys(self) -> None:
        """All lines of these groups are in."""
        for keys, states in list(self.groups.scan()):
            self._emit_groups(keys, states)
        self.drop_keys()

    def end_of_part(self) -> None:
        super().end_of_part()
        if self.runtime.bounded and not self.keys_at and not self._emitted and self._owns_all():
            # SELECT COUNT(*) of nothing is one line
            self._emit_groups([], [[aggregate.create()] for aggregate in self.aggregates])

    def _owns_all(self) -> bool:
        runtime = self.runtime
        group = key_group_of((), runtime.max_parallelism)
        return subtask_of(group, runtime.parallelism, runtime.max_parallelism) == runtime.subtask

    def _emit_groups(self, keys: list[pa.Array], states: list[list[Any]]) -> None:
        self._emitted = True
        columns = list(keys)
        for aggregate, of_call in zip(self.aggregates, states, strict=True):
            values = objects([aggregate.value(state) for state in of_call])
            columns.append(aggregate.column(values, None))
        self.emit_columns(columns)

    def flush(self) -> None:
        self.groups.sweep()
        super().flush()


class GroupedLines:
    """Lines of a batch in segments, with how many lines each group has after each of them.

    Args:
        lines: the lines.
        codes: the number of each line's key.
        stored: (written, lines, states ...) of each key; None where there is no group.
        once: whether a group goes on although it was empty for a moment within the batch.
    """

    def __init__(
        self, lines: Lines, codes: Places, stored: Sequence[tuple[Any, ...] | None], *, once: bool
    ) -> None:
        order, starts, numbers = sorted_by_code(codes, len(stored))
        initial = np.array([0 if s is None else s[1] for s in stored], dtype=np.int64)[numbers]
        fresh = np.array([s is None for s in stored], dtype=np.bool_)[numbers]
        self.segments = KeySegments(order, starts, numbers, fresh, ends_only=once)
        retracts = lines.retracts
        self.retracts: NDArray[np.bool_] | None = None
        self.is_empty: NDArray[np.bool_] | None = None
        if retracts is None:
            ones = np.ones(len(lines), dtype=np.int64)
            self.counts = self.segments.totals(ones, initial)
            return
        self.retracts = retracts[order]
        if once:
            self._skip_leading(initial)
        else:
            self._cut(initial)

    def _skip_leading(self, initial: Places) -> None:
        """Groups that are not there do not begin with lines that are taken back."""
        assert self.retracts is not None
        came = self.segments.totals((~self.retracts).astype(np.int64), np.zeros_like(initial))
        unknown = self.segments.spread(self.segments.fresh) & (came == 0)
        counts = initial
        if unknown.any():
            counts = self._keep(~unknown, initial)
        self.counts = self.segments.totals(np.where(self.retracts, -1, 1), counts)

    def _keep(self, kept: NDArray[np.bool_], initial: Places) -> Places:
        """Leave sorted lines out, and segments of which none is left; the counts of the others."""
        segments = self.segments
        lengths = np.bincount(segments.ids[kept], minlength=len(segments))
        left = lengths > 0
        starts = np.cumsum(lengths) - lengths
        self.segments = KeySegments(
            segments.order[kept],
            starts[left],
            segments.keys[left],
            segments.fresh[left],
            ends_only=segments.ends_only,
        )
        assert self.retracts is not None
        self.retracts = self.retracts[kept]
        return initial[left]

    def _cut(self, initial: Places) -> None:
        """Begin anew behind each line after which a group is empty."""
        assert self.retracts is not None
        segments = self.segments
        free = segments.totals(np.where(self.retracts, -1, 1), initial)
        # a count that cannot fall below zero: what it would have fallen by is passed over
        below = np.minimum(segments.lowest(free), 0)
        counts = free - below
        before = np.append(0, counts[:-1])
        before[segments.starts] = initial
        ignored = (before == 0) & self.retracts
        if ignored.any():
            kept = ~ignored
            counts, before = counts[kept], before[kept]
            self._keep(kept, initial)
            segments = self.segments
        begins = np.zeros(segments.lines, dtype=np.bool_)
        begins[segments.starts] = True
        anew = (before == 0) & ~begins
        if anew.any():
            starts = np.flatnonzero(begins | anew)
            owners = segments.ids[starts]
            fresh = anew[starts] | segments.fresh[owners]
            self.segments = KeySegments(segments.order, starts, segments.keys[owners], fresh)
        self.counts = counts
        self.is_empty = counts == 0

    def begins(self, stored: list[Any]) -> list[Any]:
        """The group that each segment goes on from; None for none."""
        segments = self.segments
        found = [stored[key] for key in segments.keys.tolist()]
        for place in np.flatnonzero(segments.fresh).tolist():
            found[place] = None
        return found

    def last_segments(self) -> Places:
        """The last segment of each key."""
        keys = self.segments.keys
        return np.flatnonzero(np.append(keys[1:] != keys[:-1], True)) if len(keys) else keys
