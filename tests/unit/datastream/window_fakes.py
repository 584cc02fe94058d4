"""A tiny window operator: one key, state in dicts, clocks moved by hand."""

from __future__ import annotations

from typing import Any

from headrace.common.constants import MIN_LONG_VALUE
from headrace.datastream.window import MergingWindowAssigner, Trigger, TriggerResult


class FakeState:
    """Value and reducing state in one, enough for triggers."""

    def __init__(self, store: dict[Any, Any], place: Any, descriptor: Any) -> None:
        self.store, self.place, self.descriptor = store, place, descriptor

    def value(self) -> Any:
        return self.store.get(self.place)

    get = value

    def update(self, value: Any) -> None:
        self.store[self.place] = value

    def add(self, value: Any) -> None:
        if self.place in self.store:
            reduce = self.descriptor.get_reduce_function()
            value = getattr(reduce, "reduce", reduce)(self.store[self.place], value)
        self.store[self.place] = value

    def clear(self) -> None:
        self.store.pop(self.place, None)


class FakeContext(Trigger.OnMergeContext):
    def __init__(self, host: WindowHost, window: Any) -> None:
        self.host, self.window = host, window
        self.merged: list[Any] = []

    def get_current_processing_time(self) -> int:
        return self.host.clock

    def get_metric_group(self) -> Any:
        raise NotImplementedError

    def get_current_watermark(self) -> int:
        return self.host.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self.host.timers.add((time, "processing", self.window))

    def register_event_time_timer(self, time: int) -> None:
        self.host.timers.add((time, "event", self.window))

    def delete_processing_time_timer(self, time: int) -> None:
        self.host.timers.discard((time, "processing", self.window))

    def delete_event_time_timer(self, time: int) -> None:
        self.host.timers.discard((time, "event", self.window))

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        place = (self.window, state_descriptor.get_name())
        return FakeState(self.host.state, place, state_descriptor)

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        name = state_descriptor.get_name()
        values = [
            self.host.state.pop((window, name))
            for window in self.merged
            if (window, name) in self.host.state
        ]
        for value in values:
            self.get_partitioned_state(state_descriptor).add(value)


class WindowHost:
    """Runs an assigner and a trigger as Flink's window operator does, for one key, lateness 0."""

    def __init__(self, assigner: Any, trigger: Any = None) -> None:
        self.assigner = assigner
        self.trigger = trigger or assigner.get_default_trigger()
        self.state: dict[Any, Any] = {}
        self.timers: set[tuple[int, str, Any]] = set()
        self.contents: dict[Any, list[Any]] = {}
        self.fired: list[tuple[Any, list[Any]]] = []
        self.watermark = MIN_LONG_VALUE
        self.clock = 0

    # WindowAssignerContext
    def get_current_processing_time(self) -> int:
        return self.clock

    def get_runtime_context(self) -> Any:
        return self

    def get_state(self, descriptor: Any) -> FakeState:
        return FakeState(self.state, descriptor.get_name(), descriptor)

    def element(self, value: Any, timestamp: int | None = None) -> None:
        timestamp = value if timestamp is None else timestamp
        for window in self.assigner.assign_windows(value, timestamp, self):
            if isinstance(self.assigner, MergingWindowAssigner):
                window = self._merge(window)
            if self.assigner.is_event_time() and window.max_timestamp() <= self.watermark:
                continue
            self.contents.setdefault(window, []).append(value)
            ctx = FakeContext(self, window)
            self._act(self.trigger.on_element(value, timestamp, window, ctx), window)

    def _merge(self, added: Any) -> Any:
        final = [added]
        host = self

        class Callback(MergingWindowAssigner.MergeCallback[Any]):
            def merge(self, to_be_merged: Any, merge_result: Any) -> None:
                old = [window for window in to_be_merged if window != merge_result]
                if added in to_be_merged:
                    final[0] = merge_result
                contents = [host.contents.pop(w) for w in to_be_merged if w in host.contents]
                if contents:
                    host.contents[merge_result] = [v for part in contents for v in part]
                ctx = FakeContext(host, merge_result)
                ctx.merged = [w for w in to_be_merged if w != merge_result]
                host.trigger.on_merge(merge_result, ctx)
                for window in old:
                    host.trigger.clear(window, FakeContext(host, window))

        self.assigner.merge_windows([*self.contents, added], Callback())
        return final[0]

    def advance(self, watermark: int) -> None:
        self.watermark = watermark
        self._run("event", watermark, self.trigger.on_event_time)

    def tick(self, clock: int) -> None:
        self.clock = clock
        self._run("processing", clock, self.trigger.on_processing_time)

    def _run(self, domain: str, until: int, call: Any) -> None:
        while True:
            due = [t for t in self.timers if t[1] == domain and t[0] <= until]
            if not due:
                break
            timer = min(due, key=lambda t: (t[0], repr(t[2])))
            self.timers.discard(timer)
            time, _, window = timer
            self._act(call(time, window, FakeContext(self, window)), window)
            if time == window.max_timestamp():
                self.contents.pop(window, None)
                self.trigger.clear(window, FakeContext(self, window))

    def _act(self, result: TriggerResult, window: Any) -> None:
        if result.is_fire() and self.contents.get(window):
            self.fired.append((window, list(self.contents[window])))
        if result.is_purge():
            self.contents.pop(window, None)

    def results(self) -> list[list[Any]]:
        return [values for _, values in self.fired]
