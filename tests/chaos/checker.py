"""Compares what a disturbed job wrote with the right answers.

In: the rows of the two sinks (chaos/media.py), Answers.  Out: differences in words; none means that
every event was answered once, in order, and that every window was written once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chaos.machine import Answers

SHOWN = 5  # differences of one kind


def differences(
    answers: list[dict[str, Any]], windows: list[dict[str, Any]], right: Answers
) -> list[str]:
    """Everything that is not as it should be."""
    return [
        *_false_alerts(answers, right),
        *_wrong_steps(answers, right),
        *_wrong_windows(windows, right),
    ]


def _false_alerts(found: list[dict[str, Any]], right: Answers) -> list[str]:
    allowed = {
        (step["entity"], step["number"], step["alert"])
        for steps in right.steps.values()
        for step in steps
        if step["alert"]
    }
    alerts = [(row["entity"], row["number"], row["alert"]) for row in found if row["alert"]]
    false = [alert for alert in alerts if alert not in allowed]
    return _first([f"false alert: {alert}" for alert in false], "false alerts")


def _wrong_steps(found: list[dict[str, Any]], right: Answers) -> list[str]:
    by_entity: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in found:
        by_entity[row["entity"]].append(row)
    wrong = []
    for entity in sorted(by_entity.keys() | right.steps.keys()):
        pairs = zip_longest(by_entity[entity], right.steps.get(entity, []))
        for place, (row, expected) in enumerate(pairs):
            if row != expected:
                wrong.append(f"{entity}, answer {place}: {row} instead of {expected}")
                break
    return _first(wrong, "entities with wrong answers")


def _wrong_windows(found: list[dict[str, Any]], right: Answers) -> list[str]:
    rows = Counter((row["entity"], row["start"], row["events"], row["sum"]) for row in found)
    expected = Counter((*window, *counts) for window, counts in right.windows.items())
    wrong = [f"window {row} is missing" for row in (expected - rows).elements()]
    wrong += [f"window {row} is too much" for row in (rows - expected).elements()]
    return _first(sorted(wrong), "wrong windows")


def _first(texts: list[str], what: str) -> list[str]:
    if len(texts) <= SHOWN:
        return texts
    return [*texts[:SHOWN], f"... {len(texts)} {what} in all"]
