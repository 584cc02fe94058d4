"""Compares two outcomes of a case, as far as the order of changes is defined.

In: outcomes of run_pyflink.py and run_headrace.py.  Out: what differs, as text.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oracle.sql.model import SqlCase


def differences(
    case: SqlCase, mode: str, expected: dict[str, Any], found: dict[str, Any]
) -> list[str]:
    """What differs; nothing if they are equal."""
    if "refused" in expected or "refused" in found:
        if ("refused" in expected) == ("refused" in found):
            return []
        return [f"Flink: {expected}", f"headrace: {found}"]
    wanted, got = expected["changes"], found["changes"]
    if mode == "batch":
        wanted, got = ([change for change in each if change] for each in (wanted, got))
        return _listed(wanted, got) if case.ordered else _counted(wanted, got)
    if case.compare == "rows":
        return _listed(wanted, got)
    if case.compare == "bag":
        return _counted(wanted, got)
    return _counted(final_table(wanted), final_table(got))


def final_table(changes: list[Any]) -> list[Any]:
    """The rows that are left.

    Raises:
        AssertionError: a row is taken back that is not there.
    """
    left: Counter[str] = Counter()
    for kind, *row in changes:
        text = repr(row)
        if kind in ("+I", "+U"):
            left[text] += 1
        else:
            assert left[text] > 0, f"{kind}{text} takes back what is not there: {changes}"
            left[text] -= 1
    return sorted(left.elements())


def _listed(wanted: list[Any], got: list[Any]) -> list[str]:
    if wanted == got:
        return []
    lines = []
    for place in range(max(len(wanted), len(got))):
        pair = [str(each[place]) if place < len(each) else "-" for each in (wanted, got)]
        mark = "  " if pair[0] == pair[1] else "! "
        lines.append(f"{mark}{pair[0]:60} {pair[1]}")
    return ["  Flink / headrace", *lines]


def _counted(wanted: list[Any], got: list[Any]) -> list[str]:
    expected, found = Counter(map(repr, wanted)), Counter(map(repr, got))
    return [
        *(f"only Flink: {text}" for text in (expected - found).elements()),
        *(f"only headrace: {text}" for text in (found - expected).elements()),
    ]
