"""Records as bytes when they have no Arrow type, classes of the user's own script included.

A class of the main script is known to other processes only by value.  `main_classes` takes all of
them along to the workers, so that plain pickle finds them there at full speed; what it still cannot
find (a class inside a function) is pickled by value.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

import cloudpickle

from headrace.errors import TypeMismatchError

loads = pickle.loads


def dumps(content: Any) -> bytes:
    """Pickle with C speed where possible, by value where needed."""
    try:
        return pickle.dumps(content, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return _by_value(content)


def _by_value(content: Any) -> bytes:
    try:
        return bytes(cloudpickle.dumps(content, 5))
    except Exception as error:
        raise TypeMismatchError(
            f"records cannot leave this process: {error}",
            fix="map the records to plain values (numbers, text, dicts, rows) first",
        ) from error


def main_classes() -> list[bytes]:
    """The classes that the running script or notebook defines, each by value."""
    main = sys.modules.get("__main__")
    found = []
    for thing in list(vars(main).values()) if main is not None else ():
        if isinstance(thing, type) and thing.__module__ == "__main__":
            try:
                found.append(bytes(cloudpickle.dumps(thing)))
            except Exception:
                continue
    return found


def adopt_main_classes(pickled: list[bytes]) -> None:
    """Make the script's classes findable in this process, as if it were the script."""
    main = sys.modules["__main__"]
    for content in pickled:
        cls = pickle.loads(content)
        if not hasattr(main, cls.__name__):
            setattr(main, cls.__name__, cls)
