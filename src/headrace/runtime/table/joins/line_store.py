"""The lines that one side of a join keeps, by key: columns in sorted runs.

    lines of a batch ─▶ fresh runs, in memory ── flush ──▶ run_storage.py
    keys of a batch  ─▶ probe ─▶ Matches        lines of a batch ─▶ find ─▶ those that equal them

In: columns, by join operators.  Out: Matches.  Next: runtime/table/joins/run_storage.py;
runtime/table/joins/line_layout.py (savepoints), runtime/table/joins/regular.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.records import MIN_TIMESTAMP
from headrace.runtime.table.joins.hashes import equal_lines, hash_lines, tells_apart
from headrace.runtime.table.joins.line_layout import LINES, Arrivals
from headrace.runtime.table.joins.matches import Matches, in_order, joined_matches
from headrace.runtime.table.joins.run_storage import RunStorage
from headrace.runtime.table.joins.runs import SortedRun, identity_hashes, merged, pairs_of
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.runtime.pages.store import PageStore
    from headrace.runtime.table.joins.hashes import Hashes, Mask
    from headrace.runtime.table.joins.runs import LineShape, Numbers, Places

PAIRS_AT_ONCE = 2_000_000
FRESH_RUNS = 8  # between two flushes; more of them are merged


class LineStore:
    """Lines by key.

    Args:
        store: where they survive.
        name: under which name.
        shape: what is kept of each.
        ttl_ms: how long after it was written a line is over; 0 for never.
        clock: the wall clock.
    """

    def __init__(
        self,
        store: PageStore,
        name: str,
        shape: LineShape,
        *,
        ttl_ms: int = 0,
        clock: Callable[[], int] = int,
    ) -> None:
        self._store = store
        self._prefix = name.encode() + b"\0"
        self.shape = shape
        self._ttl_ms = ttl_ms
        self._clock = clock
        key_types = [shape.types[place] for place in shape.keys]
        self._exact = tells_apart(key_types) and not shape.keeps_null
        self.forget()

    @staticmethod
    def spec(name: str) -> StateSpec:
        """The state of a store."""
        return StateSpec(name, LINES)

    def forget(self) -> None:
        """Start from what the store holds."""
        self._storage: RunStorage | None = None  # survives restart
        self._fresh: list[SortedRun] = []  # lines since the last flush

    # --- looking for lines -----------------------------------------------------------------------

    def probe(
        self,
        keys: Sequence[pa.Array],
        hashes: Hashes,
        *,
        among: Mask | None = None,
        between: tuple[Places, Places] | None = None,
    ) -> Iterator[tuple[int, int, Matches]]:
        """The live lines of some keys, for (first line, last line) of the keys at a time.

        Args:
            keys: the columns of the keys.
            hashes: of them.
            among: the keys to look for; None for all.
            between: for each the bounds of the order of its lines, both inclusive.
        """
        found = self._hits(hashes, between)
        counts = np.zeros(len(hashes), np.int64)
        for _, lines, begin, end in found:
            counts[lines] += end - begin
        for first, last in _cut(counts):
            matches = _matches(found, first, last)
            if among is not None and len(matches):
                matches = matches.where(among[matches.line])
            yield first, last, self._confirmed(matches, keys)

    def _hits(
        self, hashes: Hashes, between: tuple[Places, Places] | None
    ) -> list[tuple[SortedRun, Places, Places, Places]]:
        """(run, lines that it may have partners for, where these begin and end in it)."""
        order = np.argsort(hashes)
        found: list[tuple[SortedRun, Places, Places, Places]] = []
        for run, start, stop in self._runs_for(hashes[order]):
            lines = order[start:stop]
            if between is None:
                hit, begin, end = run.ranges(hashes[lines])
            else:
                bounds = (between[0][lines], between[1][lines])
                hit, begin, end = run.ranges_between(hashes[lines], *bounds)
            if len(hit):
                found.append((run, lines[hit], begin, end))
        return found

    def _confirmed(self, matches: Matches, keys: Sequence[pa.Array]) -> Matches:
        """Those of lines that are still there, and whose keys are equal indeed."""
        matches = self._present(matches)
        if self._exact or not len(matches):
            return matches
        return matches.where(self._equal(matches, keys, self.shape.keys))

    def latest(
        self,
        keys: Sequence[pa.Array],
        hashes: Hashes,
        until: Places,
        *,
        among: Mask | None = None,
    ) -> Matches:
        """For each key the line whose order is the greatest up to a number, at most one.

        Args:
            keys: the columns of the keys.
            hashes: of them.
            until: the greatest order for each.
            among: the keys to look for; None for all.
        """
        low = np.full(len(hashes), MIN_TIMESTAMP)
        runs, parts = [], []
        for run, lines, _, end in self._hits(hashes, (low, until)):
            runs.append(run)
            parts.append((lines, end - 1))
        newest = in_order(parts, runs)
        if among is not None and len(newest):
            newest = newest.where(among[newest.line])
        found = _greatest(self._confirmed(newest, keys))
        # behind one that is gone there may be others in its run: look at all of them
        best = np.full(len(hashes), MIN_TIMESTAMP)
        unsure = np.zeros(len(hashes), np.bool_)
        if len(found):
            best[found.line] = found.marks("order")
        if len(newest):
            unsure[newest.line[newest.marks("order") > best[newest.line]]] = True
        if not unsure.any():
            return found
        again = self.probe(keys, hashes, among=unsure, between=(low, until))
        looked = [_greatest(matches) for _, _, matches in again if len(matches)]
        return joined_matches([found.where(~unsure[found.line]), *looked])

    def find(self, columns: Sequence[pa.Array], hashes: Hashes) -> Matches:
        """The live lines with the same key and identity as some lines."""
        shape = self.shape
        wanted = identity_hashes(columns, hashes, shape)
        order = np.argsort(hashes)
        runs: list[SortedRun] = []
        found: list[tuple[Places, Places]] = []
        for run, start, stop in self._runs_for(hashes[order]):
            lines = order[start:stop]
            number, place = run.found(wanted[lines], shape)
            if len(number):
                runs.append(run)
                found.append((lines[number], place))
        matches = self._present(in_order(found, runs))
        if not len(matches) or (self._exact and not shape.identity):
            return matches
        same = (*shape.keys, *shape.identity)
        return matches.where(self._equal(matches, [columns[p] for p in same], same))

    def _present(self, matches: Matches) -> Matches:
        if not len(matches):
            return matches
        matches = matches.where(matches.marks("live"))
        if self.shape.expires and len(matches):
            matches = matches.where(matches.marks("written") > self._over())
        return matches

    def _equal(self, matches: Matches, columns: Sequence[pa.Array], places: Sequence[int]) -> Mask:
        lines = pa.array(matches.line)
        kept = [matches.column(place) for place in places]
        if not kept:
            return np.ones(len(matches), np.bool_)
        return equal_lines([column.take(lines) for column in columns], kept)

    def _over(self) -> int:
        """What was written then or before is over."""
        return self._clock() - self._ttl_ms if self._ttl_ms else -1

    def _runs_for(self, hashes: Hashes) -> list[tuple[SortedRun, int, int]]:
        return self._opened().runs_for(hashes) + [(run, 0, len(hashes)) for run in self._fresh]

    def all_runs(self) -> Iterator[SortedRun]:
        """Every run, the oldest first."""
        yield from self._opened().all_runs()
        yield from self._fresh

    # --- changes ---------------------------------------------------------------------------------

    def append(
        self,
        columns: Sequence[pa.Array],
        hashes: Hashes,
        *,
        partners: Numbers | None = None,
        order: Places | None = None,
        written: Places | None = None,
    ) -> None:
        """Keep lines; Matches from before are void."""
        if not len(hashes):
            return
        self._opened()
        if self.shape.expires and written is None:
            written = np.full(len(hashes), self._clock(), np.int64)
        run = SortedRun.of(columns, hashes, partners=partners, written=written, order=order)
        self._fresh.append(run)
        if len(self._fresh) > FRESH_RUNS:
            self._merge_fresh()

    def _merge_fresh(self) -> None:
        """Let the newest runs become one, as far back as runs are not twice as large."""
        size, count = len(self._fresh[-1]), 1
        for run in self._fresh[-2::-1]:
            if len(run) >= 2 * size:
                break
            size += len(run)
            count += 1
        if count > 1:
            self._fresh[-count:] = [merged(self._fresh[-count:], None)]

    def kill(self, matches: Matches) -> None:
        """These lines are no more."""
        matches.each_run(lambda run, places, _: run.kill(places))

    def set_partners(self, matches: Matches, partners: Numbers) -> None:
        """These lines have so many partners now, which counts as writing them."""
        matches.each_run(lambda run, places, pairs: run.set_partners(places, partners[pairs]))
        self.refresh(matches)

    def refresh(self, matches: Matches, now: int | None = None) -> None:
        """These lines were written again, so that their time begins anew."""
        if self.shape.expires:
            written = self._clock() if now is None else now
            matches.each_run(lambda run, places, _: run.set_written(places, written))

    def now(self) -> int:
        """The time that lines are written with; 0 where they never end."""
        return self._clock() if self.shape.expires else 0

    def flush(self) -> None:
        """Write what changed."""
        if self._storage is None:
            return
        patches = self._storage.touched()
        over = self._over() if self._ttl_ms else None
        if self._fresh or patches:
            run = merged(self._fresh, over) if self._fresh else self._empty_run()
            run.patches, self._fresh = patches, []
            self._storage.keep(run, over)
        if over is not None:
            self._storage.sweep(over, over - self._ttl_ms // 2)
        self._storage.end_batch()

    def _empty_run(self) -> SortedRun:
        none = np.zeros(0, np.int64)
        shape = self.shape
        return SortedRun.of(
            [pa.array([], kind) for kind in shape.types],
            none.astype(np.uint64),
            partners=none.astype(np.int32) if shape.counts else None,
            written=none if shape.expires else None,
            order=none if shape.ordered else None,
        )

    def _opened(self) -> RunStorage:
        if self._storage is None:
            clock = self._clock if self.shape.expires else None
            self._storage = RunStorage(self._store, self._prefix, self.shape.keys, clock)
            arrivals = Arrivals.waiting(self._store, self._prefix)
            if arrivals is not None:
                self._arrive(arrivals)
        return self._storage

    def _arrive(self, arrivals: Arrivals) -> None:
        """Take what a savepoint left."""
        shape = self.shape
        for columns, marks in arrivals.parts(shape.types):
            now = self._clock() if shape.expires else 0
            keys = [columns[place] for place in shape.keys]
            self.append(
                columns,
                hash_lines(keys, len(marks)),
                partners=np.array([m[0] or 0 for m in marks], np.int32) if shape.counts else None,
                written=np.array([m[1] or now for m in marks], np.int64) if shape.expires else None,
                order=np.array([m[2] or 0 for m in marks], np.int64) if shape.ordered else None,
            )
        arrivals.delete()

    def __len__(self) -> int:
        """How many lines are live."""
        return sum(int(run.live.sum()) for run in self.all_runs())


def _greatest(matches: Matches) -> Matches:
    """For each line the match with the greatest order; of equals the newest."""
    if not len(matches):
        return matches
    ranked = np.lexsort((matches.marks("order"), matches.line))
    lines = matches.line[ranked]
    return matches.pick(ranked[np.append(lines[1:] != lines[:-1], [True])])


def _matches(
    found: Sequence[tuple[SortedRun, Places, Places, Places]], first: int, last: int
) -> Matches:
    """The matches of a stretch of lines, from (run, lines, where theirs begin and end)."""
    runs, parts = [], []
    for run, lines, begin, end in found:
        some: Any = slice(None)
        if first or last < int(lines.max()) + 1:
            some = np.flatnonzero((lines >= first) & (lines < last))
        pairs = pairs_of(lines[some], begin[some], end[some])
        if len(pairs[0]):
            runs.append(run)
            parts.append(pairs)
    return in_order(parts, runs)


def _cut(counts: Any) -> Iterator[tuple[int, int]]:
    """Lines in stretches that have no more than so many pairs together."""
    if int(counts.sum()) <= PAIRS_AT_ONCE:
        yield 0, len(counts)
        return
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(ends.searchsorted(before + PAIRS_AT_ONCE, "right")))
        yield first, last
        first = last
