"""What every window strategy works with: contents, lateness, the key at hand, the way out.

    WindowOperator ─▶ strategy ─▶ kit ─▶ contents, states, output

The operator makes one kit and keeps its clock; nothing in here knows the operator or a strategy.
Next: windows/strategy.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.api.functions import ProcessAllWindowFunction, ProcessWindowFunction
from headrace.api.time_domain import TimeDomain
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.operators.functions import callable_of
from headrace.runtime.operators.late import LateRecords
from headrace.runtime.operators.process import ProcessOutput
from headrace.runtime.windows.contents import ContentKind, contents_of
from headrace.runtime.windows.contexts import AssignerContext, WindowFunctionContext
from headrace.runtime.windows.namespaces import WindowNamespaces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.runtime_context import SubtaskContext
    from headrace.runtime.state.provider import StateProvider
    from headrace.runtime.timers import TimerQueue
    from headrace.runtime.windows.description import WindowDescription

_NO_CLEARING = {ProcessWindowFunction.clear, ProcessAllWindowFunction.clear}


@dataclass(frozen=True, slots=True)
class WindowStates:
    """What a window step keeps.

    Attributes:
        own: tables of strategies, and states of the user's functions by key.
        trigger: states of triggers, by key and window.
        window: states of window functions, by key and window.
        overall: states of window functions, by key.
        timers: of triggers and of windows that end, by clock.
        folded: whether reduce or add use state of the key, so they must know which key it is.
    """

    own: StateProvider
    trigger: StateProvider
    window: StateProvider
    overall: StateProvider
    timers: Mapping[TimeDomain, TimerQueue]
    folded: bool = False


class WindowKit:
    """The windows of one step in one subtask, whatever the strategy."""

    def __init__(
        self,
        described: WindowDescription,
        runtime: OperatorRuntime,
        states: WindowStates,
        user_context: SubtaskContext,
    ) -> None:
        self.description = described
        self.runtime = runtime
        self.states = states
        self.user_context = user_context
        self.scope = states.own.scope
        self.contents = contents_of(described)
        self.out = ProcessOutput(runtime.output)
        self._late = LateRecords(runtime, described.late_tag)
        self.assigner = described.assigner
        self.shape = described.assigner.window_shape()
        self.event_time = described.assigner.is_event_time()
        self.lateness = described.allowed_lateness_ms if self.event_time else 0
        # the operator's event time, kept up to date by it
        self.watermark = MIN_TIMESTAMP
        # the key at hand, set by strategies
        self.key: Any = None
        self.namespaces = WindowNamespaces(self.assigner)
        self.assigner_context = AssignerContext(self)
        self.function_context = WindowFunctionContext(self)
        self._results = self._results_function()
        clear = getattr(described.function, "clear", None)
        self._clear = None if getattr(clear, "__func__", None) in _NO_CLEARING else clear

    @property
    def is_plain(self) -> bool:
        """Whether windows do nothing but fire when event time passes their end."""
        return (
            self.event_time
            and self.description.trigger.fires_at_end() is TimeDomain.EVENT_TIME
            and self.description.evictor is None
            and not self.states.folded
        )

    # --- the life of a window ----------------------------------------------------------------

    def over_at(self, window: Any) -> int:
        """When a window is over for good."""
        end: int = window.max_timestamp() + self.lateness
        return min(end, MAX_TIMESTAMP)

    def is_over(self, window: Any) -> bool:
        """Whether a window takes no more records."""
        return self.event_time and self.over_at(window) <= self.watermark

    def reject(self, value: Any, time: int) -> None:
        """No window takes the record: late, unless it lies between windows."""
        if not self.event_time or time + self.lateness > self.watermark:
            return
        self._late.add(value, time)

    def flush(self) -> None:
        """Emit what was gathered: late records ahead of the results of those in time."""
        self._late.flush()
        self.out.flush()

    # --- evaluation --------------------------------------------------------------------------

    @property
    def emits_contents(self) -> bool:
        """Whether the one value that a window holds is its result: no function needs the key."""
        return self.description.function is None and self.contents.kind is not ContentKind.RECORDS

    def emit(self, window: Any, content: Any) -> None:
        """Evaluate a window of the key at hand."""
        self.scope.set(self.key)
        results = self._results(window, self.contents.elements(content))
        self.out.extend(results, window.max_timestamp())

    def _results_function(self) -> Callable[[Any, list[Any]], Any]:
        function = self.description.function
        if function is None:
            return _as_they_are
        with_context = hasattr(function, "process")
        self._call = callable_of(function, "process" if with_context else "apply")
        return {
            (True, True): self._process_all,
            (True, False): self._process,
            (False, True): self._call,
            (False, False): self._apply,
        }[with_context, self.description.over_all]

    def _process_all(self, window: Any, elements: list[Any]) -> Any:
        self.function_context.current = window
        return self._call(self.function_context, elements)

    def _process(self, window: Any, elements: list[Any]) -> Any:
        self.function_context.current = window
        return self._call(self.key, self.function_context, elements)

    def _apply(self, window: Any, elements: list[Any]) -> Any:
        return self._call(self.key, window, elements)

    @property
    def has_clearing(self) -> bool:
        """Whether the function wants to know when a window is over."""
        return self._clear is not None

    def clear(self, window: Any) -> None:
        """A window of the key at hand is over: its function may clear what it keeps."""
        if self._clear is not None:
            self.scope.set(self.key)
            self.function_context.current = window
            self._clear(self.function_context)


def _as_they_are(window: Any, elements: list[Any]) -> list[Any]:
    return elements
