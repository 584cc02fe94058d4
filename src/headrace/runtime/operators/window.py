"""The window operator: puts records into windows, evaluates them when their trigger says so.

    record ─▶ assigner ─▶ windows ─▶ late? ─▶ contents of (key, window) ─▶ trigger ─▶ fire / purge
    timer  ─▶ trigger ─▶ fire / purge ─▶ end of life? ─▶ everything of (key, window) is cleared

Contents are one value (reduce), one accumulator (aggregate) or, without either or with an evictor,
all records with their timestamps.  Section 2 and 3 of Flink's semantics are the rules.
Windows with nothing special about them take a shorter way: windows/aligned.py for tumbling and
sliding ones, windows/sessions.py.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from headrace.api.window import CountWindow, GlobalWindow, TimeWindow
from headrace.api.window.evictors import TimestampedValue
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.errors import StateError
from headrace.runtime.operators.functions import callable_of, open_function
from headrace.runtime.operators.keyed import TimedOperator
from headrace.runtime.operators.process import ProcessOutput
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.state.provider import USER_STATES, StateProvider
from headrace.runtime.timers import TimerQueue
from headrace.runtime.windows.aligned import AlignedWindows, can_merge, is_aligned, panes_name
from headrace.runtime.windows.contexts import AssignerContext, FunctionContext, TriggerContext
from headrace.runtime.windows.merging_set import MergingSet
from headrace.runtime.windows.panes import PANES, index_key
from headrace.runtime.windows.rolling import RollingAggregate
from headrace.runtime.windows.sessions import (
    SESSION_TIMERS,
    SESSIONS,
    SessionWindows,
    are_plain_sessions,
    timers_name,
)
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.windows.description import WindowDescription


# by key and window: what is in it; what functions ask for
CONTENTS = StateSpec("contents", "windows")
TRIGGER_STATES = StateSpec("trigger/user/", "windows")
STATES_OF_WINDOWS = StateSpec("window-state/user/", "windows")
# by key
STATES_OF_KEYS = StateSpec("global-state/user/", "table")
MERGING = StateSpec("merging", "table")
# Which of them are used is known when the functions are open: some may keep state themselves.
WINDOW_STATES = (
    CONTENTS, MERGING, TRIGGER_STATES, STATES_OF_WINDOWS, STATES_OF_KEYS,
    PANES, SESSIONS, SESSION_TIMERS,
)  # fmt: skip


class WindowOperator(TimedOperator):
    """Windows of one step in one subtask."""

    def __init__(self, description: WindowDescription) -> None:
        super().__init__(description.function)
        self.description = description

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), *WINDOW_STATES)

    def open(self, runtime: OperatorRuntime) -> None:
        described = self.description
        self.trigger_states = _user_states(runtime, TRIGGER_STATES)
        self.window_states = _user_states(runtime, STATES_OF_WINDOWS)
        self.global_states = _user_states(runtime, STATES_OF_KEYS)
        super().open(runtime)
        self.assigner, self.trigger = described.assigner, described.trigger
        self.event_time = self.assigner.is_event_time()
        self.lateness = described.allowed_lateness_ms if self.event_time else 0
        self.contents = self.states.table(CONTENTS.name)
        self.merging_table = self.states.table(MERGING.name)
        self.key: Any = None
        self.assigner_context = AssignerContext(self)
        self.trigger_context = TriggerContext(self)
        self.function_context = FunctionContext(self)
        self.out = ProcessOutput(self.output)
        self._open_functions()
        # the shorter way, if there is one
        self.direct: AlignedWindows | SessionWindows | None = None
        if self.folds_with_state:
            pass
        elif self._is_aligned():
            self.direct = AlignedWindows(self)
        elif are_plain_sessions(described):
            self.direct = SessionWindows(self)

    def _is_aligned(self) -> bool:
        described = self.description
        if not is_aligned(described):
            return False
        return not described.overlapping or self.aggregate is None or can_merge(self.aggregate)

    def _open_functions(self) -> None:
        described = self.description
        before = len(self.states.declared())
        for function in (described.reduce, described.aggregate):
            open_function(self, function, self.context_for_user)
        # State of the key inside of reduce or add: the shorter ways do not say which key it is.
        self.folds_with_state = len(self.states.declared()) > before
        self.reduce = None if described.reduce is None else callable_of(described.reduce, "reduce")
        self.aggregate = described.aggregate
        self.buffers = described.evictor is not None or (
            self.reduce is None and self.aggregate is None
        )
        function = described.function
        self.with_context = function is not None and hasattr(function, "process")
        if function is not None:
            self.call = callable_of(function, "process" if self.with_context else "apply")

    def reload(self, watermarks: list[int]) -> None:
        super().reload(watermarks)
        for states in (self.trigger_states, self.window_states, self.global_states):
            states.forget()
        self._check_layout()
        if self.direct is not None:
            self.direct.reload()

    def _check_layout(self) -> None:
        """Stored windows of another kind would be lost without a word."""
        store, uid = self.runtime.store, self.runtime.uid
        kinds = {
            "in panes": store.get(index_key(panes_name(uid))) is not None,
            "as sessions": len(TimerQueue(store, timers_name(uid))) > 0,
            "by window": len(self.event_timers) > 0,
        }
        own = {AlignedWindows: "in panes", SessionWindows: "as sessions"}
        kinds.pop(own.get(type(self.direct), "by window"))
        for kind, found in kinds.items():
            if found:
                raise StateError(
                    f"the stored windows of step {self.runtime.name!r} were kept {kind}, which its "
                    "assigner, trigger, evictor or function, or headrace.windows.share-panes, does "
                    "not allow to go on with",
                    where=self.runtime.where,
                    fix="change these back, or give the step another uid to begin with empty "
                    "windows",
                )

    def begin_batch(self) -> None:
        super().begin_batch()
        if isinstance(self.aggregate, RollingAggregate):
            self.aggregate.begin_batch(self.runtime.clock(), self.runtime.batch_id)

    def flush(self) -> None:
        if self.direct is not None:
            self.direct.flush()
        super().flush()
        for states in (self.trigger_states, self.window_states, self.global_states):
            states.flush()

    # --- records -----------------------------------------------------------------------------

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        if self.direct is None:
            self._process_each(records)
        else:
            self.direct.process(records)
        self.out.flush()

    def _process_each(self, records: Records) -> None:
        add = self._add_merging if self.description.merging else self._add
        value: Any = None
        keys = self.keys(records)
        try:
            for key, (value, timestamp) in zip(keys, records.pairs(), strict=True):
                self.key = key
                self.scope.set(key)
                time = MIN_TIMESTAMP if timestamp is None else timestamp
                windows = self.assigner.assign_windows(value, time, self.assigner_context)
                if not add(value, time, windows):
                    self.reject(value, time)
        except Exception as error:
            raise self.failed(error, value) from error

    def _add(self, value: Any, time: int, windows: Any) -> bool:
        """Put a record into its windows; False if all of them are over."""
        accepted = False
        for window in windows:
            if self.is_over(window):
                continue
            accepted = True
            namespace = self.encode(window)
            self._add_content((self.key, namespace), value, time)
            self.trigger_context.namespace = namespace
            self._react(
                self.trigger.on_element(value, time, window, self.trigger_context),
                window,
                namespace,
            )
            self._register_cleanup(window, namespace)
        return accepted

    def _add_merging(self, value: Any, time: int, windows: Any) -> bool:
        accepted = False
        merging = self._merging_set()
        for window in windows:
            merged = merging.add(window, self._on_merge)
            if self.is_over(merged):
                merging.retire(merged)
                continue
            accepted = True
            kept_under = self.encode(merging.state_of[merged])
            self._add_content((self.key, kept_under), value, time)
            namespace = self.encode(merged)
            self.trigger_context.namespace = namespace
            result = self.trigger.on_element(value, time, merged, self.trigger_context)
            self._react(result, merged, kept_under)
            self._register_cleanup(merged, namespace)
        self._keep_merging_set(merging)
        return accepted

    def _on_merge(self, result: Any, parts: list[Any], keep: Any, move: list[Any]) -> None:
        if self.event_time and _end(result, self.lateness) <= self.current_watermark:
            raise StateError(
                f"window {result} would be over by the merge that makes it",
                fix="a merging assigner must not give windows that end before their parts",
            )
        context = self.trigger_context
        context.namespace = self.encode(result)
        context.merged = [self.encode(part) for part in parts]
        self.trigger.on_merge(result, context)
        for part in parts:
            if part != result:
                context.namespace = self.encode(part)
                self.trigger.clear(part, context)
                self._delete_cleanup(part, context.namespace)
        for source in move:
            self._move_content(self.encode(source), self.encode(keep))

    def reject(self, value: Any, time: int) -> None:
        """No window takes the record: late, unless it lies between windows."""
        if not self.event_time or time + self.lateness > self.current_watermark:
            return
        if self.description.late_tag is None:
            self.runtime.metrics.late_records_dropped += 1
        else:
            self.output.emit_side(self.description.late_tag, Records([value], [time]))

    # --- timers ------------------------------------------------------------------------------

    def advance_watermark(self, timestamp: int) -> None:
        if self.direct is not None:
            self.direct.advance(timestamp)
        super().advance_watermark(timestamp)

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._on_timer(timestamp, key, namespace, event=True)

    def fire_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._on_timer(timestamp, key, namespace, event=False)

    def _on_timer(self, timestamp: int, key: Any, namespace: Any, *, event: bool) -> None:
        self.key = key
        self.scope.set(key)
        window = self.decode(namespace)
        merging = self._merging_set() if self.description.merging else None
        if merging is None:
            kept_under = namespace
        elif window in merging.state_of:
            kept_under = self.encode(merging.state_of[window])
        else:
            return  # the window was merged into another one
        context = self.trigger_context
        context.namespace = namespace
        call = self.trigger.on_event_time if event else self.trigger.on_processing_time
        try:
            self._react(call(timestamp, window, context), window, kept_under)
            if event == self.event_time and timestamp == self._cleanup_time(window):
                self._clear(window, namespace, kept_under, merging)
        except Exception as error:
            raise self.failed(error) from error

    def after_timers(self) -> None:
        self.out.flush()

    def _react(self, result: Any, window: Any, kept_under: Any) -> None:
        if result.is_fire():
            self._evaluate(window, kept_under)
        if result.is_purge():
            self.contents.remove((self.key, kept_under))

    def _clear(self, window: Any, namespace: Any, kept_under: Any, merging: Any) -> None:
        self.contents.remove((self.key, kept_under))
        self.trigger_context.namespace = namespace
        self.trigger.clear(window, self.trigger_context)
        clear = getattr(self.description.function, "clear", None)
        if clear is not None:
            self.function_context.current = window
            clear(self.function_context)
        if merging is not None:
            merging.retire(window)
            self._keep_merging_set(merging)

    # --- the life of a window ----------------------------------------------------------------

    def is_over(self, window: Any) -> bool:
        """Whether a window takes no more records."""
        return self.event_time and _end(window, self.lateness) <= self.current_watermark

    def _cleanup_time(self, window: Any) -> int:
        return _end(window, self.lateness)

    def _register_cleanup(self, window: Any, namespace: Any) -> None:
        time = self._cleanup_time(window)
        if time != MAX_TIMESTAMP:
            timers = self.event_timers if self.event_time else self.processing_timers
            timers.register(time, self.key, namespace)

    def _delete_cleanup(self, window: Any, namespace: Any) -> None:
        timers = self.event_timers if self.event_time else self.processing_timers
        timers.delete(self._cleanup_time(window), self.key, namespace)

    # --- contents ----------------------------------------------------------------------------

    def _add_content(self, entry: Any, value: Any, time: int) -> None:
        self.contents.put(entry, self.added(self.contents.get(entry, NO_ENTRY), value, time))

    def added(self, old: Any, value: Any, time: int) -> Any:
        """Contents with a record more; `old` is NO_ENTRY for the first one."""
        if self.buffers:
            if old is NO_ENTRY:
                return [(value, time)]
            old.append((value, time))
            return old
        if self.reduce is not None:
            return value if old is NO_ENTRY else self.reduce(old, value)
        accumulator = self.aggregate.create_accumulator() if old is NO_ENTRY else old
        return self.aggregate.add(value, accumulator)

    def _move_content(self, source: Any, target: Any) -> None:
        moved = self.contents.get((self.key, source), NO_ENTRY)
        if moved is NO_ENTRY:
            return
        self.contents.remove((self.key, source))
        old = self.contents.get((self.key, target), NO_ENTRY)
        self.contents.put((self.key, target), self.merged(old, moved))

    def merged(self, old: Any, moved: Any) -> Any:
        """Contents of two windows that become one; `old` is NO_ENTRY if it has none."""
        if old is NO_ENTRY:
            return moved
        if self.buffers:
            return old + moved
        return self.aggregate.merge(old, moved) if self.reduce is None else self.reduce(old, moved)

    def _evaluate(self, window: Any, kept_under: Any) -> None:
        content = self.contents.get((self.key, kept_under), NO_ENTRY)
        if content is NO_ENTRY:
            return
        evictor = self.description.evictor
        if evictor is None:
            self.emit(window, content)
            return
        elements = [TimestampedValue(v, None if t == MIN_TIMESTAMP else t) for v, t in content]
        evictor.evict_before(elements, len(elements), window, self.trigger_context)
        self.emit(window, [(e.value, e.timestamp) for e in elements])
        evictor.evict_after(elements, len(elements), window, self.trigger_context)
        kept = [(e.value, MIN_TIMESTAMP if e.timestamp is None else e.timestamp) for e in elements]
        if kept:
            self.contents.put((self.key, kept_under), kept)
        else:
            self.contents.remove((self.key, kept_under))

    def _elements(self, content: Any) -> list[Any]:
        """What the window function is given: all records, or the one aggregated value."""
        if not self.buffers:
            return [content if self.reduce is not None else self.aggregate.get_result(content)]
        values = [value for value, _ in content]
        if not values:
            return []
        if self.reduce is not None:
            result = values[0]
            for value in values[1:]:
                result = self.reduce(result, value)
            return [result]
        if self.aggregate is not None:
            accumulator = self.aggregate.create_accumulator()
            for value in values:
                accumulator = self.aggregate.add(value, accumulator)
            return [self.aggregate.get_result(accumulator)]
        return values

    def emit(self, window: Any, content: Any) -> None:
        """Evaluate a window of the key at hand."""
        self.scope.set(self.key)
        elements = self._elements(content)
        if self.description.function is None:
            results: Any = elements
        elif self.with_context:
            self.function_context.current = window
            arguments = (self.function_context, elements)
            results = self.call(*arguments) if self._over_all else self.call(self.key, *arguments)
        else:
            arguments = (window, elements)
            results = self.call(*arguments) if self._over_all else self.call(self.key, *arguments)
        self.out.extend(results, window.max_timestamp())

    @property
    def _over_all(self) -> bool:
        return self.description.over_all

    # --- windows as parts of state keys ------------------------------------------------------

    def encode(self, window: Any) -> Any:
        """A window as plain data: state outlives classes."""
        if type(window) is TimeWindow:
            return (window.start, window.end)
        if type(window) is CountWindow:
            return (window.id,)
        if type(window) is GlobalWindow:
            return ()
        buffer = io.BytesIO()
        self.assigner.get_window_serializer().serialize(window, buffer)
        return buffer.getvalue()

    def decode(self, namespace: Any) -> Any:
        """The window behind `encode`."""
        if isinstance(namespace, bytes):
            return self.assigner.get_window_serializer().deserialize(io.BytesIO(namespace))
        if len(namespace) == 2:
            return TimeWindow(*namespace)
        return CountWindow(*namespace) if namespace else GlobalWindow.get()

    def _merging_set(self) -> MergingSet:
        stored = self.merging_table.get(self.key) or ()
        return MergingSet(
            self.assigner, {self.decode(window): self.decode(state) for window, state in stored}
        )

    def _keep_merging_set(self, merging: MergingSet) -> None:
        if merging.state_of:
            pairs = [(self.encode(w), self.encode(s)) for w, s in merging.state_of.items()]
            self.merging_table.put(self.key, pairs)
        else:
            self.merging_table.remove(self.key)


def _user_states(runtime: OperatorRuntime, family: StateSpec) -> StateProvider:
    place = f"{runtime.uid}/{family.name}".removesuffix(f"/{USER_STATES.name}")
    return StateProvider(runtime.store, place, runtime.clock)


def _end(window: Any, lateness: int) -> int:
    """When a window is over for good."""
    end: int = window.max_timestamp() + lateness
    return min(end, MAX_TIMESTAMP)
