"""BATCH mode: the whole keyed input of an operator, handed on a group of keys at a time.

    records of all inputs ─▶ hash of the key, timestamp ─▶ sorted ─▶ [some keys] [some keys] ...

In: records as they come.  Out: per group the records of each key in the order of their timestamps,
of one timestamp in the order of arrival.  What does not fit into memory goes to temporary files,
sorted, which are merged at the end.  Next: runtime/task.py hands the groups to the operator
"""

from __future__ import annotations

import heapq
import pickle
import tempfile
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from headrace.data.pickling import dumps, loads
from headrace.data.records import MIN_TIMESTAMP, Records, joined
from headrace.runtime.key_groups import stable_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

    from numpy.typing import NDArray

    from headrace.runtime.key_selectors import Keying
    from headrace.runtime.operators.base import Operator

    # (input, records) runs, in order; and whether their last key is complete
    Group = tuple[list[tuple[int, Records]], bool]

# An operator fires timers and forgets state once per group, so a group is many keys.
GROUP_RECORDS = 20_000


class _Line(NamedTuple):
    """One record of a file on disk, in the order of sorting."""

    hash: int
    rank: int  # the timestamp, where it decides the order
    file: int
    place: int
    input: int
    time: int
    value: Any


class SortedInputs:
    """The held inputs of one operator in one subtask.

    Args:
        operator: gives the keys; an input without a keying is kept in the order of arrival.
        memory_bytes: how much of the records' encoded form is held before it goes to disk.
    """

    def __init__(self, operator: Operator, memory_bytes: int) -> None:
        self._operator = operator
        self._memory_bytes = memory_bytes
        self.numbers = operator.held_inputs()
        self._parts: list[tuple[int, Records, NDArray[np.uint64]]] = []
        self._held_bytes = 0
        self._timed: set[int] = set()  # inputs whose records have timestamps
        self._known: dict[Any, int] = {}
        self._files: list[IO[bytes]] = []

    def add(self, number: int, records: Records, size_bytes: int) -> None:
        """Take records of an input; `size_bytes` is what they took on the exchange."""
        self._parts.append((number, records, self._hashes(number, records)))
        if records.timestamps is not None:
            self._timed.add(number)
        self._held_bytes += size_bytes
        if self._held_bytes > self._memory_bytes:
            self._files.append(self._written())
            self._parts, self._held_bytes = [], 0

    def _hashes(self, number: int, records: Records) -> NDArray[np.uint64]:
        keying = self._keying(number)
        if keying is None:
            return np.zeros(len(records), dtype=np.uint64)
        hashes = keying.hashes(records)
        if hashes is not None:
            return hashes
        known = self._known
        keys = self._operator.keys(records, number)  # type: ignore[attr-defined]
        for key in set(keys).difference(known):
            known[key] = stable_hash(key)
        return np.fromiter(map(known.__getitem__, keys), np.uint64, len(keys))

    def groups(self) -> Iterator[Group]:
        """Everything that was added, sorted; a key with very many records comes in several."""
        if not self._files:
            yield from self._in_memory()
            return
        try:
            yield from self._merged()
        finally:
            for file in self._files:
                file.close()

    # --- in memory -------------------------------------------------------------------------------

    def _in_memory(self) -> Iterator[Group]:
        if not self._parts:
            return
        hashes, _, inputs, order = self._order()
        whole = {number: self._joined(number) for number in set(inputs.tolist())}
        places = np.empty(len(inputs), dtype=np.int64)
        for number in whole:
            chosen = inputs == number
            places[chosen] = np.arange(int(chosen.sum()))
        hashes = hashes[order]
        start = 0
        while start < len(order):
            end = min(start + GROUP_RECORDS, len(order))
            # on to the end of the last key, unless that is too far
            last = int(np.searchsorted(hashes, hashes[end - 1], side="right"))
            complete = last <= end + GROUP_RECORDS
            end = last if complete else end
            part = order[start:end]
            yield list(_runs(inputs[part], places[part], whole)), complete
            start = end

    def _order(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int8], Any]:
        """(hashes, ranks, inputs) in the order of arrival, and that in which to hand them on."""
        hashes = np.concatenate([found for _, _, found in self._parts])
        ranks = np.concatenate([self._ranks(number, part) for number, part, _ in self._parts])
        inputs = np.concatenate(
            [np.full(len(records), number, np.int8) for number, records, _ in self._parts]
        )
        return hashes, ranks, inputs, np.lexsort((ranks, hashes))

    def _ranks(self, number: int, records: Records) -> NDArray[np.int64]:
        if self._keying(number) is None or records.timestamps is None:
            return np.full(len(records), MIN_TIMESTAMP, dtype=np.int64)
        return np.asarray(records.timestamps, dtype=np.int64)

    def _keying(self, number: int) -> Keying | None:
        keyings = self._operator.runtime.keyings
        return keyings[number] if keyings else None

    def _joined(self, wanted: int) -> Records:
        return joined([records for number, records, _ in self._parts if number == wanted])

    # --- on disk ---------------------------------------------------------------------------------

    def _written(self) -> IO[bytes]:
        """What is held, sorted, as a file that nobody else sees."""
        file = tempfile.TemporaryFile(prefix="headrace-sort-")  # noqa: SIM115
        hashes, ranks, inputs, order = self._order()
        arrived = [pair for _, records, _ in self._parts for pair in records.pairs()]
        for start in range(0, len(order), GROUP_RECORDS):
            part = order[start : start + GROUP_RECORDS]
            columns = tuple(column[part].tolist() for column in (hashes, ranks, inputs))
            pickle.dump((columns, dumps([arrived[place] for place in part.tolist()])), file, 5)
        file.flush()
        file.seek(0)
        return file

    def _merged(self) -> Iterator[Group]:
        if self._parts:
            self._files.append(self._written())
            self._parts = []
        lines = heapq.merge(*(_lines(file, number) for number, file in enumerate(self._files)))
        waiting: list[_Line] = []
        for _, of_hash in groupby(lines, key=itemgetter(0)):
            for line in of_hash:
                waiting.append(line)
                if len(waiting) >= 2 * GROUP_RECORDS:
                    yield self._group(waiting), False
                    waiting = []
            if len(waiting) >= GROUP_RECORDS:
                yield self._group(waiting), True
                waiting = []
        # also where nothing is left: the last group may have been cut within its key
        yield self._group(waiting), True

    def _group(self, lines: Iterable[_Line]) -> list[tuple[int, Records]]:
        found = []
        for number, run in groupby(lines, key=lambda line: line.input):
            listed = list(run)
            times = [line.time for line in listed] if number in self._timed else None
            found.append((number, Records([line.value for line in listed], times)))
        return found


def _runs(
    inputs: NDArray[np.int8], places: NDArray[np.int64], whole: dict[int, Records]
) -> Iterator[tuple[int, Records]]:
    """Neighbours of the same input together, in order."""
    cuts = [0, *(np.flatnonzero(np.diff(inputs)) + 1).tolist(), len(inputs)]
    for start, end in pairwise(cuts):
        number = int(inputs[start])
        yield number, whole[number].pick(places[start:end])


def _lines(file: IO[bytes], number: int) -> Iterator[_Line]:
    place = 0
    while True:
        try:
            columns, arrived = pickle.load(file)
        except EOFError:
            return
        for hashed, rank, which, (value, time) in zip(*columns, loads(arrived), strict=True):
            stamp = MIN_TIMESTAMP if time is None else time
            yield _Line(hashed, rank, number, place, which, stamp, value)
            place += 1
