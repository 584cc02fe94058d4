"""Maps of any size under one key, which behave as dicts.

In: a LargeTable.  Out: dicts, or maps in pages of their own.  Next: runtime/pages/large.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.runtime.pages.table import NO_ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.runtime.pages.cells import Cell
    from headrace.runtime.pages.large import LargeTable
    from headrace.runtime.pages.table import PagedTable


def remove_large(table: LargeTable, cell: Cell) -> None:
    """Forget the list or map of a cell."""
    if cell.value is not NO_ENTRY:
        table.discard(cell)
        cell.value = NO_ENTRY
        if cell.clean:
            table.touch(cell)


def map_of(table: LargeTable, cell: Cell) -> Any:
    """The map of a cell: a dict, or one in pages of its own that behaves as such."""
    if cell.value is NO_ENTRY:
        return {}
    if type(cell.value) is tuple:
        return MapInPages(table.parts(cell).entries)
    return cell.value


class MapInPages:
    """A large map, of which only what is asked for is read.

    Args:
        entries: the map's own table.
    """

    def __init__(self, entries: PagedTable) -> None:
        self._entries = entries

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key."""
        return self._entries.get(key, default)

    def __getitem__(self, key: Any) -> Any:
        found = self._entries.get(key, NO_ENTRY)
        if found is NO_ENTRY:
            raise KeyError(key)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        self._entries.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self._entries.remove(key)

    def __contains__(self, key: Any) -> bool:
        return key in self._entries

    def pop(self, key: Any, default: Any = None) -> Any:
        """Forget a key."""
        found = self._entries.get(key, default)
        self._entries.remove(key)
        return found

    def items(self) -> Iterator[tuple[Any, Any]]:
        """All pairs."""
        return self._entries.scan()

    def keys(self) -> Iterator[Any]:
        """All keys."""
        return (key for key, _ in self._entries.scan())

    def values(self) -> Iterator[Any]:
        """All values."""
        return (value for _, value in self._entries.scan())

    def clear(self) -> None:
        """Forget everything."""
        for key in list(self.keys()):
            self._entries.remove(key)

    def __bool__(self) -> bool:
        return not self._entries.is_empty()

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._entries.scan())
