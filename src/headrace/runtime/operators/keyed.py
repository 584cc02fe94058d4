"""Operators after key_by: keyed process functions, rich keyed functions, reduce."""

from __future__ import annotations

from itertools import compress, repeat
from typing import TYPE_CHECKING, Any

from headrace.api.time_domain import TimeDomain
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.errors import HeadraceError
from headrace.runtime.operators.base import wrong_results
from headrace.runtime.operators.functions import FunctionOperator, callable_of
from headrace.runtime.operators.process import KeyedContext, KeyedTimerService, ProcessOutput
from headrace.runtime.pages.store import DictStore
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.state.provider import USER_STATES, StateProvider
from headrace.runtime.timers import EVENT_TIMERS, PROCESSING_TIMERS, TimerQueue
from headrace.runtime.watermarks import InputClocks
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from headrace.common.opaque import UserFunction
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.state.recorded import Recorded
    from headrace.runtime.state.states import Scope


class KeyedOperator(FunctionOperator):
    """A user function with keyed state."""

    scope: Scope

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (USER_STATES,)

    def open(self, runtime: OperatorRuntime) -> None:
        key_types = [keying.key_type for keying in runtime.keyings if keying is not None]
        self.states = StateProvider(
            runtime.store,
            runtime.uid,
            runtime.clock,
            key_type=next((key_type for key_type in key_types if key_type is not None), None),
        )
        self.scope = self.states.scope
        super().open(runtime)

    def state_provider(self) -> StateProvider:
        return self.states

    def declared_states(self) -> dict[str, Recorded]:
        return self.states.declared()

    def keys(self, records: Records, input: int = 0) -> list[Any]:  # noqa: A002
        """The keys of records of an input."""
        keying = self.runtime.keyings[input]
        assert keying is not None
        try:
            return keying.keys(records)
        except HeadraceError as error:
            raise self.failed(error) from error.__cause__

    def held_inputs(self) -> frozenset[int]:
        keyings = enumerate(self.runtime.keyings)
        return frozenset(number for number, keying in keyings if keying is not None)

    def finish_keys(self) -> None:
        self.drop_keys()

    def drop_keys(self) -> None:
        """Forget all keyed state: its keys do not come again."""
        store = self.runtime.store
        assert isinstance(store, DictStore), store
        self.scope.clear()
        store.clear()
        self.reload(InputClocks([MIN_TIMESTAMP] * self.inputs))

    def keys_to_visit(self, records: Records, input: int = 0) -> list[Any]:  # noqa: A002
        """The keys of records whose state, by key alone, will be looked at."""
        keys = self.keys(records, input)
        self.states.read_ahead(keys)
        return keys

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.states.forget()

    def flush(self) -> None:
        self.scope.clear()
        self.states.flush()


class TimedOperator(KeyedOperator):
    """A keyed operator with timers."""

    uses_time = True

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), EVENT_TIMERS, PROCESSING_TIMERS)

    def open(self, runtime: OperatorRuntime) -> None:
        self.event_timers = TimerQueue(runtime.store, f"{runtime.uid}/{EVENT_TIMERS.name}")
        self.processing_timers = TimerQueue(
            runtime.store, f"{runtime.uid}/{PROCESSING_TIMERS.name}"
        )
        self.timer_service = KeyedTimerService(self, self.event_timers, self.processing_timers)
        super().open(runtime)

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.event_timers.reload()
        self.processing_timers.reload()

    def advance_watermark(self, timestamp: int) -> None:
        self.event_timers.fire_until(timestamp, self.fire_event_timer)
        self.after_timers()

    def advance_processing_time(self, now: int) -> None:
        # after the end of input none fire: docs/semantics.md#2.13
        if self.current_watermark != MAX_TIMESTAMP:
            self.processing_timers.fire_until(now, self.fire_processing_timer)
            self.after_timers()

    def finish_keys(self) -> None:
        """Event time ends for these keys, and then the wall clock: all their timers fire."""
        self.current_watermark = MAX_TIMESTAMP
        queues = (self.event_timers, self.processing_timers)
        for queue in queues:
            queue.takes_more = False  # a timer that sets itself again would never end
        self.advance_watermark(MAX_TIMESTAMP)
        self.processing_timers.fire_until(MAX_TIMESTAMP, self.fire_processing_timer)
        self.after_timers()
        for queue in queues:
            queue.takes_more = True
        self.drop_keys()

    def next_processing_timer(self) -> int | None:
        return self.processing_timers.next_time()

    def next_look(self) -> int | None:
        return self.processing_timers.not_before()

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """An event-time timer is due."""
        raise NotImplementedError

    def fire_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """A processing-time timer is due."""
        raise NotImplementedError

    def after_timers(self) -> None:
        """All due timers have fired."""

    def flush(self) -> None:
        super().flush()
        self.event_timers.flush()
        self.processing_timers.flush()


