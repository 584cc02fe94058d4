"""Timers of one operator in one subtask: per key and namespace, fired in timestamp order.

Timers are stored in buckets of time, each a paged table of its own, so that a batch reads only the
buckets that are due and those it adds to, however many timers wait in the future.

    <name>/buckets       which buckets hold timers
    <name>/<bucket>      a table with the timers of 4096 ms
"""

from __future__ import annotations

import heapq
import pickle
from typing import TYPE_CHECKING, Any

from headrace.runtime.pages.table import PagedTable
from headrace.spi.state import Layout, StateSpec, Target, register_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.runtime.pages.store import PageStore
    from headrace.spi.state import ListedPages

BUCKET_MS = 4096


class TimerQueue:
    """The timers of one time domain."""

    def __init__(self, store: PageStore, name: str) -> None:
        self._store = store
        self._name = name
        self._index_key = f"{name}/buckets".encode()
        # whether timers may be set; not while the last ones of a bounded input fire
        self.takes_more = True
        self.reload()

    def reload(self) -> None:
        """Start from what the store holds."""
        # survives restart: which buckets hold timers
        stored = self._store.get(self._index_key)
        self._index: set[int] = set() if stored is None else set(pickle.loads(stored))
        self._index_dirty = False
        # buckets whose timers are not in the heap yet, itself a heap
        self._waiting = sorted(self._index)
        # rebuilt: tables of touched buckets; timers of buckets that became due
        self._tables: dict[int, PagedTable] = {}
        self._due: list[tuple[int, int, Any, Any]] = []
        self._due_buckets: set[int] = set()
        self._serial = 0

    def register(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        """Set a timer; the same one twice is one timer."""
        if not self.takes_more:
            return
        bucket = timestamp // BUCKET_MS
        table = self._table(bucket)
        timer = (timestamp, key, namespace)
        if timer in table:
            return
        table.put(timer, None)
        if bucket not in self._index:
            self._index.add(bucket)
            self._index_dirty = True
            heapq.heappush(self._waiting, bucket)
        if bucket in self._due_buckets:
            self._push(timer)

    def delete(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        """Remove a timer; an unknown one is ignored."""
        bucket = timestamp // BUCKET_MS
        if bucket in self._index:
            self._table(bucket).remove((timestamp, key, namespace))

    def fire_until(self, time: int, fire: Callable[[int, Any, Any], None]) -> int:
        """Fire every timer up to `time` in order, those set meanwhile included; how many fired."""
        fired = 0
        while (timer := self._next_due(time)) is not None:
            table = self._table(timer[0] // BUCKET_MS)
            if timer in table:  # else deleted after it became due
                table.remove(timer)
                fired += 1
                fire(*timer)
        return fired

    def next_time(self) -> int | None:
        """The earliest timer, or None."""
        for bucket in sorted(self._index):
            times: list[int] = [timer[0] for timer, _ in self._table(bucket).scan()]
            if times:
                return min(times)
        return None

    def not_before(self) -> int | None:
        """No timer is due before this time; known without a look at the timers themselves."""
        times = [self._due[0][0]] if self._due else []
        times += [self._waiting[0] * BUCKET_MS] if self._waiting else []
        return min(times, default=None)

    def __len__(self) -> int:
        return sum(1 for _ in self.scan())

    def scan(self) -> Iterator[tuple[int, Any, Any]]:
        """Every timer as (timestamp, key, namespace), bucket by bucket."""
        for bucket in sorted(self._index):
            for timer, _ in self._table(bucket).scan():
                yield timer

    def flush(self) -> None:
        """Write what changed, and drop buckets that ran empty."""
        for bucket, table in list(self._tables.items()):
            table.flush()
            if bucket in self._due_buckets and table.is_empty():
                table.drop()
                del self._tables[bucket]
                self._index.discard(bucket)
                self._due_buckets.discard(bucket)
                self._index_dirty = True
        if self._index_dirty:
            self._store.put(self._index_key, pickle.dumps(sorted(self._index), 5))
            self._index_dirty = False

    def _next_due(self, time: int) -> tuple[int, Any, Any] | None:
        """The earliest timer up to `time`; reads a bucket when it is reached."""
        while self._waiting and self._waiting[0] <= time // BUCKET_MS:
            if self._due and self._due[0][0] // BUCKET_MS < self._waiting[0]:
                break
            bucket = heapq.heappop(self._waiting)
            self._due_buckets.add(bucket)
            for timer, _ in self._table(bucket).items():
                self._push(timer)
        if not self._due or self._due[0][0] > time:
            return None
        timestamp, _, key, namespace = heapq.heappop(self._due)
        return timestamp, key, namespace

    def _push(self, timer: tuple[int, Any, Any]) -> None:
        self._serial += 1  # keys need not be comparable
        heapq.heappush(self._due, (timer[0], self._serial, timer[1], timer[2]))

    def _table(self, bucket: int) -> PagedTable:
        table = self._tables.get(bucket)
        if table is None:
            table = self._tables[bucket] = PagedTable(self._store, f"{self._name}/{bucket}")
        return table


# --- in savepoints -------------------------------------------------------------------------------


class TimerLayout(Layout):
    """Timers as entries: the namespace is (timestamp, namespace of the timer), and no value."""

    spread = True
    columns = ("timestamp", "namespace")
    has_values = False

    def entries(self, store: ListedPages, name: str) -> Iterator[tuple[Any, ...]]:
        """All timers."""
        for timestamp, key, namespace in TimerQueue(store, name).scan():
            yield key, (timestamp, namespace), None

    def target(self, store: PageStore, name: str) -> Target:
        """Takes them back."""
        return _TimerTarget(TimerQueue(store, name))

    def cells(self, namespace: Any) -> tuple[Any, ...]:
        """When, and in which namespace."""
        return tuple(namespace)


class _TimerTarget(Target):
    def __init__(self, timers: TimerQueue) -> None:
        self._timers = timers

    def put(self, key: Any, namespace: Any, value: Any) -> None:
        timestamp, of_timer = namespace
        self._timers.register(timestamp, key, of_timer)

    def flush(self) -> None:
        self._timers.flush()


register_layout(TimerLayout("timers"))

EVENT_TIMERS = StateSpec("timers/event", "timers")
PROCESSING_TIMERS = StateSpec("timers/processing", "timers")
