"""Looks for a pattern in the events of each key.

    event time        events wait until the watermark has passed them, then go in order of time
    processing time   events go on as they come
    late              behind the watermark: to a side output, or counted

    records ─▶ masks ─▶ those that matter wait by key ─▶ W ─▶ a visit of each key that is due:
    its events and time through the automaton ─▶ matches, time-outs ─▶ user's function ─▶ out

An event that leaves every partial match as it is (is_inert) is not kept; only its time is, and only
where a partial match may time out by it.  What is due within a batch never becomes stored state.

In: cep/pattern_stream.py.  Next: cep/nfa.py
"""

from __future__ import annotations

import heapq
from functools import cmp_to_key
from itertools import groupby, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headrace.api.output_tag import OutputTag
from headrace.cep.automaton import StateKind
from headrace.cep.compiler import compile_pattern
from headrace.cep.functions import MatchedEvents, PatternProcessFunction
from headrace.cep.masks import EventMasks
from headrace.cep.nfa import NFA, MatchState
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.errors import RecordError, UserFunctionError
from headrace.runtime.operators.base import wrong_results
from headrace.runtime.operators.functions import open_function
from headrace.runtime.operators.keyed import TimedOperator
from headrace.runtime.operators.late import LateRecords
from headrace.runtime.operators.process import ProcessOutput
from headrace.runtime.table.waiting import WaitingLines
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from headrace.cep.nfa import PatternMatch
    from headrace.cep.pattern import Pattern
    from headrace.common.opaque import UserFunction
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.watermarks import InputClocks

    # (time, (event,) or () where only the time counts, mask or None where it has to be asked for)
    Waiting = tuple[int, tuple[Any, ...], int | None]

_MATCHES = StateSpec("matches", "table")
_time = itemgetter(0)


