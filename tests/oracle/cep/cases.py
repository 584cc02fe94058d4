"""Makes patterns and inputs from a seed, as data that Flink and headrace read.

Out: cases.  Next: flink.py and ours.py, which play them.

A pattern is the list of the calls that build it::

    {"skip": {"to": "first", "stage": "b"},
     "stages": [{"stage": "a", "after": "begin", "calls": [["where", ["name", "x"]]]}, ...]}

A stage may be a group: ``{"group": {"stages": [...]}, "after": ..., "calls": [...]}``.
An input is a list of events, watermarks and moves of the clock::

    ["e", number, key, name, price, timestamp]    ["w", timestamp]    ["t", clock]
"""

from __future__ import annotations

import random
from typing import Any, TypeAlias

Json: TypeAlias = Any
Case: TypeAlias = dict[str, Json]

NAMES = "xyz"
AFTER = ("next", "followed_by", "followed_by_any")
NOT_AFTER = ("not_next", "not_followed_by")
LOOPING = ("one_or_more", "times_or_more")
# Flink sets no timer for a match that begins at 0 or before.
BEGIN = 100
END = 2**63 - 1


def case(seed: int) -> Case:
    """The case of a seed."""
    chance = random.Random(f"cep {seed}")
    made = _Pattern(chance)
    return {
        "seed": seed,
        "time": chance.choices(("event", "processing"), (6, 1))[0],
        "timeouts": chance.random() < 0.8,
        "pattern": made.document(),
    } | {"input": []}


def with_input(case: Case) -> Case:
    """The case with its input, which depends on its time domain."""
    chance = random.Random(f"input {case['seed']}")
    make = _event_time if case["time"] == "event" else _processing_time
    return case | {"input": make(chance)}


def cases(first: int, count: int) -> list[Case]:
    """The cases of consecutive seeds."""
    return [with_input(case(seed)) for seed in range(first, first + count)]


