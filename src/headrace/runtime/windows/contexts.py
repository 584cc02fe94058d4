"""What triggers, assigners, evictors and window functions see: clocks, timers and state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.time_domain import TimeDomain
from headrace.api.window import Evictor, Trigger, WindowAssigner
from headrace.errors import StateError
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.runtime_context import StateStore
from headrace.runtime.state.states import PagedReducingState, PagedValueState

if TYPE_CHECKING:
    from headrace.runtime.windows.kit import WindowKit


class Clocks:
    """The two clocks, under the names that assigners, triggers and evictors use."""

    def __init__(self, kit: WindowKit) -> None:
        self._kit = kit

    def get_current_processing_time(self) -> int:
        """The wall clock."""
        return self._kit.runtime.clock()

    def get_current_watermark(self) -> int:
        """Event time."""
        return self._kit.watermark


class AssignerContext(Clocks, WindowAssigner.WindowAssignerContext):
    """For assigners: the clock, and state of the key."""

    def get_runtime_context(self) -> Any:
        """State of the key."""
        self._kit.scope.set(self._kit.key)
        return self._kit.user_context


class TriggerContext(Clocks, Trigger.OnMergeContext, Evictor.EvictorContext):
    """For triggers: timers and state of the key and window at hand."""

    def __init__(self, kit: WindowKit) -> None:
        super().__init__(kit)
        self._event_timers = kit.states.timers[TimeDomain.EVENT_TIME]
        self._processing_timers = kit.states.timers[TimeDomain.PROCESSING_TIME]
        # the window at hand, and those that were merged into it
        self.namespace: Any = None
        self.merged: list[Any] = []
        self._states: dict[str, Any] = {}

    def get_metric_group(self) -> Any:
        """Where to register metrics."""
        return self._kit.user_context.get_metrics_group()

    def register_event_time_timer(self, time: int) -> None:
        """Call on_event_time at this time."""
        self._event_timers.register(time, self._kit.key, self.namespace)

    def register_processing_time_timer(self, time: int) -> None:
        """Call on_processing_time at this time."""
        self._processing_timers.register(time, self._kit.key, self.namespace)

    def delete_event_time_timer(self, time: int) -> None:
        """Take a timer back."""
        self._event_timers.delete(time, self._kit.key, self.namespace)

    def delete_processing_time_timer(self, time: int) -> None:
        """Take a timer back."""
        self._processing_timers.delete(time, self._kit.key, self.namespace)

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        """State of the key and window at hand."""
        states = self._kit.states.trigger
        states.scope.set_namespace(self._kit.key, self.namespace)
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


class WindowFunctionContext(Clocks):
    """For process window functions: the window, the clocks and two kinds of state."""

    def __init__(self, kit: WindowKit) -> None:
        super().__init__(kit)
        self.current: Any = None
        self._window_store = StateStore(kit.states.window)
        self._global_store = StateStore(kit.states.overall)

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
        if self._kit.description.merging:
            raise StateError(
                "per-window state is not possible with merging windows such as sessions",
                fix="use global_state(), which is per key",
            )
        namespace = self._kit.namespaces.encode(self.current)
        self._kit.states.window.scope.set_namespace(self._kit.key, namespace)
        return self._window_store

    def global_state(self) -> StateStore:
        """State of this key, over all windows."""
        self._kit.states.overall.scope.set(self._kit.key)
        return self._global_store
