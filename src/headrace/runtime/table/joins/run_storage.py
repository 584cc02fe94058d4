"""Where the runs of a LineStore are: in memory, in the store, and when they become one.

    fresh run ── keep ──▶ recent runs ── when many ──▶ ranges of hashes, each with some runs
                          any hash, in memory          read on demand

A new run is merged with the newest ones of its place while these are not twice as large, so a line
is written again some ten times in its life, however many there are, and a lookup asks few runs.
What changes about a stored line (it is gone, it has another number of partners) is a patch in the
next recent run.  A range with many lines is cut in two.

    <name> d              which runs there are             <name> r <number>    a run

In: fresh runs of line_store.py.  Out: runs to look at.  Next: runtime/table/joins/runs.py
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

from headrace.data.pickling import dumps
from headrace.errors import StateError
from headrace.runtime.table.joins.runs import FORMAT, SortedRun, merged, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.runtime.pages.store import PageStore
    from headrace.runtime.table.joins.hashes import Hashes
    from headrace.runtime.table.joins.runs import Patch

RECENT_WEIGHT = 32_768
RANGE_LINES = 131_072
RUN_LINES = 262_144  # a run of this size is not merged any more, unless most of it is gone
LOADED_BYTES = 512 << 20  # ranges in memory, of all stores of a process
_LAST_HASH = (1 << 64) - 1


class StoredRun:
    """What the index says of a run.

    Attributes:
        number: under which it is stored.
        lines: how many it has, the dead ones included.
        patched: for how many lines of older runs it has marks.
        oldest: when the first of its lines was written; 0 if that is not known.
        loaded: the run, if it is in memory.
        stored: whether the store has it.
    """

    __slots__ = ("lines", "loaded", "number", "oldest", "patched", "stored")

    def __init__(
        self,
        number: int,
        lines: int,
        patched: int,
        oldest: int,
        loaded: SortedRun | None = None,
    ) -> None:
        self.number = number
        self.lines = lines
        self.patched = patched
        self.oldest = oldest
        self.loaded = loaded
        self.stored = loaded is None

    @property
    def weight(self) -> int:
        """Lines and patches."""
        return self.lines + self.patched

    def listed(self) -> tuple[int, int, int, int]:
        """What the index stores."""
        return self.number, self.lines, self.patched, self.oldest


class HashRange:
    """Runs of lines whose hashes begin at `start` and end before the next range's."""

    __slots__ = ("runs", "seen", "start")

    def __init__(self, start: int, runs: list[StoredRun]) -> None:
        self.start = start
        self.runs = runs
        self.seen = 0  # the flush after which it was used last

    @property
    def weight(self) -> int:
        """Lines and patches of all runs."""
        return sum(run.weight for run in self.runs)

    @property
    def nbytes(self) -> int:
        """What is in memory."""
        return sum(run.loaded.nbytes for run in self.runs if run.loaded is not None)

    def release(self) -> None:
        """Let go of what can be read again."""
        for run in self.runs:
            run.loaded = None


