"""Watermark alignment: which splits wait because they are too far ahead in event time.

    epoch ends ─▶ marks: how far each split is ─┐
    epoch is planned ─▶ posts: who has records ─┴─▶ held back: no records in the next epoch

In: what TimestampsOperator reports (EpochResults.aligned), and what each source knows when an epoch
is planned.  Out: `SplitGate.next_position`, in place of that of hosts/admission.py.  It only ever
takes less; where the epoch then ends is written down as always, so a repeated epoch reads the same.
Nothing is kept over a restart: in the first epoch of a run nobody is held back.
Next: hosts/local/sources.py, hosts/spark/sources/python_source.py (whose board is files:
hosts/spark/sources/alignment_files.py).  Imports no pyspark.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headrace.common.clock import wall_clock
from headrace.hosts.admission import next_position

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from headrace.spi.host import AlignedSplit
    from headrace.spi.python_source import Position, PythonSource

__all__ = ["AlignmentBoard", "Board", "Post", "SplitGate", "SplitMark", "counted", "held_back"]


@dataclass(frozen=True, slots=True)
class SplitMark:
    """How far a split has come: what the tasks of finished epochs reported.

    Attributes:
        watermark: never goes back.
        max_drift_ms: how far ahead it may be.
        idle_ms: the idle timeout of its strategy; None without one.
        at_ms: when it was reported.
    """

    watermark: int
    max_drift_ms: int
    idle_ms: int | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Post:
    """What a source says about a split when an epoch is planned.

    Attributes:
        waiting: whether there are records behind the end of the planned epoch.
        taken: whether the planned epoch takes some.
        since_ms: when there was last something to read; None for a bounded source, in which
            nothing to read is the end.
    """

    waiting: bool
    taken: bool
    since_ms: int | None


# group -> channel (``source uid/split``) -> mark
Marks = dict[str, dict[str, SplitMark]]


def held_back(groups: Iterable[tuple[Mapping[str, SplitMark], Collection[str]]]) -> set[str]:
    """The splits that are too far ahead of the slowest active one of a group.

    The slowest of a group is never among them, though it may be ahead in another group: so
    whatever the marks are, somebody reads.

    Args:
        groups: for each its marks, and who of it is active.
    """
    ahead: set[str] = set()
    slowest: set[str] = set()
    for marks, active in groups:
        if active:
            lowest = min(marks[name].watermark for name in active)
            slowest |= {name for name in active if marks[name].watermark == lowest}
            ahead |= {n for n, mark in marks.items() if mark.watermark - lowest > mark.max_drift_ms}
    return ahead - slowest


def counted(mark: SplitMark, post: Post, now_ms: int, *, own: bool) -> bool:
    """Whether the others wait for a split.

    Args:
        mark: how far it is.
        post: what its source says, for an own split at this moment, else for the last epoch.
        now_ms: the clock.
        own: whether it is of the source that asks.
    """
    if post.waiting:
        return True
    if post.since_ms is None:
        return False
    if mark.idle_ms is not None:
        return now_ms - post.since_ms <= mark.idle_ms
    # Another source's news are not known before it plans: one that had some counts once more.
    return post.taken and not own


class AlignmentBoard(Protocol):
    """Where sources find the marks of all splits, and what the other sources say."""

    def marks(self) -> Marks:
        """How far all splits are."""
        ...

    def posts(self) -> dict[str, Post]:
        """What all sources said when they last planned, by channel."""
        ...

    def post(self, source_id: str, posts: dict[str, Post]) -> None:
        """What a source says now, in place of what it said before."""
        ...


class Board:
    """The board of one run, in the process of the host.

    Args:
        clock: processing time in epoch milliseconds.
    """

    def __init__(self, clock: Callable[[], int] = wall_clock) -> None:
        self.clock = clock
        # rebuilt on open, both: by the first epoch
        self._marks: Marks = {}
        self._posts: dict[str, dict[str, Post]] = {}  # by source
        # in continuous mode every task reports in a thread of its own
        self._noting = threading.Lock()

    def note(self, reported: Mapping[str, Mapping[str, AlignedSplit]]) -> None:
        """Take in what tasks reported."""
        with self._noting:
            self._note(reported)

    def _note(self, reported: Mapping[str, Mapping[str, AlignedSplit]]) -> None:
        now = self.clock()
        marks = {group: dict(splits) for group, splits in self._marks.items()}
        for group, splits in reported.items():
            known = marks.setdefault(group, {})
            for name, split in splits.items():
                reached = split.watermark
                if name in known:
                    reached = max(reached, known[name].watermark)
                known[name] = SplitMark(reached, split.max_drift_ms, split.idle_ms, now)
        self._marks = marks  # replaced as a whole: a thread that sends ticks may be looking

    def clear(self) -> None:
        """A new run begins."""
        self._marks, self._posts = {}, {}

    def marks(self) -> Marks:
        """How far all splits are."""
        return self._marks

    def posts(self) -> dict[str, Post]:
        """What all sources said when they last planned."""
        return {name: post for posts in self._posts.values() for name, post in posts.items()}

    def post(self, source_id: str, posts: dict[str, Post]) -> None:
        """What a source says now."""
        self._posts[source_id] = posts

    def not_idle(self) -> list[str]:
        """Splits that will be silent because they are held back: valves must not call them idle.

        To be asked after an epoch, for the next one.
        The slow one for which they wait is idle after its timeout. It counts here for as long
        again, so that they have the time to be read before they are called idle themselves.
        """
        now = self.clock()
        found: set[str] = set()
        for marks in self._marks.values():
            for name, mark in marks.items():
                if mark.idle_ms is None:
                    continue
                recent = [
                    other.watermark
                    for other in marks.values()
                    if now - other.at_ms <= 2 * max(mark.idle_ms, other.idle_ms or 0)
                ]
                if mark.watermark - min(recent, default=mark.watermark) > mark.max_drift_ms:
                    found.add(name)
        return sorted(found)


class SplitGate:
    """Holds back splits of one source; asked for every epoch that is planned.

    Args:
        board: shared by all sources of the job.
        source: an opened one.
        source_id: its uid.
        clock: processing time in epoch milliseconds.
    """

    def __init__(
        self,
        board: AlignmentBoard,
        source: PythonSource,
        source_id: str,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._board = board
        self._source = source
        self._source_id = source_id
        self._clock = clock
        self._bounded = source.is_bounded()
        self._last_news: dict[str, int] = {}  # split -> when there was last something to read

    def next_position(self, start: Position, latest: Position, limit: int | None) -> Position:
        """Where the next epoch ends, as hosts/admission.py says; nothing of splits held back."""
        end = next_position(self._source, start, self.admit(start, latest), limit)
        self.tell(start, end, latest)
        return end

    def admit(self, start: Position, latest: Position) -> Position:
        """How far the splits may be read now: those that are held back, not at all."""
        own = self._own_posts(start, latest)
        posts = {**self._board.posts(), **own}
        now = self._clock()
        groups = self._board.marks().values()
        held = held_back(
            (
                marks,
                [
                    name
                    for name, mark in marks.items()
                    if name in posts and counted(mark, posts[name], now, own=name in own)
                ],
            )
            for marks in groups
        )
        return {
            split: start[split] if split in start and self._channel(split) in held else end
            for split, end in latest.items()
        }

    def tell(self, start: Position, end: Position, latest: Position) -> None:
        """Let the other sources know what was taken and what waits."""
        self._board.post(
            self._source_id,
            {
                name: Post(
                    post.waiting, split in start and start[split] != end[split], post.since_ms
                )
                for split in end
                for name, post in self._own_posts({split: end[split]}, latest).items()
            },
        )

    def _own_posts(self, start: Position, latest: Position) -> dict[str, Post]:
        now = self._clock()
        posts = {}
        for split, begin in start.items():
            end = latest.get(split, begin)
            waiting = self._source.records_between(split, begin, end) > 0
            if waiting:
                self._last_news[split] = now
            since = None if self._bounded else self._last_news.setdefault(split, now)
            posts[self._channel(split)] = Post(waiting, taken=False, since_ms=since)
        return posts

    def _channel(self, split: str) -> str:
        """What stage 0 calls a split (runtime/task.py)."""
        return f"{self._source_id}/{split if self._source.has_splits() else ''}"
