"""Lists and maps that an accumulator keeps in state instead of in itself.

In: accumulators of aggregates, whose type has a LIST_VIEW or MAP_VIEW.  Out: runtime/table puts
views over state in their places; these here hold their values themselves, for create_accumulator.
Next: api/table/functions.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["DataView", "ListView", "MapView"]


class DataView(ABC):
    """A collection that an accumulator keeps in state."""

    @abstractmethod
    def clear(self) -> None:
        """Remove everything."""


class ListView(DataView):
    """A list that an accumulator keeps in state."""

    def __init__(self) -> None:
        self._list: list[Any] = []

    def get(self) -> Iterable[Any]:
        """All values."""
        return self._list

    def add(self, value: Any) -> None:
        """One value more at the end."""
        self._list.append(_checked(value))

    def add_all(self, values: Iterable[Any]) -> None:
        """Several values more at the end."""
        self._list.extend(_checked(value) for value in values)

    def clear(self) -> None:
        """Remove everything."""
        self._list = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and list(self.get()) == list(other.get())

    def __hash__(self) -> int:
        return hash(tuple(self.get()))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())


class MapView(DataView):
    """A map that an accumulator keeps in state."""

    def __init__(self) -> None:
        self._dict: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        """The value of a key; None if it has none."""
        return self._dict.get(key)

    def put(self, key: Any, value: Any) -> None:
        """Give a key a value."""
        self._dict[key] = value

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        """Give several keys values."""
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Remove a key."""
        del self._dict[key]

    def contains(self, key: Any) -> bool:
        """Whether a key has a value."""
        return key in self._dict

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Keys with their values; their iterators can `remove`."""
        return _Entries(self._dict, lambda key: (key, self._dict[key]))

    def keys(self) -> Iterable[Any]:
        """All keys; their iterators can `remove`."""
        return _Entries(self._dict, lambda key: key)

    def values(self) -> Iterable[Any]:
        """All values; their iterators can `remove`."""
        return _Entries(self._dict, lambda key: self._dict[key])

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not self._dict

    def clear(self) -> None:
        """Remove everything."""
        self._dict.clear()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and dict(self.items()) == dict(other.items())

    def __hash__(self) -> int:
        return hash(frozenset(self.keys()))

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


class _Entries:
    """Something of each entry of a map."""

    def __init__(self, entries: Any, part: Callable[[Any], Any]) -> None:
        self._entries, self._part = entries, part

    def __iter__(self) -> RemovingIterator:
        return RemovingIterator(self._entries, self._part)


class RemovingIterator:
    """Goes over the entries that a map has now, and can remove the one it is at, as Java's can."""

    def __init__(self, entries: Any, part: Callable[[Any], Any]) -> None:
        self._entries, self._part = entries, part
        self._keys = iter(list(entries.keys()))
        self._at: list[Any] = []  # the key that came last, unless it was removed

    def __iter__(self) -> RemovingIterator:
        return self

    def __next__(self) -> Any:
        self._at = [next(self._keys)]
        return self._part(self._at[0])

    def remove(self) -> None:
        """Remove the entry that came last."""
        if not self._at:
            raise InvalidArgumentError("there is nothing to remove", fix="call next() before it")
        del self._entries[self._at.pop()]


def _checked(value: Any) -> Any:
    if value is None:
        raise InvalidArgumentError("a list in state cannot hold None", fix="leave such values out")
    return value
