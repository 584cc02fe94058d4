"""The automaton of a pattern: states and edges, and which edges an event takes.

    terms     the conditions of stages, numbered: an event's answers are the bits of a mask
    guards    what an edge asks for: a term, not, and
    decide    (state, mask) ─▶ the edges that are taken, worked out once and then looked up

A mask has two bits a term: it holds, or only the match so far can tell.
In: cep/compiler.py.  Next: cep/nfa.py steps through it
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.cep.conditions import Always, condition_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.cep.conditions import ConditionContext, EventCondition
    from headrace.cep.skip_strategy import AfterMatchSkipStrategy


class StateKind(StrEnum):
    """What being in a state means."""

    START = "start"
    NORMAL = "normal"
    PENDING = "pending"
    STOP = "stop"
    FINAL = "final"


class Action(StrEnum):
    """What an edge does with the event."""

    TAKE = "take"
    IGNORE = "ignore"
    PROCEED = "proceed"


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A condition of a stage."""

    number: int
    stage: str
    role: str
    condition: EventCondition

    def test(self, event: Any, ctx: ConditionContext | None) -> bool:
        """Whether it holds; what the user's condition raises is told with its line."""
        try:
            return self.condition.test(event, ctx)
        except Exception as error:
            raise condition_error(error, self.stage, self.condition, event) from error


# --- guards --------------------------------------------------------------------------------------


class Guard:
    """What an edge asks of an event."""

    def known(self, mask: int, terms: int) -> bool | None:
        """The answer by a mask; None where it depends on the match so far."""
        raise NotImplementedError

    def ask(self, answers: Answers) -> bool:
        """The answer for one partial match."""
        raise NotImplementedError


class Anything(Guard):
    """Every event."""

    def known(self, mask: int, terms: int) -> bool | None:
        """Yes."""
        return True

    def ask(self, answers: Answers) -> bool:
        """Yes."""
        return True

    def __str__(self) -> str:
        return "any event"


@dataclass(frozen=True, slots=True)
class Holds(Guard):
    """A term holds."""

    term: Term

    def known(self, mask: int, terms: int) -> bool | None:
        """Its bits."""
        number = self.term.number
        if mask >> number & 1:
            return True
        return None if mask >> (terms + number) & 1 else False

    def ask(self, answers: Answers) -> bool:
        """Ask the condition."""
        return answers.of(self.term)

    def __str__(self) -> str:
        return f"{self.term.stage}.{self.term.role}"


@dataclass(frozen=True, slots=True)
class Not(Guard):
    """The opposite."""

    inner: Guard

    def known(self, mask: int, terms: int) -> bool | None:
        """Unknown stays unknown."""
        found = self.inner.known(mask, terms)
        return None if found is None else not found

    def ask(self, answers: Answers) -> bool:
        """The opposite."""
        return not self.inner.ask(answers)

    def __str__(self) -> str:
        inner = str(self.inner)
        return f"not ({inner})" if " and " in inner else f"not {inner}"


@dataclass(frozen=True, slots=True)
class Both(Guard):
    """Both; the second is asked where the first holds."""

    first: Guard
    second: Guard

    def known(self, mask: int, terms: int) -> bool | None:
        """No as soon as one says no."""
        first, second = self.first.known(mask, terms), self.second.known(mask, terms)
        if first is False or second is False:
            return False
        return None if first is None or second is None else True

    def ask(self, answers: Answers) -> bool:
        """Both."""
        return self.first.ask(answers) and self.second.ask(answers)

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


TRUE: Guard = Anything()


def both(first: Guard, second: Guard) -> Guard:
    """Both guards, without those that say nothing."""
    if first is TRUE:
        return second
    return first if second is TRUE else Both(first, second)


class Answers:
    """The answers of conditions for one event and one partial match, each asked at most once."""

    __slots__ = ("_ctx", "_event", "_found", "_mask", "_terms")

    def __init__(self, event: Any, mask: int, terms: int, ctx: ConditionContext) -> None:
        self._event = event
        self._mask = mask
        self._terms = terms
        self._ctx = ctx
        self._found: dict[int, bool] = {}

    def of(self, term: Term) -> bool:
        """Whether a term holds."""
        number = term.number
        if self._mask >> number & 1:
            return True
        if not self._mask >> (self._terms + number) & 1:
            return False
        found = self._found.get(number)
        if found is None:
            found = self._found[number] = term.test(self._event, self._ctx)
        return found


# --- states and edges ----------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Transition:
    """From one state to another; the compiler may still sharpen what it asks for."""

    source: AutomatonState
    action: Action
    target: AutomatonState
    guard: Guard


@dataclass(slots=True, eq=False)
class AutomatonState:
    """A state of the automaton.

    Attributes:
        name: unique; the stage's, with a number behind it where there are several.
        stage: the name of the pattern whose events it takes.
        within_ms: the time limit since the event before, if any.
        number: its place in the automaton.
    """

    name: str
    stage: str
    kind: StateKind
    edges: list[Transition] = field(default_factory=list)
    within_ms: int = 0
    number: int = -1

    def add(self, action: Action, target: AutomatonState, guard: Guard) -> None:
        """Add an edge."""
        self.edges.append(Transition(self, action, target, guard))


class Hop(NamedTuple):
    """An edge that an event takes, found through the edges that proceed to it.

    Attributes:
        is_take: whether the event becomes part of the match; else it is passed over.
        stage: the pattern that takes it.
        target: the number of the state to go to.
        is_stop: whether the partial match ends there.
        is_final: whether it is complete there.
        final: the number of the final state if the match is complete here, too; else -1.
    """

    is_take: bool
    stage: str
    target: int
    is_stop: bool
    is_final: bool
    final: int


