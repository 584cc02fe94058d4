"""States whose entries expire: each entry is kept with the time it was last touched.

An entry is expired when ``last touched + ttl <= now``, on the wall clock; lists expire item by
item, maps entry by entry.  Expired entries are dropped when they are read, and a sweep goes through
a few pages after every batch, so that entries nobody reads again free their storage, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.state_ttl import StateTtlConfig
from headrace.runtime.state.pages import NO_ENTRY
from headrace.runtime.state.states import (
    PagedAggregatingState,
    PagedListState,
    PagedMapState,
    PagedReducingState,
    PagedValueState,
    Scope,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.runtime.state.pages import PagedTable

SWEPT_PAGES = 2  # per table and batch: a round trip each, about 0.2 ms


@dataclass(frozen=True, slots=True)
class Expiry:
    """When entries expire, and what reading does."""

    ttl_ms: int
    refresh_on_read: bool
    show_expired: bool
    clock: Callable[[], int]

    @staticmethod
    def of(config: StateTtlConfig, clock: Callable[[], int]) -> Expiry:
        """From the user's configuration."""
        shown = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        return Expiry(
            config.get_ttl().to_milliseconds(),
            config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite,
            config.get_state_visibility() is shown,
            clock,
        )

    def expired(self, touched: int) -> bool:
        """Whether an entry that was touched at this time is over."""
        return touched + self.ttl_ms <= self.clock()


class _Expiring:
    """Reads and writes (time, content) pairs of the entry at hand."""

    _scope: Scope
    _table: PagedTable
    expiry: Expiry

    def _read(self) -> Any:
        """The live content, or NO_ENTRY; drops what is expired."""
        stored = self._table.get(self._scope.entry, NO_ENTRY)
        if stored is NO_ENTRY:
            return NO_ENTRY
        touched, content = stored
        if self.expiry.expired(touched):
            self._table.remove(self._scope.entry)
            return content if self.expiry.show_expired else NO_ENTRY
        if self.expiry.refresh_on_read:
            self._write(content)
        return content

    def _write(self, content: Any) -> None:
        self._table.put(self._scope.entry, (self.expiry.clock(), content))

    def sweep(self) -> None:
        """Drop expired entries of some pages, whether or not anybody reads them."""
        self._table.sweep(self._purge, SWEPT_PAGES)

    def _purge(self, entry: Any) -> Any:
        return NO_ENTRY if self.expiry.expired(entry[0]) else entry


class TtlValueState(_Expiring, PagedValueState):
    """A value that expires."""

    def __init__(self, scope: Scope, table: PagedTable, expiry: Expiry) -> None:
        PagedValueState.__init__(self, scope, table)
        self.expiry = expiry

    def value(self) -> Any:
        """The current value, or None."""
        self._cell()
        found = self._read()
        return None if found is NO_ENTRY else found

    def update(self, value: Any) -> None:
        """Replace the value; its time starts anew."""
        self._cell()
        if value is None:
            self.clear()
        else:
            self._write(value)


class TtlReducingState(_Expiring, PagedReducingState):
    """A reduced value that expires as a whole."""

    def __init__(self, scope: Scope, table: PagedTable, reduce: Any, expiry: Expiry) -> None:
        PagedReducingState.__init__(self, scope, table, reduce)
        self.expiry = expiry

    def get(self) -> Any:
        """The current value, or None."""
        self._cell()
        found = self._read()
        return None if found is NO_ENTRY else found

    def add(self, value: Any) -> None:
        """Reduce a value in; after expiry it starts anew."""
        self._cell()
        old = _live(self)
        self._write(value if old is NO_ENTRY else self._reduce(old, value))


class TtlAggregatingState(_Expiring, PagedAggregatingState):
    """An accumulator that expires as a whole."""

    def __init__(self, scope: Scope, table: PagedTable, aggregate: Any, expiry: Expiry) -> None:
        PagedAggregatingState.__init__(self, scope, table, aggregate)
        self.expiry = expiry

    def get(self) -> Any:
        """The result, or None."""
        self._cell()
        found = self._read()
        return None if found is NO_ENTRY else self._aggregate.get_result(found)

    def add(self, value: Any) -> None:
        """Add to the accumulator; after expiry it starts anew."""
        self._cell()
        if value is None:
            self.clear()
            return
        old = _live(self)
        accumulator = self._aggregate.create_accumulator() if old is NO_ENTRY else old
        self._write(self._aggregate.add(value, accumulator))