class CepOperator(TimedOperator):
    """A pattern and the function that gets its matches.

    Args:
        pattern: the last stage.
        function: with process_match, and process_timed_out_match where time-outs are wanted.
        event_time: whether events go by their timestamps; else as they come.
        comparator: the order of events of one time; as they came if None.
        late_tag: the side output of late events.
    """

    def __init__(
        self,
        pattern: Pattern,
        function: UserFunction,
        *,
        event_time: bool = True,
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: str | None = None,
    ) -> None:
        super().__init__(function)
        self.pattern = pattern
        self.event_time = event_time
        self.comparator = comparator
        self.late_tag = late_tag

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), *WaitingLines.specs(), _MATCHES)

    def open(self, runtime: OperatorRuntime) -> None:
        automaton = compile_pattern(self.pattern)
        super().open(runtime)
        # survives restart: key -> partial matches and their events; events whose time has not come
        self.matches = self.states.table(_MATCHES.name)
        self.waiting = WaitingLines(self.states)
        # rebuilt on open
        self.nfa = NFA(automaton, runtime.clock)
        self.masks = EventMasks(automaton)
        self.on_timeout = getattr(self.function, "process_timed_out_match", None)
        self.rules = _TimeRules(self.nfa, hears_timeouts=self.on_timeout is not None)
        self.order = None if self.comparator is None else cmp_to_key(self.comparator)
        self.out = ProcessOutput(self.output)
        self.context = CepContext(self)
        self.late = LateRecords(runtime, self.late_tag)
        self.conditions = automaton.open_conditions()
        for condition in self.conditions:
            open_function(self, condition, self.context_for_user)
        self._forget_batch()

    def close(self) -> None:
        for condition in self.conditions:
            closing = getattr(condition, "close", None)
            if callable(closing):
                closing()
        super().close()

    def _forget_batch(self) -> None:
        # of the batch at hand: states that were looked at, and which of them changed
        self.live: dict[Any, MatchState] = {}
        self.changed: set[Any] = set()
        # events that came, and times of those that did not matter
        self.fresh: dict[Any, list[Waiting]] = {}
        self.ticks: dict[Any, list[int]] = {}
        self.tick_lists: list[tuple[Sequence[Any], Sequence[int]]] = []
        # keys whose timers fire at the moment
        self.fired: set[Any] = set()
        # (time, number, key): when a key has to be visited, and what of it is no event's time
        self.due: list[tuple[int, int, Any]] = []
        self.wakes: dict[Any, set[int]] = {}
        self.serial = 0

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self._forget_batch()

    # --- events come -----------------------------------------------------------------------------

    def process(self, records: Records, input: int) -> None:
        if self.event_time:
            self._keep(records)
        else:
            self._run_now(records)

    def _keep(self, records: Records) -> None:
        if not len(records):
            return
        times = records.timestamps
        if times is None or min(times, default=0) == MIN_TIMESTAMP:
            raise self.failed(no_timestamp("CEP.pattern"))
        if min(times, default=MAX_TIMESTAMP) <= self.current_watermark:
            records = self._without_late(records, times)
            times = records.timestamps
            if not times:
                return
        masks = self.masks.of(records)
        if self.rules.keeps_ticks:
            self.tick_lists.append((self.keys(records), times))
        kinds = np.unique(masks).tolist()
        inert = [mask for mask in kinds if self.nfa.automaton.is_inert(mask)]
        if not inert:
            self._keep_rows(records, masks, zip(records.values))
            return
        is_inert = np.isin(masks, inert)
        places = np.flatnonzero(~is_inert)
        if len(places):
            events = records.pick(places)  # no other is ever decoded
            self._keep_rows(events, masks[places], zip(events.values))
        if self.rules.keeps_ticks_as_events:
            places = np.flatnonzero(is_inert)
            self._keep_rows(records.pick(places), masks[places], repeat(()))

    def _keep_rows(self, records: Records, masks: Any, rows: Iterable[tuple[Any, ...]]) -> None:
        """Events wait: a row has the event, or nothing where only its time counts."""
        fresh, due = self.fresh, self.due
        times = records.timestamps
        assert times is not None
        waiting = zip(times, rows, masks.tolist(), strict=False)
        for key, event in zip(self.keys(records), waiting, strict=True):
            events = fresh.get(key)
            if events is None:
                fresh[key] = [event]
            else:
                events.append(event)
                if events[0][0] <= event[0]:  # the first one wakes the key early enough
                    continue
            self.serial += 1
            heapq.heappush(due, (event[0], self.serial, key))

    def _without_late(self, records: Records, times: list[int]) -> Records:
        now = self.current_watermark
        late = np.array([n for n, time in enumerate(times) if time <= now], np.int64)
        for value, time in records.pick(late).pairs():
            assert time is not None
            self.late.add(value, time)
        self.late.flush()
        return records.pick(np.array([n for n, t in enumerate(times) if t > now], np.int64))

    # --- event time ------------------------------------------------------------------------------

    def advance_watermark(self, timestamp: int) -> None:
        self.event_timers.fire_until(timestamp, self.fire_event_timer)
        if not self.event_time:
            self.after_timers()
            return
        due = self.due
        keys: dict[Any, None] = {}
        while due and due[0][0] <= timestamp:
            keys[heapq.heappop(due)[2]] = None
        if self.rules.keeps_ticks:
            self._gather_ticks(keys, timestamp)
        for key in keys:
            self._visit(key, self._take_due(key, timestamp), timestamp)
        self._drop_ticks(timestamp)
        self.fired.clear()
        self.after_timers()

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self.fired.add(key)
        self.serial += 1
        heapq.heappush(self.due, (timestamp, self.serial, key))

    def _take_due(self, key: Any, until: int) -> list[Waiting]:
        """The events of a key up to a time, in order of time, then of arrival."""
        taken: list[Waiting] = []
        if key in self.fired or not self.event_time:  # else nothing of it was stored
            taken = [(time, row, None) for time, row in self.waiting.take(key, until)]
            following = self.waiting.next_time(key)
            if following is not None:
                self.event_timers.register(following, key)
        fresh = self.fresh.pop(key, None)
        if fresh is not None:
            left = [event for event in fresh if event[0] > until]
            if left:
                fresh = [event for event in fresh if event[0] <= until]
                self.fresh[key] = left
                self.serial += 1
                heapq.heappush(self.due, (min(map(_time, left)), self.serial, key))
            taken += fresh
        if len(taken) > 1:
            taken.sort(key=_time)
            if self.order is not None:
                taken = self._compared(taken)
        return taken

    def _compared(self, events: list[Waiting]) -> list[Waiting]:
        order = self.order
        assert order is not None
        found: list[Waiting] = []
        for _, group in groupby(events, key=_time):
            events_of_time = list(group)
            found += sorted((e for e in events_of_time if e[1]), key=lambda e: order(e[1][0]))
            found += [e for e in events_of_time if not e[1]]
        return found

    # --- the automaton ---------------------------------------------------------------------------

    def _visit(self, key: Any, events: list[Waiting], until: int | None) -> None:
        """Run a key's events, and its time up to `until`; None: up to the events, as Flink does."""
        state = self._state(key)
        if state is None:
            if not events:
                return
            state = self.live[key] = self.nfa.initial_state()
        self.scope.key = self.scope.entry = key
        self.changed.add(key)
        state.started = False
        begins, counts = self.nfa.automaton.begins, self.rules.counts_every_start
        for time, row, mask in events:
            if len(state.partial) > 1:
                self._advance(key, state, time)
            elif mask is not None and not begins(mask) and not counts:
                continue
            if row:
                self._run_event(state, row[0], time, mask)
            if state.started and counts:
                self._wake(key, time + self.nfa.automaton.window_ms)
        if len(state.partial) > 1 and until is not None:
            self._advance(key, state, until)
        if not counts:
            self._wake(key, self.rules.next_wake(state))

    def _run_event(self, state: MatchState, event: Any, time: int, mask: int | None) -> None:
        try:
            found = self.nfa.process(state, event, time, mask)
        except Exception as error:
            raise self.failed(error, event) from error
        for match in found:
            self._emit(match, time)

    def _advance(self, key: Any, state: MatchState, until: int) -> None:
        """Time passes for a key: with every event of its, also those that did not matter."""
        over = self.nfa.next_timeout(state)
        if over is None or over > until:
            return
        if self.rules.keeps_ticks:
            for tick in self.ticks.get(key, ()):
                if over is not None and over <= tick < until:
                    self._time_out(state, tick)
                    over = self.nfa.next_timeout(state)
        self._time_out(state, until)

    def _time_out(self, state: MatchState, now: int) -> None:
        try:
            matches, timed_out = self.nfa.advance_time(state, now)
        except Exception as error:
            raise self.failed(error) from error
        for match in matches:
            self._emit(match, now)
        if self.on_timeout is not None:
            for match in timed_out:
                self._emit_timed_out(match)

    def _state(self, key: Any) -> MatchState | None:
        state = self.live.get(key)
        if state is None:
            packed = self.matches.get(key)
            if packed is not None:
                state = self.live[key] = MatchState.unpack(packed)
        return state

    def _wake(self, key: Any, time: int | None) -> None:
        if not self.rules.counts_every_start:
            self.wakes.pop(key, None)
        if time is not None and time < MAX_TIMESTAMP:
            self.wakes.setdefault(key, set()).add(time)
            self.serial += 1
            heapq.heappush(self.due, (time, self.serial, key))

    # --- times of events that did not matter -----------------------------------------------------

    def _gather_ticks(self, keys: Iterable[Any], until: int) -> None:
        """The ticks of keys whose partial matches may time out now."""
        needed = self._timing_out(keys, until)
        self.ticks = {}
        if not needed:
            return
        ticks = self.ticks
        for each, times in self.tick_lists:
            for key, time in zip(each, times, strict=True):
                if key in needed:
                    ticks.setdefault(key, []).append(time)
        for found in ticks.values():
            found.sort()

    def _timing_out(self, keys: Iterable[Any], until: int) -> set[Any]:
        """The keys with a partial match that is over, or can begin and be over by now."""
        window, live, fresh = self.nfa.automaton.window_ms, self._state, self.fresh
        found: set[Any] = set()
        for key in keys:
            state = live(key)
            over = None if state is None else self.nfa.next_timeout(state)
            events = fresh.get(key)
            if (
                (over is not None and over <= until)
                or key in self.fired
                or (events is not None and min(map(_time, events)) + window <= until)
            ):
                found.add(key)
        return found

    def _drop_ticks(self, until: int) -> None:
        """Time has passed these."""
        self.ticks = {}
        lists, self.tick_lists = self.tick_lists, []
        for keys, times in lists:
            if max(times) > until:
                pairs = [each for each in zip(keys, times, strict=True) if each[1] > until]
                self.tick_lists.append(tuple(zip(*pairs, strict=True)))  # type: ignore[arg-type]

    # --- processing time -------------------------------------------------------------------------

    def _run_now(self, records: Records) -> None:
        now = self.runtime.clock()
        keys = self.keys_to_visit(records)
        if self.comparator is not None:
            for key, value in zip(keys, records.values, strict=True):
                self.waiting.add(key, now, (value,))
                self.processing_timers.register(now + 1, key)
            return
        inert = self.nfa.automaton.is_inert
        masks = self.masks.of(records)
        for key, value, mask in zip(keys, records.values, masks, strict=True):
            if not inert(mask) or self._state(key) is not None:
                self._visit(key, [(now, (value,), mask)], None)
        self._set_processing_timers()
        self.out.flush()

    def fire_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        events = self._take_due(key, MAX_TIMESTAMP) if self.comparator is not None else []
        self._visit(key, events, self.runtime.clock())

    def _set_processing_timers(self) -> None:
        """In processing time the queue of timers is asked, so every wake has to be in it."""
        for key, times in self.wakes.items():
            for time in times:
                self.processing_timers.register(time + 1, key)
        self.wakes.clear()
        self.due.clear()

    def after_timers(self) -> None:
        if not self.event_time:
            self._set_processing_timers()
        self.out.flush()

    # --- results ---------------------------------------------------------------------------------

    def _emit(self, match: PatternMatch, timestamp: int) -> None:
        found = MatchedEvents(match)
        self.context.current = timestamp
        stamp = timestamp if self.event_time else None
        results: Any = None
        try:
            results = self.function.process_match(found, self.context)
            self.out.extend(results, stamp)
        except Exception as error:
            wrong = None if results is None else wrong_results(results)
            raise self.failed(wrong or error, dict(found)) from error

    def _emit_timed_out(self, match: PatternMatch) -> None:
        assert self.on_timeout is not None
        found = MatchedEvents(match)
        self.context.current = match.timestamp
        stamp = match.timestamp if self.event_time else None
        try:
            self.out.extend(side_outputs(self.on_timeout(found, self.context)), stamp)
        except Exception as error:
            raise self.failed(error, dict(found)) from error

    # --- the batch ends --------------------------------------------------------------------------

    def flush(self) -> None:
        if self.event_time:
            self._store_fresh()
            self._store_wakes()
        for key in self.changed:
            state = self.live[key]
            if not state.is_initial:
                self.matches.put(key, state.pack())
            elif key in self.matches:
                self.matches.remove(key)
        self._forget_batch()
        super().flush()

    def _store_fresh(self) -> None:
        if self.rules.keeps_ticks:
            self._keep_ticks_that_matter()
        for key, events in self.fresh.items():
            for time, row, _ in events:
                if self.waiting.add(key, time, row):
                    self.event_timers.register(time, key)

    def _keep_ticks_that_matter(self) -> None:
        """A partial match may time out by one that is still to come."""
        now = self.current_watermark
        soonest = now + self.nfa.automaton.window_ms
        for keys, times in self.tick_lists:
            for key, time in zip(keys, times, strict=True):
                if time <= now:
                    continue
                state = self._state(key)
                over = None if state is None else self.nfa.next_timeout(state)
                if time >= (soonest if over is None else min(over, soonest)):
                    self.fresh.setdefault(key, []).append((time, (), None))

    def _store_wakes(self) -> None:
        """What would have woken a key later becomes a timer."""
        now = self.current_watermark
        for key, times in self.wakes.items():
            for time in times:
                if time > now:
                    self.event_timers.register(time, key)


