"""ListViews and MapViews of accumulators, kept in tables of their own instead of in the state.

    accumulator [3, MapView{...}]   ─▶   groups: [3, ("$map view", 0)]    views/<call>/0: {...}

A small view is the entry of its key; a large one lies in pages, and only what a function asks for
is read.  In: accumulators.  Out: plain Python, and accumulators again.
Next: runtime/table/groups.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.table.views import ListView, MapView
from headrace.common.types import Row
from headrace.runtime.pages.large import LargeTable
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.table.large_maps import MapInPages, map_of, remove_large
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.runtime.pages.large import LargeList
    from headrace.runtime.state.provider import StateProvider

VIEWS = StateSpec("views/", "table")
_ROW, _LIST, _MAP = "$row", "$list view", "$map view"


class ViewTables:
    """The views of one function's accumulators.

    Args:
        states: where tables are.
        call: the number of the call.
        example: an accumulator, which tells how many views there are.
    """

    def __init__(self, states: StateProvider, call: int, example: Any) -> None:
        self._states = states
        self._call = call
        self._tables: list[LargeTable] = []
        found: list[Any] = []
        packed(example, found.append)
        for number in range(len(found)):
            self._table(number)

    def _table(self, number: int) -> LargeTable:
        while len(self._tables) <= number:
            name = f"{VIEWS.name}{self._call}/{len(self._tables)}"
            table = self._states.table(name, LargeTable)
            assert isinstance(table, LargeTable)
            self._tables.append(table)
        return self._tables[number]

    def packed(self, key: Any, accumulator: Any) -> Any:
        """An accumulator without its views, which go into their tables."""
        views: list[Any] = []
        found = packed(accumulator, views.append)
        for number, view in enumerate(views):
            self._keep(self._table(number), key, view)
        return found

    def _keep(self, table: LargeTable, key: Any, view: ListView | MapView) -> None:
        content: Any = view._list if isinstance(view, ListView) else view._dict
        if isinstance(content, MapInPages | ListInPages):
            return  # it was changed in its pages
        cell = table.cell(key)
        if type(cell.value) is tuple:
            table.discard(cell)
        cell.value = content if content else NO_ENTRY
        if cell.clean:
            table.touch(cell)

    def unpacked(self, key: Any, stored: Any) -> Any:
        """An accumulator with views over its tables."""
        return unpacked(stored, lambda kind, number: self._view(kind, self._table(number), key))

    def _view(self, kind: str, table: LargeTable, key: Any) -> ListView | MapView:
        cell = table.cell(key)
        if kind == _MAP:
            of_keys = MapView()
            of_keys._dict = map_of(table, cell)
            return of_keys
        view = ListView()
        if type(cell.value) is tuple:
            view._list = ListInPages(table.parts(cell))  # type: ignore[assignment]
        elif cell.value is not NO_ENTRY:
            view._list = cell.value
        return view

    def remove(self, key: Any) -> None:
        """Forget the views of a key."""
        for table in self._tables:
            remove_large(table, table.cell(key))


class ListInPages:
    """A large list, of which only the end is in memory.

    Args:
        parts: the list's own pages.
    """

    def __init__(self, parts: LargeList) -> None:
        self._parts = parts

    def append(self, value: Any) -> None:
        """One more at the end."""
        self._parts.extend([value])

    def extend(self, values: Iterable[Any]) -> None:
        """Several more at the end."""
        self._parts.extend(values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts)


def packed(value: Any, take_view: Callable[[Any], None] | None = None) -> Any:
    """An accumulator as plain Python: savepoints outlive our classes.

    Args:
        value: the accumulator.
        take_view: gets each view, in order, in whose place its number is left; None to leave the
            content of views where they are.
    """
    numbers = iter(range(1 << 30))

    def pack(part: Any) -> Any:
        if isinstance(part, Row):
            names = None if part._names is None else tuple(part._names)
            return (_ROW, names, [pack(each) for each in part])
        if isinstance(part, ListView | MapView):
            if take_view is not None:
                take_view(part)
                return (_LIST if isinstance(part, ListView) else _MAP, next(numbers))
            if isinstance(part, ListView):
                return (_LIST, list(part))
            return (_MAP, dict(part.items()))
        if type(part) is list:
            return [pack(each) for each in part]
        return tuple(map(pack, part)) if type(part) is tuple else part

    return pack(value)


def unpacked(value: Any, view_of: Callable[[str, int], Any] | None = None) -> Any:
    """The way back.

    Args:
        value: what `packed` gave.
        view_of: gives views of a kind by their numbers; None where their contents are in place.
    """
    if type(value) is list:
        return [unpacked(part, view_of) for part in value]
    if type(value) is not tuple:
        return value
    match value:
        case ("$row", names, parts):
            row = Row(*[unpacked(part, view_of) for part in parts])
            if names is not None:
                row.set_field_names(list(names))
            return row
        case ("$list view" | "$map view" as kind, content):
            return view_of(kind, content) if view_of is not None else _view_of_content(content)
    return tuple(unpacked(part, view_of) for part in value)


def _view_of_content(content: Any) -> ListView | MapView:
    if isinstance(content, dict):
        of_keys = MapView()
        of_keys.put_all(content)
        return of_keys
    view = ListView()
    view.add_all(content)
    return view
