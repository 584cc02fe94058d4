"""Which states a store holds, and in which layouts: written by tasks, read without their program.

In: what the operators of a task declare.  Out: one small record beside their pages; from it, the
states that pages belong to.  Stores of 0.1 have no such record: names_of_0_1.py.
Next: runtime/savepoint/entries.py
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.errors import StateError
from headrace.runtime.state.layouts import home_of, is_spread
from headrace.runtime.state.names_of_0_1 import spec_in_0_1
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.common.opaque import JsonObject
    from headrace.spi.state import PageStore

    # by operator and name
    Specs = dict[str, dict[str, StateSpec]]

DECLARED_KEY = b"task/states"
_VERSION = 1


class DeclaredStates:
    """The states of the operators of a task, as its store tells them."""

    def __init__(self, content: bytes | None = None) -> None:
        self._specs: Specs = {} if content is None else _parse(content)

    @staticmethod
    def of(store: PageStore) -> DeclaredStates:
        """What a store says."""
        return DeclaredStates(store.get(DECLARED_KEY))

    def of_operator(self, uid: str) -> Mapping[str, StateSpec]:
        """The states and families of an operator, by name."""
        return self._specs.get(uid, {})

    def declare(self, uid: str, specs: Iterable[StateSpec]) -> bool:
        """Add states of an operator; what was declared before stays. Whether any is new."""
        known = self._specs.setdefault(uid, {})
        new = [spec for spec in specs if known.get(spec.name) != spec]
        known.update({spec.name: spec for spec in new})
        return bool(new)

    def write(self, store: PageStore) -> None:
        """Let the declarations survive."""
        states = {
            uid: {spec.name: spec_to_json(spec) for spec in specs.values()}
            for uid, specs in self._specs.items()
            if specs
        }
        store.put(DECLARED_KEY, json.dumps({"version": _VERSION, "states": states}).encode())

    def state_of(self, uid: str, path: str) -> StateSpec:
        """The state that a page belongs to, by the page's path within its operator."""
        known = self.of_operator(uid)
        if path in known:
            return known[path]
        # the longest name first: a state may lie below another one
        for spec in sorted(known.values(), key=lambda spec: len(spec.name), reverse=True):
            found = spec.member_of(path, spread=is_spread(spec))
            if found is not None:
                return StateSpec(found, spec.layout, spec.scope, home=spec.home)
        return spec_in_0_1(path)


def spec_to_json(spec: StateSpec) -> JsonObject:
    """What is stored of a state's declaration, without its name."""
    stored = {"layout": spec.layout, "scope": spec.scope}
    home = spec.home or home_of(spec)
    return {**stored, "home": home} if home else stored


def spec_from_json(name: str, stored: JsonObject) -> StateSpec:
    """Back from the stored form; what later versions added is left aside."""
    return StateSpec(name, stored["layout"], stored["scope"], home=stored.get("home", ""))


def _parse(content: bytes) -> Specs:
    stored = json.loads(content)
    if stored["version"] != _VERSION:
        raise StateError(
            f"the list of stored states has version {stored['version']}, which is not known",
            fix="restore with the version of headrace that wrote it, or from a savepoint",
        )
    return {
        uid: {name: spec_from_json(name, spec) for name, spec in specs.items()}
        for uid, specs in stored["states"].items()
    }
