"""The shape of a JSON value: keys and types, without the values.

    {"jobs": [{"id": "a", "status": "RUNNING"}]}  ->  {"jobs": [{"id": "text", "status": "text"}]}

In: a parsed answer.  Out: a shape; `differences` says where another answer's shape differs.
"""

from __future__ import annotations

import re
from typing import Any

# Objects whose keys are data, so that their names are no part of the contract.
MAPS = frozenset({"status-counts", "status-duration", "user-config", "timestamps", "failureLabels"})
_ID = re.compile("[0-9a-f]{32}")
_NAMES = ((bool, "boolean"), (int, "number"), (float, "number"), (str, "text"))


def shape(value: Any, key: str = "") -> Any:
    """Keys and types of a value."""
    if value is None:
        return "null"
    if value == "NaN":  # as Flink writes a number that it does not know
        return "number"
    if isinstance(value, dict):
        if key in MAPS or (value and all(_ID.fullmatch(name) for name in value)):
            return {"*": merged([shape(each) for each in value.values()])}
        return {name: shape(each, name) for name, each in sorted(value.items())}
    if isinstance(value, list):
        found = merged([shape(each) for each in value])
        return [] if found is None else [found]
    return next(name for kind, name in _NAMES if isinstance(value, kind))


def merged(shapes: list[Any]) -> Any:
    """One shape for the elements of a list: the keys of all, null where it is never anything."""
    found: Any = None
    for each in shapes:
        if found is None or found == "null" or found in ([], {}):
            found = each
        elif isinstance(found, dict) and isinstance(each, dict):
            found = {
                name: merged([part[name] for part in (found, each) if name in part])
                for name in sorted(found | each)
            }
        elif isinstance(found, list) and isinstance(each, list):
            inner = merged([*found, *each])
            found = [] if inner is None else [inner]
    return found


def differences(wanted: Any, found: Any, path: str = "$") -> list[str]:
    """Where a shape lacks what another has, or has another type there.

    Keys that only we have are allowed: clients of Flink read past them.
    """
    if "null" in (wanted, found) or wanted in ([], {}) or found in ([], {}):
        return []
    if isinstance(wanted, dict) and isinstance(found, dict):
        if "*" in wanted or "*" in found:
            ours = [v for v in found.values() if v is not None]
            theirs = wanted.get("*", merged(list(wanted.values())))
            if theirs is None:  # Flink's was empty
                return []
            return [each for v in ours for each in differences(theirs, v, f"{path}.*")]
        missing = [f"{path}.{name} is missing" for name in wanted if name not in found]
        inner = [
            each
            for name in wanted
            if name in found
            for each in differences(wanted[name], found[name], f"{path}.{name}")
        ]
        return missing + inner
    if isinstance(wanted, list) and isinstance(found, list):
        return differences(wanted[0], found[0], f"{path}[]")
    return [] if wanted == found else [f"{path} is {found!r}, Flink has {wanted!r}"]
