"""The events of the experiment, the state machine that judges them, and the right answers.

In: a seed.  Out: lines of source files, and what a run without faults says to them; no Spark here.
Each entity is a parcel order whose events follow TRANSITIONS; a few break the rules on purpose, so
that right alerts exist.  Every answer carries a digest of all events before it: one event lost,
repeated or swapped changes every later answer of its entity.
Next: chaos/program.py (the same machine on headrace), chaos/checker.py
"""

from __future__ import annotations

import random
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

TRANSITIONS = {
    "new": {"pay": "paid", "cancel": "closed"},
    "paid": {"pack": "packed", "refund": "closed"},
    "packed": {"send": "sent"},
    "sent": {"deliver": "delivered", "lose": "paid"},
    "delivered": {"return": "paid", "close": "closed"},
    "closed": {"open": "new"},
}
KINDS = sorted({kind for moves in TRANSITIONS.values() for kind in moves})
FALSE_STEPS = 0.005  # share of events that break the rules
FILE_SPAN_MS = 1_000  # event time that one source file covers
WINDOW_MS = 5_000
# More than any batch can hold: an entity whose next event is still missing then has lost it.
MOST_WAITING = 20_000


@dataclass(frozen=True)
class Event:
    """One line of a source file."""

    entity: str
    number: int  # counts the events of the entity
    kind: str
    at: int
    file: int

    def line(self) -> str:
        return f"{self.entity},{self.number},{self.kind},{self.at},{self.file}"

    @classmethod
    def parse(cls, line: str) -> Event:
        entity, number, kind, at, file = line.split(",")
        return cls(entity, int(number), kind, int(at), int(file))


def advance(state: str, digest: int, kind: str) -> tuple[str, int, str]:
    """One step of the machine: its new state and digest, and the alert (empty if all is well)."""
    digest = zlib.crc32(f"{state}/{kind}".encode(), digest)
    target = TRANSITIONS[state].get(kind)
    if target is None:
        return state, digest, f"{kind} while {state}"
    return target, digest, ""


def answer(event: Event, state: str, digest: int, alert: str) -> dict[str, Any]:
    """What is written for an event."""
    return {
        "entity": event.entity,
        "number": event.number,
        "state": state,
        "digest": digest,
        "alert": alert,
        "file": event.file,
    }


class Generator:
    """Makes one source file after the other, always the same ones for a seed."""

    def __init__(self, seed: int, *, entities: int = 40, events_per_file: int = 100) -> None:
        self.seed = seed
        self._random = random.Random(f"{seed}/events")
        self._entities = [f"order-{number:03d}" for number in range(entities)]
        self._size = events_per_file
        self._states = dict.fromkeys(self._entities, "new")
        self._counts = dict.fromkeys(self._entities, 0)
        self.made: list[list[Event]] = []

    def next_file(self) -> list[Event]:
        """The events of the next file."""
        number = len(self.made)
        times = sorted(self._random.randrange(FILE_SPAN_MS) for _ in range(self._size))
        events = [self._event(number, number * FILE_SPAN_MS + time) for time in times]
        self.made.append(events)
        return events

    def _event(self, file: int, at: int) -> Event:
        chance = self._random
        entity = chance.choice(self._entities)
        state = self._states[entity]
        if chance.random() < FALSE_STEPS:
            kind = chance.choice([kind for kind in KINDS if kind not in TRANSITIONS[state]])
        else:
            kind, self._states[entity] = chance.choice(sorted(TRANSITIONS[state].items()))
        self._counts[entity] += 1
        return Event(entity, self._counts[entity], kind, at, file)


@dataclass
class Answers:
    """What should be written for some events."""

    # by entity, in order
    steps: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    # (entity, start of the window) -> (events, sum of their numbers)
    windows: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many steps there are."""
        return sum(map(len, self.steps.values()))


def undisturbed(files: list[list[Event]]) -> Answers:
    """The answers of a run in which nothing happens."""
    answers = Answers()
    machines: dict[str, tuple[str, int]] = {}
    for event in (event for file in files for event in file):
        state, digest = machines.get(event.entity, ("new", 0))
        state, digest, alert = advance(state, digest, event.kind)
        machines[event.entity] = state, digest
        answers.steps[event.entity].append(answer(event, state, digest, alert))
        window = event.entity, event.at - event.at % WINDOW_MS
        events, total = answers.windows.get(window, (0, 0))
        answers.windows[window] = events + 1, total + event.number
    return answers