class Automaton:
    """The states of a pattern, and how they are stepped through.

    Args:
        states: all of them, the final one first.
        terms: the conditions.
        window_ms: the time limit between first and last event; 0 for none.
        skip: what happens after a match.
    """

    def __init__(
        self,
        states: list[AutomatonState],
        terms: list[Term],
        window_ms: int,
        skip: AfterMatchSkipStrategy,
    ) -> None:
        self.states = states
        self.terms = terms
        self.window_ms = window_ms
        self.skip = skip
        for number, state in enumerate(states):
            state.number = number
        self.start = next(s.number for s in states if s.kind is StateKind.START)
        self.limits = [state.within_ms for state in states]
        self.is_pending = [state.kind is StateKind.PENDING for state in states]
        self.has_neighbour_limits = any(self.limits)
        self.has_limits = window_ms > 0 or self.has_neighbour_limits
        self._tests = [(term, 1 << n, 1 << (len(terms) + n)) for n, term in enumerate(terms)]
        self._moves: list[dict[int, tuple[Hop, ...] | None]] = [{} for _ in states]
        self._inert: dict[int, bool] = {}
        self._begins: dict[int, bool] = {}
        self._mask_of: Callable[[Any], int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # what was looked up here is worked out again there
        return {**self.__dict__, "_moves": [{} for _ in self.states], "_mask_of": None}

    def mask(self, event: Any) -> int:
        """What the event alone says about the terms.

        A condition that raises counts as unknown: it may be one that this event never meets. If it
        does, it is asked again and its error told.
        """
        mask = 0
        for term, holds, unknown in self._tests:
            try:
                found = term.condition.may_hold(event)
            except Exception:
                found = None
            if found:
                mask |= holds
            elif found is None:
                mask |= unknown
        return mask

    def moves(self, state: int, mask: int) -> tuple[Hop, ...] | None:
        """The edges that an event takes from a state; None where the match so far decides."""
        known = self._moves[state]
        if mask in known:
            return known[mask]
        found = self._walk(self.states[state], _ByMask(mask, len(self.terms)))
        known[mask] = found
        return found

    def moves_of(self, state: int, answers: Answers) -> tuple[Hop, ...]:
        """The edges that an event takes from a state, for one partial match."""
        found = self._walk(self.states[state], answers)
        assert found is not None
        return found

    def is_inert(self, mask: int) -> bool:
        """Whether an event leaves every partial match as it is and begins none.

        Then nobody notices whether the automaton has seen it.
        """
        found = self._inert.get(mask)
        if found is None:
            found = self._inert[mask] = all(self._stays(state, mask) for state in self.states)
        return found

    def begins(self, mask: int) -> bool:
        """Whether an event may begin a partial match."""
        found = self._begins.get(mask)
        if found is None:
            moves = self.moves(self.start, mask)
            found = moves is None or any(move.is_take for move in moves)
            self._begins[mask] = found
        return found

    def _stays(self, state: AutomatonState, mask: int) -> bool:
        if state.kind in (StateKind.FINAL, StateKind.STOP):
            return True
        moves = self.moves(state.number, mask)
        if moves is None:
            return False
        if state.kind is StateKind.START:
            return not any(move.is_take for move in moves)
        return len(moves) == 1 and not moves[0].is_take and moves[0].target == state.number

    def _walk(self, state: AutomatonState, answers: _ByMask | Answers) -> tuple[Hop, ...] | None:
        moves: list[Hop] = []
        stack = [state]
        while stack:
            current = stack.pop()
            for edge in current.edges:
                answer = _ask(edge.guard, answers)
                if answer is None:
                    return None
                if not answer:
                    continue
                if edge.action is Action.PROCEED:
                    stack.append(edge.target)
                    continue
                final = -1
                if edge.action is Action.TAKE:
                    found = self._final_after(edge.target, answers)
                    if found is None:
                        return None
                    final = found
                kind = edge.target.kind
                moves.append(
                    Hop(
                        edge.action is Action.TAKE,
                        edge.source.stage,
                        edge.target.number,
                        kind is StateKind.STOP,
                        kind is StateKind.FINAL,
                        final,
                    )
                )
        return tuple(moves)

    def _final_after(self, state: AutomatonState, answers: _ByMask | Answers) -> int | None:
        """The final state that can be reached by proceeding, or -1; None where it is unknown."""
        stack = [state]
        while stack:
            for edge in stack.pop().edges:
                if edge.action is not Action.PROCEED:
                    continue
                answer = _ask(edge.guard, answers)
                if answer is None:
                    return None
                if answer:
                    if edge.target.kind is StateKind.FINAL:
                        return edge.target.number
                    stack.append(edge.target)
        return -1

    def fingerprint(self) -> dict[str, Any]:
        """What stored partial matches rely on: the states, by name and kind, and their edges.

        Conditions may change: they decide about events to come.
        """
        return {
            "states": [
                [
                    state.name,
                    str(state.kind),
                    [f"{edge.action} {edge.target.name}" for edge in state.edges],
                ]
                for state in self.states
            ]
        }

    def open_conditions(self) -> list[Any]:
        """The users' condition objects, each once."""
        given: dict[int, Any] = {}
        for term in self.terms:
            for atom in term.condition.atoms():
                given[id(atom.given)] = atom.given
        return list(given.values())


class _ByMask(NamedTuple):
    mask: int
    terms: int


def _ask(guard: Guard, answers: _ByMask | Answers) -> bool | None:
    if isinstance(answers, _ByMask):
        return guard.known(answers.mask, answers.terms)
    return guard.ask(answers)


def is_always(condition: EventCondition) -> bool:
    """Whether every event satisfies a condition."""
    return isinstance(condition, Always)
