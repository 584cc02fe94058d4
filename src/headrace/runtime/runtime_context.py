"""What a user's function learns in `open`: its place in the job, state, metrics, accumulators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.functions import KeyedStateStore, RuntimeContext
from headrace.common.metrics import Counter, Distribution, Meter, MetricGroup
from headrace.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.api.state import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        ValueStateDescriptor,
    )
    from headrace.runtime.metrics import OperatorMetrics
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.state.provider import StateProvider
    from headrace.runtime.state.states import (
        PagedAggregatingState,
        PagedListState,
        PagedMapState,
        PagedReducingState,
        PagedValueState,
    )


class StateStore(KeyedStateStore):
    """Keyed states by descriptor."""

    def __init__(self, states: StateProvider | None) -> None:
        self._provider = states

    @property
    def _states(self) -> StateProvider:
        if self._provider is None:
            raise StateError(
                "keyed state needs a keyed stream",
                fix="call key_by before this step",
            )
        return self._provider

    def get_state(self, state_descriptor: ValueStateDescriptor) -> PagedValueState:
        """The value state of a descriptor."""
        return self._states.value(state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> PagedListState:
        """The list state of a descriptor."""
        return self._states.list(state_descriptor)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> PagedMapState:
        """The map state of a descriptor."""
        return self._states.map(state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> PagedReducingState:
        """The reducing state of a descriptor."""
        return self._states.reducing(state_descriptor)

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> PagedAggregatingState:
        """The aggregating state of a descriptor."""
        return self._states.aggregating(state_descriptor)


class SubtaskContext(StateStore, RuntimeContext):
    """The RuntimeContext of one function in one subtask."""

    def __init__(self, runtime: OperatorRuntime, states: StateProvider | None) -> None:
        super().__init__(states)
        self._runtime = runtime
        self._metrics = UserMetricGroup(runtime.metrics, ())

    def get_task_name(self) -> str:
        """The operator's name."""
        return self._runtime.name

    def get_number_of_parallel_subtasks(self) -> int:
        """The operator's parallelism."""
        return self._runtime.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """The number of key groups."""
        return self._runtime.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """This subtask's number, from 0."""
        return self._runtime.subtask

    def get_attempt_number(self) -> int:
        """Always 0: a failed batch starts with new functions."""
        return 0

    def get_task_name_with_subtasks(self) -> str:
        """Name and place, such as ``Map (1/2)#0``."""
        place = f"{self._runtime.subtask + 1}/{self._runtime.parallelism}"
        return f"{self._runtime.name} ({place})#0"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter."""
        return self._runtime.job_parameters.get(key, default_value)

    def get_job_parameters(self) -> dict[str, str]:
        """All global job parameters."""
        return dict(self._runtime.job_parameters)

    def get_metrics_group(self) -> UserMetricGroup:
        """Where the function can register metrics."""
        return self._metrics

    def add_accumulator(self, name: str, accumulator: Any) -> None:
        """Register an accumulator; its merged value is in the job's result."""
        self._runtime.metrics.accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Any:
        """An accumulator registered before."""
        return self._runtime.metrics.accumulators[name]


class UserCounter(Counter):
    """A counter the user can move."""

    def __init__(self, metrics: OperatorMetrics, name: str) -> None:
        self._metrics = metrics
        self._name = name
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Add to the counter."""
        self._count += n
        counters = self._metrics.counters
        counters[self._name] = counters.get(self._name, 0) + n

    def dec(self, n: int = 1) -> None:
        """Subtract from the counter."""
        self.inc(-n)

    def get_count(self) -> int:
        """What this subtask counted in this process."""
        return self._count


class UserMeter(UserCounter, Meter):
    """Counts events; the driver derives the rate.

    Args:
        metrics: of the operator.
        name: with its groups.
        span_s: over how many seconds.
    """

    def __init__(self, metrics: OperatorMetrics, name: str, span_s: int = 60) -> None:
        super().__init__(metrics, name)
        metrics.meters[name] = span_s

    def mark_event(self, value: int = 1) -> None:
        """Count events."""
        self.inc(value)


class UserDistribution(Distribution):
    """Count, sum, smallest and largest; the driver adds up what each batch contributed."""

    def __init__(self, metrics: OperatorMetrics, name: str) -> None:
        self._metrics = metrics
        self._name = name

    def update(self, value: int) -> None:
        """Take a value in."""
        found = self._metrics.distributions
        count, total, low, high = found.get(self._name, (0, 0, value, value))
        found[self._name] = (count + 1, total + value, min(low, value), max(high, value))


class UserMetricGroup(MetricGroup):
    """PyFlink's MetricGroup: counters, gauges, meters and distributions under a dotted name."""

    def __init__(self, metrics: OperatorMetrics, path: tuple[str, ...]) -> None:
        self._metrics = metrics
        self._path = path

    def add_group(self, name: str, extra: str | None = None) -> UserMetricGroup:
        """A group below this one."""
        more = (name,) if extra is None else (name, extra)
        return UserMetricGroup(self._metrics, (*self._path, *more))

    def _name(self, name: str) -> str:
        return ".".join((*self._path, name))

    def counter(self, name: str) -> UserCounter:
        """A counter."""
        return UserCounter(self._metrics, self._name(name))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> UserMeter:
        """A meter."""
        return UserMeter(self._metrics, self._name(name), time_span_in_seconds)

    def distribution(self, name: str) -> UserDistribution:
        """A distribution."""
        return UserDistribution(self._metrics, self._name(name))

    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """A gauge, read at the end of every batch."""
        self._metrics.gauges[self._name(name)] = obj
