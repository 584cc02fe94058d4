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


def differences(expected: Outcome, actual: Outcome) -> list[str]:
    """Empty when the outcomes agree; `expected` is PyFlink's."""
    if "failure" in expected or "failure" in actual:
        if "failure" in expected and "failure" in actual:
            return []
        return [f"PyFlink: {_brief(expected)}", f"headrace: {_brief(actual)}"]
    found = []
    left, right = expected["results"], actual["results"]
    if sorted(left) != sorted(right):
        return [f"outputs differ: PyFlink {sorted(left)}, headrace {sorted(right)}"]
    for name in left:
        found += [f"{name}: {line}" for line in _output(left[name], right[name])]
    return found


def _output(expected: Any, actual: Any) -> list[str]:
    if isinstance(expected, dict):
        keys = sorted({*expected, *actual})
        return [
            f"key {key}: PyFlink {expected.get(key)}, headrace {actual.get(key)}"
            for key in keys
            if expected.get(key) != actual.get(key)
        ]
    wanted, given = Counter(expected), Counter(actual)
    missing = [f"missing {count} x {text}" for text, count in (wanted - given).items()]
    return missing + [f"too many, {count} x {text}" for text, count in (given - wanted).items()]


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
