"""Flink's keyed states on top of paged tables: value, list, map, reducing, aggregating.

A state object belongs to an operator and looks at the operator's *scope* for the key at hand, so
the operator only sets `scope.entry` before it calls user code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.state import (
    AggregatingState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ValueState,
)
from headrace.errors import StateError
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.state.fitting import LOOKED_AT, Fitting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.api.state import StateDescriptor
    from headrace.runtime.pages.large import LargeTable
    from headrace.runtime.pages.table import Cell, PagedTable


class Scope:
    """The key (and, for windows, the namespace) that user code is being called for."""

    __slots__ = ("entry", "key")

    def __init__(self) -> None:
        self.key: Any = NO_ENTRY
        self.entry: Any = NO_ENTRY

    def set(self, key: Any) -> None:
        """Look at the state of a key."""
        self.key = self.entry = key

    def set_namespace(self, key: Any, namespace: Any) -> None:
        """Look at the state of a key within a namespace, such as a window."""
        self.key = key
        self.entry = (key, namespace)

    def clear(self) -> None:
        """No key is at hand: user code outside of a keyed call."""
        self.key = self.entry = NO_ENTRY


class _State:
    """What all states share: the cell of the entry at hand."""

    def __init__(self, scope: Scope, table: PagedTable) -> None:
        self._scope = scope
        self._table = table

    # The Python types that values may have; None if any. See fitting.py.
    _kinds: set[type] | None = None
    _fitting: Fitting

    def expect(self, descriptor: StateDescriptor) -> None:
        """Refuse values that are not of the declared type from now on."""
        self._fitting = Fitting(descriptor.name, "value", descriptor.type_info)
        self._kinds = self._fitting.kinds

    def look(self) -> None:
        """Look at some values of this batch in depth."""
        if self._kinds is not None:
            self._fitting.look(self._table.some_changed(LOOKED_AT))

    def _cell(self) -> Cell:
        entry = self._scope.entry
        return self._table.cells.get(entry) or self._find(entry)

    def _find(self, entry: Any) -> Cell:
        if entry is NO_ENTRY:
            raise StateError(
                "keyed state was used outside of a keyed call",
                fix="use it in process_element, on_timer or map of a function after key_by; in "
                "open() only create it",
            )
        return self._table.find(entry)

    def _check(self, value: Any) -> None:
        if self._kinds is not None and type(value) not in self._kinds:
            self._fitting.look([value])

    def _set(self, value: Any) -> None:
        cell = self._cell()
        cell.value = value
        if cell.clean:
            self._table.touch(cell)

    def clear(self) -> None:
        """Forget the entry of the current key."""
        cell = self._cell()
        if cell.value is not NO_ENTRY:
            cell.value = NO_ENTRY
            if cell.clean:
                self._table.touch(cell)

    def raw(self) -> Any:
        """What is stored, for moving it to another key or window; NO_ENTRY if nothing is."""
        return self._cell().value


class PagedValueState(_State, ValueState[Any]):
    """One value per key."""

    def value(self) -> Any:
        """The current value, or None."""
        # Benchmark `keyed`: called for every record, so nothing is called from here.
        entry = self._scope.entry
        value = (self._table.cells.get(entry) or self._find(entry)).value
        return None if value is NO_ENTRY else value

    def update(self, value: Any) -> None:
        """Replace the value; None clears it, as in Flink."""
        if value is None:
            self.clear()
            return
        kinds = self._kinds
        if kinds is not None and type(value) not in kinds:
            self._fitting.look([value])
        entry = self._scope.entry
        cell = self._table.cells.get(entry) or self._find(entry)
        cell.value = value
        if cell.clean:
            self._table.touch(cell)


class _LargeState(_State):
    """Lists and maps: the cell holds the content itself, or stands for parts (large.py)."""

    _table: LargeTable

    def clear(self) -> None:
        """Forget the entry of the current key."""
        self._table.discard(self._cell())
        super().clear()

    def raw(self) -> Any:
        """The whole content, for moving it to another key or window; NO_ENTRY if nothing is."""
        return self._table.content(self._cell())


class PagedListState(_LargeState, ListState[Any]):
    """A list per key."""

    def get(self) -> Iterator[Any]:
        """The items; empty when there are none. A large list is read as far as one goes."""
        cell = self._cell()
        items = cell.value
        if type(items) is list:
            return iter(items.copy())
        return iter(()) if items is NO_ENTRY else iter(self._table.parts(cell))

    def add(self, value: Any) -> None:
        """Append one item."""
        self.add_all((value,))

    def expect(self, descriptor: StateDescriptor) -> None:
        """Refuse items that are not of the declared type from now on."""
        assert isinstance(descriptor, ListStateDescriptor)
        self._fitting = Fitting(descriptor.name, "item", descriptor.element_type)
        self._kinds = self._fitting.kinds

    def look(self) -> None:
        """Items are looked at when they come."""

    def _check_all(self, items: list[Any]) -> list[Any]:
        if self._kinds is not None and not self._kinds.issuperset(map(type, items)):
            self._fitting.look(items)
        return items

    def add_all(self, values: Iterable[Any]) -> None:
        """Append items."""
        self.merge_raw(self._check_all(list(values)))

    def merge_raw(self, added: list[Any]) -> None:
        """Append what `raw` gave."""
        cell = self._cell()
        items = cell.value
        if type(items) is list:
            items.extend(added)
        elif items is not NO_ENTRY:
            self._table.parts(cell).extend(added)
            return
        elif added:
            cell.value = added
        else:
            return
        if cell.clean:
            self._table.touch(cell)

    def update(self, values: Iterable[Any]) -> None:
        """Replace the list; an empty one clears it."""
        self._replace(self._check_all(list(values)))

    def _replace(self, items: list[Any]) -> None:
        if items:
            self._table.discard(self._cell())
            self._set(items)
        else:
            self.clear()

    def __iter__(self) -> Iterator[Any]:
        return self.get()


class PagedMapState(_LargeState, MapState[Any, Any]):
    """A dictionary per key."""

    def get(self, key: Any) -> Any:
        """The value of a map key, or None."""
        found = self._value(key)
        return None if found is NO_ENTRY else found

    def _value(self, key: Any) -> Any:
        cell = self._cell()
        content = cell.value
        if type(content) is dict:
            return content.get(key, NO_ENTRY)
        if content is NO_ENTRY:
            return NO_ENTRY
        return self._table.parts(cell).entries.get(key, NO_ENTRY)

    _key_kinds: set[type] | None = None
    _key_fitting: Fitting

    def expect(self, descriptor: StateDescriptor) -> None:
        """Refuse keys and values that are not of the declared types from now on."""
        assert isinstance(descriptor, MapStateDescriptor)
        self._fitting = Fitting(descriptor.name, "value", descriptor.value_type)
        self._key_fitting = Fitting(descriptor.name, "map key", descriptor.key_type)
        self._kinds, self._key_kinds = self._fitting.kinds, self._key_fitting.kinds

    def look(self) -> None:
        """Keys and values are looked at when they come."""

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a map key."""
        self._check_pair(key, value)
        self._put(key, value)

    def _check_pair(self, key: Any, value: Any) -> None:
        if self._key_kinds is not None and type(key) not in self._key_kinds:
            self._key_fitting.look([key])
        if self._kinds is not None and type(value) not in self._kinds:
            self._fitting.look([value])

    def _put(self, key: Any, value: Any) -> None:
        cell = self._cell()
        content = cell.value
        if type(content) is dict:
            content[key] = value
        elif content is NO_ENTRY:
            cell.value = {key: value}
        else:
            self._table.parts(cell).entries.put(key, value)
            return
        if cell.clean:
            self._table.touch(cell)

    def put_all(self, dict_value: Any) -> None:
        """Set several."""
        for key, value in dict(dict_value).items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Remove a map key; unknown ones are ignored."""
        cell = self._cell()
        content = cell.value
        if type(content) is dict:
            if content.pop(key, NO_ENTRY) is not NO_ENTRY:
                self._set(content if content else NO_ENTRY)
        elif content is not NO_ENTRY:
            self._table.parts(cell).entries.remove(key)

    def contains(self, key: Any) -> bool:
        """Whether a map key is set."""
        return self._value(key) is not NO_ENTRY

    def items(self) -> Iterable[tuple[Any, Any]]:
        """The pairs. A large map is read as far as one goes."""
        cell = self._cell()
        content = cell.value
        if type(content) is dict:
            return list(content.items())
        return [] if content is NO_ENTRY else self._table.parts(cell).entries.scan()

    def keys(self) -> Iterable[Any]:
        """The map keys."""
        return (key for key, _ in self.items())

    def values(self) -> Iterable[Any]:
        """The values."""
        return (value for _, value in self.items())

    def is_empty(self) -> bool:
        """Whether nothing is set."""
        return not any(True for _ in self.items())

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __len__(self) -> int:
        return sum(1 for _ in self.items())


class PagedReducingState(_State, ReducingState[Any]):
    """One value per key, into which new ones are reduced."""

    def __init__(self, scope: Scope, table: PagedTable, reduce: Callable[[Any, Any], Any]) -> None:
        super().__init__(scope, table)
        self._reduce = reduce

    def get(self) -> Any:
        """The current value, or None."""
        value = self._cell().value
        return None if value is NO_ENTRY else value

    def add(self, value: Any) -> None:
        """Reduce a value into the current one; the first is stored as it is."""
        old = self._cell().value
        new = value if old is NO_ENTRY else self._reduce(old, value)
        self._check(new)
        self._set(new)


class PagedAggregatingState(_State, AggregatingState[Any, Any]):
    """One accumulator per key."""

    def __init__(self, scope: Scope, table: PagedTable, aggregate: Any) -> None:
        super().__init__(scope, table)
        self._aggregate = aggregate

    def get(self) -> Any:
        """The result of the accumulator, or None when nothing was added."""
        accumulator = self._cell().value
        return None if accumulator is NO_ENTRY else self._aggregate.get_result(accumulator)

    def add(self, value: Any) -> None:
        """Add a value to the accumulator; None clears it, as in PyFlink."""
        if value is None:
            self.clear()
            return
        accumulator = self._cell().value
        if accumulator is NO_ENTRY:
            accumulator = self._aggregate.create_accumulator()
        accumulator = self._aggregate.add(value, accumulator)
        self._check(accumulator)
        self._set(accumulator)

    def merge_raw(self, other: Any) -> None:
        """Merge another accumulator into this one."""
        old = self._cell().value
        self._set(other if old is NO_ENTRY else self._aggregate.merge(old, other))
