"""Looks for a pattern in the events of one key: one step per event, one per move of time.

    event ─▶ process ─┬─▶ every partial match takes edges: it ends, stays, or becomes several
                      └─▶ complete ones ─▶ skip strategy ─▶ matches
    time  ─▶ advance_time ─▶ partial matches behind their limit ─▶ timed out
                             (those that only waited for the time: matches)

The steps change the `MatchState` they are given and nothing else: no clock, no output, no user code
but conditions.  Results and their order are those of Flink's NFA for a key.
In: cep/automaton.py.  Next: cep/explain.py
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.cep.automaton import Answers
from headrace.cep.shared_buffer import NO_NODE, SharedBuffer
from headrace.cep.start_queue import drop, pop, push

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.cep.automaton import Automaton, Hop

# The partial match from which all others begin is behind all of them.
NOT_STARTED = sys.maxsize

# (number of its first event, state, last node, time of its first event, time of its last event)
PartialMatch = tuple[int, int, int, int, int]


class PatternMatch(NamedTuple):
    """A match, or a partial match that timed out.

    Attributes:
        path: (stage, event, timestamp of the event), in order.
        timestamp: of a timed-out one, when its time was over; else that of the step.
    """

    path: tuple[tuple[str, Any, int], ...]
    timestamp: int

    def events(self) -> dict[str, list[Any]]:
        """The events by stage, as users get them."""
        found: dict[str, list[Any]] = {}
        for stage, event, _ in self.path:
            if stage in found:
                found[stage].append(event)
            else:
                found[stage] = [event]
        return found


class MatchState:
    """What the automaton remembers of one key.

    Attributes:
        partial: the partial matches, the unstarted one among them.
        completed: matches that wait for partial ones that began earlier.
        buffer: the events of both.
        started: whether a partial match began since somebody made it false.
    """

    __slots__ = ("buffer", "completed", "partial", "started")

    def __init__(
        self, partial: list[Any], completed: list[Any], buffer: SharedBuffer | None = None
    ) -> None:
        self.partial = partial
        self.completed = completed
        self.buffer = SharedBuffer() if buffer is None else buffer
        self.started = False

    @property
    def is_initial(self) -> bool:
        """Whether there is nothing to remember."""
        return len(self.partial) == 1 and not self.completed

    def pack(self) -> tuple[Any, ...]:
        """As plain values, to be stored."""
        buffer = self.buffer
        return self.partial, self.completed, buffer.events, buffer.nodes, buffer.next_number

    @staticmethod
    def unpack(packed: tuple[Any, ...]) -> MatchState:
        """Back from what was stored; it shares the stored lists."""
        partial, completed, events, nodes, next_number = packed
        return MatchState(partial, completed, SharedBuffer(events, nodes, next_number))


class NFA:
    """Steps through an automaton.

    Args:
        automaton: of the pattern.
        clock: the wall clock, for conditions that ask for it.
    """

    def __init__(self, automaton: Automaton, clock: Callable[[], int] = lambda: 0) -> None:
        self.automaton = automaton
        self.clock = clock

    def initial_state(self) -> MatchState:
        """The state of a key without events."""
        return MatchState([(NOT_STARTED, self.automaton.start, NO_NODE, -1, -1)], [])

    # --- an event --------------------------------------------------------------------------------

    def process(
        self, state: MatchState, event: Any, timestamp: int, mask: int | None = None
    ) -> list[PatternMatch]:
        """Take an event; the matches that it completes, in Flink's order.

        Args:
            state: of the event's key.
            event: the event.
            timestamp: its time; not before that of events before it.
            mask: what the event says about the conditions, if that is known.
        """
        automaton = self.automaton
        if mask is None:
            mask = automaton.mask(event)
        step = _Step(self, state.buffer, event, timestamp, mask)
        partial: list[Any] = []
        complete: list[Any] = []
        for one in state.partial:
            step.follow(one, partial, complete)
        step.end()
        state.partial = partial
        if step.has_started and timestamp > 0:
            state.started = True
        if not complete and not state.completed:
            return []
        return self._emit(state, complete, timestamp)

    # --- time ------------------------------------------------------------------------------------

    def advance_time(
        self, state: MatchState, timestamp: int
    ) -> tuple[list[PatternMatch], list[PatternMatch]]:
        """Time has come this far: (matches, partial matches that timed out)."""
        if not self.automaton.has_limits or len(state.partial) == 1:
            # without limits nothing was freed since the last event
            return [], []
        over = [self._over_at(one, timestamp) for one in state.partial]
        if not any(each is not None for each in over):
            return [], []
        kept: list[Any] = []
        waited: list[Any] = []
        timed_out: list[PatternMatch] = []
        for one, end in zip(state.partial, over, strict=True):
            if end is None:
                push(kept, one)
            elif self.automaton.is_pending[one[1]]:
                push(waited, one)
            else:
                timed_out.append(self._match(state.buffer, one[2], end))
                state.buffer.release(one[2])
        state.partial = kept
        return self._emit(state, waited, timestamp), timed_out

    def _over_at(self, one: PartialMatch, now: int) -> int | None:
        """When the time of a partial match was over; None if it is not."""
        first, at, _, began, last = one
        if first == NOT_STARTED:
            return None
        limit, window = self.automaton.limits[at], self.automaton.window_ms
        if limit and now - last >= limit:
            return last + limit
        if window and now - began >= window:
            return began + window
        return None

    def next_timeout(self, state: MatchState) -> int | None:
        """When the first partial match times out if nothing comes; None if none does."""
        limits, window = self.automaton.limits, self.automaton.window_ms
        if not self.automaton.has_neighbour_limits:
            # the first of the queue began first
            earliest = state.partial[0]
            if not window or earliest[0] == NOT_STARTED:
                return None
            over: int = earliest[3] + window
            return over
        times: list[int] = []
        for first, at, _, began, last in state.partial:
            if first != NOT_STARTED:
                times += [began + window] if window else []
                times += [last + limits[at]] if limits[at] else []
        return min(times, default=None)

    # --- matches ---------------------------------------------------------------------------------

    def _emit(self, state: MatchState, complete: list[Any], timestamp: int) -> list[PatternMatch]:
        """Complete matches that need not wait, after they have pruned the others."""
        completed, buffer, skip = state.completed, state.buffer, self.automaton.skip
        for one in complete:
            push(completed, one)
        skips = skip.is_skip_strategy()
        found: list[PatternMatch] = []
        while completed:
            if skips and state.partial and state.partial[0][0] < completed[0][0]:
                break  # one that began earlier may still become a match, and prune this one
            one = pop(completed)
            if skips:
                self._prune(state, skip.first_kept(_numbers(buffer, one[2])))
            found.append(self._match(buffer, one[2], timestamp))
            buffer.release(one[2])
        return found

    def _prune(self, state: MatchState, first_kept: int | None) -> None:
        if first_kept is None:
            return
        for heap in (state.partial, state.completed):
            for one in drop(heap, lambda each: each[0] < first_kept):
                state.buffer.release(one[2])

    def _match(self, buffer: SharedBuffer, node: int, timestamp: int) -> PatternMatch:
        path = buffer.path(node)
        events = buffer.events
        return PatternMatch(
            tuple((stage, events[number][0], events[number][1]) for stage, number in path),
            timestamp,
        )


def _numbers(buffer: SharedBuffer, node: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for stage, number in buffer.path(node):
        found.setdefault(stage, []).append(number)
    return found


class _Step:
    """One event, on its way through all partial matches of a key."""

    __slots__ = ("buffer", "event", "has_started", "mask", "nfa", "number", "timestamp")

    def __init__(
        self, nfa: NFA, buffer: SharedBuffer, event: Any, timestamp: int, mask: int
    ) -> None:
        self.nfa = nfa
        self.buffer = buffer
        self.event = event
        self.timestamp = timestamp
        self.mask = mask
        self.number = -1  # in the buffer, once it is taken
        self.has_started = False

    def follow(self, one: PartialMatch, partial: list[Any], complete: list[Any]) -> None:
        """What becomes of a partial match: added to `partial` and `complete`."""
        automaton = self.nfa.automaton
        moves = automaton.moves(one[1], self.mask)
        if moves is None:
            moves = automaton.moves_of(one[1], self._answers(one))
        if len(moves) == 1 and not moves[0].is_take and moves[0].target == one[1]:
            push(partial, one)  # most events are passed over
            return
        not_started = one[0] == NOT_STARTED
        kept: list[Any] = []
        stopped = False
        for move in moves:
            if move.is_stop:
                stopped = True
            elif move.is_take:
                self._take(one, move, kept, complete)
            elif not not_started:
                self.buffer.hold(one[2])
                into = complete if move.is_final else kept
                _add(into, (one[0], move.target, *one[2:]), is_final=move.is_final)
        if not_started:
            kept.append(one)
        if stopped:
            for each in kept:
                self.buffer.release(each[2])
        else:
            for each in kept:
                push(partial, each)
        self.buffer.release(one[2])

    def _take(self, one: PartialMatch, move: Hop, kept: list[Any], complete: list[Any]) -> None:
        buffer = self.buffer
        if self.number < 0:
            self.number = buffer.add_event(self.event, self.timestamp)
        node = buffer.add_node(move.stage, self.number, one[2])
        first, _, _, began, _ = one
        if first == NOT_STARTED:
            first, began = self.number, self.timestamp
            self.has_started = True
        for target in (move.target, move.final):
            if target >= 0:
                buffer.hold(node)
                taken = (first, target, node, began, self.timestamp)
                is_final = target == move.final or move.is_final
                _add(complete if is_final else kept, taken, is_final=is_final)

    def _answers(self, one: PartialMatch) -> Answers:
        ctx = MatchContext(self.buffer, one[2], self.timestamp, self.nfa.clock)
        return Answers(self.event, self.mask, len(self.nfa.automaton.terms), ctx)

    def end(self) -> None:
        """All partial matches have seen the event: the step lets go of it."""
        if self.number >= 0:
            self.buffer.release_event(self.number)


def _add(into: list[Any], one: PartialMatch, *, is_final: bool) -> None:
    if is_final:
        push(into, one)
    else:
        into.append(one)


class MatchContext:
    """The ctx of iterative conditions: the partial match that is about to take the event."""

    __slots__ = ("_buffer", "_clock", "_events", "_node", "_timestamp")

    def __init__(
        self, buffer: SharedBuffer, node: int, timestamp: int, clock: Callable[[], int]
    ) -> None:
        self._buffer = buffer
        self._node = node
        self._timestamp = timestamp
        self._clock = clock
        self._events: dict[str, list[Any]] | None = None

    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        """The events of a stage so far, in order."""
        if self._events is None:  # simple conditions never pay for it
            self._events = {}
            for stage, number in self._buffer.path(self._node):
                self._events.setdefault(stage, []).append(self._buffer.event(number))
        return self._events.get(name, ())

    def timestamp(self) -> int:
        """The time of the event."""
        return self._timestamp

    def current_processing_time(self) -> int:
        """The wall clock in epoch milliseconds."""
        return self._clock()