def _live(state: _Expiring) -> Any:
    """The content to go on from: never an expired one, whatever reading may show."""
    stored = state._table.get(state._scope.entry, NO_ENTRY)
    if stored is NO_ENTRY or state.expiry.expired(stored[0]):
        return NO_ENTRY
    return stored[1]


class _ManyExpiring(_Expiring):
    """Entries with many parts, each (time, content), that expire one by one."""

    def _purge(self, entry: Any) -> Any:
        left = self._alive(entry)
        if len(left) == len(entry):
            return entry
        return left if len(left) else NO_ENTRY

    def _alive(self, entry: Any) -> Any:
        raise NotImplementedError

    def _parts(self) -> Any:
        """The parts to show; expired ones are dropped, after being shown once if so configured."""
        stored = self._table.get(self._scope.entry, NO_ENTRY)
        if stored is NO_ENTRY:
            return self._alive(())
        left = self._alive(stored)
        if len(left) == 0:
            self._table.remove(self._scope.entry)
        elif len(left) != len(stored):
            self._table.put(self._scope.entry, left)
        return stored if self.expiry.show_expired else left


class TtlListState(_ManyExpiring, PagedListState):
    """A list whose items expire one by one."""

    def __init__(self, scope: Scope, table: PagedTable, expiry: Expiry) -> None:
        PagedListState.__init__(self, scope, table)
        self.expiry = expiry

    def _alive(self, entry: Any) -> list[Any]:
        return [part for part in entry if not self.expiry.expired(part[0])]

    def get(self) -> Iterator[Any]:
        """The items that are not expired."""
        self._cell()
        items = [item for _, item in self._parts()]
        if items and self.expiry.refresh_on_read:
            self._store(items)
        return iter(items)

    def _store(self, items: list[Any]) -> None:
        now = self.expiry.clock()
        self._table.put(self._scope.entry, [(now, item) for item in items])

    def add_all(self, values: Iterable[Any]) -> None:
        """Append items."""
        self._cell()
        now = self.expiry.clock()
        stored = self._table.get(self._scope.entry, NO_ENTRY)
        old = [] if stored is NO_ENTRY else self._alive(stored)
        self._table.put(self._scope.entry, [*old, *((now, value) for value in values)])

    def update(self, values: Iterable[Any]) -> None:
        """Replace the list."""
        self._cell()
        items = list(values)
        if items:
            self._store(items)
        else:
            self.clear()


class TtlMapState(_ManyExpiring, PagedMapState):
    """A map whose entries expire one by one."""

    def __init__(self, scope: Scope, table: PagedTable, expiry: Expiry) -> None:
        PagedMapState.__init__(self, scope, table)
        self.expiry = expiry

    def _alive(self, entry: Any) -> dict[Any, Any]:
        return {k: part for k, part in dict(entry).items() if not self.expiry.expired(part[0])}

    def _content(self) -> dict[Any, Any]:
        self._cell()
        parts = self._parts()
        content = {key: value for key, (_, value) in dict(parts).items()}
        if content and self.expiry.refresh_on_read:
            now = self.expiry.clock()
            self._table.put(self._scope.entry, {k: (now, v) for k, v in content.items()})
        return content

    def get(self, key: Any) -> Any:
        """The value of a map key, or None; only this entry's time is touched."""
        self._cell()
        stored = self._table.get(self._scope.entry, NO_ENTRY)
        if stored is NO_ENTRY or key not in stored:
            return None
        touched, value = stored[key]
        if self.expiry.expired(touched):
            self.remove(key)
            return value if self.expiry.show_expired else None
        if self.expiry.refresh_on_read:
            self.put(key, value)
        return value

    def contains(self, key: Any) -> bool:
        """Whether a map key is set and not expired."""
        return self.get(key) is not None

    def put(self, key: Any, value: Any) -> None:
        """Set a map key; its time starts anew."""
        super().put(key, (self.expiry.clock(), value))

    def is_empty(self) -> bool:
        """Whether nothing is stored; as in Flink, expiry is not looked at."""
        self._cell()
        return self._scope.entry not in self._table
