"""The state of groups: how many lines each has, and the state of each of its aggregates.

    groups         key -> (written, lines, state of the first call, of the second, ...)
    maps/<call>    key -> the map of a state that has one; large ones lie in pages of their own
    views/<call>/  key -> the views of a user's accumulator
    seen/<call>    the values of DISTINCT, where lines only come (runtime/table/seen_values.py)

In: keys.  Out: states, and what lines go on from.
Next: runtime/table/group_aggregate.py, runtime/table/group_lines.py has the same as columns
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headrace.runtime.pages.large import LargeTable
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.table.aggregates.user import PandasAggregate, UserAggregate
from headrace.runtime.table.expiry import SWEPT_PAGES
from headrace.runtime.table.large_maps import map_of, remove_large
from headrace.runtime.table.views import ViewTables
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from headrace.runtime.key_codes import Codes
    from headrace.runtime.pages.table import PagedTable
    from headrace.runtime.table.accumulators import LineAggregate
    from headrace.runtime.table.base import KeyedTableOperator
    from headrace.runtime.table.keying import LineKeying

GROUPS = StateSpec("groups", "table")
MAPS = StateSpec("maps/", "table")


class FoundGroups(ABC):
    """The groups of a batch.

    Attributes:
        stored: (written, lines, states ...) of each key; None where there is no such group.
    """

    def __init__(self, stored: list[Any]) -> None:
        self.stored = stored

    @abstractmethod
    def write(
        self, numbers: NDArray[np.int64], lines: list[int], states: Sequence[Sequence[Any]]
    ) -> None:
        """Replace groups.

        Args:
            numbers: of their keys.
            lines: how many each has; a group without is forgotten.
            states: for each aggregate those of all groups.
        """


class _FoundEntries(FoundGroups):
    def __init__(self, groups: GroupStates, stored: list[Any], keys: list[Any]) -> None:
        super().__init__(stored)
        self._groups = groups
        self._keys = keys

    def write(
        self, numbers: NDArray[np.int64], lines: list[int], states: Sequence[Sequence[Any]]
    ) -> None:
        self._groups.write([self._keys[number] for number in numbers.tolist()], lines, states)


class GroupStates:
    """The groups of one operator in one subtask.

    Args:
        operator: whose state it is.
        keying: of the groups.
        aggregates: whose states they hold.
        ttl_ms: how long a group lasts after its last line; 0 for ever.
        forget: called with the keys of groups that are over, for what is kept elsewhere.
    """

    def __init__(
        self,
        operator: KeyedTableOperator,
        keying: LineKeying,
        aggregates: Sequence[LineAggregate],
        ttl_ms: int,
        forget: Callable[[list[Any]], None],
    ) -> None:
        states = operator.states
        self._keying = keying
        self._key_types = [operator.in_lines[0].types[place] for place in keying.positions]
        self._forget = forget
        self._groups: PagedTable = states.table(GROUPS.name)
        self._maps: dict[int, LargeTable] = {}
        for number, aggregate in enumerate(aggregates):
            if aggregate.has_map:
                table = states.table(f"{MAPS.name}{number}", LargeTable)
                assert isinstance(table, LargeTable)
                self._maps[number] = table
        self._views = {
            number: ViewTables(states, number, aggregate.create())
            for number, aggregate in enumerate(aggregates)
            if isinstance(aggregate, UserAggregate) and not isinstance(aggregate, PandasAggregate)
        }
        self._ttl_ms = ttl_ms
        self._clock = operator.runtime.clock

    def now(self) -> int:
        """The time that groups are written with; 0 where they never end."""
        return self._clock() if self._ttl_ms else 0

    def read(self, columns: Sequence[pa.Array], codes: Codes) -> FoundGroups:
        """The groups of lines."""
        return _FoundEntries(self, self._read(codes.keys), codes.keys)

    def _read(self, keys: list[Any]) -> list[tuple[Any, ...] | None]:
        table = self._groups
        table.read_ahead(keys)
        cell_of, find, now = table.cells.get, table.find, self.now()
        found: list[Any] = [(cell_of(key) or find(key)).value for key in keys]
        found = [None if value is NO_ENTRY else value for value in found]
        if now:
            found = self._living(keys, found, now)
        return self._loaded(keys, found)

    def _loaded(self, keys: list[Any], found: list[Any]) -> list[Any]:
        """Groups with what is kept in another form, or elsewhere."""
        for number, views in self._views.items():
            for place, (key, stored) in enumerate(zip(keys, found, strict=True)):
                if stored is not None:
                    state = views.unpacked(key, stored[2 + number])
                    found[place] = (*stored[: 2 + number], state, *stored[3 + number :])
        return self._with_maps(keys, found) if self._maps else found

    def _living(self, keys: list[Any], found: list[Any], now: int) -> list[Any]:
        """Groups without those that are over."""
        over = [
            place
            for place, stored in enumerate(found)
            if stored is not None and self._is_over(stored, now)
        ]
        for place in over:
            self._remove_maps(keys[place])
            found[place] = None
        self._forget([keys[place] for place in over])
        return found

    def _is_over(self, stored: tuple[Any, ...], now: int) -> bool:
        return bool(stored[0]) and stored[0] + self._ttl_ms <= now

    def _with_maps(self, keys: list[Any], found: list[Any]) -> list[Any]:
        for number, table in self._maps.items():
            table.read_ahead(keys)
            for place, (key, stored) in enumerate(zip(keys, found, strict=True)):
                if stored is not None:
                    state = [map_of(table, table.cell(key)), *stored[2 + number][1:]]
                    found[place] = (*stored[: 2 + number], state, *stored[3 + number :])
        return found

    def write(
        self, keys: Sequence[Any], lines: Sequence[int], states: Sequence[Sequence[Any]]
    ) -> None:
        """Replace groups.

        Args:
            keys: of the groups.
            lines: how many each has; a group without is forgotten.
            states: for each aggregate those of all groups.
        """
        kept = list(states)
        for number, table in self._maps.items():
            kept[number] = [
                self._split_map(table, key, state, alive=count > 0)
                for key, count, state in zip(keys, lines, states[number], strict=True)
            ]
        for number, views in self._views.items():
            kept[number] = [
                self._without_views(views, key, state, alive=count > 0)
                for key, count, state in zip(keys, lines, states[number], strict=True)
            ]
        groups, now = self._groups, self.now()
        cell_of, find, touch = groups.cells.get, groups.find, groups.touch
        for key, count, *state in zip(keys, lines, *kept, strict=True):
            cell = cell_of(key) or find(key)
            cell.value = (now, count, *state) if count > 0 else NO_ENTRY
            if cell.clean:
                touch(cell)

    def _split_map(self, table: LargeTable, key: Any, state: list[Any], *, alive: bool) -> Any:
        """The state without its map, which goes into its own table."""
        cell = table.cell(key)
        if not alive:
            remove_large(table, cell)
            return None
        held = state[0]
        if isinstance(held, dict):  # else it was changed in its pages
            if type(cell.value) is tuple:
                table.discard(cell)
            cell.value = held if held else NO_ENTRY
            if cell.clean:
                table.touch(cell)
        return [None, *state[1:]]

    def _without_views(self, views: ViewTables, key: Any, state: Any, *, alive: bool) -> Any:
        if alive:
            return views.packed(key, state)
        views.remove(key)
        return None

    def _remove_maps(self, key: Any) -> None:
        for table in self._maps.values():
            remove_large(table, table.cell(key))
        for views in self._views.values():
            views.remove(key)

    def scan(self) -> Iterator[tuple[list[pa.Array], list[list[Any]]]]:
        """(columns of keys, states of each aggregate) of all groups."""
        found = list(self._scan())
        if found:
            keys = self._keying.columns_of([key for key, _ in found], self._key_types)
            states = zip(*(stored[2:] for _, stored in found), strict=True)
            yield keys, [list(of_call) for of_call in states]

    def _scan(self) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        now = self.now()
        for key, stored in self._groups.scan():
            if now and self._is_over(stored, now):
                continue
            yield key, self._loaded([key], [stored])[0]

    def sweep(self) -> None:
        """Drop groups that are over in some pages, whether or not a line of theirs comes."""
        now = self.now()
        if now:
            over: list[Any] = []
            self._groups.sweep(lambda key, stored: self._swept(key, stored, now, over), SWEPT_PAGES)
            self._forget(over)

    def _swept(self, key: Any, stored: tuple[Any, ...], now: int, over: list[Any]) -> Any:
        if not self._is_over(stored, now):
            return stored
        self._remove_maps(key)
        over.append(key)
        return NO_ENTRY
