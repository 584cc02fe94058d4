"""What triggers, assigners, evictors and window functions see of the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.window import Trigger, WindowAssigner
from headrace.errors import StateError
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.runtime_context import StateStore
from headrace.runtime.state.states import PagedReducingState, PagedValueState

if TYPE_CHECKING:
    from headrace.runtime.operators.window import WindowOperator


class Clocks:
    """The two clocks, under the names that assigners, triggers and evictors use."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator

    def get_current_processing_time(self) -> int:
        """The wall clock."""
        return self._operator.runtime.clock()

    def get_current_watermark(self) -> int:
        """Event time."""
        return self._operator.current_watermark


class AssignerContext(Clocks, WindowAssigner.WindowAssignerContext):
    """For assigners: the clock, and state of the key."""

    def get_runtime_context(self) -> Any:
        """State of the key."""
        self._operator.scope.set(self._operator.key)
        return self._operator.context_for_user


class TriggerContext(Clocks, Trigger.OnMergeContext):
    """For triggers: timers and state of the key and window at hand."""

    def __init__(self, operator: WindowOperator) -> None:
        super().__init__(operator)
        self.namespace: Any = None
        self.merged: list[Any] = []
        self._states: dict[str, Any] = {}

    def get_metric_group(self) -> Any:
        """Where to register metrics."""
        return self._operator.context_for_user.get_metrics_group()

    def register_event_time_timer(self, time: int) -> None:
        """Call on_event_time at this time."""
        self._operator.event_timers.register(time, self._operator.key, self.namespace)

    def register_processing_time_timer(self, time: int) -> None:
        """Call on_processing_time at this time."""
        self._operator.processing_timers.register(time, self._operator.key, self.namespace)

    def delete_event_time_timer(self, time: int) -> None:
        """Take a timer back."""
        self._operator.event_timers.delete(time, self._operator.key, self.namespace)

    def delete_processing_time_timer(self, time: int) -> None:
        """Take a timer back."""
        self._operator.processing_timers.delete(time, self._operator.key, self.namespace)

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        """State of the key and window at hand."""
        states = self._operator.trigger_states
        states.scope.set_namespace(self._operator.key, self.namespace)
        state = self._states.get(state_descriptor.name)
        if state is None:
            state = self._states[state_descriptor.name] = states.of(state_descriptor)
        return state

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        """Merge the state of the merged windows into that of the new one."""
        target = self.namespace
        for namespace in self.merged:
            if namespace == target:
                continue
            self.namespace = namespace
            source = self.get_partitioned_state(state_descriptor)
            content = _content(source)
            source.clear()
            self.namespace = target
            _add_content(self.get_partitioned_state(state_descriptor), content)


def _content(state: Any) -> Any:
    if isinstance(state, PagedValueState):
        raise StateError(
            "a trigger tried to merge a value state, which has no way to merge two values",
            fix="use a reducing, aggregating or list state in triggers of session windows",
        )
    return state.raw()


def _add_content(state: Any, content: Any) -> None:
    if content is NO_ENTRY:
        return
    if isinstance(state, PagedReducingState):
        state.add(content)
    else:
        state.merge_raw(content)


class FunctionContext(Clocks):
    """For process window functions: the window, the clocks and two kinds of state."""

    def __init__(self, operator: WindowOperator) -> None:
        super().__init__(operator)
        self.current: Any = None
        self._window_store = StateStore(operator.window_states)
        self._global_store = StateStore(operator.global_states)

    def window(self) -> Any:
        """The window being evaluated."""
        return self.current

    def current_processing_time(self) -> int:
        """The wall clock."""
        return self.get_current_processing_time()

    def current_watermark(self) -> int:
        """Event time."""
        return self.get_current_watermark()

    def window_state(self) -> StateStore:
        """State of this key and window."""
        if self._operator.description.merging:
            raise StateError(
                "per-window state is not possible with merging windows such as sessions",
                fix="use global_state(), which is per key",
            )
        namespace = self._operator.encode(self.current)
        self._operator.window_states.scope.set_namespace(self._operator.key, namespace)
        return self._window_store

    def global_state(self) -> StateStore:
        """State of this key, over all windows."""
        self._operator.global_states.scope.set(self._operator.key)
        return self._global_store
