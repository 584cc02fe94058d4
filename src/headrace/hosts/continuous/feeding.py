"""What source tasks read next: the driver asks sources how far they go, and hands out ranges.

    source: how far now? ─▶ share between splits (hosts/admission.py) ─▶ ranges ─▶ tasks
                                     ▲ a task that has not read its ranges gets no more

In: opened sources and the lines of their tasks.  Out: ranges; where every source was read to, which
is what an epoch keeps of it: a barrier is sent behind the ranges that belong to the epoch.
Each split belongs to one task, so that its order and its watermark are its own.
Next: hosts/continuous/loops.py reads the ranges
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from headrace.data.codec import codec_for
from headrace.hosts.admission import (
    cut_range,
    initial_position,
    latest_position,
    next_offsets,
    ranges_between,
)
from headrace.hosts.continuous.loops import packed
from headrace.hosts.continuous.wire import LineGone
from headrace.hosts.pending import pending_of, pending_unknown
from headrace.hosts.source_ranges import read_range

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.opaque import JsonValue
    from headrace.hosts.alignment import Board, SplitGate
    from headrace.hosts.continuous.wire import Line
    from headrace.hosts.pending import Report
    from headrace.spi.python_source import Offset, Position, PythonSource

__all__ = ["SourceFeed", "SourceFeeds", "task_count"]

# so many messages with ranges may wait at a task: one is read while the next one travels
_AHEAD = 2
# so many records a message asks for at most: a barrier waits behind them
RECORDS_AT_ONCE = 20_000
_ACTIVE_EVERY_S = 0.1
# how often a source is asked how much waits in it, while its tasks have no room for more
_LOOK_EVERY_S = 1.0
# marks the channels of a source without splits that several tasks read
SHARE = "#"


def task_count(source: PythonSource, parallelism: int) -> int:
    """How many tasks can read a source at the same time."""
    if source.reads_on_driver or not (source.has_splits() or source.divisible):
        return 1
    return parallelism


class SourceFeed:
    """One source of a running job.

    Args:
        uid: its name in the program.
        source: an opened one.
        position: where to begin; None at its beginning.
        tasks: how many read it.
        gate: holds back splits for watermark alignment, if somebody asks for it.
        at_once: how many records a task is asked for at a time.
    """

    def __init__(
        self,
        uid: str,
        source: PythonSource,
        position: Position | None,
        *,
        tasks: int,
        gate: SplitGate | None,
        at_once: int = RECORDS_AT_ONCE,
    ) -> None:
        self.uid = uid
        self._at_once = at_once
        self.source = source
        # survives restart, with the epoch; other threads look at it, so it is never changed, only
        # replaced as a whole
        self.position: Position = initial_position(source) if position is None else dict(position)
        self._gate = gate
        self._codec = codec_for(source.produced_type())
        self._tasks = tasks
        self._lines: list[Line] = []
        # messages that a task has not read yet; counted by the threads of feeds and of lines
        self._waiting = [0] * tasks
        self._counting = threading.Lock()
        self._owners: dict[str, int] = {}  # of splits
        self._at_rest: set[str] = set()  # splits of which nothing more will be read
        self._turn = 0
        self.is_quiet = False
        # (position, how far the source went then), or why that is not known; replaced as a whole
        self._seen: tuple[Position, Position] | Exception | None = None
        self._look_at = 0.0

    def begin(self, lines: Sequence[Line]) -> None:
        """The tasks are there: tell all of them of all splits, which hold event time from now."""
        self._lines = list(lines)
        for split in sorted(self.position):
            self._own(split)
        # all of them to all tasks: whoever sends first, nobody runs ahead of a split
        names = [name for split in self._waiting_splits() for name in self._channels(split)]
        for line in self._lines if names else ():
            line.send("splits", names)

    def _waiting_splits(self) -> list[str]:
        """Splits that hold event time before their first record (docs/semantics.md#w10)."""
        if not self.source.has_splits():
            return sorted(self.position) if self._tasks > 1 else []
        found = list(ranges_between(self.source, self.position, self.position))
        self._at_rest = {split for split, low, _ in found if low is None}
        return [split for split, low, _ in found if low is not None]

    def _own(self, split: str) -> int:
        if split not in self._owners:
            load = [0] * self._tasks
            for owner in self._owners.values():
                load[owner] += 1
            self._owners[split] = load.index(min(load))
        return self._owners[split]

    def _channels(self, split: str) -> list[str]:
        if self.source.has_splits():
            return [split]
        return [""] if self._tasks == 1 else [f"{SHARE}{task}" for task in range(self._tasks)]

    def was_read(self, task: int) -> None:
        """A task has read what a message asked for."""
        with self._counting:
            self._waiting[task] -= 1

    @property
    def is_read(self) -> bool:
        """Whether everything that was asked for is read."""
        return not any(self._waiting)

    def feed(self) -> bool:
        """Send what can be read now to tasks that have room; whether there may be more at once."""
        free = {task for task in range(self._tasks) if self._waiting[task] < _AHEAD}
        if not free:
            self.is_quiet = False
            self._look()
            return True
        latest = latest_position(self.source, self.position)
        news = [split for split in latest if split not in self.position]
        if news:
            self._announce({split: latest[split] for split in news})
        wanted = latest if self._gate is None else self._gate.admit(self.position, latest)
        start = self.position
        sent = self._feed_shared(wanted, free) if self._is_shared else self._feed(wanted, free)
        if self._gate is not None:
            self._gate.tell(start, self.position, latest)
        if self.source.has_splits():
            self._let_rest(latest)
        self._seen = self.position, latest
        self.is_quiet = not sent and not news and self.is_read
        return sent >= self._at_once or bool(news)

    def _announce(self, found: Position) -> None:
        """New splits, and where they begin: nothing of them is read yet."""
        self.position = {**self.position, **found}
        for split in found:
            owner = self._own(split)
            if self.source.has_splits():
                self._lines[owner].send("splits", self._channels(split))

    def _look(self) -> None:
        """While tasks have no room, only the metrics want to know how far the source goes."""
        now = time.monotonic()
        if not self.source.counts_pending or now < self._look_at:
            return
        self._look_at = now + _LOOK_EVERY_S
        try:
            self._seen = self.position, latest_position(self.source, self.position)
        except Exception as error:  # if it lasts, whoever wants records raises it
            self._seen = error

    def _let_rest(self, latest: Position) -> None:
        """Tell the tasks of splits of which nothing more will be read, and of those that are back.

        Behind the ranges that were sent: their records come first.
        """
        for split, at in self.position.items():
            rests = latest.get(split, at) == at and self.source.rests(split, at)
            if rests != (split in self._at_rest):
                self._at_rest ^= {split}
                self._lines[self._own(split)].send("rest" if rests else "splits", [split])

    @property
    def _is_shared(self) -> bool:
        return self.source.divisible and self._tasks > 1

    def _feed(self, latest: Position, free: set[int]) -> int:
        """Splits whose tasks have room; how many records were asked for."""
        start = {s: at for s, at in self.position.items() if self._own(s) in free and s in latest}
        ends = next_offsets(self.source, start, latest, self._at_once * len(free))
        ranges: dict[int, list[tuple[str, str, Offset, Offset]]] = {}
        asked = 0
        for split, end in ends.items():
            count = self.source.records_between(split, start[split], end)
            if count > 0:
                asked += count
                channel = self._channels(split)[0]
                ranges.setdefault(self._owners[split], []).append(
                    (channel, split, start[split], end)
                )
        for task, wanted in ranges.items():
            self._send(task, wanted)
        if asked or ends != start:
            self.position = {**self.position, **ends}
        return asked

    def _feed_shared(self, latest: Position, free: set[int]) -> int:
        """A source that several tasks may read at the same time: pieces in turn."""
        asked = 0
        reached: Position = {}
        for split, start in sorted(self.position.items()):
            ends = next_offsets(self.source, {split: start}, latest, self._at_once * len(free))
            end = ends[split]
            count = self.source.records_between(split, start, end)
            if count <= 0:
                continue
            asked += count
            tasks = sorted(free, key=lambda task: (task - self._turn) % self._tasks)
            names = self._channels(split)
            for task, piece in zip(
                tasks, cut_range(start, end, len(tasks), at_least=1), strict=False
            ):
                name = names[task] if len(names) > 1 else names[0]
                self._send(task, [(name, split, *piece)])
                self._turn = (task + 1) % self._tasks
            reached[split] = end
        if reached:
            self.position = {**self.position, **reached}
        return asked

    def _send(self, task: int, ranges: list[tuple[str, str, Offset, Offset]]) -> None:
        line = self._lines[task]
        if not self.source.reads_on_driver:
            self._will_read(task)
            line.send("read", ranges)
            return
        for channel, split, start, end in ranges:
            for records in read_range(self.source, split, start, end, self._codec):
                self._will_read(task)
                line.send("records", channel, *packed(records))

    def _will_read(self, task: int) -> None:
        with self._counting:
            self._waiting[task] += 1

    def say_active(self, channels: Sequence[str]) -> None:
        """Splits that are held back, to the tasks: they are not idle."""
        mine = [name for name in channels if name.startswith(f"{self.uid}/")]
        if mine:
            for line in self._lines:
                line.send("active", mine)

    def exhausted(self) -> bool:
        """Whether everything was read, as far as the source can tell."""
        return self.is_quiet and self.source.is_exhausted(self.position)

    def reports(self) -> list[Report]:
        """What waits behind the position, for the job's metrics, as it was seen when last asked.

        Called by the thread that ends epochs: it asks nobody, as the source is in use elsewhere,
        and an epoch must not wait for an answer that only a metric wants.
        """
        seen = self._seen
        if seen is None:
            return []
        if isinstance(seen, Exception):
            return pending_unknown(self.uid, self.source, seen)
        position, latest = seen
        return pending_of(self.uid, self.source, position, lambda: latest)


class SourceFeeds:
    """All sources of a running job, fed by one thread.

    Args:
        feeds: in the order of the plan.
        tick_s: how often sources that had nothing are asked again.
        board: of watermark alignment; None if nobody asks for it.
        on_error: called with what a source raised.
    """

    def __init__(
        self,
        feeds: Sequence[SourceFeed],
        *,
        tick_s: float,
        board: Board | None,
        on_error: Callable[[BaseException], None],
    ) -> None:
        self.feeds = list(feeds)
        self._tick_s = tick_s
        self._board = board
        self._on_error = on_error
        # held while ranges are planned and sent: a barrier stands behind all or none of them.  Also
        # held while a source is asked anything: its author need not think of threads
        self._lock = threading.Lock()
        self._wake = threading.Event()  # a task has room again
        self._over = threading.Event()
        self._stopped = False
        self._paused = False
        self._thread = threading.Thread(target=self._run, name="headrace-feeds", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """No more ranges."""
        self._stopped = True
        self._over.set()
        self._wake.set()

    def was_read(self, source: int, task: int) -> None:
        """A task has room again."""
        self.feeds[source].was_read(task)
        self._wake.set()

    def barrier(self, send: Callable[[], None]) -> list[JsonValue]:
        """Send a barrier behind what was sent so far; the positions that belong to it."""
        with self._lock:
            send()
            return [feed.position for feed in self.feeds]

    def reports(self) -> list[Report]:
        """What the sources tell the job's metrics."""
        return [report for feed in self.feeds for report in feed.reports()]

    def end(self) -> None:
        """Read nothing more."""
        with self._lock:
            self._paused = True

    @property
    def is_quiet(self) -> bool:
        """Whether the sources have nothing that is not read."""
        return all(feed.is_quiet for feed in self.feeds)

    def exhausted(self) -> bool:
        """Whether all sources are at their end."""
        with self._lock:
            return all(feed.exhausted() for feed in self.feeds)

    def commit(self, positions: Sequence[JsonValue]) -> None:
        """An epoch is committed: sources may forget what is before these positions."""
        with self._lock:
            for feed, position in zip(self.feeds, positions, strict=True):
                feed.source.commit(position)

    def _run(self) -> None:
        last_said = 0.0
        try:
            while not self._stopped:
                self._wake.clear()
                with self._lock:
                    more = [] if self._paused else [feed.feed() for feed in self.feeds]
                now = time.monotonic()
                if self._board is not None and now - last_said > _ACTIVE_EVERY_S:
                    last_said = now
                    self._say_active(self._board)
                # a source that trickles is asked once a tick, or its ranges would be tiny
                if any(more):
                    self._wake.wait(self._tick_s)
                else:
                    self._over.wait(self._tick_s)
        except LineGone:
            return  # who listens to the task tells why it is gone
        except BaseException as error:
            if not self._stopped:
                self._on_error(error)

    def _say_active(self, board: Board) -> None:
        held = board.not_idle()
        if held:
            for feed in self.feeds:
                feed.say_active(held)

    def close(self) -> None:
        """Close the sources; the thread has been stopped."""
        self.stop()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(10)
        for feed in self.feeds:
            feed.source.close()
