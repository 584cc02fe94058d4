"""Lines that were kept together: columns sorted by the hash of their key, and marks beside them.

    hashes    columns      live   partners   written   order
    0x03..    k a, b        x        2          t        -       marks change, lines never do
    0x03..    k a, c        -        0          t        -
    0x9f..    k b, d        x        1          t        -

A run is looked up by binary search for many keys at once.  Marks of a run that is stored already
are not written again: the next run that is stored carries them as *patches*, (run, places, marks).
In: LineStore's lines.  Out: Matches.  Next: runtime/table/joins/line_store.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.pickling import dumps, loads
from headrace.errors import StateError
from headrace.runtime.table.joins.hashes import combined, hash_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.runtime.table.joins.hashes import Hashes, Mask

    Places = NDArray[np.int64]
    Numbers = NDArray[np.int32]

FORMAT = b"\x01"  # first byte of everything stored: the layout's version
_HASH = "$hash"
_PRESSED = "lz4" if pa.Codec.is_available("lz4") else None
_LARGE = 1 << 16


@dataclass(frozen=True, slots=True)
class LineShape:
    """What is kept of lines.

    Attributes:
        types: of the columns.
        keys: the places of the columns of the key.
        keeps_null: whether there are lines with NULL in a key.
        unique: the places of columns that together with the key tell lines apart; () if the key
            alone does, None if nothing does and equal lines are kept each.
        counts: whether each line knows how many partners it has.
        ordered: whether lines of a key are ordered by a number, such as a time.
        expires: whether it is known when each was written.
    """

    types: tuple[pa.DataType, ...]
    keys: tuple[int, ...]
    keeps_null: bool = False
    unique: tuple[int, ...] | None = None
    counts: bool = False
    ordered: bool = False
    expires: bool = False

    @property
    def identity(self) -> tuple[int, ...]:
        """The columns by which a line is found again, those of the key apart."""
        if self.unique is not None:
            return tuple(place for place in self.unique if place not in self.keys)
        return tuple(place for place in range(len(self.types)) if place not in self.keys)


@dataclass(slots=True)
class Patch:
    """Marks that lines of an older run have now."""

    places: Places
    live: Mask
    partners: Numbers | None
    written: Places | None

    def newest(self) -> Patch:
        """The same with each place once; of marks for one place the last count."""
        _, last = np.unique(self.places[::-1], return_index=True)
        return self.pick(len(self.places) - 1 - last)

    def pick(self, chosen: Any) -> Patch:
        """Some of the marks."""
        partners = None if self.partners is None else self.partners[chosen]
        written = None if self.written is None else self.written[chosen]
        return Patch(self.places[chosen], self.live[chosen], partners, written)

    def behind(self, older: Patch) -> Patch:
        """Both, this one the newer."""

        def both(old: Any, new: Any) -> Any:
            return None if old is None or new is None else np.concatenate([old, new])

        return Patch(
            both(older.places, self.places),
            both(older.live, self.live),
            both(older.partners, self.partners),
            both(older.written, self.written),
        ).newest()

    def stored_form(self) -> tuple[bytes | None, ...]:
        """As plain bytes."""
        parts = (self.places, self.live, self.partners, self.written)
        return tuple(None if part is None else part.tobytes() for part in parts)

    @staticmethod
    def restored(stored: Sequence[bytes | None]) -> Patch:
        """From plain bytes."""
        kinds = (np.int64, np.bool_, np.int32, np.int64)
        parts: list[Any] = [
            None if part is None else np.frombuffer(part, dtype=kind)
            for part, kind in zip(stored, kinds, strict=True)
        ]
        return Patch(*parts)


class SortedRun:
    """Some lines of one side of a join, by the hash of their key.

    Attributes:
        number: under which it is stored; 0 if it is not yet.
        columns: the lines; those of one key in the order in which they came, or by `order`.
        hashes: of their keys, ascending.
        live: which are still there.
        patches: marks of older runs, by their numbers.
    """

    __slots__ = (
        "_finder", "_touched", "columns", "hashes", "live", "number", "order", "partners",
        "patches", "written",
    )  # fmt: skip

    def __init__(
        self,
        columns: list[pa.Array],
        hashes: Hashes,
        *,
        live: Mask | None = None,
        partners: Numbers | None = None,
        written: Places | None = None,
        order: Places | None = None,
        patches: dict[int, Patch] | None = None,
        number: int = 0,
    ) -> None:
        self.columns = columns
        self.hashes = hashes
        self.live = np.ones(len(hashes), np.bool_) if live is None else live
        self.partners = partners
        self.written = written
        self.order = order
        self.patches = patches or {}
        self.number = number
        self._touched: list[Places] = []  # since the run was stored
        self._finder: tuple[Hashes, Places] | None = None

    @staticmethod
    def of(
        columns: Sequence[pa.Array],
        hashes: Hashes,
        *,
        partners: Numbers | None = None,
        written: Places | None = None,
        order: Places | None = None,
    ) -> SortedRun:
        """A run of lines that come in any order."""
        by_hash = (
            np.argsort(hashes, kind="stable") if order is None else np.lexsort((order, hashes))
        )
        places = pa.array(by_hash)

        def sort(marks: Any) -> Any:
            return None if marks is None else marks[by_hash]

        return SortedRun(
            [column.take(places) for column in columns],
            hashes[by_hash],
            partners=sort(partners),
            written=sort(written),
            order=sort(order),
        )

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def patched(self) -> int:
        """Lines of older runs that it has marks for."""
        return sum(len(patch.places) for patch in self.patches.values())

    @property
    def nbytes(self) -> int:
        """What it takes in memory, about."""
        return 40 * len(self.hashes) + sum(int(column.nbytes) for column in self.columns)

    # --- marks -----------------------------------------------------------------------------------

    @property
    def is_touched(self) -> bool:
        """Whether marks changed that are not stored."""
        return bool(self._touched)

    def kill(self, places: Places) -> None:
        """These lines are no more."""
        self.live[places] = False
        self._touched.append(places)

    def set_partners(self, places: Places, partners: Numbers) -> None:
        """These lines have so many partners."""
        assert self.partners is not None
        self.partners[places] = partners
        self._touched.append(places)

    def set_written(self, places: Places, now: int) -> None:
        """These lines were written again."""
        assert self.written is not None
        self.written[places] = now
        self._touched.append(places)

    def take_patch(self) -> Patch | None:
        """The marks that changed since the last call."""
        if not self._touched:
            return None
        places = np.unique(np.concatenate(self._touched))
        self._touched = []
        return Patch(
            places,
            self.live[places],
            None if self.partners is None else self.partners[places],
            None if self.written is None else self.written[places],
        )

    def keep_patches(self, numbers: set[int]) -> None:
        """Forget marks of all other runs: they are gone."""
        self.patches = {n: patch for n, patch in self.patches.items() if n in numbers}

    def apply(self, patch: Patch) -> None:
        """Take marks that were stored after this run."""
        self.live[patch.places] = patch.live
        if patch.partners is not None and self.partners is not None:
            self.partners[patch.places] = patch.partners
        if patch.written is not None and self.written is not None:
            self.written[patch.places] = patch.written

    # --- looking for lines -----------------------------------------------------------------------

    def ranges(self, hashes: Hashes) -> tuple[Places, Places, Places]:
        """(those of some hashes that have lines, where their lines begin, where they end)."""
        return _hits(self.hashes, hashes)

    def ranges_between(
        self, hashes: Hashes, low: Places, high: Places
    ) -> tuple[Places, Places, Places]:
        """The same of lines whose order is within bounds, both inclusive."""
        assert self.order is not None
        hit, begin, end = self.ranges(hashes)
        first = bisect_within(self.order, begin, end, low[hit], after=False)
        last = bisect_within(self.order, begin, end, high[hit], after=True)
        some = np.flatnonzero(last > first)
        return hit[some], first[some], last[some]

    def found(self, wanted: Hashes, shape: LineShape) -> tuple[Places, Places]:
        """(number of a wanted identity, place of a line that may have it), for each such pair."""
        identities, places = self._finder_of(shape)
        hit, begin, end = _hits(identities, wanted)
        number, place = pairs_of(hit, begin, end)
        return number, places[place]

    def _finder_of(self, shape: LineShape) -> tuple[Hashes, Places]:
        """(hashes of identities, ascending; the place of each)."""
        if self._finder is None:
            identity = identity_hashes(self.columns, self.hashes, shape)
            places = np.argsort(identity, kind="stable")
            self._finder = (identity[places], places)
        return self._finder

    # --- other forms -----------------------------------------------------------------------------

    def cut(self, begin: int, end: int, patches: dict[int, Patch] | None = None) -> SortedRun:
        """Some of its lines, with other patches."""

        def part(marks: Any) -> Any:
            return None if marks is None else marks[begin:end].copy()

        return SortedRun(
            [column.slice(begin, end - begin) for column in self.columns],
            self.hashes[begin:end],
            live=part(self.live),
            partners=part(self.partners),
            written=part(self.written),
            order=part(self.order),
            patches=patches,
        )

    def stored_form(self) -> bytes:
        """The run as bytes."""
        arrays, names = list(self.columns), [str(n) for n in range(len(self.columns))]
        marks: dict[str, Any] = {_HASH: self.hashes, "$live": self.live}
        marks |= {"$partners": self.partners, "$written": self.written, "$order": self.order}
        for name, values in marks.items():
            if values is not None:
                arrays.append(pa.array(values))
                names.append(name)
        batch = pa.RecordBatch.from_arrays(arrays, names=names)
        sink = pa.BufferOutputStream()
        # pressing 32 MB of Nexmark's bids into 7 takes 20 ms, storing them as they are 30 ms more
        options = pa.ipc.IpcWriteOptions(compression=_PRESSED if batch.nbytes > _LARGE else None)
        with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        patches = [(number, patch.stored_form()) for number, patch in self.patches.items()]
        return FORMAT + dumps((sink.getvalue().to_pybytes(), patches))

    @staticmethod
    def restored(content: bytes, number: int) -> SortedRun:
        """A run from its bytes."""
        lines, patches = unpacked(content)
        batch = pa.ipc.open_stream(lines).read_next_batch()
        width = batch.schema.get_field_index(_HASH)

        def marks(name: str) -> Any:
            place = batch.schema.get_field_index(name)
            return None if place < 0 else np.array(batch.column(place))

        return SortedRun(
            batch.columns[:width],
            marks(_HASH),
            live=marks("$live"),
            partners=marks("$partners"),
            written=marks("$written"),
            order=marks("$order"),
            patches={target: Patch.restored(patch) for target, patch in patches},
            number=number,
        )


def merged(runs: Sequence[SortedRun], over: int | None) -> SortedRun:
    """Runs as one, the oldest first; without lines that are gone or were written before `over`."""
    kept = [_kept(run, over) for run in runs]
    if len(kept) == 1 and len(kept[0][1]) == len(runs[0]):
        return runs[0].cut(0, len(runs[0]), runs[0].patches)
    hashes = np.concatenate([run.hashes[places] for run, places in kept])

    def both(name: str) -> Any:
        parts = [(getattr(run, name), places) for run, places in kept]
        if any(marks is None for marks, _ in parts):
            return None
        return np.concatenate([marks[places] for marks, places in parts])

    order = both("order")
    by_hash = np.argsort(hashes, kind="stable") if order is None else np.lexsort((order, hashes))
    places = pa.array(by_hash)
    columns = [
        pa.concat_arrays(
            [_picked(run.columns[n], places_of) for run, places_of in kept]
        ).take(places)
        for n in range(len(runs[0].columns))
    ]  # fmt: skip

    def sort(marks: Any) -> Any:
        return None if marks is None else marks[by_hash]

    return SortedRun(
        columns,
        hashes[by_hash],
        partners=sort(both("partners")),
        written=sort(both("written")),
        order=sort(order),
        patches=merged_patches(runs),
    )


def merged_patches(runs: Sequence[SortedRun]) -> dict[int, Patch]:
    """What runs, the oldest first, say of those that are older than all of them."""
    inside = {run.number for run in runs}
    found: dict[int, Patch] = {}
    for run in runs:
        for number, patch in run.patches.items():
            if number not in inside:
                found[number] = patch.behind(found[number]) if number in found else patch
    return found


def _kept(run: SortedRun, over: int | None) -> tuple[SortedRun, Places]:
    live = run.live
    if over is not None and run.written is not None:
        live = live & (run.written > over)
    return run, np.flatnonzero(live)


def _picked(column: pa.Array, places: Places) -> pa.Array:
    return column if len(places) == len(column) else column.take(pa.array(places))


def _hits(kept: Hashes, wanted: Hashes) -> tuple[Places, Places, Places]:
    if not len(kept):
        none = np.zeros(0, np.int64)
        return none, none, none
    begin = kept.searchsorted(wanted)
    hit = np.flatnonzero(kept[np.minimum(begin, len(kept) - 1)] == wanted)
    return hit, begin[hit], kept.searchsorted(wanted[hit], "right")


def identity_hashes(columns: Sequence[pa.Array], hashes: Hashes, shape: LineShape) -> Hashes:
    """For each line the hash of its key and of what tells it from others of its key."""
    if not shape.identity:
        return hashes
    others = hash_lines([columns[place] for place in shape.identity], len(hashes))
    return combined(hashes, others)


def pairs_of(lines: Places, begin: Places, end: Places) -> tuple[Places, Places]:
    """Every line with every number of its range: (line, number), in order."""
    counts = end - begin
    total = int(counts.sum())
    line = np.repeat(lines, counts)
    starts = np.cumsum(counts) - counts
    number = np.arange(total) - np.repeat(starts - begin, counts)
    return line, number


def bisect_within(
    values: Places, begin: Places, end: Places, wanted: Places, *, after: bool
) -> Places:
    """Binary search in many sorted stretches of `values` at once.

    Args:
        values: ascending within each stretch.
        begin: where the stretches begin.
        end: where they end.
        wanted: what is looked for in each.
        after: whether to stop behind those that are equal, or in front of them.
    """
    low, high = begin.copy(), end.copy()
    open_ones = np.flatnonzero(low < high)
    while len(open_ones):
        middle = (low[open_ones] + high[open_ones]) >> 1
        found, sought = values[middle], wanted[open_ones]
        right = found <= sought if after else found < sought
        low[open_ones[right]] = middle[right] + 1
        high[open_ones[~right]] = middle[~right]
        open_ones = open_ones[low[open_ones] < high[open_ones]]
    return low


def unpacked(content: bytes) -> Any:
    """What stored bytes hold."""
    if content[:1] != FORMAT:
        raise StateError(
            f"stored lines of a join have format {content[0]}, which this version cannot read",
            fix="restore with the version of headrace that wrote them, or from a savepoint",
        )
    return loads(memoryview(content)[1:])