class _Pattern:
    """One random pattern; most are valid, some are not, and then both sides refuse them."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._names: list[str] = []
        self._careless = chance.random() < 0.04

    def document(self) -> Json:
        """The pattern."""
        stages = self._chain(depth=0)
        if self._chance.random() < 0.5:
            stages[-1]["calls"].append(["within", self._chance.randint(1, 12)])
        found: Json = {"stages": stages}
        if self._chance.random() < 0.75:
            found["skip"] = self._skip()
        return found

    def _skip(self) -> Json:
        to = self._chance.choice(("no_skip", "next", "past_last", "first", "last"))
        if to not in ("first", "last"):
            return {"to": to}
        throws = self._chance.random() < 0.1
        return {"to": to, "stage": self._chance.choice(self._names), "throws": throws}

    def _chain(self, depth: int) -> list[Json]:
        count = self._chance.choices((1, 2, 3, 4), (2, 6, 5, 2) if depth == 0 else (3, 5, 2, 0))[0]
        stages: list[Json] = []
        for index in range(count):
            stages.append(self._stage(stages, last=index == count - 1, depth=depth))
        return stages

    def _stage(self, before: list[Json], *, last: bool, depth: int) -> Json:
        chance = self._chance
        after = "begin"
        if before:
            allowed = self._careless or not _is_optional(before[-1])
            negated = allowed and chance.random() < 0.18
            after = chance.choice(NOT_AFTER if negated else AFTER)
            if last and depth and after == "not_followed_by" and not self._careless:
                after = "not_next"
        if after not in NOT_AFTER and depth < 2 and chance.random() < 0.15:
            group = {"stages": self._chain(depth + 1)}
            calls = self._quantifier(before, group=True)
            if any(call[0] in LOOPING for call in calls):
                _fill(group["stages"])
            return {"group": group, "after": after, "calls": calls}
        name = self._name()
        calls = self._conditions(name)
        if after not in NOT_AFTER or (self._careless and chance.random() < 0.3):
            calls += self._quantifier(before, group=False)
        if before and chance.random() < 0.08:
            calls.append(["within_previous", chance.randint(1, 6)])
        return {"stage": name, "after": after, "calls": calls}

    def _name(self) -> str:
        if self._names and self._careless and self._chance.random() < 0.2:
            return self._chance.choice(self._names)
        self._names.append("abcdefghijklmnopqrstuvwxyz"[len(self._names)])
        return self._names[-1]

    def _conditions(self, name: str) -> list[Json]:
        chance = self._chance
        calls: list[Json] = []
        if chance.random() < 0.92:
            calls.append(["where", ["name", chance.choice(NAMES)]])
        if chance.random() < 0.15:
            calls.append(["or_", ["name", chance.choice(NAMES)]])
        if chance.random() < 0.25:
            calls.append(["where", self._condition(name)])
        return calls

    def _condition(self, name: str) -> Json:
        chance = self._chance
        stage = chance.choice([*self._names, name])
        return chance.choice(
            (
                ["price_at_least", chance.randint(1, 5)],
                ["above_last", stage],
                ["above_average", stage],
                ["sum_below", stage, chance.randint(8, 20)],
                ["fewer_than", stage, chance.randint(1, 3)],
            )
        )

    def _quantifier(self, before: list[Json], *, group: bool) -> list[Json]:
        chance = self._chance
        calls: list[Json] = []
        window = chance.randint(1, 5) if chance.random() < 0.06 else None
        kind = chance.choices(
            ("one", "one_or_more", "times", "times_range", "times_or_more"), (8, 4, 2, 2, 2)
        )[0]
        if kind == "one_or_more":
            calls.append(["one_or_more", window])
        elif kind == "times_range":
            low = chance.randint(0, 2)
            calls.append(["times_range", low, low + chance.randint(0 if low else 1, 2), window])
        elif kind != "one":
            calls.append([kind, chance.randint(1, 3), window])
        looping = kind in LOOPING
        after_greedy = bool(before) and ["greedy"] in before[-1]["calls"]
        if chance.random() < 0.22 and (self._careless or not after_greedy):
            calls.append(["optional"])
        if after_greedy and kind == "times_range" and not self._careless:
            calls[0] = ["times_range", max(calls[0][1], 1), max(calls[0][2], 1), calls[0][3]]
        if kind != "one" or (self._careless and chance.random() < 0.3):
            calls += self._loop(looping=looping, group=group)
        return calls

    def _loop(self, *, looping: bool, group: bool) -> list[Json]:
        chance = self._chance
        calls: list[Json] = []
        if chance.random() < 0.3 and (not group or self._careless):
            calls.append(["greedy"])
        inner = chance.choices((None, "consecutive", "allow_combinations"), (5, 3, 3))[0]
        if inner is not None and (not group or self._careless):
            calls.append([inner])
        if looping and chance.random() < 0.25:
            calls.append(
                [
                    "until",
                    ["name", chance.choice(NAMES)]
                    if chance.random() < 0.7
                    else ["price_at_least", 4],
                ]
            )
        return calls


def _is_optional(stage: Json) -> bool:
    return any(call[0] == "optional" or call[:2] == ["times_range", 0] for call in stage["calls"])


def _fill(stages: list[Json]) -> None:
    """Makes the first stage necessary: Flink does not end on a loop over a group that is empty."""
    calls = [call for call in stages[0]["calls"] if call[0] != "optional"]
    stages[0]["calls"] = [
        [call[0], max(call[1], 1), *call[2:]] if call[0] == "times_range" else call
        for call in calls
    ]
    if "group" in stages[0]:
        _fill(stages[0]["group"]["stages"])


def _event(chance: random.Random, number: int, timestamp: int) -> Json:
    key = chance.choices("kl", (4, 1))[0]
    return ["e", number, key, chance.choice(NAMES), chance.randint(0, 6), timestamp]


def _event_time(chance: random.Random) -> Json:
    found: Json = []
    time, late, often = BEGIN, chance.choice((0, 0, 1, 4)), chance.choice((0.2, 0.5, 1.0))
    for number in range(1, chance.randint(4, 13)):
        time += chance.choices((0, 1, 2, 5), (4, 6, 3, 1))[0]
        found.append(_event(chance, number, time - chance.randint(0, late)))
        if chance.random() < often:
            found.append(["w", time - chance.choice((0, 1, 2))])
    marks = [["w", time + chance.randint(1, 8)]] if chance.random() < 0.5 else []
    return _rising([*found, *marks, ["w", END]])


def _rising(items: Json) -> Json:
    """Watermarks that do not rise are left out: Flink's valve does not hand them on."""
    kept, highest = [], -(2**63)
    for item in items:
        if item[0] != "w" or item[1] > highest:
            kept.append(item)
            highest = item[1] if item[0] == "w" else highest
    return kept


def _processing_time(chance: random.Random) -> Json:
    found: Json = []
    clock = BEGIN
    for number in range(1, chance.randint(4, 12)):
        clock += chance.choices((0, 1, 2, 5), (4, 6, 3, 1))[0]
        found += [["t", clock], _event(chance, number, 0)]
    return [*found, ["t", clock + 100]]


# --- comparing -----------------------------------------------------------------------------------


def by_key(case: Case, answer: Json) -> Json:
    """An answer with its log cut by key: the order of two keys is nobody's promise.

    What refused or failed a case is a sentence, and each side has its own.  In processing time the
    order alone counts: Flink's timers outlive the matches for which they were set, and so it may
    hear of a time-out a moment sooner.
    """
    if "refused" in answer:
        return {"refused": True}
    keys = {item[1]: item[2] for item in case["input"] if item[0] == "e"}
    logs: dict[str, Json] = {}
    for kind, position, timestamp, what in answer["log"]:
        number = what if kind == "late" else what[0][1][0]
        at = position if case["time"] == "event" else None
        logs.setdefault(keys[number], []).append([kind, at, timestamp, what])
    return {"logs": logs} | ({"failed": True} if "failed" in answer else {})


# What headrace refuses on purpose, since Flink takes it and then forgets a part of it or fails.
STRICTER = (
    "Flink forgets such a stage",
    "Flink's automaton for it has a missing state",
    "a match would end before it began",
)


def is_stricter(ours: Json, flinks: Json) -> bool:
    """Whether headrace refuses what Flink should have refused."""
    reason = ours.get("refused", "")
    return "refused" not in flinks and any(sentence in reason for sentence in STRICTER)
