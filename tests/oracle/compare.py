"""Compares what two engines gave for one case.

In: outcomes {"results": {output: records}} or {"failure": text}.  Out: differences as readable
lines.

Records are compared as multisets. Where the program has an order key, they are compared in order
per key, which is all that Flink promises.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

Outcome = dict[str, Any]


def differences(
    expected: Outcome, actual: Outcome, names: tuple[str, str] = ("PyFlink", "headrace")
) -> list[str]:
    """Empty when the outcomes agree; `names` tells the reader who gave what."""
    first, second = names
    if "failure" in expected or "failure" in actual:
        if "failure" in expected and "failure" in actual:
            return []
        return [f"{first}: {_brief(expected)}", f"{second}: {_brief(actual)}"]
    found = []
    left, right = expected["results"], actual["results"]
    if sorted(left) != sorted(right):
        return [f"outputs differ: {first} {sorted(left)}, {second} {sorted(right)}"]
    for name in left:
        found += [f"{name}: {line}" for line in _output(left[name], right[name], names)]
    return found


def _output(expected: Any, actual: Any, names: tuple[str, str]) -> list[str]:
    first, second = names
    if isinstance(expected, dict):
        keys = sorted({*expected, *actual})
        return [
            f"key {key}: {first} {expected.get(key)}, {second} {actual.get(key)}"
            for key in keys
            if expected.get(key) != actual.get(key)
        ]
    wanted, given = Counter(expected), Counter(actual)
    missing = [f"{second} lacks {count} x {text}" for text, count in (wanted - given).items()]
    extra = [f"only {second} has {count} x {text}" for text, count in (given - wanted).items()]
    return missing + extra


def normalised(outcome: Outcome) -> Outcome:
    """The outcome in the order in which golden files keep it, so that their diffs stay small."""
    if "failure" in outcome:
        return outcome
    results = {}
    for name, records in sorted(outcome["results"].items()):
        ordered = isinstance(records, dict)
        results[name] = dict(sorted(records.items())) if ordered else sorted(records)
    return {"results": results}


def _brief(outcome: Outcome) -> str:
    if "failure" in outcome:
        return f"failed: {outcome['failure']}"
    return f"gave results: {outcome['results']}"[:500]
