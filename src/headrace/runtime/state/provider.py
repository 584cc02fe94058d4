"""Makes the states of an operator from their descriptors, and writes them at the end of a batch."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.common.clock import wall_clock
from headrace.errors import UnserializableRecordError
from headrace.runtime.pages.cells import PROCESS_MEMORY
from headrace.runtime.pages.large import LargeTable
from headrace.runtime.pages.limits import LIMITS
from headrace.runtime.pages.table import PagedTable
from headrace.runtime.state.recorded import Recorded, StateRecords
from headrace.runtime.state.states import (
    PagedAggregatingState,
    PagedListState,
    PagedMapState,
    PagedReducingState,
    PagedValueState,
    Scope,
)
from headrace.runtime.state.ttl import (
    Expiry,
    TtlAggregatingState,
    TtlListState,
    TtlMapState,
    TtlReducingState,
    TtlValueState,
)
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.api.state import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        StateDescriptor,
        ValueStateDescriptor,
    )
    from headrace.common.typeinfo import TypeInformation
    from headrace.runtime.pages.cells import Memory
    from headrace.runtime.pages.limits import Limits
    from headrace.runtime.pages.store import PageStore

S = TypeVar("S")

# What functions ask for by descriptors, which are known when they are opened, or later still.
USER_STATES = StateSpec("user/", "table")


class StateProvider:
    """Makes and finds the states of one operator in one subtask."""

    def __init__(
        self,
        store: PageStore,
        uid: str,
        clock: Callable[[], int] = wall_clock,
        *,
        key_type: TypeInformation | None = None,
        limits: Limits = LIMITS,
        memory: Memory = PROCESS_MEMORY,
    ) -> None:
        self.scope = Scope()
        self._limits = limits
        self._memory = memory
        self._clock = clock
        self._expiring: dict[str, Any] = {}
        self._store = store
        self._uid = uid
        self._tables: dict[str, PagedTable] = {}
        self._states: dict[str, Any] = {}
        self._records = StateRecords(store)
        self._key_type = key_type

    def table(self, name: str, kind: type[PagedTable] = PagedTable) -> PagedTable:
        """The table behind a name of this operator."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = kind(
                self._store, f"{self._uid}/{name}", limits=self._limits, memory=self._memory
            )
        return table

    def tables(self) -> list[PagedTable]:
        """All tables touched so far."""
        return list(self._tables.values())

    def _user_table(
        self, descriptor: StateDescriptor, kind: str, of: type[PagedTable] = PagedTable
    ) -> PagedTable:
        table = self.table(f"{USER_STATES.name}{descriptor.name}", of)
        declared = Recorded.of(descriptor, kind, self._key_type)
        self._records.declare(str(table.name), descriptor.name, declared)
        return table

    def declared(self) -> dict[str, Recorded]:
        """The kinds and types of the states that were asked for, by table."""
        return self._records.declared()

    def of(self, descriptor: StateDescriptor) -> Any:
        """The state of any descriptor."""
        return getattr(self, _KIND_OF[type(descriptor).__name__])(descriptor)

    def value(self, descriptor: ValueStateDescriptor) -> PagedValueState:
        """The value state of a descriptor."""
        table = self._user_table(descriptor, "value")
        return self._state(descriptor, PagedValueState, TtlValueState, table)

    def list(self, descriptor: ListStateDescriptor) -> PagedListState:
        """The list state of a descriptor."""
        table = self._user_table(descriptor, "list", LargeTable)
        return self._state(descriptor, PagedListState, TtlListState, table)

    def map(self, descriptor: MapStateDescriptor) -> PagedMapState:
        """The map state of a descriptor."""
        table = self._user_table(descriptor, "map", LargeTable)
        return self._state(descriptor, PagedMapState, TtlMapState, table)

    def reducing(self, descriptor: ReducingStateDescriptor) -> PagedReducingState:
        """The reducing state of a descriptor."""
        function = descriptor.get_reduce_function()
        reduce = getattr(function, "reduce", None) or function
        table = self._user_table(descriptor, "reducing")
        return self._state(descriptor, PagedReducingState, TtlReducingState, table, reduce)

    def aggregating(self, descriptor: AggregatingStateDescriptor) -> PagedAggregatingState:
        """The aggregating state of a descriptor."""
        table = self._user_table(descriptor, "aggregating")
        aggregate = descriptor.get_agg_function()
        return self._state(descriptor, PagedAggregatingState, TtlAggregatingState, table, aggregate)

    def _state(
        self,
        descriptor: StateDescriptor,
        kind: type[S],
        expiring: type[S],
        table: PagedTable,
        *function: Any,
    ) -> S:
        made: Any = kind
        if descriptor.ttl_config is None:
            state = made(self.scope, table, *function)
        else:
            expiry = Expiry.of(descriptor.ttl_config, self._clock)
            made = expiring
            state = made(self.scope, table, *function, expiry)
            if descriptor.ttl_config.get_cleanup_strategies().is_cleanup_in_background():
                self._expiring[descriptor.name] = state
        state.expect(descriptor)
        self._states[descriptor.name] = state
        found: S = state
        return found

    def forget(self) -> None:
        """Drop what was read from the store."""
        for table in self._tables.values():
            table.forget()
        self._records.forget()

    def read_ahead(self, keys: Sequence[Any]) -> None:
        """These keys come next: read entries that are not in memory, many at a time."""
        for table in self._tables.values():
            table.read_ahead(keys)

    def flush(self) -> None:
        """Write everything that changed."""
        for state in self._states.values():
            state.look()
        for state in self._expiring.values():
            state.sweep()
        for name, table in self._tables.items():
            if table.opened:
                self._records.write(str(table.name))
            with state_named(name.removeprefix(USER_STATES.name)):
                table.flush()


@contextlib.contextmanager
def state_named(name: str) -> Iterator[None]:
    """Says of which state it is what cannot be written as bytes."""
    try:
        yield
    except UnserializableRecordError as error:
        raise UnserializableRecordError(
            f"state {name!r} holds an object that cannot be written: {error.__cause__}",
            fix="keep plain values in it (numbers, text, dicts, rows), and what such an object "
            "can be made of; connections, locks and files are made in open() and kept in "
            "attributes of the function",
        ) from error.__cause__


_KIND_OF = {
    "ValueStateDescriptor": "value",
    "ListStateDescriptor": "list",
    "MapStateDescriptor": "map",
    "ReducingStateDescriptor": "reducing",
    "AggregatingStateDescriptor": "aggregating",
}
