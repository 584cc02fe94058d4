"""What people who debug a pattern want to see: its automaton, and how a match came about.

    pattern.explain()     states, edges and conditions
    match.explain()       which event was taken by which stage, and what lay between them

In: a pattern; a match of cep/nfa.py.  Out: text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cep.automaton import Action, StateKind
from headrace.cep.compiler import compile_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.cep.automaton import Automaton, AutomatonState, Transition
    from headrace.cep.nfa import PatternMatch
    from headrace.cep.pattern import Pattern

_ARROWS = {Action.TAKE: "take", Action.IGNORE: "pass over", Action.PROCEED: "proceed"}
_MEANING = {
    StateKind.START: "start",
    StateKind.NORMAL: "",
    StateKind.PENDING: "a match if the time limit is reached",
    StateKind.STOP: "the partial match is dropped",
    StateKind.FINAL: "a match",
}


def explain_pattern(pattern: Pattern) -> str:
    """The automaton of a pattern, as text."""
    return "\n".join(_lines(compile_pattern(pattern)))


def _lines(automaton: Automaton) -> Iterator[str]:
    yield "conditions"
    for term in automaton.terms:
        kind = " (asks the match so far)" if term.condition.is_iterative else ""
        yield f"  {term.stage}.{term.role}: {term.condition}{kind}"
    yield "states"
    for state in reversed(automaton.states):
        yield f"  {_title(state)}"
        for edge in state.edges:
            if state.kind is not StateKind.STOP:
                yield f"    {_edge(edge)}"
    if automaton.window_ms:
        yield f"time limit: {automaton.window_ms} ms from the first event to the last"
    yield f"after a match: {automaton.skip}"


def _title(state: AutomatonState) -> str:
    notes = [_MEANING[state.kind]] if _MEANING[state.kind] else []
    if state.within_ms:
        notes.append(f"within {state.within_ms} ms of the event before")
    return f"[{state.name}]" + (f"  {', '.join(notes)}" if notes else "")


def _edge(edge: Transition) -> str:
    target = "itself" if edge.target is edge.source else f"[{edge.target.name}]"
    return f"{_ARROWS[edge.action]:<9} ─▶ {target}  if {edge.guard}"


def explain_match(match: PatternMatch) -> str:
    """The events of a match in order: stage, time, how long after the one before, event."""
    if not match.path:
        return "no event"
    lines: list[str] = []
    width = max(len(stage) for stage, _, _ in match.path)
    before = match.path[0][2]
    for stage, event, timestamp in match.path:
        lines.append(f"{stage:<{width}}  {timestamp}  {timestamp - before:+d} ms  {event!r:.120}")
        before = timestamp
    took = match.path[-1][2] - match.path[0][2]
    lines.append(f"{len(match.path)} events in {took} ms")
    return "\n".join(lines)
