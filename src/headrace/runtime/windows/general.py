"""Windows one by one: any assigner, any trigger, with or without evictor, merging or not.

    record ─▶ assigner ─▶ windows ─▶ late? ─▶ contents of (key, window) ─▶ trigger ─▶ fire / purge
    timer  ─▶ trigger ─▶ fire / purge ─▶ end of life? ─▶ everything of (key, window) is cleared

The rules: docs/semantics.md#2-windows and docs/semantics.md#3-triggers-lateness-evictors.  Windows
with nothing special about them have faster ways: windows/aligned.py, windows/sessions.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.time_domain import TimeDomain
from headrace.api.window.evictors import TimestampedValue
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.errors import StateError
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.windows.contexts import TriggerContext
from headrace.runtime.windows.merging_set import MergingSet
from headrace.runtime.windows.strategy import WindowStrategy
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.runtime.windows.kit import WindowKit


# by key and window: what is in it; by key: its merging windows
CONTENTS = StateSpec("contents", "windows")
MERGING = StateSpec("merging", "table")


class GeneralWindows(WindowStrategy):
    """The windows of one step in one subtask, each with its own contents and timers."""

    kept = "by window"
    states = (CONTENTS, MERGING)

    def __init__(self, kit: WindowKit) -> None:
        super().__init__(kit)
        described = kit.description
        self.trigger, self.evictor = described.trigger, described.evictor
        self.merging = described.merging
        # survives restart: (key, window) -> contents; key -> its merging windows
        self.table = kit.states.own.table(CONTENTS.name)
        self.merging_table = kit.states.own.table(MERGING.name)
        # the clock by which windows end
        self.domain = TimeDomain.EVENT_TIME if kit.event_time else TimeDomain.PROCESSING_TIME
        self.end_timers = kit.states.timers[self.domain]
        self.trigger_context = TriggerContext(kit)
        self.encode, self.decode = kit.namespaces.encode, kit.namespaces.decode

    @classmethod
    def fits(cls, kit: WindowKit) -> bool:
        return True

    @classmethod
    def holds(cls, kit: WindowKit) -> bool:
        return any(True for _ in kit.states.timers[TimeDomain.EVENT_TIME].scan())

    # --- records -----------------------------------------------------------------------------

    def process(self, keys: list[Any], values: Iterable[Any], times: Iterable[int]) -> None:
        kit, set_key = self.kit, self.kit.scope.set
        add = self._add_merging if self.merging else self._add
        assign, context = kit.assigner.assign_windows, kit.assigner_context
        for key, value, time in zip(keys, values, times, strict=True):
            kit.key = key
            set_key(key)
            if not add(value, time, assign(value, time, context)):
                kit.reject(value, time)

    def _add(self, value: Any, time: int, windows: Any) -> bool:
        """Put a record into its windows; False if all of them are over."""
        kit, context, accepted = self.kit, self.trigger_context, False
        for window in windows:
            if kit.is_over(window):
                continue
            accepted = True
            namespace = self.encode(window)
            self._add_content((kit.key, namespace), value, time)
            context.namespace = namespace
            result = self.trigger.on_element(value, time, window, context)
            self._react(result, window, namespace)
            self._register_cleanup(window, namespace)
        return accepted

    def _add_merging(self, value: Any, time: int, windows: Any) -> bool:
        kit, context, accepted = self.kit, self.trigger_context, False
        merging = self._merging_set()
        for window in windows:
            merged = merging.add(window, self._on_merge)
            if kit.is_over(merged):
                merging.retire(merged)
                continue
            accepted = True
            kept_under = self.encode(merging.state_of[merged])
            self._add_content((kit.key, kept_under), value, time)
            namespace = self.encode(merged)
            context.namespace = namespace
            result = self.trigger.on_element(value, time, merged, context)
            self._react(result, merged, kept_under)
            self._register_cleanup(merged, namespace)
        self._keep_merging_set(merging)
        return accepted

    def _on_merge(self, result: Any, parts: list[Any], keep: Any, move: list[Any]) -> None:
        if self.kit.is_over(result):
            raise StateError(
                f"window {result} would already be over when a merge creates it",
                fix="a merging assigner must not return windows that end before their parts",
            )
        context = self.trigger_context
        context.namespace = self.encode(result)
        context.merged = [self.encode(part) for part in parts]
        self.trigger.on_merge(result, context)
        for part in parts:
            if part != result:
                context.namespace = self.encode(part)
                self.trigger.clear(part, context)
                self.end_timers.delete(self.kit.over_at(part), self.kit.key, context.namespace)
        for source in move:
            self._move_content(self.encode(source), self.encode(keep))

    # --- time --------------------------------------------------------------------------------

    def on_timer(self, domain: TimeDomain, time: int, key: Any, namespace: Any) -> None:
        kit, context = self.kit, self.trigger_context
        kit.key = key
        kit.scope.set(key)
        window = self.decode(namespace)
        merging = self._merging_set() if self.merging else None
        if merging is None:
            kept_under = namespace
        elif window in merging.state_of:
            kept_under = self.encode(merging.state_of[window])
        else:
            return  # the window was merged into another one
        context.namespace = namespace
        by_event_time = domain is TimeDomain.EVENT_TIME
        call = self.trigger.on_event_time if by_event_time else self.trigger.on_processing_time
        self._react(call(time, window, context), window, kept_under)
        if domain is self.domain and time == kit.over_at(window):
            self._clear(window, namespace, kept_under, merging)

    def _react(self, result: Any, window: Any, kept_under: Any) -> None:
        if result.is_fire():
            self._evaluate(window, kept_under)
        if result.is_purge():
            self.table.remove((self.kit.key, kept_under))

    def _evaluate(self, window: Any, kept_under: Any) -> None:
        entry = (self.kit.key, kept_under)
        content = self.table.get(entry, NO_ENTRY)
        if content is NO_ENTRY:
            return
        if self.evictor is None:
            self.kit.emit(window, content)
            return
        elements = [TimestampedValue(v, None if t == MIN_TIMESTAMP else t) for v, t in content]
        self.evictor.evict_before(elements, len(elements), window, self.trigger_context)
        self.kit.emit(window, [(e.value, e.timestamp) for e in elements])
        self.evictor.evict_after(elements, len(elements), window, self.trigger_context)
        left = [(e.value, MIN_TIMESTAMP if e.timestamp is None else e.timestamp) for e in elements]
        if left:
            self.table.put(entry, left)
        else:
            self.table.remove(entry)

    def _clear(self, window: Any, namespace: Any, kept_under: Any, merging: Any) -> None:
        self.table.remove((self.kit.key, kept_under))
        self.trigger_context.namespace = namespace
        self.trigger.clear(window, self.trigger_context)
        self.kit.clear(window)
        if merging is not None:
            merging.retire(window)
            self._keep_merging_set(merging)

    def _register_cleanup(self, window: Any, namespace: Any) -> None:
        time = self.kit.over_at(window)
        if time != MAX_TIMESTAMP:
            self.end_timers.register(time, self.kit.key, namespace)

    # --- what is kept ------------------------------------------------------------------------

    def _add_content(self, entry: Any, value: Any, time: int) -> None:
        table = self.table
        table.put(entry, self.kit.contents.added(table.get(entry, NO_ENTRY), value, time))

    def _move_content(self, source: Any, target: Any) -> None:
        key = self.kit.key
        moved = self.table.get((key, source), NO_ENTRY)
        if moved is NO_ENTRY:
            return
        self.table.remove((key, source))
        old = self.table.get((key, target), NO_ENTRY)
        self.table.put((key, target), self.kit.contents.merged(old, moved))

    def _merging_set(self) -> MergingSet:
        stored = self.merging_table.get(self.kit.key) or ()
        return MergingSet(
            self.kit.assigner,
            {self.decode(window): self.decode(state) for window, state in stored},
        )

    def _keep_merging_set(self, merging: MergingSet) -> None:
        if merging.state_of:
            pairs = [(self.encode(w), self.encode(s)) for w, s in merging.state_of.items()]
            self.merging_table.put(self.kit.key, pairs)
        else:
            self.merging_table.remove(self.kit.key)
