"""Finds functions by name.

In: a name as the user wrote it.  Out: its entry, or an error with close matches.
Next: scalars/functions/entry.py
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError
from headrace.scalars import functions
from headrace.sql.habits import function_advice

if TYPE_CHECKING:
    from headrace.scalars.functions.entry import FunctionEntry


@cache
def all_entries() -> dict[str, FunctionEntry]:
    """Every function by its name and its aliases."""
    found: dict[str, FunctionEntry] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(functions.__path__)):
        loaded = importlib.import_module(f"{functions.__name__}.{module}")
        for entry in getattr(loaded, "ENTRIES", ()):
            for name in (entry.name, *entry.aliases):
                assert name not in found, f"two functions are called {name}"
                found[name] = entry
    return found


def find(name: str) -> FunctionEntry | None:
    """The function with a name, in any case; None if there is none."""
    return all_entries().get(name.upper())


def lookup(name: str) -> FunctionEntry:
    """The function with a name, in any case.

    Raises:
        InvalidArgumentError: there is none; the error has close matches.
    """
    entry = find(name)
    if entry is not None:
        return entry
    known = [entry.name for entry in all_entries().values() if not entry.internal]
    close = difflib.get_close_matches(name.upper(), known, n=3)
    near = f"did you mean {', '.join(close)}?" if close else None
    fix = function_advice(name) or near or "register it: create_temporary_function"
    raise InvalidArgumentError(f"there is no function {name!r}", fix=fix)
