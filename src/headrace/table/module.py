"""Modules: sets of functions.  headrace has the one of SQL's own functions, ``core``.

In: the user's program.  Out: what list_full_modules gives.  Next: table/table_environment.py
"""

from __future__ import annotations

from typing import Any

from headrace.missing import missing_attribute

__all__ = ["Module", "ModuleEntry"]


class Module:
    """A set of functions; there is none to load but ``core``."""


class ModuleEntry:
    """A module that is loaded.

    Args:
        name: of the module.
        used: whether its functions can be used.
    """

    def __init__(self, name: str, used: bool) -> None:
        self._name, self._used = name, used

    def name(self) -> str:
        """The name of the module."""
        return self._name

    def used(self) -> bool:
        """Whether its functions can be used."""
        return self._used

    def __repr__(self) -> str:
        return f"ModuleEntry{{name='{self._name}', used={str(self._used).lower()}}}"

    def __eq__(self, other: object) -> bool:
        mine = (self._name, self._used)
        return isinstance(other, ModuleEntry) and mine == (other._name, other._used)

    def __hash__(self) -> int:
        return hash((self._name, self._used))

    def __lt__(self, other: ModuleEntry) -> bool:
        return (self._name, self._used) < (other._name, other._used)


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