class KeyedProcessOperator(TimedOperator):
    """A KeyedProcessFunction."""

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.context = KeyedContext(self, self.timer_service)
        self.out = ProcessOutput(self.output)
        self.calls = self._element_functions()
        self.on_timer = getattr(self.function, "on_timer", None)

    def _element_functions(self) -> list[UserFunction]:
        return [callable_of(self.function, "process_element")]

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        call, context, scope, out = self.calls[input], self.context, self.scope, self.out
        context.domain = None
        keys, values, times = self.keys_to_visit(records, input), records.values, records.timestamps
        value: Any = None
        results: Any = ()
        try:
            if times is None and not out.timed:  # nothing to note for a result: leave it to C
                context.current_timestamp, take = None, out.values.extend
                for key, value in zip(keys, values, strict=True):
                    scope.key = scope.entry = key
                    results = call(value, context)
                    if results is not None:
                        take(results)
            else:
                for key, value, timestamp in zip(keys, values, times or repeat(None), strict=False):
                    scope.key = scope.entry = key
                    context.current_timestamp = timestamp
                    out.extend(call(value, context), timestamp)
        except Exception as error:
            wrong = None if results is None else wrong_results(results)
            raise self.failed(wrong or error, value) from error
        out.flush()

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._fire(timestamp, key, TimeDomain.EVENT_TIME, timestamp)

    def fire_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._fire(timestamp, key, TimeDomain.PROCESSING_TIME, None)

    def _fire(self, timestamp: int, key: Any, domain: TimeDomain, stamp: int | None) -> None:
        if self.on_timer is None:
            return
        self.scope.set(key)
        self.context.current_timestamp, self.context.domain = stamp, domain
        try:
            self.out.extend(self.on_timer(timestamp, self.context), stamp)
        except Exception as error:
            raise self.failed(error) from error

    def after_timers(self) -> None:
        self.out.flush()


class KeyedCoProcessOperator(KeyedProcessOperator):
    """A KeyedCoProcessFunction: two keyed inputs share the state of a key."""

    inputs = 2

    def _element_functions(self) -> list[UserFunction]:
        return [
            callable_of(self.function, "process_element1"),
            callable_of(self.function, "process_element2"),
        ]


class KeyedMapOperator(KeyedOperator):
    """map, filter or flat_map on a keyed stream: like the plain ones, with state at hand."""

    def __init__(self, function: UserFunction, method: str) -> None:
        super().__init__(function)
        self.method = method

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.call = callable_of(self.function, self.method)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        call, scope, results = self.call, self.scope, []
        value: Any = None
        result: Any = ()
        try:
            for key, value in zip(self.keys_to_visit(records), records.values, strict=True):
                scope.key = scope.entry = key
                result = call(value)
                # a flat_map's generator must run while its key is set
                results.append(list(result) if self.method == "flat_map" else result)
        except Exception as error:
            wrong = wrong_results(result) if self.method == "flat_map" else None
            raise self.failed(wrong or error, value) from error
        self._emit(records, results)

    def _emit(self, records: Records, results: list[Any]) -> None:
        times = records.timestamps
        if self.method == "map":
            self.output.emit(records.with_values(results))
        elif self.method == "filter":
            kept_times = None if times is None else list(compress(times, results))
            self.output.emit(Records(list(compress(records.values, results)), kept_times))
        else:
            out = ProcessOutput(self.output)
            for found, (_, timestamp) in zip(results, records.pairs(), strict=True):
                out.extend(found, timestamp)
            out.flush()


class ReduceOperator(KeyedOperator):
    """A rolling reduce: the new value of the key goes out for every record, in BATCH the last."""

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), StateSpec("reduce", "table"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.call = callable_of(self.function, "reduce")
        self.table = self.states.table("reduce")

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        # Benchmark `reduce`: cells instead of a state object save 0.3 us a record.
        call, table, scope = self.call, self.table, self.scope
        results: list[Any] = []
        cell_of, append = table.cells.get, results.append
        keys = self.keys_to_visit(records)
        try:
            for key, value in zip(keys, records.values, strict=True):
                cell = cell_of(key) or table.find(key)
                old = cell.value
                scope.key = scope.entry = key  # a rich ReduceFunction has state of its own
                cell.value = new = value if old is NO_ENTRY else call(old, value)
                if cell.clean:
                    table.touch(cell)
                append(new)
        except Exception as error:
            raise self.failed(error, records.values[len(results)]) from error
        if not self.runtime.bounded:
            self.output.emit(records.with_values(results))

    def finish_keys(self) -> None:
        """One result a key, with the timestamp of the timer by which PyFlink emits it."""
        results = [value for _, value in self.table.items()]
        self.output.emit(Records(results, [MAX_TIMESTAMP] * len(results)))
        super().finish_keys()
