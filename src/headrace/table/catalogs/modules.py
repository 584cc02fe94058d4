"""The modules of a session: which are loaded, and in which order their functions are looked for.

    LOAD MODULE geo;  USE MODULES geo, core;      DISTANCE(a, b)   ──▶   geo's, then SQL's own

In: names.  Out: functions that a name alone means.  A package offers a module with an entry point
of the group ``headrace.modules``: a class, or a function, that takes the options of LOAD MODULE.
Next: table/catalogs/lookup.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError
from headrace.spi.registry import Registry
from headrace.table.module import CORE, CoreModule, Module, ModuleEntry
from headrace.table.udf import wrapped

if TYPE_CHECKING:
    from headrace.api.table.definitions import UserFunctionDefinition

MODULES: Registry[Module] = Registry(
    "module", "headrace.modules", {CORE: "headrace.table.module:CoreModule"}
)


class LoadedModules:
    """The modules of a session; at first SQL's own functions."""

    def __init__(self) -> None:
        self._loaded: dict[str, Module] = {CORE: CoreModule({})}
        self.used: list[str] = [CORE]
        # a function of a module is made once, so that all calls of it are of one function
        self._made: dict[tuple[str, str], UserFunctionDefinition] = {}

    def load(self, name: str, module: Module) -> None:
        """Add a module behind those that are used."""
        if name in self._loaded:
            raise InvalidArgumentError(
                f"A module with name '{name}' already exists", fix=f"UNLOAD MODULE {name} before"
            )
        self._loaded[name] = module
        self.used.append(name)

    def unload(self, name: str) -> None:
        """Remove a module."""
        self._need(name)
        del self._loaded[name]
        self.used = [each for each in self.used if each != name]
        self._made = {key: made for key, made in self._made.items() if key[0] != name}

    def use(self, *names: str) -> None:
        """Look for functions in these modules, in this order, and in no others."""
        for name in names:
            self._need(name)
            if names.count(name) > 1:
                raise InvalidArgumentError(
                    f"Module '{name}' appears more than once", fix="name it once"
                )
        self.used = list(names)

    def _need(self, name: str) -> None:
        if name not in self._loaded:
            known = ", ".join(self._loaded) or "none"
            raise InvalidArgumentError(
                f"No module with name '{name}' exists", fix=f"loaded are: {known}"
            )

    def entries(self) -> list[ModuleEntry]:
        """All that are loaded, those in use first."""
        unused = [name for name in self._loaded if name not in self.used]
        return [
            *(ModuleEntry(name, used=True) for name in self.used),
            *(ModuleEntry(name, used=False) for name in unused),
        ]

    def function_names(self) -> set[str]:
        """The functions of all modules in use."""
        return {each for name in self.used for each in self._loaded[name].list_functions()}

    def has_function(self, name: str) -> bool:
        """Whether a module in use has a function, by its name in any case."""
        return name.lower() in {each.lower() for each in self.function_names()}

    def function(self, module: str, name: str) -> UserFunctionDefinition | None:
        """A function of a module, by its name in any case; SQL's own are no definitions."""
        found = self._loaded[module]
        for each in found.list_functions() if module != CORE else ():
            if each.lower() == name.lower():
                if (module, each) not in self._made:
                    self._made[module, each] = wrapped(found.get_function(each))._definition
                return self._made[module, each]
        return None
