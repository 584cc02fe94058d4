"""The hot region of a table: entries that change often, in segments of their own.

Keys that change in every batch lie scattered over all pages; writing each page for a few of them
would write the whole table.  Such entries go here instead, and lookups find them first, because
their cells always stay in memory (large values need not: their cells may sleep, which is to be
there without the value).  An entry here overrules the one in its page, which may be stale.

The region is a small log-structured store: a flush writes the changed entries of a *lane* (a share
of the table's pages) as its newest segment and folds in older segments that are not much larger, so
that few are left.  When the region is full, the entries of the fullest lane that were not touched
lately go back to their pages: many entries for each page that has to be written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.data.pickling import dumps
from headrace.runtime.pages.cells import NO_ENTRY, NOT_READ, Cell
from headrace.runtime.pages.packed import Bucket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.runtime.pages.limits import Limits

LANES = 16
_TIDY_EVERY = 4
_IDLE_FLUSHES = 64


class Segment:
    """Some hot entries, stored together."""

    __slots__ = ("cells", "lane", "live", "number", "size")
    hot = True
    page = None

    def __init__(self, lane: Lane, number: int, cells: list[Cell], size: int) -> None:
        self.lane = lane
        self.number = number
        self.cells = cells  # some may have left since: their home is another one
        self.live = len(cells)
        self.size = size

    def residents(self) -> list[Cell]:
        """The cells whose stored entry is the one here."""
        return [cell for cell in self.cells if cell.home is self]

    def put_to_sleep(self, cell: Cell) -> Cell:
        """A cell that stands for this one without its value, which its own record has.

        It is another one, because somebody may still hold this one and look at its value.
        """
        asleep = Cell(cell.key, NOT_READ, self, cell.seen, cell.record)
        cell.home = Bucket(None)
        if len(self.cells) > 2 * self.live:
            self.cells = self.residents()
        self.cells.append(asleep)
        return asleep


class Lane:
    """A share of the hot entries: segments from the oldest to the newest.

    A segment may hold outdated entries only if a newer segment of the lane holds those keys, too.
    So entries leave a lane only when it is rewritten as a whole.
    """

    def __init__(self, region: HotRegion) -> None:
        self._region = region
        self.segments: list[Segment] = []

    @property
    def live(self) -> int:
        """How many keys the lane holds, removed ones included."""
        return sum(segment.live for segment in self.segments)

    def residents(self) -> list[Cell]:
        """All its cells."""
        return [cell for segment in self.segments for cell in segment.residents()]

    def write(self, cells: list[Cell]) -> None:
        """Store changed or new cells as the newest segment."""
        for cell in cells:
            if cell.home.hot:
                cell.home.live -= 1  # type: ignore[union-attr]
        moved = set(map(id, cells))
        folded: list[Segment] = []
        # Sizes must grow fast from the newest to the oldest, or there would be many segments.
        while self.segments and self.segments[-1].live <= 2 * len(cells):
            segment = self.segments.pop()
            folded.append(segment)
            if segment.live:
                cells = [c for c in segment.residents() if id(c) not in moved] + cells
        dead = [segment for segment in self.segments if not segment.live]
        self.segments = [segment for segment in self.segments if segment.live]
        self._store(cells, [segment.number for segment in folded + dead])

    def rewrite(self, cells: list[Cell]) -> None:
        """Keep these cells and no others."""
        free = [segment.number for segment in self.segments]
        self.segments = []
        self._store(cells, free)

    def _store(self, cells: list[Cell], free: list[int]) -> None:
        region = self._region
        for piece, content in _pieces(cells, region.limits.segment_bytes):
            number = free.pop(0) if free else region.new_number()
            segment = Segment(self, number, piece, len(content))
            for cell in piece:
                cell.home = segment
            region.put(number, content)
            self.segments.append(segment)
        for number in free:
            region.delete(number)


class HotRegion:
    """The hot entries of one table.

    Args:
        put: stores a segment under a number.
        delete: removes what is stored under a number.
        new_number: gives a number that nothing else of the table has.
        limits: how large the region may get.
    """

    def __init__(
        self,
        put: Callable[[int, bytes], None],
        delete: Callable[[int], None],
        new_number: Callable[[], int],
        limits: Limits,
    ) -> None:
        self.put = put
        self.delete = delete
        self.new_number = new_number
        self.limits = limits
        self.lanes: list[Lane] = []  # most tables never need them

    def lane_of(self, page: int) -> Lane:
        """The lane for the entries of a page."""
        if not self.lanes:
            self.lanes = [Lane(self) for _ in range(LANES)]
        return self.lanes[page % LANES]

    @property
    def full(self) -> bool:
        """Whether entries have to go back to their pages."""
        if sum(lane.live for lane in self.lanes) > self.limits.hot_entries:
            return True
        stored = sum(segment.size for lane in self.lanes for segment in lane.segments)
        return stored > self.limits.hot_bytes

    def segments(self) -> list[Segment]:
        """All segments."""
        return [segment for lane in self.lanes for segment in lane.segments]

    def stored_form(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the segments by lane, for the table's directory."""
        return tuple(tuple(s.number for s in lane.segments) for lane in self.lanes)

    def restore(
        self, numbers: Any, read: Callable[[int], tuple[Any, int]], seen: int
    ) -> Iterator[Cell]:
        """Read all segments; gives the cell of every key."""
        for place, found in enumerate(numbers):
            lane = self.lane_of(place)
            latest: dict[Any, Cell] = {}
            for number in found:
                (entries, removed, *apart), size = read(number)
                segment = Segment(lane, number, [], size)
                segment.cells = [Cell(key, value, segment, seen) for key, value in entries.items()]
                segment.cells += [Cell(key, NO_ENTRY, segment, seen) for key in removed]
                for records in apart:
                    segment.cells += [
                        Cell(key, NOT_READ, segment, seen, record)
                        for key, record in records.items()
                    ]
                segment.live = len(segment.cells)
                lane.segments.append(segment)
                for cell in segment.cells:
                    outdated = latest.get(cell.key)
                    if outdated is not None:
                        outdated.home.live -= 1  # type: ignore[union-attr]
                        outdated.home = segment  # so it is no resident of its own segment
                    latest[cell.key] = cell
            yield from latest.values()

    def leave_full_lane(self, now: int) -> list[Cell]:
        """Make room: the entries that go back to their pages, of the lane that has most."""
        lane = max(self.lanes, key=lambda lane: lane.live)
        # those of the last two flushes stay, unless that is the whole lane
        return _leave(lane, now - 1) or _leave(lane, now + 1)

    def leave_idle(self, now: int) -> list[Cell]:
        """Tidy up: what nobody touched for long, one lane after the other; removals go, too."""
        if now % _TIDY_EVERY or not self.lanes:
            return []
        return _leave(self.lanes[now // _TIDY_EVERY % LANES], now - _IDLE_FLUSHES)


def _leave(lane: Lane, before: int) -> list[Cell]:
    """Take the cells that were last touched before some flush out of a lane."""
    cells = lane.residents()
    leaving = [cell for cell in cells if cell.seen < before]
    if leaving:
        lane.rewrite([cell for cell in cells if cell.seen >= before])
    return leaving


def _pieces(cells: list[Cell], limit: int) -> Iterator[tuple[list[Cell], bytes]]:
    """The cells in parts of about that many bytes, and their stored form."""
    if not cells:
        return
    content = pack(cells)
    if len(content) <= 2 * limit or len(cells) == 1:
        yield cells, content
        return
    half = len(cells) // 2
    yield from _pieces(cells[:half], limit)
    yield from _pieces(cells[half:], limit)


def pack(cells: list[Cell]) -> bytes:
    """Hot entries as stored: small ones, keys of removed ones, and records of large ones."""
    apart = {cell.key: cell.record for cell in cells if cell.record}
    entries = {
        cell.key: cell.value for cell in cells if cell.value is not NO_ENTRY and not cell.record
    }
    removed = [cell.key for cell in cells if cell.value is NO_ENTRY]
    return dumps((entries, removed, apart) if apart else (entries, removed))
