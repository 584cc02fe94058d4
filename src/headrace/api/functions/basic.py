"""Functions over one record at a time, and what they learn about their place in the job.

Next: api/functions/process.py (time and state), runtime/runtime_context.py (implements
RuntimeContext).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.common.accumulators import (
    Accumulator,
    AverageAccumulator,
    DoubleCounter,
    Histogram,
    IntCounter,
    LongCounter,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.api.state import (
        AggregatingState,
        AggregatingStateDescriptor,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        ReducingState,
        ReducingStateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )
    from headrace.common.metrics import MetricGroup

__all__ = [
    "AggregateFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedStateStore",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "ReduceFunction",
    "RuntimeContext",
]

A = TypeVar("A", bound=Accumulator[Any, Any])


class KeyedStateStore(ABC):
    """Hands out states of the current key."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """The state of one value per key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """The state of a list per key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """The state of a map per key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """The state of one reduced value per key."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        """The state of one aggregate per key."""


class RuntimeContext(KeyedStateStore):
    """What a function learns in ``open``: its place in the job, its states, its metrics."""

    @abstractmethod
    def get_task_name(self) -> str:
        """The name of the step."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """How many copies of the step run."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """How many copies may ever run: the number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """The number of this copy, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How often this copy was restarted."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """The name with number and attempt, such as ``Map (1/4)#0``."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter."""

    def get_job_parameters(self) -> dict[str, str]:
        """All global job parameters. Ours, from Java."""
        raise NotImplementedError

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Where to register metrics."""

    @abstractmethod
    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Register an accumulator; its merged value is in the job's result. Ours, from Java."""

    @abstractmethod
    def get_accumulator(self, name: str) -> Accumulator[Any, Any]:
        """An accumulator registered before; KeyError if there is none. Ours, from Java."""

    def get_int_counter(self, name: str) -> IntCounter:
        """The counter of that name, registered at the first call. Ours, from Java."""
        return self._accumulator(name, IntCounter)

    def get_long_counter(self, name: str) -> LongCounter:
        """The counter of that name, registered at the first call. Ours, from Java."""
        return self._accumulator(name, LongCounter)

    def get_double_counter(self, name: str) -> DoubleCounter:
        """The counter of that name, registered at the first call. Ours, from Java."""
        return self._accumulator(name, DoubleCounter)

    def get_average_accumulator(self, name: str) -> AverageAccumulator:
        """The mean of that name, registered at the first call. Ours."""
        return self._accumulator(name, AverageAccumulator)

    def get_histogram(self, name: str) -> Histogram:
        """The histogram of that name, registered at the first call. Ours, from Java."""
        return self._accumulator(name, Histogram)

    def _accumulator(self, name: str, kind: type[A]) -> A:
        try:
            found = self.get_accumulator(name)
        except KeyError:
            found = kind()
            self.add_accumulator(name, found)
        if not isinstance(found, kind):
            msg = f"accumulator {name!r} is a {type(found).__name__}, not a {kind.__name__}"
            raise TypeError(msg)
        return found


class Function(ABC):  # noqa: B024  (a marker with two optional hooks, as in Flink)
    """Base of all functions a user passes to a stream.

    A function is pickled, sent to every subtask and used by one subtask at a time.
    """

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027
        """Called once before the first record: get states, open connections."""

    def close(self) -> None:  # noqa: B027
        """Called once after the last record, also after a failure."""


class MapFunction(Function):
    """One record in, one record out."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """The record to emit."""


class CoMapFunction(Function):
    """Two inputs; one record in, one record out."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """The record to emit for a record of the first input."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """The record to emit for a record of the second input."""


class FlatMapFunction(Function):
    """One record in, any number out."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """The records to emit: usually a generator."""


class CoFlatMapFunction(Function):
    """Two inputs; one record in, any number out."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """The records to emit for a record of the first input."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """The records to emit for a record of the second input."""


class ReduceFunction(Function):
    """Combines two records of a key into one of the same type."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """The combination; ``value1`` is the one so far."""


class AggregateFunction(Function):
    """Folds records into an accumulator of another type, and that into a result."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """A fresh accumulator."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with the value taken in; may be the same object, changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """What to emit."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Both accumulators in one; needed where windows merge."""


class KeySelector(Function):
    """Finds the key of a record. Must give the same key for the same record, always."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key."""


class NullByteKeySelector(KeySelector):
    """One key for all records: how a stream without keys becomes a keyed one."""

    def get_key(self, value: Any) -> int:
        """Always 0."""
        return 0


class FilterFunction(Function):
    """Decides which records stay."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Whether the record stays."""


class Partitioner(Function):
    """Sends records to subtasks of the user's choice."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """The number of the subtask, from 0."""
