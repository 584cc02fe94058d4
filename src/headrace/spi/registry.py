"""Finds implementations of a seam by name: ours, and those that installed packages provide.

A package adds one with an entry point: ``[project.entry-points."headrace.hosts"]``.
Next: spi/packages.py
"""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.errors import ConfigurationError
from headrace.spi.packages import entries, load_only

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Registry(Generic[T]):
    """The implementations of one seam.

    Args:
        what: the word for one of them, for messages.
        group: the group of entry points that others use.
        own: name -> ``module:attribute`` of headrace's own.
    """

    def __init__(self, what: str, group: str, own: dict[str, str]) -> None:
        self._what = what
        self._group = group
        self._own = own

    def names(self) -> list[str]:
        """All that can be found."""
        return sorted({*self._own, *entries(self._group)})

    def find(self, name: str) -> Callable[..., T]:
        """What the name stands for: a class, or a function that makes one.

        Raises:
            ConfigurationError: there is none of that name.
            ConnectorError: two packages have one, or it cannot be imported.
        """
        if name in self._own:
            module, _, attribute = self._own[name].partition(":")
            own: Callable[..., T] = getattr(importlib.import_module(module), attribute)
            return own
        provided = entries(self._group)
        if name in provided:
            found: Callable[..., T] = load_only(self._what, provided[name])
            return found
        known = sorted({*self._own, *provided})
        near = difflib.get_close_matches(name, known, n=1)
        raise ConfigurationError(
            f"there is no {self._what} {name!r}",
            fix=f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}",
        )

    def new(self, name: str, *args: object) -> T:
        """A new one, made with these arguments."""
        made: T = self.find(name)(*args)
        return made
