"""Broadcast state: every subtask keeps the same copy, written by the broadcast side only.

In: input 0 the stream, keyed or not; input 1 the broadcast stream, which reaches every subtask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import StateError
from headrace.runtime.operators.functions import FunctionOperator, callable_of
from headrace.runtime.operators.keyed import KeyedProcessOperator
from headrace.runtime.operators.process import (
    KeyedContext,
    ProcessOutput,
    StreamContext,
)
from headrace.runtime.pages.store import DictStore
from headrace.runtime.pages.table import PagedTable
from headrace.runtime.state.provider import state_named
from headrace.runtime.state.recorded import Recorded, StateRecords
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.api.state import StateDescriptor
    from headrace.common.opaque import UserFunction
    from headrace.data.records import Records
    from headrace.runtime.operators.base import Operator, OperatorRuntime
    from headrace.runtime.watermarks import InputClocks


def broadcast_operator(
    function: UserFunction, descriptors: list[StateDescriptor], *, keyed: bool
) -> Operator:
    """The operator for a (Keyed)BroadcastProcessFunction."""
    if keyed:
        return KeyedBroadcastOperator(function, descriptors)
    return BroadcastOperator(function, descriptors)


class BroadcastMap:
    """A map that is the same in every subtask."""

    def __init__(self, table: PagedTable) -> None:
        self._table = table

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        return self._table.get(key)

    def contains(self, key: Any) -> bool:
        """Whether a key is set."""
        return key in self._table

    def items(self) -> list[tuple[Any, Any]]:
        """All pairs."""
        return self._table.items()

    def keys(self) -> list[Any]:
        """All keys."""
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        """All values."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Whether nothing is set."""
        return not self.items()

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.items())

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        self._table.put(key, value)

    def put_all(self, dict_value: Any) -> None:
        """Set several."""
        for key, value in dict(dict_value).items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Remove a key."""
        self._table.remove(key)

    def clear(self) -> None:
        """Remove everything."""
        for key in self.keys():
            self._table.remove(key)

    __setitem__ = put
    __delitem__ = remove


class ReadOnlyBroadcastMap(BroadcastMap):
    """The same map as the other side sees it."""

    def _refuse(self, *_: Any) -> None:
        raise StateError(
            "only the broadcast side can write broadcast state, so that every subtask keeps the "
            "same copy",
            fix="write it in process_broadcast_element",
        )

    put = put_all = remove = _refuse  # type: ignore[assignment]
    __setitem__ = __delitem__ = _refuse  # type: ignore[assignment]

    def clear(self) -> None:
        """Not from this side."""
        self._refuse()


def broadcast_states(descriptors: list[StateDescriptor]) -> tuple[StateSpec, ...]:
    """The states of descriptors that were given to broadcast()."""
    return tuple(
        StateSpec(f"broadcast/{d.name}", "table", "broadcast", kind="broadcast", descriptor=d)
        for d in descriptors
    )


class BroadcastStates:
    """The broadcast states of an operator, by descriptor."""

    def __init__(self, descriptors: list[StateDescriptor], runtime: OperatorRuntime) -> None:
        # in BATCH mode the keyed state is dropped key by key, and this is not
        store = DictStore() if runtime.bounded else runtime.store
        self.tables = {
            descriptor.name: PagedTable(store, f"{runtime.uid}/{spec.name}")
            for descriptor, spec in zip(descriptors, broadcast_states(descriptors), strict=True)
        }
        self.records = StateRecords(store)
        for descriptor in descriptors:
            table = str(self.tables[descriptor.name].name)
            self.records.declare(table, descriptor.name, Recorded.of(descriptor, "broadcast"))

    def get(self, descriptor: StateDescriptor, kind: type[BroadcastMap]) -> BroadcastMap:
        """The map of a descriptor that was given to broadcast()."""
        table = self.tables.get(descriptor.name)
        if table is None:
            known = ", ".join(map(repr, self.tables)) or "none"
            raise StateError(
                f"broadcast state {descriptor.name!r} was not declared; declared are: {known}",
                fix="give its descriptor to stream.broadcast(...)",
            )
        return kind(table)

    def flush(self) -> None:
        """Write what changed."""
        for name, table in self.tables.items():
            if table.opened:
                self.records.write(str(table.name))
            with state_named(name):
                table.flush()

    def forget(self) -> None:
        """Drop what was read from the store."""
        for table in self.tables.values():
            table.forget()
        self.records.forget()


class ReadingContext(StreamContext):
    """The ctx of process_element without keys."""

    def get_broadcast_state(self, state_descriptor: StateDescriptor) -> BroadcastMap:
        """A broadcast state, to read."""
        return self._operator.broadcasts.get(state_descriptor, ReadOnlyBroadcastMap)  # type: ignore[attr-defined, no-any-return]

    def current_processing_time(self) -> int:
        """The wall clock."""
        return self._operator.runtime.clock()

    def current_watermark(self) -> int:
        """Event time."""
        return self._operator.current_watermark


class WritingContext(ReadingContext):
    """The ctx of process_broadcast_element."""

    def get_broadcast_state(self, state_descriptor: StateDescriptor) -> BroadcastMap:
        """A broadcast state, to read and write."""
        return self._operator.broadcasts.get(state_descriptor, BroadcastMap)  # type: ignore[attr-defined, no-any-return]


class KeyedReadingContext(KeyedContext):
    """The ctx of process_element and on_timer after key_by."""

    def get_broadcast_state(self, state_descriptor: StateDescriptor) -> BroadcastMap:
        """A broadcast state, to read."""
        found: BroadcastMap = self._operator.broadcasts.get(state_descriptor, ReadOnlyBroadcastMap)
        return found

    def current_processing_time(self) -> int:
        """The wall clock."""
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        """Event time."""
        return self._timers.current_watermark()


class BroadcastOperator(FunctionOperator):
    """A BroadcastProcessFunction."""

    inputs = 2

    def __init__(self, function: UserFunction, descriptors: list[StateDescriptor]) -> None:
        super().__init__(function)
        self.descriptors = descriptors

    def state_specs(self) -> tuple[StateSpec, ...]:
        return broadcast_states(self.descriptors)

    def open(self, runtime: OperatorRuntime) -> None:
        self.broadcasts = BroadcastStates(self.descriptors, runtime)
        super().open(runtime)
        self.contexts = [ReadingContext(self), WritingContext(self)]
        self.calls = _calls(self.function)

    def declared_states(self) -> dict[str, Recorded]:
        return self.broadcasts.records.declared()

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        call, context, out = self.calls[input], self.contexts[input], ProcessOutput(self.output)
        value: Any = None
        try:
            for value, context.current_timestamp in records.pairs():
                out.extend(call(value, context), context.current_timestamp)
        except Exception as error:
            raise self.failed(error, value) from error
        out.flush()

    def held_inputs(self) -> frozenset[int]:
        return frozenset((0,))

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.broadcasts.forget()

    def flush(self) -> None:
        self.broadcasts.flush()


class KeyedBroadcastOperator(KeyedProcessOperator):
    """A KeyedBroadcastProcessFunction: a keyed process function with a second, broadcast input."""

    inputs = 2

    def __init__(self, function: UserFunction, descriptors: list[StateDescriptor]) -> None:
        super().__init__(function)
        self.descriptors = descriptors

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), *broadcast_states(self.descriptors))

    def open(self, runtime: OperatorRuntime) -> None:
        self.broadcasts = BroadcastStates(self.descriptors, runtime)
        super().open(runtime)
        self.context = KeyedReadingContext(self, self.timer_service)
        self.writing_context = WritingContext(self)

    def declared_states(self) -> dict[str, Recorded]:
        return super().declared_states() | self.broadcasts.records.declared()

    def _element_functions(self) -> list[UserFunction]:
        return _calls(self.function)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        if input == 0:
            super().process(records, input)
            return
        self.scope.clear()
        call, context = self.calls[1], self.writing_context
        value: Any = None
        try:
            for value, context.current_timestamp in records.pairs():
                self.out.extend(call(value, context), context.current_timestamp)
        except Exception as error:
            raise self.failed(error, value) from error
        self.out.flush()

    def drop_keys(self) -> None:
        self.broadcasts.flush()
        super().drop_keys()

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.broadcasts.forget()

    def flush(self) -> None:
        super().flush()
        self.broadcasts.flush()


def _calls(function: UserFunction) -> list[Any]:
    return [
        callable_of(function, "process_element"),
        callable_of(function, "process_broadcast_element"),
    ]
