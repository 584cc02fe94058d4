"""Modules: sets of functions that SQL finds by their names alone.

In: the user's program.  Out: what LOAD MODULE and `load_module` take, and list_full_modules gives.
Next: table/catalogs/modules.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.missing import missing_attribute
from headrace.table.function_names import built_in_functions

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Module", "ModuleEntry"]

CORE = "core"


class Module:
    """A set of functions: subclass it, and load it with `TableEnvironment.load_module`.

    Example:
        >>> from headrace.table.udf import udf
        >>> class Texts(Module):
        ...     def list_functions(self):
        ...         return ["shout"]
        ...     def get_function(self, name):
        ...         return udf(lambda text: text + "!", result_type="STRING")
    """

    def list_functions(self) -> list[str]:
        """The names of its functions."""
        return []

    def get_function(self, name: str) -> Any:
        """One of them, made by udf, udtf, udaf or udtaf.

        Args:
            name: as `list_functions` has it.
        """
        raise NotImplementedError


class CoreModule(Module):
    """SQL's own functions; the language has them, so nobody asks it for one.

    Args:
        options: of LOAD MODULE; it has none.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        del options

    def list_functions(self) -> list[str]:
        """All of them."""
        return built_in_functions()


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