class _TimeRules:
    """What Flink's timers make visible of a pattern, and so what may be left out.

    A key is visited when an event of its is due, and when a timer fires that was set a time limit
    after a partial match began; a limit between neighbours sets none.

    Attributes:
        keeps_ticks: events that do not matter are known by their time: it decides which partial
            matches time out together.
        keeps_ticks_as_events: they wake their key as events do, since what is emitted then carries
            the time of the event.
        counts_every_start: the timers are Flink's own, one by one.
    """

    def __init__(self, nfa: NFA, *, hears_timeouts: bool) -> None:
        automaton = nfa.automaton
        self._nfa = nfa
        waits = any(state.kind is StateKind.PENDING for state in automaton.states)
        between = any(automaton.limits)
        limited = automaton.has_limits
        skips = automaton.skip.is_skip_strategy()
        self.keeps_ticks_as_events = limited and (waits or skips or between)
        self.keeps_ticks = limited and not self.keeps_ticks_as_events
        self.counts_every_start = automaton.window_ms > 0 and between
        # nobody sees when these are dropped, so they are as soon as they can be
        self._prunes_early = not (waits or skips or hears_timeouts)
        self._window_ms = automaton.window_ms

    def next_wake(self, state: MatchState) -> int | None:
        """When a key has to be visited although no event of its is due."""
        if not self._window_ms:
            return self._nfa.next_timeout(state) if self._prunes_early else None
        # Flink sets no timer for what began at or before the epoch
        began = [one[3] for one in state.partial if one[3] > 0]
        return min(began) + self._window_ms if began else None