class RunStorage:
    """The stored runs of one LineStore.

    Args:
        store: where they survive.
        prefix: of their names.
        keys: the places of the columns of the key; who reads a checkpoint wants to know.
        clock: where lines end some time after they were written: the wall clock.
    """

    def __init__(
        self,
        store: PageStore,
        prefix: bytes,
        keys: tuple[int, ...],
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._store = store
        self._prefix = prefix
        self.keys = keys
        self._clock = clock
        # survives restart
        self._next = 1
        self._ranges: list[HashRange] = [HashRange(0, [])]
        self._recent = HashRange(0, [])
        self._dirty = False
        # rebuilt: the flushes of this process
        self._starts: Hashes = np.zeros(1, np.uint64)
        self._now = self._swept = 0
        self._over: int | None = None  # lines that were written then or before are over
        _STORAGES.add(self)
        self._open()

    def _open(self) -> None:
        stored = self._store.get(self._prefix + b"d")
        if stored is None:
            return
        self._next, recent, ranges, self.keys = unpacked(stored)
        self._recent = HashRange(0, [StoredRun(*run) for run in recent])
        self._ranges = [
            HashRange(start, [StoredRun(*run) for run in runs]) for start, runs in ranges
        ]
        self._starts = np.array([one.start for one in self._ranges], np.uint64)
        self._read(self._recent)

    # --- looking ---------------------------------------------------------------------------------

    def runs_for(self, hashes: Hashes) -> list[tuple[SortedRun, int, int]]:
        """The runs that may have lines with some hashes, the oldest first.

        Args:
            hashes: ascending.

        Returns:
            Each run with the stretch of the hashes that it may have.
        """
        found: list[tuple[SortedRun, int, int]] = []
        cuts = [*hashes.searchsorted(self._starts).tolist(), len(hashes)]
        for number, one in enumerate(self._ranges):
            if cuts[number] < cuts[number + 1] and one.runs:
                found += [(run, cuts[number], cuts[number + 1]) for run in self._load(one)]
        return found + [(run, 0, len(hashes)) for run in self._load(self._recent)]

    def all_runs(self) -> Iterator[SortedRun]:
        """Every run, the oldest first; ranges that were not in memory leave it again."""
        for one in self._ranges:
            cold = any(run.loaded is None for run in one.runs)
            runs = self._load(one)
            yield from runs
            if cold and not any(run.is_touched for run in runs):
                one.release()
        yield from self._load(self._recent)

    # --- the end of a batch ----------------------------------------------------------------------

    def touched(self) -> dict[int, Patch]:
        """The marks that changed since the last call, by the number of the run.

        Runs of which nothing is left are dropped.
        """
        found: dict[int, Patch] = {}
        dead: set[int] = set()
        for one in (*self._ranges, self._recent):
            for stored in one.runs:
                patch = None if stored.loaded is None else stored.loaded.take_patch()
                if patch is not None:
                    found[stored.number] = patch
                    assert stored.loaded is not None
                    if not stored.loaded.live.any():
                        dead.add(stored.number)
        gone = self._dropped(dead) if dead else dead
        return {number: patch for number, patch in found.items() if number not in gone}

    def _dropped(self, dead: set[int]) -> set[int]:
        """Let go of runs without a live line; those that have marks for others stay."""
        gone: set[int] = set()
        places = (*self._ranges, self._recent)
        more = True
        while more:
            known = {run.number for one in places for run in one.runs}
            dropped = [run for one in places for run in one.runs if _is_void(run, known, dead)]
            for one in places if dropped else ():
                one.runs = [run for run in one.runs if run not in dropped]
            self._delete(dropped)
            gone |= {run.number for run in dropped}
            more = bool(dropped)
        return gone

    def keep(self, run: SortedRun, over: int | None) -> None:
        """Store a run, with patches of older ones.

        Args:
            run: newer than all others.
            over: lines that were written then or before are over; None if none ever is.
        """
        self._over = over
        if self._recent.weight + len(run) + run.patched > RECENT_WEIGHT:
            self._spread(run)
        else:
            self._add(self._recent, run)
        for stored in self._recent.runs:
            self._write(stored)

    def end_batch(self) -> None:
        """Write the index, and let go of what is too much in memory."""
        self._now += 1
        if self._dirty:
            self._write_index()
        self._trim()

    def _add(self, place: HashRange, run: SortedRun) -> None:
        """Let a run be the newest of its place; it and its neighbours may become one."""
        count = _mergeable(place.runs, len(run), run.patched)
        if count:
            self._load(place)
            old = place.runs[-count:]
            del place.runs[-count:]
            runs = [stored.loaded for stored in old if stored.loaded is not None]
            for one in runs:  # those that were just read do not know it yet
                if one.number in run.patches:
                    one.apply(run.patches[one.number])
            run = merged([*runs, run], self._over)
            self._delete(old)
        if len(run) or run.patched:
            run.number = self._next
            self._next += 1
            oldest = int(run.written.min()) if run.written is not None and len(run) else 0
            place.runs.append(StoredRun(run.number, len(run), run.patched, oldest, run))
        self._dirty = True

    def _spread(self, run: SortedRun) -> None:
        """Let the lines of recent runs and of a new one go to their ranges."""
        whole = merged([*self._load(self._recent), run], self._over)
        self._delete(self._recent.runs)
        self._recent.runs = []
        cuts = [*whole.hashes.searchsorted(self._starts).tolist(), len(whole)]
        for number, one in enumerate(list(self._ranges)):
            numbers = {run.number for run in one.runs}
            patches = {n: patch for n, patch in whole.patches.items() if n in numbers}
            if cuts[number] < cuts[number + 1] or patches:
                one.seen = self._now
                self._add(one, whole.cut(cuts[number], cuts[number + 1], patches))
                self._settle(one)

    def _settle(self, one: HashRange) -> None:
        """Cut a range that has grown, and write its new runs."""
        if one.weight > RANGE_LINES and not self._has_one_hash(one):
            whole = merged(self._load(one), self._over)
            self._delete(one.runs)
            one.runs = []
            if len(whole) > RANGE_LINES // 2:
                self._halve(one, whole)
            else:
                self._add(one, whole)
        for stored in one.runs:
            self._write(stored)

    def _has_one_hash(self, one: HashRange) -> bool:
        place = self._ranges.index(one)
        return place + 1 < len(self._ranges) and self._ranges[place + 1].start == one.start + 1

    def _halve(self, one: HashRange, whole: SortedRun) -> None:
        """Cut a range in the middle; a key with most of its lines gets a range of its own."""
        middle = int(whole.hashes[len(whole) // 2])
        boundary = middle if middle > one.start else middle + 1
        if boundary > _LAST_HASH:
            self._add(one, whole)
            return
        place = int(whole.hashes.searchsorted(np.uint64(boundary)))
        sister = HashRange(boundary, [])
        sister.seen = self._now
        self._ranges.insert(self._ranges.index(one) + 1, sister)
        self._note_starts()
        self._add(one, whole.cut(0, place))
        self._add(sister, whole.cut(place, len(whole)))
        self._settle(one)
        self._settle(sister)

    def _note_starts(self) -> None:
        self._starts = np.array([one.start for one in self._ranges], np.uint64)
        self._dirty = True

    def sweep(self, over: int, long_over: int) -> None:
        """Write a place anew whose oldest lines have been over for a while.

        Args:
            over: lines that were written then or before are over.
            long_over: and those that were written then or before, long since.
        """
        places = [*self._ranges, self._recent]
        for _ in range(len(places)):
            self._swept = (self._swept + 1) % len(places)
            one = places[self._swept]
            if any(run.oldest <= long_over for run in one.runs if run.oldest):
                whole = merged(self._load(one), over)
                self._delete(one.runs)
                one.runs = []
                self._add(one, whole)
                for stored in one.runs:
                    self._write(stored)
                return

    # --- the store -------------------------------------------------------------------------------

    def _load(self, one: HashRange) -> list[SortedRun]:
        """The runs of a range, with all that is known of them by now."""
        one.seen = self._now
        if any(run.loaded is None for run in one.runs):
            self._read(one)
        return [run.loaded for run in one.runs if run.loaded is not None]

    def _read(self, one: HashRange) -> None:
        cold = [run for run in one.runs if run.loaded is None]
        contents = self._store.get_many([self._run_key(run.number) for run in cold])
        for run, content in zip(cold, contents, strict=True):
            if content is None:
                raise StateError(
                    f"a part of the stored lines of a join is missing: run {run.number} of "
                    f"{self._prefix!r}",
                    fix="restore from an older checkpoint or from a savepoint",
                )
            run.loaded = SortedRun.restored(content, run.number)
            if self._clock is not None and run.loaded.written is None:
                # it was stored while lines never ended: their time begins now
                run.loaded.written = np.full(run.lines, self._clock(), np.int64)
        targets = {run.number: run.loaded for run in cold}
        newer = self._recent.runs if one is not self._recent else []
        for stored in (*one.runs, *newer):
            assert stored.loaded is not None
            for number, patch in stored.loaded.patches.items():
                target = targets.get(number)
                if target is not None:
                    target.apply(patch)

    def _write(self, run: StoredRun) -> None:
        """Write a run that is not in the store."""
        if not run.stored:
            assert run.loaded is not None
            self._store.put(self._run_key(run.number), run.loaded.stored_form())
            run.stored = True

    def _delete(self, runs: Sequence[StoredRun]) -> None:
        for run in runs:
            if run.stored:
                self._store.delete(self._run_key(run.number))
        self._dirty = True

    def _write_index(self) -> None:
        def listed(one: HashRange) -> list[tuple[int, int, int, int]]:
            return [run.listed() for run in one.runs]

        ranges = [(one.start, listed(one)) for one in self._ranges]
        content = (self._next, listed(self._recent), ranges, self.keys)
        if self._recent.runs or any(runs for _, runs in ranges):
            self._store.put(self._prefix + b"d", FORMAT + dumps(content))
        else:
            self._store.delete(self._prefix + b"d")
        self._dirty = False

    def _run_key(self, number: int) -> bytes:
        return self._prefix + b"r" + number.to_bytes(6, "big")

    @property
    def nbytes(self) -> int:
        """What ranges take in memory."""
        return sum(one.nbytes for one in self._ranges)

    def _trim(self) -> None:
        """Let go of the ranges that were not used for longest; all of them are stored by now."""
        surplus = sum(storage.nbytes for storage in list(_STORAGES)) - LOADED_BYTES
        for one in sorted(self._ranges, key=lambda one: one.seen):
            if surplus <= 0:
                return
            surplus -= one.nbytes
            one.release()


_STORAGES: weakref.WeakSet[RunStorage] = weakref.WeakSet()


def _is_void(run: StoredRun, known: set[int], dead: set[int]) -> bool:
    """Whether a run has neither lines nor marks for a run that is known."""
    if run.loaded is None:
        return False
    if not known.issuperset(run.loaded.patches):
        run.loaded.keep_patches(known)
        run.patched = run.loaded.patched
    if run.patched:
        return False
    return run.number in dead or not run.loaded.live.any()


def _mergeable(runs: Sequence[StoredRun], lines: int, patched: int) -> int:
    """With how many of the newest runs a new one should become one."""
    weight, count = lines + patched, 0
    for before in reversed(runs):
        full = before.lines > RUN_LINES and 2 * patched < before.lines
        if full or before.weight >= 2 * weight:
            break
        weight += before.weight
        patched += before.patched
        count += 1
    return count
