"""State as users see it: descriptors to ask for it, interfaces to use it.

In: a descriptor given to ``runtime_context.get_state`` and friends.  Out: a state object bound to
the current key.  Next: common/state_ttl.py (expiry), runtime/state/ (the implementation).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.common.state_ttl import StateTtlConfig
from headrace.common.type_inference import infer_type
from headrace.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation, Types
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.common.opaque import DeclaredType, UserFunction

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class OperatorStateStore(ABC):
    """Hands out states that belong to a subtask and not to a key."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """The broadcast state of a descriptor."""


class State(ABC):
    """A state of the current key."""

    @abstractmethod
    def clear(self) -> None:
        """Remove what is kept for the current key."""


class ValueState(State, Generic[T]):
    """One value."""

    @abstractmethod
    def value(self) -> T | None:
        """The value; None if there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Replace the value."""


class AppendingState(State, Generic[IN, OUT]):
    """A state that values are added to and a result is read from."""

    @abstractmethod
    def get(self) -> OUT | None:
        """The result; None if nothing was added."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Take a value in."""


class MergingState(AppendingState[IN, OUT]):
    """An appending state that can be merged, as merging windows need."""


class ReducingState(MergingState[T, T]):
    """The values added so far, reduced to one."""


class AggregatingState(MergingState[IN, OUT]):
    """The values added so far, as the result of an aggregate function."""


class ListState(MergingState[T, "Iterable[T]"]):
    """A list of values."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace the list."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Append several values."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get() or ())


class MapState(State, Generic[K, V]):
    """A map; entries are read and written one by one."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value of a key; None if there is none."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of several keys."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove a key; nothing happens if it is not there."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether the key is there."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no entry."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """A map that every subtask has, as the other side of a broadcast sees it."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value of a key; None if there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether the key is there."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no entry."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """A map that every subtask has. Change it in the same way in every subtask."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of several keys."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove a key; nothing happens if it is not there."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


def _state_type(declared: DeclaredType, argument: str) -> TypeInformation:
    """A type, or the type of a hint; what says too little is pickled."""
    if isinstance(declared, TypeInformation):
        return declared
    if declared is None:
        raise InvalidArgumentError(
            f"{argument} is None", fix="pass a type such as Types.LONG(), or a type hint"
        )
    return infer_type(declared) or Types.PICKLED_BYTE_ARRAY()


class StateDescriptor(ABC):  # noqa: B024  (a base to share, not to make instances of)
    """Names a state of an operator and says what it holds.

    Attributes:
        name: the name, unique within the operator.
        type_info: the type of what is kept.
        ttl_config: when entries expire; None if never.
    """

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError(f"a state needs a name, not {name!r}")
        self.name = name
        self.type_info = type_info
        self.ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """The name of the state."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let entries expire."""
        self.ttl_config = ttl_config if ttl_config.is_enabled() else None

    @property
    def _ttl_config(self) -> StateTtlConfig | None:
        return self.ttl_config  # PyFlink's spelling

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


class ValueStateDescriptor(StateDescriptor):
    """Describes a state of one value."""

    def __init__(self, name: str, value_type_info: DeclaredType) -> None:
        super().__init__(name, _state_type(value_type_info, "value_type_info"))


class ListStateDescriptor(StateDescriptor):
    """Describes a state of a list; ``elem_type_info`` is the type of one element."""

    def __init__(self, name: str, elem_type_info: DeclaredType) -> None:
        element = _state_type(elem_type_info, "elem_type_info")
        super().__init__(name, ListTypeInfo(element))
        self.element_type = element


class MapStateDescriptor(StateDescriptor):
    """Describes a state of a map."""

    def __init__(
        self, name: str, key_type_info: DeclaredType, value_type_info: DeclaredType
    ) -> None:
        self.key_type = _state_type(key_type_info, "key_type_info")
        self.value_type = _state_type(value_type_info, "value_type_info")
        super().__init__(name, MapTypeInfo(self.key_type, self.value_type))


class ReducingStateDescriptor(StateDescriptor):
    """Describes a state of one reduced value.

    Args:
        name: the name of the state.
        reduce_function: a ReduceFunction, a class of one, or a callable of two values.
        type_info: the type of the values.
    """

    def __init__(self, name: str, reduce_function: UserFunction, type_info: DeclaredType) -> None:
        super().__init__(name, _state_type(type_info, "type_info"))
        function = reduce_function() if isinstance(reduce_function, type) else reduce_function
        if not callable(getattr(function, "reduce", None)) and not callable(function):
            raise InvalidArgumentError(
                f"a reducing state needs a ReduceFunction or a callable, not {function!r}"
            )
        self._reduce_function = function

    def get_reduce_function(self) -> Any:
        """The ReduceFunction or callable."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Describes a state of one accumulator.

    Args:
        name: the name of the state.
        agg_function: an AggregateFunction.
        state_type_info: the type of the accumulator.
    """

    def __init__(
        self, name: str, agg_function: UserFunction, state_type_info: DeclaredType
    ) -> None:
        super().__init__(name, _state_type(state_type_info, "state_type_info"))
        if not callable(getattr(agg_function, "create_accumulator", None)):
            raise InvalidArgumentError(
                f"an aggregating state needs an AggregateFunction, not {agg_function!r}"
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> Any:
        """The AggregateFunction."""
        return self._agg_function
