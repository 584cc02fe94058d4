"""States whose entries expire: each entry is kept with the time it was last touched.

An entry is expired when ``last touched + ttl <= now``, on the wall clock; lists expire item by
item, maps entry by entry.  Expired entries are dropped when they are read, and a sweep goes through
a few pages after every batch, so that entries nobody reads again free their storage, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.state_ttl import StateTtlConfig
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.state.fitting import LOOKED_AT
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

    from headrace.runtime.pages.large import LargeTable
    from headrace.runtime.pages.table import PagedTable
    from headrace.runtime.state.fitting import Fitting

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
    _kinds: set[type] | None
    _fitting: Fitting
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

    def look(self) -> None:
        """Look at some values of this batch in depth."""
        if self._kinds is not None:
            self._fitting.look([value for _, value in self._table.some_changed(LOOKED_AT)])

    def _write(self, content: Any) -> None:
        if self._kinds is not None and type(content) not in self._kinds:
            self._fitting.look([content])
        self._table.put(self._scope.entry, (self.expiry.clock(), content))

    def sweep(self) -> None:
        """Drop expired entries of some pages, whether or not anybody reads them."""
        self._table.sweep(self._purge, SWEPT_PAGES)

    def _purge(self, key: Any, entry: Any) -> Any:
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
        """Replace the value; its time restarts."""
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
        """Reduce a value in; after expiry it starts from empty."""
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
        """Add to the accumulator; after expiry it starts from empty."""
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


class TtlListState(PagedListState, _Expiring):
    """A list of (time, item), whose items expire one by one."""

    _table: LargeTable

    def __init__(self, scope: Scope, table: LargeTable, expiry: Expiry) -> None:
        PagedListState.__init__(self, scope, table)
        self.expiry = expiry

    def _alive(self, parts: list[Any]) -> list[Any]:
        left = [part for part in parts if not self.expiry.expired(part[0])]
        return parts if len(left) == len(parts) else left

    def _revised(self, parts: list[Any]) -> tuple[list[Any], list[Any]]:
        """What is left of some parts after they were read, and the items to show."""
        left = self._alive(parts)
        shown = [item for _, item in (parts if self.expiry.show_expired else left)]
        if left and self.expiry.refresh_on_read:
            left = self._stamped(item for _, item in left)
        return left, shown

    def _stamped(self, items: Iterable[Any]) -> list[Any]:
        now = self.expiry.clock()
        return [(now, item) for item in items]

    def get(self) -> Iterator[Any]:
        """The items that are not expired."""
        cell = self._cell()
        parts = cell.value
        if parts is NO_ENTRY:
            return iter(())
        if type(parts) is not list:
            return iter(self._table.parts(cell).revise(self._revised))
        left, shown = self._revised(parts)
        if left is not parts:
            self._set(left if left else NO_ENTRY)
        return iter(shown)

    def add_all(self, values: Iterable[Any]) -> None:
        """Append items; their time starts now."""
        self.merge_raw(self._stamped(self._check_all(list(values))))

    def update(self, values: Iterable[Any]) -> None:
        """Replace the list."""
        self._replace(self._stamped(self._check_all(list(values))))

    def _purge(self, key: Any, entry: Any) -> Any:
        if type(entry) is list:
            return self._alive(entry) or NO_ENTRY
        parts = self._table.parts(self._table.cell(key))
        parts.purge(lambda items: (self._alive(items), []), SWEPT_PAGES)
        return entry


class TtlMapState(PagedMapState, _Expiring):
    """A map to (time, value), whose entries expire one by one."""

    _table: LargeTable

    def __init__(self, scope: Scope, table: LargeTable, expiry: Expiry) -> None:
        PagedMapState.__init__(self, scope, table)
        self.expiry = expiry

    def get(self, key: Any) -> Any:
        """The value of a map key, or None; only this entry's time is touched."""
        stored = self._value(key)
        if stored is NO_ENTRY:
            return None
        touched, value = stored
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
        """Set a map key; its time restarts."""
        self._check_pair(key, value)
        self._put(key, (self.expiry.clock(), value))

    def items(self) -> Iterable[tuple[Any, Any]]:
        """The pairs that are not expired."""
        cell = self._cell()
        if cell.value is NO_ENTRY:
            return []
        if type(cell.value) is not dict:
            return self._large_items(self._table.parts(cell).entries)
        shown, left = {}, {}
        expiry, now = self.expiry, self.expiry.clock()
        for key, (touched, value) in cell.value.items():
            expired = expiry.expired(touched)
            if not expired:
                left[key] = (now if expiry.refresh_on_read else touched, value)
            if not expired or expiry.show_expired:
                shown[key] = value
        if expiry.refresh_on_read or len(left) < len(cell.value):
            self._set(left if left else NO_ENTRY)
        return list(shown.items())

    def _large_items(self, entries: PagedTable) -> Iterator[tuple[Any, Any]]:
        expiry = self.expiry
        for key, (touched, value) in entries.scan():
            expired = expiry.expired(touched)
            if expired:
                entries.remove(key)
            elif expiry.refresh_on_read:
                entries.put(key, (expiry.clock(), value))
            if not expired or expiry.show_expired:
                yield key, value

    def is_empty(self) -> bool:
        """Whether nothing is stored; as in Flink, expiry is not looked at."""
        cell = self._cell()
        if type(cell.value) is tuple:
            return bool(self._table.parts(cell).entries.is_empty())
        return cell.value is NO_ENTRY

    def _purge(self, key: Any, entry: Any) -> Any:
        expired = self.expiry.expired
        if type(entry) is dict:
            left = {k: part for k, part in entry.items() if not expired(part[0])}
            return (left or NO_ENTRY) if len(left) < len(entry) else entry
        entries = self._table.parts(self._table.cell(key)).entries
        entries.sweep(lambda _, part: NO_ENTRY if expired(part[0]) else part, SWEPT_PAGES)
        return entry
