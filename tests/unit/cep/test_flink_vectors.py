"""What Flink's own tests of its automaton say, as data: pattern, events and matches.

`flink_vectors.jsonl` has a line a test: the calls that build the pattern, the events by a label
(id, name, price and, for some, volume), the order and time in which they come, and the matches,
each as the labels of its events.  Matches are compared in any order, as these tests do.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.cep import AfterMatchSkipStrategy, Pattern, WithinType
from headrace.cep.compiler import compile_pattern
from headrace.cep.nfa import NFA

VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parent / "flink_vectors.jsonl").read_text().splitlines()
]


@dataclass(frozen=True)
class Event:
    id: int
    name: str
    price: float


@dataclass(frozen=True)
class SubEvent(Event):
    volume: float


CLASSES = {"Event": Event, "SubEvent": SubEvent}


def condition(text: str) -> Any:
    code = compile(text, text, "eval")
    return lambda event: eval(code, {}, vars(event))


def skip_strategy(said: dict[str, Any]) -> AfterMatchSkipStrategy:
    make = getattr(AfterMatchSkipStrategy, said["skip"])
    found: AfterMatchSkipStrategy = make() if said["to"] is None else make(said["to"])
    return found.throw_exception_on_miss() if said["throw"] else found


def argument(call: str, said: Any) -> Any:
    match said:
        case str() if call in ("where", "or_", "until"):
            return condition(said)
        case str() if call == "subtype":
            return CLASSES[said]
        case list():
            return built(said)
        case {"skip": _}:
            return skip_strategy(said)
        case {"ms": ms}:
            return ms
        case {"within": name}:
            return WithinType[name]
    return said


def built(calls: list[list[Any]]) -> Pattern:
    pattern: Any = Pattern
    for call, *said in calls:
        pattern = getattr(pattern, call)(*[argument(call, each) for each in said])
    assert isinstance(pattern, Pattern)
    return pattern


def events_of(vector: dict[str, Any]) -> dict[str, Event]:
    return {
        label: (SubEvent if len(fields) > 3 else Event)(*fields)
        for label, fields in vector["events"].items()
    }


def matches_of(vector: dict[str, Any]) -> list[list[Event]]:
    events = events_of(vector)
    nfa = NFA(compile_pattern(built(vector["pattern"])))
    state = nfa.initial_state()
    found = []
    for each in vector["input"]:
        label, _, time = each.partition("@")
        pending, _ = nfa.advance_time(state, int(time))
        found += [*nfa.process(state, events[label], int(time)), *pending]
    nothing_is_left_behind(nfa, state)
    return [[event for _, event, _ in match.path] for match in found]


def nothing_is_left_behind(nfa: NFA, state: Any) -> None:
    """What is in the buffer is there for a partial match."""
    for one in [*state.partial, *state.completed]:
        state.buffer.release(one[2])
    assert not state.buffer.nodes
    assert not state.buffer.events


@pytest.mark.parametrize("vector", VECTORS, ids=[each["test"] for each in VECTORS])
def test_matches_are_those_of_flinks_test(vector: dict[str, Any]) -> None:
    events = events_of(vector)
    expected = [[events[label] for label in match.split()] for match in vector["matches"]]
    assert in_any_order(matches_of(vector)) == in_any_order(expected)


def in_any_order(matches: list[list[Event]]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sorted(map(repr, match))) for match in matches)


def test_the_vectors_are_many() -> None:
    assert len(VECTORS) > 110