def no_timestamp(call: str) -> RecordError:
    """The error of a record that has no place in event time."""
    return RecordError(
        "a record without a timestamp reached a pattern in event time",
        fix=f"call assign_timestamps_and_watermarks before {call}, or in_processing_time() on its "
        "result",
    )


def side_outputs(results: Any) -> Iterable[Any]:
    """What a function gives for a match that timed out: all of it for side outputs."""
    if results is None:
        return ()
    wrong = wrong_results(results)
    if wrong is not None:
        raise wrong
    found = list(results)
    for each in found:
        if not (isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], OutputTag)):
            raise UserFunctionError(
                f"process_timed_out_match gave {each!r:.100}: a match that timed out has no main "
                "result",
                fix="ctx.output(tag, value), or yield tag, value",
            )
    return found


class MatchingOperator(Protocol):
    """What the ctx of a function asks its operator for."""

    event_time: bool
    out: ProcessOutput
    runtime: OperatorRuntime


class CepContext(PatternProcessFunction.Context):
    """The ctx of a PatternProcessFunction."""

    def __init__(self, operator: MatchingOperator) -> None:
        self._operator = operator
        self.current = MIN_TIMESTAMP

    def timestamp(self) -> int:
        """The time of the match."""
        return self.current

    def current_processing_time(self) -> int:
        """The wall clock in epoch milliseconds."""
        return self._operator.runtime.clock()

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Emit a record to a side output."""
        stamp = self.current if self._operator.event_time else None
        self._operator.out.extend(((output_tag, value),), stamp)

    def explain(self, match: MatchedEvents) -> str:
        """How a match came about."""
        return match.explain()
